"""Small diagrams of single classes as SVG."""

from collections.abc import Sequence

import numpy as np

from calibrant.diagrams import ReliabilityDiagram, Series
from calibrant.diagrams.style import BLUE, GREY, INK, VERMILLION
from calibrant.words import capital, rows_of

WIDTH, HEIGHT = 180, 110
FILLED = f'fill="{VERMILLION}"'
HOLLOW = f'fill="white" stroke="{BLUE}" stroke-width="1.4"'


def spark(diagram: ReliabilityDiagram, reach: float) -> str:
    """Draw deviations over predictions as a small picture.

    Parameters
    ----------
    diagram : ReliabilityDiagram
        A diagram of one model and two outcomes.
    reach : float
        The height is from -reach to reach; a dot beyond is a triangle at the edge.

    Returns
    -------
    str
        SVG.
    """
    series, e = diagram.series[0], diagram.event
    off = series.significant(diagram.alpha)
    zero = _y(0.0)
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" xmlns="http://www.w3.org/2000/svg">',
        f'<line x1="{_x(0):.1f}" x2="{_x(1):.1f}" y1="{zero:.1f}" y2="{zero:.1f}" stroke="{INK}"/>',
    ]
    parts += [_limits(series, c, e, reach) for c in range(series.function.n_cells)]
    for c in range(series.function.n_cells):
        x = _x(float(series.function.predicted[c, e]))
        height = float(series.function.deviations[c, e]) / reach
        parts.append(_mark(x, height, bool(off[c]), _note(series, c, e)))
    return "".join([*parts, "</svg>"])


def _limits(series: Series, c: int, e: int, reach: float) -> str:
    """Draw the consistency limits of cell c."""
    x = _x(float(series.function.predicted[c, e]))
    low, high = (
        _y(float(limit[c, e]) / reach) for limit in (series.cells.lower, series.cells.upper)
    )
    return (
        f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{low:.1f}" y2="{high:.1f}" stroke="{GREY}"'
        ' stroke-width="4" stroke-opacity="0.5"/>'
    )


def _note(series: Series, c: int, e: int) -> str:
    """Describe cell c, for hovering."""
    fn = series.function
    return (
        f"<title>{capital(rows_of(float(fn.counts[c]), fn.weighted))}: predicted"
        f" {fn.predicted[c, e]:.3f}, observed {fn.observed[c, e]:.3f}, adjusted p ="
        f" {series.cells.adjusted_pvalues[c]:.3g}</title>"
    )


def _x(p: float) -> float:
    return 8 + (WIDTH - 16) * p


def _y(height: float) -> float:
    """Return the place of a height from -1 to 1; what is beyond is put on the edge."""
    return HEIGHT / 2 - (HEIGHT / 2 - 6) * float(np.clip(height, -1, 1))


def _mark(x: float, height: float, off: bool, note: str) -> str:
    """Draw a dot, or at the edge a triangle that points to a dot beyond it."""
    y, paint = _y(height), FILLED if off else HOLLOW
    if abs(height) <= 1:
        radius = 3.6 if off else 2.6
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" {paint}>{note}</circle>'
    tip, base = (y - np.sign(height) * step for step in (4, -3))
    corners = f"{x:.1f},{tip:.1f} {x - 4:.1f},{base:.1f} {x + 4:.1f},{base:.1f}"
    return f'<polygon points="{corners}" {paint}>{note}</polygon>'


def common_reach(diagrams: Sequence[ReliabilityDiagram]) -> float:
    """Return the largest deviation of a cell that counts, for a scale shared by all."""
    largest = 0.05
    for diagram in diagrams:
        series = diagram.series[0]
        counts = series.significant(diagram.alpha) | (series.function.proportions > 0.01)
        sizes = np.abs(series.function.deviations[counts, diagram.event])
        largest = max(largest, float(sizes.max(initial=0.0)))
    return largest
