"""Small diagrams of single classes."""

from collections.abc import Sequence

import numpy as np

from calibrant.diagrams import ReliabilityDiagram
from calibrant.reporting.charts import svg
from calibrant.reporting.charts.chart import cell_note
from calibrant.reporting.charts.svg import Scale

WIDTH, HEIGHT = 180.0, 110.0


def spark(diagram: ReliabilityDiagram, reach: float, label: str) -> str:
    """Draw deviations over predictions as a small picture.

    Parameters
    ----------
    diagram : ReliabilityDiagram
        A diagram of one model and two outcomes.
    reach : float
        The height is from -reach to reach; a dot beyond is a triangle at the edge.
    label : str
        Its name for those who cannot see it.

    Returns
    -------
    str
        SVG.
    """
    series, e = diagram.series[0], diagram.event
    fn, off = series.function, series.significant(diagram.alpha)
    x, y = Scale(0, 1, 8, WIDTH - 8), Scale(-reach, reach, HEIGHT - 6, 6)
    parts = [svg.line((x(0), y(0)), (x(1), y(0)), "zero")]
    for c in range(fn.n_cells):
        place = x(float(fn.predicted[c, e]))
        low, high = y(float(series.cells.lower[c, e])), y(float(series.cells.upper[c, e]))
        parts.append(svg.line((place, low), (place, high), "limits"))
    for c in range(fn.n_cells):
        height = float(fn.deviations[c, e])
        at = x(float(fn.predicted[c, e])), y(height)
        shape = "circle" if abs(height) <= reach else ("up" if height > 0 else "down")
        radius = 4.0 if shape != "circle" else 3.6 if off[c] else 2.6
        class_ = "mark off" if off[c] else "mark"
        parts.append(svg.mark(shape, at, radius, class_, cell_note(series, c, [(e, "")])))
    size = f"0 0 {WIDTH:g} {HEIGHT:g}"
    return svg.element("svg", "".join(parts), viewBox=size, role="img", aria_label=label)


def common_reach(diagrams: Sequence[ReliabilityDiagram]) -> float:
    """Return the largest deviation of a cell that counts, for a scale shared by all."""
    largest = 0.05
    for diagram in diagrams:
        series = diagram.series[0]
        counts = series.significant(diagram.alpha) | (series.function.proportions > 0.01)
        sizes = np.abs(series.function.deviations[counts, diagram.event])
        largest = max(largest, float(sizes.max(initial=0.0)))
    return largest
