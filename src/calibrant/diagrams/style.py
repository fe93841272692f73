"""Colours and texts that both renderers share.

The colours are those of Okabe and Ito, which people with any colour vision tell apart; what
is significant also differs in shape and in lightness, so it shows in grey.
"""

import numpy as np
from numpy.typing import NDArray

from calibrant.diagrams.diagram import ReliabilityDiagram, Series

BLUE = "#0072B2"
VERMILLION = "#D55E00"
GREY = "#8A8A8A"
MUTED = "#9C9C9C"
PALE = "#BFD7EA"
INK = "#222222"
MODELS = (BLUE, "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#000000")


def event_name(diagram: ReliabilityDiagram) -> str:
    """Return what one-dimensional diagrams are about, for the axis."""
    name = diagram.classes[diagram.event]
    return name if name == "predicted class" else f"class {name}"


def hover_texts(diagram: ReliabilityDiagram, series: Series) -> list[str]:
    """Describe every cell: count, then prediction, frequency and limits of each outcome."""
    fn, cells = series.function, series.cells
    shown = [diagram.event] if diagram.n_outcomes == 2 else range(diagram.n_outcomes)
    texts = []
    for c, p in enumerate(cells.adjusted_pvalues):
        lines = [f"<b>{series.name}</b>"] if series.name else []
        lines.append(f"{fn.counts[c]:,.6g} rows ({fn.proportions[c]:.1%})")
        lines += [
            f"{_escaped(diagram.classes[j])}: predicted {fn.predicted[c, j]:.3f}, observed"
            f" {fn.observed[c, j]:.3f}, deviation {fn.deviations[c, j]:+.3f}"
            f" ({cells.level:.0%} limits {cells.lower[c, j]:+.3f} to {cells.upper[c, j]:+.3f})"
            for j in shown
        ]
        lines.append(f"adjusted p = {p:.3g}")
        texts.append("<br>".join(lines))
    return texts


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def tetrahedron() -> NDArray[np.float64]:
    """Return the corners (4, 3) of a regular tetrahedron that stands on its base."""
    base = [[np.cos(a), np.sin(a), 0.0] for a in np.deg2rad([90.0, 210.0, 330.0])]
    return np.array([*base, [0.0, 0.0, np.sqrt(2.0)]])
