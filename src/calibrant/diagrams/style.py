"""Colours, marks and texts that both renderers share.

The colours are those of Okabe and Ito, which people with any colour vision tell apart. What
is significant also differs in shape or width, and models differ in shape, so that it shows
in grey.
"""

import html
import re

import numpy as np
from numpy.typing import NDArray

from calibrant.diagrams.diagram import ReliabilityDiagram, Series

BLUE = "#0072B2"
VERMILLION = "#D55E00"
GREEN = "#009E73"
GREY = "#8A8A8A"
MUTED = "#767676"
PALE = "#BFD7EA"
INK = "#222222"
MODELS = (BLUE, "#E69F00", GREEN, "#CC79A7", "#56B4E9", "#000000")
SHARES = ("#EDF4FA", "#A6CBE5", "#5A9BCB")  # ends early, so that arrows show on every cell

MOST_LINES = 5  # of a name; a group of a thousand classes would fill the page
AXIS_NAMES = {"predicted class": "the predicted class", "occurs": "each class"}


def event_name(diagram: ReliabilityDiagram) -> str:
    """Return what one-dimensional diagrams are about, for the axis."""
    name = diagram.classes[diagram.event]
    return AXIS_NAMES.get(name, f"class {name}")


def percent(share: float) -> str:
    """Write a level: 0.05 as 5%, 0.975 as 97.5%."""
    return f"{100 * share:.4g}%"


def off_name(diagram: ReliabilityDiagram) -> str:
    """Say what marks a significant cell, for the legend."""
    return f"off ({percent(diagram.alpha)}, all cells)"


def limits_name(series: Series) -> str:
    """Say what the consistency limits are, for the legend."""
    return f"{percent(series.cells.level)} if calibrated"


def truth_at(n: int = 400) -> NDArray[np.float64]:
    """Return where a true curve is evaluated (n,): not at 0 and 1, where it may be undefined."""
    return (np.arange(n) + 0.5) / n


def wrapped(text: str, width: int) -> list[str]:
    """Break a text into lines: after spaces and joints, or anywhere if a word is too long."""
    width = max(width, 4)
    parts = [
        part[a : a + width]
        for part in re.split(r"(?<=[\s+/_|-])", text)
        for a in range(0, len(part), width)
    ]
    lines = [""]
    for part in parts:
        if lines[-1] and len((lines[-1] + part).rstrip()) > width:
            lines.append("")
        lines[-1] += part
    if len(lines) > MOST_LINES:
        lines = [*lines[: MOST_LINES - 1], lines[MOST_LINES - 1].rstrip() + "…"]
    return [line.strip() for line in lines]


def escaped(text: str, width: int = 10**6) -> str:
    """Write a text so that plotly takes no part of it for HTML or TeX, on lines of `width`."""
    lines = (html.escape(line, quote=False).replace("$", "&#36;") for line in wrapped(text, width))
    return "<br>".join(lines)


def hover_texts(diagram: ReliabilityDiagram, series: Series) -> list[str]:
    """Describe every cell: count, then prediction, frequency and limits of each outcome."""
    fn, cells = series.function, series.cells
    shown = [diagram.event] if diagram.n_outcomes == 2 else range(diagram.n_outcomes)
    names = [escaped(name, 40) for name in diagram.classes]
    texts = []
    for c, p in enumerate(cells.adjusted_pvalues):
        lines = [f"<b>{escaped(series.name, 60)}</b>"] if series.name else []
        lines.append(f"{fn.counts[c]:,.12g} rows ({fn.proportions[c]:.1%})")
        lines += [
            f"<b>{names[j]}</b>: predicted {fn.predicted[c, j]:.3f}, observed"
            f" {fn.observed[c, j]:.3f}<br>deviation {fn.deviations[c, j]:+.3f},"
            f" {percent(cells.level)} limits {cells.lower[c, j]:+.3f} to {cells.upper[c, j]:+.3f}"
            for j in shown
        ]
        lines.append(f"adjusted p = {p:.3g}")
        texts.append("<br>".join(lines))
    return texts


def tetrahedron() -> NDArray[np.float64]:
    """Return the corners (4, 3) of a regular tetrahedron that stands on its base."""
    base = [[np.cos(a), np.sin(a), 0.0] for a in np.deg2rad([90.0, 210.0, 330.0])]
    return np.array([*base, [0.0, 0.0, np.sqrt(2.0)]])
