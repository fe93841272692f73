"""Two outcomes without cells: the observed frequency over the prediction."""

import numpy as np
from numpy.typing import NDArray

from calibrant.diagrams import CurveDiagram, CurveSeries
from calibrant.diagrams.style import band_name, curve_limits, curve_off_name, event_name
from calibrant.reporting.charts import svg
from calibrant.reporting.charts.chart import (
    BOTTOM,
    ENDS,
    LEFT,
    TOP,
    Chart,
    Floats,
    axes,
    bars,
    box_key,
    drawing,
    line_key,
)
from calibrant.reporting.charts.svg import Point, Scale, element

START = LEFT + 36  # a square, in the middle
NOTES = 24  # points of the curve, about, that say more on hovering
FEW = 12  # points, each of which gets a mark


def curve(diagram: CurveDiagram, label: str) -> Chart:
    """Draw the curve of one model on its band, what is off in front."""
    x = Scale(*ENDS, START, START + BOTTOM - TOP)
    y = Scale(*ENDS, BOTTOM, TOP)
    (series,) = diagram.series
    assert series.density is not None
    limits = curve_limits(diagram, series, confidence=False)
    off = series.band.pvalues <= diagram.alpha
    parts = axes(x, y, float(series.density.max()))
    parts.append(svg.line((x(0), y(0)), (x(1), y(1)), "zero"))
    parts += bars(x, [(series.density, "")], noted=False)
    for piece in series.pieces:
        at = series.x[piece]
        lower, upper = (_points(at, each[piece], (x, y)) for each in limits)
        parts.append(svg.polygon([*lower, *upper[::-1]], "band"))
        whole = _points(at, series.y[piece], (x, y))
        parts.append(_polyline(whole, "curve"))
        parts += [_polyline(whole[start:stop], "curve off") for start, stop in _runs(off[piece])]
    parts += _points_told(series, off, (x, y))
    title = diagram.kind.horizontal.format(event_name(diagram))
    keys = (
        (line_key("curve"), diagram.kind.name),
        (line_key("curve off"), curve_off_name(diagram)),
        (box_key("band"), band_name(diagram, confidence=False)),
        (box_key("bar"), "share of predictions"),
    )
    return Chart(drawing(parts, label), diagram.kind.vertical, title, keys)


def _points(at: Floats, heights: Floats, scales: tuple[Scale, Scale]) -> list[Point]:
    x, y = scales
    pairs = zip(at.tolist(), heights.tolist(), strict=True)
    return [(x(a), y(b)) for a, b in pairs]


def _polyline(points: list[Point], class_: str) -> str:
    """Draw a line through points; through one alone, a dot."""
    told = [f"{x:.1f},{y:.1f}" for x, y in (points if len(points) > 1 else points * 2)]
    return element("polyline", points=" ".join(told), class_=class_)


def _runs(marked: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return start and end of each run of neighbours that are marked.

    Examples
    --------
    >>> _runs(np.array([True, True, False, True]))
    [(0, 2), (3, 4)]
    """
    steps = np.diff(np.concatenate(([0], marked.astype(int), [0])))
    starts, stops = (np.flatnonzero(steps == step).tolist() for step in (1, -1))
    return list(zip(starts, stops, strict=True))


def _points_told(
    series: CurveSeries, off: NDArray[np.bool_], scales: tuple[Scale, Scale]
) -> list[str]:
    """Put places on the curve that say their numbers on hovering, evenly along the page.

    If there are few points, each is a mark.
    """
    few = series.x.size <= FEW
    chosen = np.unique(np.searchsorted(series.x, np.linspace(0, 1, NOTES + 1)))
    told = np.arange(series.x.size) if few else chosen[chosen < series.x.size]
    lower, upper = series.band.pointwise
    parts = []
    for i in told.tolist():
        at = _points(series.x[[i]], series.y[[i]], scales)[0]
        note = (
            f"predicted {series.x[i]:.3f}, observed {series.y[i]:.3f}\n{series.band.level:.0%} if"
            f" calibrated: {lower[i]:.3f} to {upper[i]:.3f}\nadjusted p ="
            f" {series.band.pvalues[i]:.3g}"
        )
        look = "spot" if not few else "mark off" if off[i] else "mark"
        parts.append(svg.mark("circle", at, 4 if few else 8, look, note))
    return parts
