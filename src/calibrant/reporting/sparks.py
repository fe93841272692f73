"""Small diagrams of single classes as SVG."""

import numpy as np

from calibrant.diagrams import ReliabilityDiagram
from calibrant.diagrams.style import BLUE, GREY, INK, VERMILLION

WIDTH, HEIGHT = 180, 110


def spark(diagram: ReliabilityDiagram, reach: float) -> str:
    """Draw deviations over predictions, from -reach to reach."""
    series = diagram.series[0]
    e = diagram.event
    fn, cells = series.function, series.cells
    off = series.significant(diagram.alpha)

    def x(p: float) -> str:
        return f"{8 + (WIDTH - 16) * p:.1f}"

    def y(d: float) -> str:
        return f"{HEIGHT / 2 - (HEIGHT / 2 - 6) * float(np.clip(d / reach, -1, 1)):.1f}"

    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" xmlns="http://www.w3.org/2000/svg">',
        f'<line x1="{x(0)}" x2="{x(1)}" y1="{y(0)}" y2="{y(0)}" stroke="{INK}"/>',
    ]
    for c in range(fn.n_cells):
        p = float(fn.predicted[c, e])
        low, high = float(cells.lower[c, e]), float(cells.upper[c, e])
        parts.append(
            f'<line x1="{x(p)}" x2="{x(p)}" y1="{y(low)}" y2="{y(high)}" stroke="{GREY}"'
            ' stroke-width="4" stroke-opacity="0.5"/>'
        )
    for c in range(fn.n_cells):
        p, d = float(fn.predicted[c, e]), float(fn.deviations[c, e])
        note = (
            f"<title>{fn.counts[c]:,.6g} rows: predicted {p:.3f}, observed"
            f" {fn.observed[c, e]:.3f}, adjusted p = {cells.adjusted_pvalues[c]:.3g}</title>"
        )
        if off[c]:
            mark = f'<circle cx="{x(p)}" cy="{y(d)}" r="3.6" fill="{VERMILLION}">{note}</circle>'
        else:
            mark = (
                f'<circle cx="{x(p)}" cy="{y(d)}" r="2.6" fill="white" stroke="{BLUE}"'
                f' stroke-width="1.4">{note}</circle>'
            )
        parts.append(mark)
    return "".join([*parts, "</svg>"])


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
