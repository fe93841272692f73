"""A curve over the predictions of two outcomes, with what chance does to it, as data."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from calibrant.diagrams import picture
from calibrant.diagrams.diagram import Diagram
from calibrant.diagrams.picture import Floats, Frame, Key, Lines, Marks, Part, Picture
from calibrant.inference.replicates.problem import fields
from calibrant.words import capital, percent, pvalue

if TYPE_CHECKING:
    from calibrant.diagrams.charts import Chart
    from calibrant.diagrams.static import Axes

Limits = tuple[Floats, Floats]

FEW = 12  # points of a curve, each of which gets a mark
NOTES = 24  # places along a longer one, about, that say more on hovering
BAR = 0.01  # half the width of the band of a point between gaps
TICKS = 6  # predictions above a curve over the share of rows


class Kind(NamedTuple):
    """What a curve shows."""

    name: str
    horizontal: str  # what the axes show; {} stands for the prediction of the event
    vertical: str
    diagonal: bool  # whether a calibrated model is on the diagonal, not at 0
    whole: bool  # whether the band holds for the whole curve at once, not for each point


ISOTONIC = Kind("isotonic curve (CORP)", "{}", "observed frequency", diagonal=True, whole=False)
SMOOTH = Kind("smooth curve", "{}", "observed frequency", diagonal=True, whole=False)
CUMULATIVE = Kind(
    "cumulative difference",
    "share of rows, by {}",
    "cumulative observed −\N{NO-BREAK SPACE}predicted",
    diagonal=False,
    whole=True,
)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Band:
    """What a curve would be if the model were calibrated."""

    pointwise: Limits  # (points,) each point by itself is between them with probability `level`
    whole: Limits  # (points,) and all points at once
    pvalues: Floats  # (points,) of each point, adjusted for all of them
    level: float  # of the limits
    farthest: float  # how far the point that is furthest off is off, in units of the band
    largest: Floats  # (n_resamples,) the same in each replicate

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        names = ("lower", "upper", "whole_lower", "whole_upper")
        limits = zip(names, (*self.pointwise, *self.whole), strict=True)
        found: dict[str, Any] = {name: limit.tolist() for name, limit in limits}
        return found | {"level": self.level, "adjusted_pvalues": self.pvalues.tolist()}


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CurveSeries:
    """The curve of one model."""

    name: str  # of the model; "" if it is the only one
    x: Floats  # (points,) the curve
    y: Floats
    predictions: Floats  # (points,) that they belong to; x, unless that is a share of the rows
    shares: Floats  # (points,) of the rows: about how much of them decides a point
    band: Band  # what the curve would be if the model were calibrated
    density: Floats | None = None  # (bins,) shares of predictions in even bins from 0 to 1
    confidence: Limits | None = None  # between which all of the true curve is, at the same level
    gaps: tuple[int, ...] = ()  # points that are not connected with the one before

    @property
    def pieces(self) -> list[slice]:
        """The parts of the curve between its gaps."""
        return [slice(a, b) for a, b in pairwise([0, *self.gaps, self.x.size])]

    @property
    def pvalue(self) -> float:
        """P-value of the whole curve: its point that is farthest off, among all of a replicate."""
        return float(self.band.pvalues.min())

    def limits(self, kind: Kind, *, confidence: bool = False) -> Limits:
        """Return the limits that a picture of this kind shows."""
        if confidence and self.confidence is not None:
            return self.confidence
        return self.band.whole if kind.whole else self.band.pointwise

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        return {
            **fields(self, "name", "x", "y", "predictions", "shares", "pvalue"),
            **self.band.to_dict(),
            "histogram": fields(self, "density")["density"],
            **fields(self, "confidence"),
        }

    def __repr__(self) -> str:
        return f"CurveSeries(name={self.name[:60]!r}, points={self.x.size})"


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CurveDiagram(Diagram):
    """A curve over the predictions of two outcomes, of one or more models.

    Parameters
    ----------
    kind : Kind
        What the curve shows.
    series : tuple of CurveSeries
        One for each model.
    classes, event, settings, subject
        As in `ReliabilityDiagram`, of two outcomes; without `partition`.
    """

    kind: Kind
    series: tuple[CurveSeries, ...]
    classes: tuple[str, ...]
    event: int
    settings: Mapping[str, Any]
    subject: str | None = None

    def plot(self, ax: "Axes | None" = None, *, confidence: bool = False) -> "Axes":
        """Draw with matplotlib and return the Axes.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            A plain Axes to draw on. Default: that of a new figure.
        confidence : bool, default False
            Whether to draw the confidence band of the true curve, in place of where the curve of a
            calibrated model would be; for an isotonic curve.
        """
        return self._plot(self.picture(confidence), ax)

    def figure(self, *, confidence: bool = False) -> "Chart":
        """Draw as SVG, with the option of `plot`: a `Chart` that shows and saves itself."""
        return self._figure(self.picture(confidence))

    def picture(self, confidence: bool = False) -> Picture:
        """Return what is drawn where, with the option of `plot`."""
        if confidence and any(series.confidence is None for series in self.series):
            raise ValueError(
                "`confidence` needs an isotonic curve through a lens that keeps a row for a row;"
                f" this is a {self.kind.name} through the lens {self.settings['lens']}."
            )
        kind, models = self.kind, range(len(self.series))
        limits = [series.limits(kind, confidence=confidence) for series in self.series]
        curves = chain(*(_band_and_curve(self, i, limits[i]) for i in models))
        told = chain(*(_places_told(self, i, limits[i], confidence) for i in models))
        frame = _frame(self, limits)
        return Picture(
            label=f"{capital(kind.vertical)}, over the {frame.horizontal}.",
            parts=(picture.reference(float(kind.diagonal)), *curves, *told),
            keys=tuple(_curve_keys(self, confidence)),
            frame=frame,
            strip=picture.present(series.density for series in self.series),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and texts."""
        found = fields(self, "classes", "event", "alpha", "settings", "series")
        return {"kind": self.kind.name, **found}

    @property
    def sentence(self) -> str:
        """What the diagram shows."""
        return self._of_models((series.name, self._sentence(series)) for series in self.series)

    def _sentence(self, series: CurveSeries) -> str:
        which = "The curve is" if series.pvalue <= self.alpha else "No part of the curve is"
        p = pvalue(series.pvalue, self.settings["n_resamples"])
        return f"{which} further off than chance allows: {p} for the whole curve."

    def __str__(self) -> str:
        found = [
            (f"{series.name}: " if series.name else "")
            + pvalue(series.pvalue, series.band.largest.size, " ")
            for series in self.series
        ]
        return f"{self.kind.name}, " + ", ".join(found) + " for the whole curve"


