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


def event_name(diagram: ReliabilityDiagram) -> str:
    """Return what a diagram of two outcomes is about, for the axis."""
    return diagram.subject or f"class {diagram.classes[diagram.event]}"


def model_colour(i: int) -> str:
    """Return the colour of model i; there are six."""
    return MODELS[i % len(MODELS)]


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
    lines = [""]
    for piece in _pieces(text, width):
        if lines[-1] and len((lines[-1] + piece).rstrip()) > width:
            lines.append("")
        lines[-1] += piece
    if len(lines) > MOST_LINES:
        lines = [*lines[: MOST_LINES - 1], lines[MOST_LINES - 1].rstrip() + "…"]
    return [line.strip() for line in lines]


def _pieces(text: str, width: int) -> list[str]:
    """Cut a text where a line may end, into pieces of at most `width` letters."""
    return [
        word[start : start + width]
        for word in re.split(r"(?<=[\s+/_|-])", text)
        for start in range(0, len(word), width)
    ]


def escaped(text: str, width: int = 10**6) -> str:
    """Write a text so that plotly takes no part of it for HTML or TeX, on lines of `width`."""
    lines = (html.escape(line, quote=False).replace("$", "&#36;") for line in wrapped(text, width))
    return "<br>".join(lines)


def hover_texts(diagram: ReliabilityDiagram, series: Series) -> list[str]:
    """Describe every cell: count, then prediction, frequency and limits of each outcome."""
    fn = series.function
    shown = [diagram.event] if diagram.n_outcomes == 2 else range(diagram.n_outcomes)
    title = [f"<b>{escaped(series.name, 60)}</b>"] if series.name else []
    texts = []
    for c, p in enumerate(series.cells.adjusted_pvalues):
        count = f"{fn.counts[c]:,.12g} rows ({fn.proportions[c]:.1%})"
        outcomes = [_outcome_text(diagram, series, c, j) for j in shown]
        texts.append("<br>".join([*title, count, *outcomes, f"adjusted p = {p:.3g}"]))
    return texts


def _outcome_text(diagram: ReliabilityDiagram, series: Series, c: int, j: int) -> str:
    """Describe outcome j of cell c."""
    fn, cells = series.function, series.cells
    return (
        f"<b>{escaped(diagram.classes[j], 40)}</b>: predicted {fn.predicted[c, j]:.3f}, observed"
        f" {fn.observed[c, j]:.3f}<br>deviation {fn.deviations[c, j]:+.3f},"
        f" {percent(cells.level)} limits {cells.lower[c, j]:+.3f} to {cells.upper[c, j]:+.3f}"
    )


def tetrahedron() -> NDArray[np.float64]:
    """Return the corners (4, 3) of a regular tetrahedron that stands on its base."""
    base = [[np.cos(a), np.sin(a), 0.0] for a in np.deg2rad([90.0, 210.0, 330.0])]
    return np.array([*base, [0.0, 0.0, np.sqrt(2.0)]])
