"""A curve over the predictions of two outcomes, with what chance does to it, as data.

`curve_picture` says what of it is drawn where.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, final

import numpy as np

from calibrant.diagrams import picture
from calibrant.diagrams.picture import Floats, Frame, Key, Lines, Marks, Part, Picture
from calibrant.diagrams.problems import named_sentences
from calibrant.words import capital, percent, pvalue

if TYPE_CHECKING:
    from calibrant.diagrams.charts import Chart
    from calibrant.diagrams.static import Axes

Limits = tuple[Floats, Floats]

FEW = 12  # points of a curve, each of which gets a mark
NOTES = 24  # places along a longer one, about, that say more on hovering
TICKS = 6  # predictions above a curve over the share of rows


@final
@dataclass(frozen=True, slots=True)
class Kind:
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
        return {
            "lower": self.pointwise[0].tolist(),
            "upper": self.pointwise[1].tolist(),
            "whole_lower": self.whole[0].tolist(),
            "whole_upper": self.whole[1].tolist(),
            "level": self.level,
            "adjusted_pvalues": self.pvalues.tolist(),
        }


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
    step: float | None = None  # between even points; where it is longer, there is a gap

    @property
    def pieces(self) -> list[slice]:
        """The parts of the curve between its gaps."""
        longest = np.inf if self.step is None else 1.5 * self.step
        starts = np.flatnonzero(np.diff(self.x, prepend=-np.inf) > longest).tolist() or [0]
        return [slice(a, b) for a, b in pairwise([*starts, self.x.size])]

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
        confidence = self.confidence
        return {
            "name": self.name,
            "x": self.x.tolist(),
            "y": self.y.tolist(),
            "predictions": self.predictions.tolist(),
            "shares": self.shares.tolist(),
            "pvalue": self.pvalue,
            **self.band.to_dict(),
            "histogram": None if self.density is None else self.density.tolist(),
            "confidence": None if confidence is None else [side.tolist() for side in confidence],
        }

    def __repr__(self) -> str:
        return f"CurveSeries(name={self.name[:60]!r}, points={self.x.size})"


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CurveDiagram:
    """A curve over the predictions of two outcomes, of one or more models.

    Parameters
    ----------
    kind : Kind
        What the curve shows.
    series : tuple of CurveSeries
        One for each model.
    classes : tuple of str (2,)
        Names of the outcomes.
    event : int
        Which of them the curve is about.
    settings : mapping
        What it was made with.
    subject : str, optional
        What the diagram is about, in words. Default: the name of its class.
    """

    kind: Kind
    series: tuple[CurveSeries, ...]
    classes: tuple[str, ...]
    event: int
    settings: Mapping[str, Any]
    subject: str | None = None

    @property
    def alpha(self) -> float:
        """Family-wise level at which a point counts as significant."""
        return float(self.settings["alpha"])

    def plot(self, ax: "Axes | None" = None, *, confidence: bool = False) -> "Axes":
        """Draw with matplotlib and return the Axes.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            A plain Axes to draw on. Default: that of a new figure.
        confidence : bool, default False
            Whether to draw the confidence band of the true curve, in place of where the curve of a
            calibrated model would be; for an isotonic curve.

        Returns
        -------
        matplotlib.axes.Axes
            The Axes that was drawn on.
        """
        from calibrant.diagrams import static  # noqa: PLC0415 (loads matplotlib)

        return static.draw(self._picture(confidence), ax)

    def figure(self, *, confidence: bool = False) -> "Chart":
        """Draw as SVG, with the option of `plot`, and return the `Chart`.

        It shows itself in a notebook, tells numbers on hovering, and saves .svg and .html.
        """
        from calibrant.diagrams.charts import chart  # noqa: PLC0415

        return chart(self._picture(confidence), self.sentence)

    def _picture(self, confidence: bool) -> Picture:
        if confidence and any(series.confidence is None for series in self.series):
            raise ValueError(
                "`confidence` needs an isotonic curve through a lens that keeps a row for a row;"
                f" this is a {self.kind.name} through the lens {self.settings['lens']}."
            )
        return curve_picture(self, confidence=confidence)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and texts."""
        return {
            "kind": self.kind.name,
            "classes": list(self.classes),
            "event": self.event,
            "alpha": self.alpha,
            "settings": dict(self.settings),
            "series": [series.to_dict() for series in self.series],
        }

    @property
    def sentence(self) -> str:
        """What the diagram shows."""
        return named_sentences((series.name, self._sentence(series)) for series in self.series)

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

    def __repr__(self) -> str:
        return f"<{self}>"


def curve_picture(diagram: CurveDiagram, *, confidence: bool = False) -> Picture:
    """Show the curve of each model on its band, what is significant in front.

    confidence : whether to show the confidence band, in place of the consistency band
    """
    kind, models = diagram.kind, range(len(diagram.series))
    limits = [series.limits(kind, confidence=confidence) for series in diagram.series]
    curves = chain(*(_band_and_curve(diagram, i, limits[i]) for i in models))
    told = [_places_told(diagram, i, limits[i], confidence) for i in models]
    prediction = picture.prediction_name(diagram.subject, diagram.classes[diagram.event])
    horizontal = kind.horizontal.format(prediction)
    frame = Frame(horizontal, kind.vertical, picture.SQUARE, picture.SQUARE, square=True)
    if not kind.diagonal:
        ends = [np.zeros(1), *chain(*limits), *(series.y for series in diagram.series)]
        above = _predictions(diagram)
        frame = Frame(
            horizontal, kind.vertical, picture.SQUARE, picture.with_margins(ends), above=above
        )
    return Picture(
        label=f"{capital(kind.vertical)}, over the {horizontal}.",
        parts=(picture.reference(float(kind.diagonal)), *curves, *told),
        keys=tuple(_curve_keys(diagram, confidence)),
        frame=frame,
        strip=picture.present(series.density for series in diagram.series),
    )


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
        bands.append(picture.Areas(np.concatenate((lower, upper[::-1]))[None], "band", model))
        curves.append(Lines(points[None], "curve", model))
        for start, stop in runs(off[piece]):
            curves.append(Lines(points[None, start:stop], "curve off", model))
    return [*bands, *curves]


def _places_told(diagram: CurveDiagram, i: int, limits: Limits, confidence: bool) -> Marks:
    """Return places that say their numbers on hovering: all of few points, which are marks too."""
    series = diagram.series[i]
    few = series.x.size <= FEW
    chosen = np.unique(np.searchsorted(series.x, np.linspace(0, 1, NOTES + 1)))
    told = np.arange(series.x.size) if few else chosen[chosen < series.x.size]
    what = "observed" if diagram.kind.diagonal else "cumulative difference"
    band = _band_name(diagram, confidence)
    notes = []
    for t in told.tolist():
        y, low, high = (f"{each[t]:.4g}".replace("-", "−") for each in (series.y, *limits))
        p = pvalue(float(series.band.pvalues[t]), series.band.largest.size)
        lines = [
            *filter(None, [series.name]),
            f"predicted {series.predictions[t]:.3f}, {what} {y}",
            f"{band}: {low} to {high}",
            f"adjusted {p}",
        ]
        notes.append("\n".join(lines))
    return Marks(
        at=np.stack((series.x[told], series.y[told]), axis=1),
        off=series.band.pvalues[told] <= diagram.alpha,
        notes=tuple(notes),
        sizes=np.full(told.size, 0.3 if few else 1.0),
        shapes=("circle",) * told.size,
        look="mark" if few else "spot",
        model=i if len(diagram.series) > 1 else None,
    )


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