def _frame(diagram: CurveDiagram, limits: list[Limits]) -> Frame:
    """Return the axes: of a square with its diagonal, or of what the curves and limits need."""
    kind = diagram.kind
    prediction = picture.prediction_name(diagram.subject, diagram.classes[diagram.event])
    horizontal = kind.horizontal.format(prediction)
    if kind.diagonal:
        return Frame(horizontal, kind.vertical, picture.SQUARE, picture.SQUARE, square=True)
    ends = [np.zeros(1), *chain(*limits), *(series.y for series in diagram.series)]
    extent, above = picture.with_margins(ends), _predictions(diagram)
    return Frame(horizontal, kind.vertical, picture.SQUARE, extent, above=above)


def _band_and_curve(diagram: CurveDiagram, i: int, limits: Limits) -> list[Part]:
    """Return the band and the curve of model i between its gaps, and what of it is off."""
    series = diagram.series[i]
    model = None if len(diagram.series) == 1 else i
    off = series.band.pvalues <= diagram.alpha
    bands: list[Part] = []
    curves: list[Part] = []
    for piece in series.pieces:
        x = series.x[piece]
        lower, upper, points = (np.stack((x, each[piece]), axis=1) for each in (*limits, series.y))
        around = np.concatenate((lower, upper[::-1]))
        if x.size == 1:  # a bar
            around = (
                np.repeat(around, 2, axis=0) + np.array([(-BAR, 0), (BAR, 0)] * 2)[[0, 1, 3, 2]]
            )
        bands.append(picture.Areas(around[None], "band", model))
        curves.append(Lines(points[None], "curve", model))
        for start, stop in runs(off[piece]):
            curves.append(Lines(points[None, start:stop], "curve off", model))
    return [*bands, *curves]


