"""What is drawn of a curve: its band, the curve, and places that tell their numbers."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from calibrant.diagrams import picture
from calibrant.diagrams.bins import rate_name
from calibrant.diagrams.picture import Floats, Frame, Key, Lines, Marks, Part, Picture, Range
from calibrant.words import capital, pvalue

if TYPE_CHECKING:
    from calibrant.diagrams.curve import CurveDiagram, Limits

FEW = 12  # points of a curve, each of which gets a mark
FEWEST_BARS = 5  # of the distribution of predictions, where a corner is drawn
BAR = 0.01  # half the width of the band of a point between gaps, as a share of the axis
TICKS = 6  # predictions above a curve over the share of rows


def curve_picture(diagram: "CurveDiagram", *, confidence: bool) -> Picture:
    """Show curves with their bands: consistency bands, or confidence bands of the true curve."""
    kind, models, shown = diagram.kind, range(len(diagram.series)), diagram.shown
    strip = tuple(_strip(diagram, shown))
    if shown != picture.UNIT:
        diagram = replace(diagram, series=tuple(one.within(shown) for one in diagram.series))
    limits = [series.limits(kind, confidence=confidence) for series in diagram.series]
    curves = chain(*(_band_and_curve(diagram, i, limits[i], shown) for i in models))
    places = chain(*(_noted_places(diagram, i, limits[i], shown, confidence) for i in models))
    frame = _frame(diagram, limits, shown)
    return Picture(
        label=f"{capital(frame.vertical)}, over the {frame.horizontal}.",
        parts=(picture.reference(float(kind.diagonal), shown), *curves, *places),
        keys=tuple(_curve_keys(diagram, confidence)),
        frame=frame,
        strip=strip,
        strip_range=shown,
    )


def _strip(diagram: "CurveDiagram", shown: Range) -> Iterator[Floats]:
    """Yield the shares of predictions that are drawn below the curves."""
    low, high = shown
    for density in picture.present(series.density for series in diagram.series):
        if shown == picture.UNIT:
            yield density
        elif (high - low) * density.size >= FEWEST_BARS:
            ends = np.linspace(low, high, FEWEST_BARS + 1) * density.size
            sums = np.append(0.0, density.cumsum())
            yield np.diff(np.interp(ends, np.arange(sums.size), sums))


def _frame(diagram: "CurveDiagram", limits: "list[Limits]", shown: Range) -> Frame:
    """Return the axes: of a square with its diagonal, or of what the curves and limits need."""
    kind, axis = diagram.kind, picture.axis(shown)
    prediction = picture.prediction_name(diagram.subject, diagram.classes[diagram.event])
    horizontal = kind.horizontal.format(prediction)
    if kind.diagonal:
        horizontal = picture.enlarged(horizontal, shown)
        return Frame(horizontal, rate_name(diagram), axis, axis, square=True)
    ends = [np.zeros(1), *chain(*limits), *(series.y for series in diagram.series)]
    extent, above = picture.with_margins(ends), _predictions(diagram)
    return Frame(horizontal, kind.vertical, picture.SQUARE, extent, above=above)


def _band_and_curve(diagram: "CurveDiagram", i: int, limits: "Limits", shown: Range) -> list[Part]:
    """Return the band and the curve of model i between its gaps, and what of it is off."""
    series = diagram.series[i]
    model = None if len(diagram.series) == 1 else i
    off = series.band.pvalues <= diagram.alpha
    bar = BAR * (shown[1] - shown[0])
    bands: list[Part] = []
    curves: list[Part] = []
    for piece in series.pieces:
        x = series.x[piece]
        lower, upper, points = (np.stack((x, each[piece]), axis=1) for each in (*limits, series.y))
        around = np.concatenate((lower, upper[::-1]))
        if x.size == 1:  # a bar
            around = (
                np.repeat(around, 2, axis=0) + np.array([(-bar, 0), (bar, 0)] * 2)[[0, 1, 3, 2]]
            )
        bands.append(picture.Areas(around[None], "band", model))
        curves.append(Lines(points[None], "curve", model))
        for start, stop in runs(off[piece]):
            curves.append(Lines(points[None, start:stop], "curve off", model))
    return [*(bands if len(diagram.series) <= picture.FEW_MODELS else []), *curves]


def _noted_places(
    diagram: "CurveDiagram", i: int, limits: "Limits", shown: Range, confidence: bool
) -> Iterator[Marks]:
    """Yield places that say their numbers on hovering.

    Points of a curve of few, and points between gaps, are marks too.
    """
    series = diagram.series[i]
    few = np.arange(series.x.size)
    if series.x.size > FEW:
        few = np.array([one.start for one in series.pieces if one.stop - one.start == 1], np.int64)
    others = np.setdiff1d(series.noted(shown), few)
    for places, look, size in ((few, "mark", 0.3), (others, "spot", 1.0)):
        if places.size:
            yield Marks(
                at=np.stack((series.x[places], series.y[places]), axis=1),
                off=series.band.pvalues[places] <= diagram.alpha,
                notes=tuple(_note(diagram, i, t, limits, confidence) for t in places.tolist()),
                sizes=np.full(places.size, size),
                shapes=("circle",) * places.size,
                look=look,
                model=i if len(diagram.series) > 1 else None,
            )


def _note(diagram: "CurveDiagram", i: int, t: int, limits: "Limits", confidence: bool) -> str:
    """Return what point t of model i says on hovering."""
    series = diagram.series[i]
    what = "observed" if diagram.kind.diagonal else "cumulative difference"
    y, low, high = (f"{each[t]:.4g}".replace("-", "−") for each in (series.y, *limits))
    p = pvalue(float(series.band.pvalues[t]), series.band.largest.size)
    lines = [
        *filter(None, [series.name]),
        f"predicted {series.predictions[t]:.3f}, {what} {y}",
        f"{diagram.band_name(confidence)}: {low} to {high}",
        f"adjusted {p}",
    ]
    return "\n".join(lines)


def _predictions(diagram: "CurveDiagram") -> tuple[tuple[float, str], ...]:
    """Return predictions for an axis above shares of the rows; models would differ in them."""
    series, *others = diagram.series
    if others:
        return ()
    ticks = np.linspace(0, 1, TICKS)
    at = np.searchsorted(series.x, ticks).clip(max=series.x.size - 1)
    texts = [f"{p:.2f}" for p in series.predictions[at]]
    return tuple(zip(ticks.tolist(), texts, strict=True))


def _curve_keys(diagram: "CurveDiagram", confidence: bool) -> Iterator[Key]:
    """Name the parts, in the order in which they are read."""
    alone = len(diagram.series) == 1
    if alone:
        yield Key(diagram.kind.name, "line", "curve")
    else:
        for i, series in enumerate(diagram.series):
            yield Key(series.name, "line", "curve", i)
    significant = picture.significant_name(diagram.alpha, "whole curve")
    yield Key(significant, "line", "curve off", None if alone else picture.ANY)
    if len(diagram.series) <= picture.FEW_MODELS:
        yield Key(diagram.band_name(confidence), "area", "band")
    if alone and diagram.series[0].density is not None:
        yield Key("share of predictions", "area", "bar")


def runs(marked: picture.Mask) -> list[tuple[int, int]]:
    """Return start and end of each run of neighbours that are marked.

    Examples
    --------
    >>> runs(np.array([True, True, False, True]))
    [(0, 2), (3, 4)]
    """
    steps = np.diff(np.concatenate(([0], marked.astype(int), [0])))
    starts, stops = (np.flatnonzero(steps == step).tolist() for step in (1, -1))
    return list(zip(starts, stops, strict=True))
