"""Small diagrams of single classes as SVG."""

import numpy as np

from calibrant.diagrams import ReliabilityDiagram
from calibrant.diagrams.style import BLUE, GREY, INK, VERMILLION
from calibrant.reporting.words import capital, rows_of

WIDTH, HEIGHT = 180, 110
FILLED = f'fill="{VERMILLION}"'
HOLLOW = f'fill="white" stroke="{BLUE}" stroke-width="1.4"'


def spark(diagram: ReliabilityDiagram, reach: float) -> str:
    """Draw deviations over predictions, from -reach to reach; triangles are beyond."""
    series = diagram.series[0]
    e = diagram.event
    fn, cells = series.function, series.cells
    off = series.significant(diagram.alpha)
    zero = _y(0.0)
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" xmlns="http://www.w3.org/2000/svg">',
        f'<line x1="{_x(0):.1f}" x2="{_x(1):.1f}" y1="{zero:.1f}" y2="{zero:.1f}" stroke="{INK}"/>',
    ]
    for c in range(fn.n_cells):
        x = _x(float(fn.predicted[c, e]))
        low, high = (_y(float(limit[c, e]) / reach) for limit in (cells.lower, cells.upper))
        parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{low:.1f}" y2="{high:.1f}" stroke="{GREY}"'
            ' stroke-width="4" stroke-opacity="0.5"/>'
        )
    for c in range(fn.n_cells):
        p, d = float(fn.predicted[c, e]), float(fn.deviations[c, e])
        note = (
            f"<title>{capital(rows_of(float(fn.counts[c]), fn.weighted))}: predicted {p:.3f},"
            f" observed {fn.observed[c, e]:.3f}, adjusted p = {cells.adjusted_pvalues[c]:.3g}"
            "</title>"
        )
        parts.append(_mark(_x(p), d / reach, bool(off[c]), note))
    return "".join([*parts, "</svg>"])


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


def common_reach(diagrams: list[ReliabilityDiagram]) -> float:
    """Return the largest deviation of a cell that counts, for a scale shared by all."""
    sizes = [0.05]
    for diagram in diagrams:
        series = diagram.series[0]
        off = series.significant(diagram.alpha)
        sizes += np.abs(series.function.deviations[off, diagram.event]).tolist()
        big = series.function.proportions > 0.01
        sizes += np.abs(series.function.deviations[big, diagram.event]).tolist()
    return float(max(sizes))