def _places_told(
    diagram: CurveDiagram, i: int, limits: Limits, confidence: bool
) -> Iterator[Marks]:
    """Yield places that say their numbers on hovering.

    Points of a curve of few, and points between gaps, are marks too.
    """
    series = diagram.series[i]
    few = np.arange(series.x.size)
    if series.x.size > FEW:
        few = np.array([one.start for one in series.pieces if one.stop - one.start == 1], np.int64)
    chosen = np.searchsorted(series.x, np.linspace(0, 1, NOTES + 1))
    others = np.setdiff1d(chosen.clip(max=series.x.size - 1), few)
    for told, look, size in ((few, "mark", 0.3), (others, "spot", 1.0)):
        if told.size:
            yield Marks(
                at=np.stack((series.x[told], series.y[told]), axis=1),
                off=series.band.pvalues[told] <= diagram.alpha,
                notes=tuple(_note(diagram, i, t, limits, confidence) for t in told.tolist()),
                sizes=np.full(told.size, size),
                shapes=("circle",) * told.size,
                look=look,
                model=i if len(diagram.series) > 1 else None,
            )


def _note(diagram: CurveDiagram, i: int, t: int, limits: Limits, confidence: bool) -> str:
    """Return what point t of model i says on hovering."""
    series = diagram.series[i]
    what = "observed" if diagram.kind.diagonal else "cumulative difference"
    y, low, high = (f"{each[t]:.4g}".replace("-", "−") for each in (series.y, *limits))
    p = pvalue(float(series.band.pvalues[t]), series.band.largest.size)
    lines = [
        *filter(None, [series.name]),
        f"predicted {series.predictions[t]:.3f}, {what} {y}",
        f"{_band_name(diagram, confidence)}: {low} to {high}",
        f"adjusted {p}",
    ]
    return "\n".join(lines)


def _predictions(diagram: CurveDiagram) -> tuple[tuple[float, str], ...]:
    """Return predictions for an axis above shares of the rows; models would differ in them."""
    series, *others = diagram.series
    if others:
        return ()
    ticks = np.linspace(0, 1, TICKS)
    at = np.searchsorted(series.x, ticks).clip(max=series.x.size - 1)
    told = [f"{p:.2f}" for p in series.predictions[at]]
    return tuple(zip(ticks.tolist(), told, strict=True))


def _band_name(diagram: CurveDiagram, confidence: bool) -> str:
    level = diagram.series[0].band.level
    if confidence:
        return f"{percent(level)} confidence band (whole curve)"
    return f"{picture.band_name(level)} ({'whole curve' if diagram.kind.whole else 'each point'})"


def _curve_keys(diagram: CurveDiagram, confidence: bool) -> Iterator[Key]:
    """Name the parts, in the order in which they are read."""
    alone = len(diagram.series) == 1
    if alone:
        yield Key(diagram.kind.name, "line", "curve")
    else:
        for i, series in enumerate(diagram.series):
            yield Key(series.name, "line", "curve", i)
    significant = picture.significant_name(diagram.alpha, "whole curve")
    yield Key(significant, "line", "curve off", None if alone else picture.ANY)
    yield Key(_band_name(diagram, confidence), "area", "band")
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
