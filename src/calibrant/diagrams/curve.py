"""A curve over the predictions of two outcomes, with what chance does to it, as data."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from calibrant import tables
from calibrant.diagrams.along import FEW, curve_picture
from calibrant.diagrams.diagram import Diagram
from calibrant.diagrams.picture import UNIT, Floats, Mask, Picture, Range, band_name, corner
from calibrant.inference.replicates.problem import fields
from calibrant.words import percent, pvalue

if TYPE_CHECKING:
    from calibrant.diagrams.charts import Chart
    from calibrant.diagrams.static import Axes

Limits = tuple[Floats, Floats]

NOTES = 24  # places along a longer one, about, that say more
MOST = 0.995  # of the rows: if so many lie in a corner, that is drawn


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

    def ranked(self, least: float, most: float) -> Mask:
        """Return which points (points,) lie between these shares of the rows, by prediction."""
        before = np.cumsum(self.shares) / self.shares.sum()
        return np.asarray((before >= least) & (before - self.shares / self.shares.sum() < most))

    def within(self, shown: Range) -> "CurveSeries":
        """Return the part of the curve that lies in a corner of the unit square."""
        low, high = shown
        kept = (self.x >= low) & (self.x <= high) & (self.y >= low) & (self.y <= high)
        if kept.all():
            return self
        first, last = np.flatnonzero(kept)[[0, -1]].tolist()
        some = slice(first, last + 1)
        band = replace(
            self.band,
            pointwise=_cut(self.band.pointwise, some),
            whole=_cut(self.band.whole, some),
            pvalues=self.band.pvalues[some],
        )
        return replace(
            self,
            **{name: getattr(self, name)[some] for name in ("x", "y", "predictions", "shares")},
            band=band,
            confidence=None if self.confidence is None else _cut(self.confidence, some),
            gaps=tuple(gap - first for gap in self.gaps if first < gap <= last),
        )

    def noted(self, shown: Range) -> NDArray[np.intp]:
        """Return the points whose numbers are told: all of few, some along a longer curve."""
        if self.x.size <= FEW:
            return np.arange(self.x.size)
        chosen = np.searchsorted(self.x, np.linspace(*shown, NOTES + 1))
        return np.unique(chosen.clip(max=self.x.size - 1))

    def records(self, kind: Kind) -> list[dict[str, float]]:
        """Return the numbers of each point."""
        lower, upper = self.limits(kind)
        y = "observed" if kind.diagonal else "cumulative"
        columns = {"predicted": self.predictions, y: self.y, "lower": lower, "upper": upper}
        columns |= {"share": self.shares, "adjusted_pvalue": self.band.pvalues}
        rows = zip(*(column.tolist() for column in columns.values()), strict=True)
        return [dict(zip(columns, row, strict=True)) for row in rows]

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
    """A calibration curve of two outcomes, of one or more models.

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
        return curve_picture(self, confidence=confidence)

    @property
    def shown(self) -> Range:
        """The part of the unit interval that is drawn: a corner, if nearly all rows lie there."""
        if not self.kind.diagonal:
            return UNIT
        for least, most in ((0.0, MOST), (1 - MOST, 1.0)):
            held = [(series, series.ranked(least, most)) for series in self.series]
            found = corner(each[kept] for one, kept in held for each in (one.x, one.y))
            if found != UNIT:
                return found
        return UNIT

    def band_name(self, confidence: bool = False) -> str:
        """Return what the band is called that a picture shows."""
        level = self.series[0].band.level
        if confidence:
            return f"{percent(level)} confidence band (whole curve)"
        return band_name(level, "whole curve" if self.kind.whole else "each point")

    def records(self) -> list[dict[str, Any]]:
        """Return a record for each point of each model: the curve, its band and its p-value."""
        found = []
        for series in self.series:
            named = {} if len(self.series) == 1 else {"model": series.name}
            found += [named | record for record in series.records(self.kind)]
        return found

    def lines(self) -> tables.Lines:
        """Return header and lines of the table: of longer curves, points along the way."""
        y = (
            "observed"
            if self.kind.diagonal
            else self.kind.vertical.replace("\N{NO-BREAK SPACE}", " ")
        )
        header, lines = ["predicted", y, self.band_name(), "adjusted p"], []
        for series in self.series:
            records, name = series.records(self.kind), [series.name][len(self.series) == 1 :]
            for t in series.noted(self.shown).tolist():
                x, height, low, high, _, p = records[t].values()
                limits = f"{low:.3f} to {high:.3f}"
                lines.append([*name, f"{x:.3f}", f"{height:.3f}", limits, f"{p:.3g}"])
        return (header if len(self.series) == 1 else ["model", *header]), lines

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


def _cut(limits: Limits, some: slice) -> Limits:
    return limits[0][some], limits[1][some]
