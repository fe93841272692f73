"""Two outcomes: the deviation of each cell over its prediction."""

import numpy as np
from numpy.typing import NDArray

from calibrant.diagrams import ReliabilityDiagram, Series
from calibrant.diagrams.style import BEYOND, event_name, limits_name, off_name, vertical_range
from calibrant.reporting.charts import svg
from calibrant.reporting.charts.chart import (
    BOTTOM,
    ENDS,
    LEFT,
    RIGHT,
    TOP,
    Chart,
    Key,
    axes,
    bars,
    box_key,
    cell_note,
    drawing,
    line_key,
    mark_key,
    model_class,
    model_shape,
)
from calibrant.reporting.charts.svg import Scale

SMALLEST, LARGEST = 3.0, 7.0  # radius of a mark, by the share of its rows
LEAST = 0.002  # that the axis reaches to both sides
ASIDE = 4.0  # between the marks of models, so that none hides another


def line(diagram: ReliabilityDiagram, label: str) -> Chart:
    """Draw marks for the cells of each model, over a strip with the distribution of predictions."""
    low, high = vertical_range(diagram, None)
    extent = min(low, -LEAST), max(high, LEAST)
    x, y = Scale(*ENDS, LEFT, RIGHT), Scale(*extent, BOTTOM, TOP)
    alone = len(diagram.series) == 1
    histograms = [s.histogram for s in diagram.series if s.histogram is not None]
    parts = axes(x, y, max(float(each.max()) for each in histograms))
    parts.append(svg.line((x(0), y(0)), (x(1), y(0)), "zero"))
    shares = [(each, model_class(i, alone)) for i, each in enumerate(histograms)]
    parts += bars(x, shares, noted=True)
    for i, series in enumerate(diagram.series):
        aside = ASIDE * (i - (len(diagram.series) - 1) / 2)
        drawn = _limits(diagram, series, (x, y), aside)
        drawn += _marks(diagram, series, (x, y), (aside, model_shape(i, alone)))
        parts.append(svg.element("g", "".join(drawn), class_=model_class(i, alone)))
    title = f"predicted probability of {event_name(diagram)}"
    keys = _keys(diagram, beyond=_any_beyond(diagram, y))
    return Chart(drawing(parts, label), "observed − predicted", title, tuple(keys))


def _limits(
    diagram: ReliabilityDiagram, series: Series, scales: tuple[Scale, Scale], aside: float
) -> list[str]:
    """Draw where the cells of a calibrated model would be."""
    (x, y), e, cells = scales, diagram.event, series.cells
    parts = []
    for c in np.flatnonzero(series.shown).tolist():
        at = x(float(series.function.predicted[c, e])) + aside
        ends = y(float(cells.lower[c, e])), y(float(cells.upper[c, e]))
        parts.append(svg.line((at, ends[0]), (at, ends[1]), "limits"))
    return parts


def _marks(
    diagram: ReliabilityDiagram,
    series: Series,
    scales: tuple[Scale, Scale],
    look: tuple[float, str],
) -> list[str]:
    """Draw the cells: beyond the axis, a triangle that points to where a mark would be."""
    (x, y), (aside, shape), fn, e = scales, look, series.function, diagram.event
    off = series.significant(diagram.alpha)
    sides = _sides(series, e, y)
    radii = SMALLEST + (LARGEST - SMALLEST) * np.sqrt(fn.proportions / fn.proportions.max())
    parts = []
    for c in np.flatnonzero(series.shown).tolist():
        note = cell_note(series, c, [(e, "")])
        drawn = {-1: "down", 0: shape, 1: "up"}[int(sides[c])]
        note += f"\n{BEYOND}" if sides[c] else ""
        at = x(float(fn.predicted[c, e])) + aside, y(float(fn.deviations[c, e]))
        class_ = "mark off" if off[c] else "mark"
        parts.append(svg.mark(drawn, at, max(float(radii[c]), 4 * abs(sides[c])), class_, note))
    return parts


def _sides(series: Series, e: int, y: Scale) -> NDArray[np.int_]:
    """Return where each cell (cells,) is: 0 within the axis, 1 above it, -1 below it."""
    deviations = series.function.deviations[:, e]
    return np.asarray((deviations > y.high).astype(int) - (deviations < y.low).astype(int))


def _any_beyond(diagram: ReliabilityDiagram, y: Scale) -> bool:
    return any(_sides(s, diagram.event, y)[s.shown].any() for s in diagram.series)


def _keys(diagram: ReliabilityDiagram, *, beyond: bool) -> list[Key]:
    """Say what the marks mean."""
    alone, limits = len(diagram.series) == 1, limits_name(diagram.series[0])
    keys = []
    if not alone:
        for i, series in enumerate(diagram.series):
            key = mark_key("mark off", model_shape(i, alone), model_class(i, alone))
            keys.append((key, series.name))
    model = "" if alone else "any"
    keys.append((mark_key("mark off", model=model), off_name(diagram)))
    keys.append((mark_key("mark", model=model), "not significant"))
    keys.append((line_key("limits"), limits))
    if beyond:
        keys.append((mark_key("mark", "up", "any"), BEYOND))
    if alone:
        keys.append((box_key("bar"), "share of predictions"))
    return keys
