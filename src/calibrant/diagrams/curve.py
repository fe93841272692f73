"""A curve over the predictions of two outcomes, with what chance does to it, as data."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant.diagrams.problems import named_sentences
from calibrant.words import pvalue

if TYPE_CHECKING:
    from calibrant.diagrams.charts import Chart
    from calibrant.diagrams.pictures import Picture
    from calibrant.diagrams.static import Axes

Floats = NDArray[np.float64]
Limits = tuple[Floats, Floats]


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
    """What a curve would be if the model were calibrated.

    Parameters
    ----------
    pointwise : pair of arrays of shape (points,)
        Limits between which each point, taken by itself, is with probability `level` or more.
    whole : pair of arrays of shape (points,)
        Limits between which all points are at once with probability `level` or more.
    pvalues : array of shape (points,)
        P-value of each point, adjusted for all of them.
    level : float
        Of the limits.
    farthest : float
        How far the point that is furthest off is off, in units of the band.
    largest : array of shape (n_resamples,)
        The same in each replicate.
    """

    pointwise: Limits
    whole: Limits
    pvalues: Floats
    level: float
    farthest: float
    largest: Floats

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
    """The curve of one model.

    Parameters
    ----------
    name : str
        Name of the model; "" if it is the only one.
    x, y : array of shape (points,)
        The curve.
    predictions : array of shape (points,)
        The prediction that each point belongs to; x, unless that is a share of the rows.
    shares : array of shape (points,)
        About what share of the rows decides a point.
    band : Band
        What the curve would be if the model were calibrated.
    density : array of shape (bins,) or None
        How the predictions are distributed, over even bins from 0 to 1; each is a share.
    confidence : pair of arrays of shape (points,) or None
        Limits between which the true curve is, all of it, with probability `level` or more.
    step : float or None
        Distance of neighbouring points, if they are even; where it is longer, there is a gap.
    """

    name: str
    x: Floats
    y: Floats
    predictions: Floats
    shares: Floats
    band: Band
    density: Floats | None = None
    confidence: Limits | None = None
    step: float | None = None

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

    def _picture(self, confidence: bool) -> "Picture":
        from calibrant.diagrams.pictures import curve_picture  # noqa: PLC0415

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
