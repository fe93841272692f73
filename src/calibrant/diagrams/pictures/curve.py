"""A curve over the predictions of two outcomes, on its band."""

from typing import TYPE_CHECKING

import numpy as np

from calibrant.diagrams.pictures.bins import band_name, prediction_name, significant_name
from calibrant.diagrams.pictures.picture import (
    SQUARE,
    Areas,
    Floats,
    Frame,
    Key,
    Lines,
    Marks,
    Mask,
    Part,
    Picture,
    with_margins,
)
from calibrant.words import capital, percent, pvalue

if TYPE_CHECKING:
    from calibrant.diagrams.curve import CurveDiagram, CurveSeries

FEW = 12  # points of a curve, each of which gets a mark
NOTES = 24  # places along a longer one, about, that say more on hovering
TICKS = 6  # predictions above a curve over the share of rows


def curve_picture(diagram: "CurveDiagram", *, confidence: bool = False) -> Picture:
    """Show the curve of each model on its band, what is significant in front.

    confidence : whether to show the confidence band, in place of the consistency band
    """
    square = diagram.kind.diagonal
    limits = [_limits(diagram, series, confidence) for series in diagram.series]
    parts: list[Part] = [Lines(np.array([[[0.0, 0.0], [1.0, float(square)]]]), "zero")]
    for i in range(len(diagram.series)):
        parts += _band_and_curve(diagram, i, limits[i])
        parts.append(_marks(diagram, i, confidence))
    extent = SQUARE
    if not square:
        ends = [end for series, both in zip(diagram.series, limits, strict=True) for end in both]
        extent = with_margins([np.zeros(1), *ends, *(series.y for series in diagram.series)])
    horizontal = diagram.kind.horizontal.format(prediction_name(diagram))
    return Picture(
        label=f"{capital(diagram.kind.vertical)}, over the {horizontal}.",
        parts=tuple(parts),
        keys=tuple(_keys(diagram, confidence)),
        frame=Frame(
            horizontal,
            diagram.kind.vertical,
            SQUARE,
            extent,
            square=square,
            above=() if square or len(diagram.series) > 1 else _predictions(diagram.series[0]),
        ),
        strip=tuple(series.density for series in diagram.series if series.density is not None),
    )


def _limits(
    diagram: "CurveDiagram", series: "CurveSeries", confidence: bool
) -> tuple[Floats, Floats]:
    if confidence:
        assert series.confidence is not None
        return series.confidence
    return series.limits(diagram.kind)


def _band_and_curve(diagram: "CurveDiagram", i: int, limits: tuple[Floats, Floats]) -> list[Part]:
    """Return the band and the curve of model i between its gaps, and what of it is off."""
    series = diagram.series[i]
    model = None if len(diagram.series) == 1 else i
    off = series.band.pvalues <= diagram.alpha
    bands: list[Part] = []
    curves: list[Part] = []
    for piece in series.pieces:
        x = series.x[piece]
        lower, upper, points = (np.stack((x, each[piece]), axis=1) for each in (*limits, series.y))
        bands.append(Areas(np.concatenate((lower, upper[::-1]))[None], "band", model))
        curves.append(Lines(points[None], "curve", model))
        for start, stop in _runs(off[piece]):
            curves.append(Lines(points[None, start:stop], "curve off", model))
    return [*bands, *curves]


def _runs(marked: Mask) -> list[tuple[int, int]]:
    """Return start and end of each run of neighbours that are marked.

    Examples
    --------
    >>> _runs(np.array([True, True, False, True]))
    [(0, 2), (3, 4)]
    """
    steps = np.diff(np.concatenate(([0], marked.astype(int), [0])))
    starts, stops = (np.flatnonzero(steps == step).tolist() for step in (1, -1))
    return list(zip(starts, stops, strict=True))


def _marks(diagram: "CurveDiagram", i: int, confidence: bool) -> Marks:
    """Return places that say their numbers on hovering: all of few points, which are marks too."""
    series = diagram.series[i]
    few = series.x.size <= FEW
    chosen = np.unique(np.searchsorted(series.x, np.linspace(0, 1, NOTES + 1)))
    told = np.arange(series.x.size) if few else chosen[chosen < series.x.size]
    lower, upper = _limits(diagram, series, confidence)
    what = "observed" if diagram.kind.diagonal else "cumulative difference"
    band = _band_name(diagram, confidence)
    notes = []
    for t in told.tolist():
        lines = [
            f"predicted {series.predictions[t]:.3f}, {what} {series.y[t]:.4g}",
            f"{band}: {lower[t]:.4g} to {upper[t]:.4g}",
            f"adjusted {pvalue(float(series.band.pvalues[t]), series.band.largest.size)}",
        ]
        notes.append("\n".join([*filter(None, [series.name]), *lines]).replace(" -", " −"))
    return Marks(
        at=np.stack((series.x[told], series.y[told]), axis=1),
        off=series.band.pvalues[told] <= diagram.alpha,
        notes=tuple(notes),
        sizes=np.full(told.size, 0.3 if few else 1.0),
        shapes=("circle",) * told.size,
        look="mark" if few else "spot",
        model=i if len(diagram.series) > 1 else None,
    )


def _predictions(series: "CurveSeries") -> tuple[tuple[float, str], ...]:
    """Return predictions for an axis above shares of the rows."""
    ticks = np.linspace(0, 1, TICKS)
    at = np.searchsorted(series.x, ticks).clip(max=series.x.size - 1)
    told = [f"{p:.2f}" for p in series.predictions[at]]
    return tuple(zip(ticks.tolist(), told, strict=True))


def _band_name(diagram: "CurveDiagram", confidence: bool) -> str:
    level = diagram.series[0].band.level
    if confidence:
        return f"{percent(level)} confidence band (whole curve)"
    return f"{band_name(level)} ({'whole curve' if diagram.kind.whole else 'each point'})"


def _keys(diagram: "CurveDiagram", confidence: bool) -> list[Key]:
    """Name the parts, in the order in which they are read."""
    if len(diagram.series) == 1:
        keys = [Key(diagram.kind.name, "line", "curve")]
    else:
        keys = [Key(series.name, "line", "curve", i) for i, series in enumerate(diagram.series)]
    keys.append(Key(significant_name(diagram.alpha, "whole curve"), "line", "curve off"))
    keys.append(Key(_band_name(diagram, confidence), "area", "band"))
    if len(diagram.series) == 1 and diagram.series[0].density is not None:
        keys.append(Key("share of predictions", "area", "bar"))
    return keys
