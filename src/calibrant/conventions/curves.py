"""Deviations from a smooth curve, as val.prob and relplot draw it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from calibrant.calibration import Block, View
from calibrant.conventions.bins import check_two
from calibrant.statistics.statistic import Evaluate, Floats, Statistic, Ties

SPAN = 2 / 3  # of the rows that a local line is fitted to
SKIP = 0.01  # of the range, within which no other line is fitted
LAID_OUT = 1 << 22  # numbers that are laid out at a time


@final
@dataclass(frozen=True, slots=True)
class LowessError(Statistic):
    r"""How far predictions are from a lowess curve of the outcomes: |p - lowess(p)|.

    The curve of R's ``lowess(p, y, iter = 0)`` (Cleveland, 1979): local lines with tricube weights
    over two thirds of the rows, fitted at predictions that are at least a hundredth of their range
    apart, and straight in between. It is linear in the outcomes, so weights are worked out once.

    Parameters
    ----------
    quantile : float or None
        Of the deviations of the rows: 0.5, 0.9, or 1 for the largest. None for their mean.
    """

    quantile: float | None = None

    def prepare(self, view: View) -> Evaluate:
        """Work out the weights of the curve."""
        check_two(self, view)
        ties = Ties.of(self, view)
        curve = Lowess.of(ties.values.astype(np.float64), ties.mass)
        rows = np.repeat(np.arange(ties.values.size), ties.mass.astype(np.int64))

        def evaluate(block: Block) -> Floats:
            fits = np.zeros((curve.at.size, block.size))
            for part, events in ties.events(block):
                fits += curve.weights[:, part] @ events
            step = max(1, LAID_OUT // rows.size)
            found = [self._of(ties, curve, some, rows) for some in _columns(fits, step)]
            return np.concatenate(found)

        return evaluate

    def _of(self, ties: Ties, curve: "Lowess", fits: Floats, rows: Any) -> Floats:
        """Return the mean or quantile of the deviations, for fits (anchors, size)."""
        off = np.abs(curve.interpolated(fits) - ties.values[:, None])
        if self.quantile is None:
            return np.asarray(ties.mass @ off / ties.total)
        return np.asarray(np.quantile(off[rows], self.quantile, axis=0))

    def __str__(self) -> str:
        name = "mean" if self.quantile is None else f"quantile {self.quantile:g} of"
        return f"{name} |p - lowess(p)|"


def _columns(values: Floats, step: int) -> Iterator[Floats]:
    for start in range(0, values.shape[1], step):
        yield values[:, start : start + step]


class Lowess(NamedTuple):
    """Local lines at some of the different predictions."""

    values: Floats  # (values,) different predictions, in order
    at: Floats  # (anchors,) those that lines are fitted at
    weights: Floats  # (anchors, values): the fit is the sum of weights times events

    @classmethod
    def of(cls, values: Floats, mass: Floats) -> "Lowess":
        """Find anchors, and the weights of the local line at each."""
        upto, total = np.cumsum(mass), float(mass.sum())
        near = max(2, min(int(total), int(SPAN * total + 1e-7)))
        reach = float(values[-1] - values[0])
        places = _anchors(values, SKIP * reach)
        weights = np.empty((len(places), values.size))
        for line, at in zip(weights, values[places].tolist(), strict=True):
            width = _width(values, upto, at, near)
            line[:] = _local_line(values, mass, at, width, reach)
        return cls(values, values[places], weights)

    def interpolated(self, fits: Floats) -> Floats:
        """Return the curve at every value (values, size) from fits at the anchors."""
        right = np.searchsorted(self.at, self.values).clip(1, max(1, self.at.size - 1))
        if self.at.size == 1:
            return np.broadcast_to(fits, (self.values.size, fits.shape[1]))
        low, high = self.at[right - 1], self.at[right]
        share = ((self.values - low) / (high - low))[:, None]
        return np.asarray((1.0 - share) * fits[right - 1] + share * fits[right])


def _width(values: Floats, upto: Floats, at: float, near: int) -> float:
    """Return how far the nearest rows reach, so many of them: those from some row on.

    upto : (values,) number of rows, or their weight, up to each value
    """

    def row(place: int) -> float:
        found = int(np.searchsorted(upto, place, "right"))
        return float(values[min(found, values.size - 1)])

    low, high = 0, max(0, int(upto[-1]) - near)  # which row is the first
    while low < high:
        middle = (low + high) // 2
        if at - row(middle) > row(middle + near) - at:
            low = middle + 1
        else:
            high = middle
    return max(at - row(low), row(low + near - 1) - at)


def _anchors(values: Floats, skip: float) -> list[int]:
    """Return which values get a line: the next one, or the last within `skip` of the one before."""
    places = [0]
    while places[-1] < values.size - 1:
        last = places[-1]
        beyond = int(np.searchsorted(values, values[last] + skip, "right"))
        places.append(max(last + 1, beyond - 1))
    return places


def _local_line(values: Floats, mass: Floats, at: float, width: float, reach: float) -> Floats:
    """Return the weights of the line that is fitted at a value, of events at all values."""
    far = np.abs(values - at)
    with np.errstate(divide="ignore", invalid="ignore"):
        tricube = (1.0 - (far / width) ** 3) ** 3
    found = np.where(far <= 0.001 * width, 1.0, np.where(far <= 0.999 * width, tricube, 0.0))
    found /= mass @ found
    if width > 0.0:
        centre = float((mass * found) @ values)
        square = float((mass * found) @ (values - centre) ** 2)
        if np.sqrt(square) > 0.001 * reach:
            found *= 1.0 + (at - centre) / square * (values - centre)
    return found


@final
@dataclass(frozen=True, slots=True)
class GridSmooth(Statistic):
    """SmoothECE as relplot computes it: on a grid, with a width of a multiple of 1/1024.

    `statistics.SmoothMiscalibration` computes what the definition says. The last point of the grid
    is not mirrored here, so mass at 0 and 1 is lost.
    """

    def prepare(self, view: View) -> Evaluate:
        """Sort the rows by their predictions."""
        check_two(self, view)
        ties = Ties.of(self, view)

        def evaluate(block: Block) -> Floats:
            residuals = np.empty((block.size, ties.values.size))
            for part, events in ties.events(block):
                residuals[:, part] = (ties.predicted[part, None] - events).T
            values = ties.values.astype(np.float64)
            return _searched(lambda width: _Smoothing.of(values, ties.mass, width), residuals)

        return evaluate

    def __str__(self) -> str:
        return "SmoothECE on a grid"


class _Smoothing(NamedTuple):
    """How residuals are smoothed with a Gaussian of one width."""

    values: Floats
    grid: int  # points that residuals are rounded to
    kernel: Floats
    at: Floats  # points at which the curve is looked at
    density: Floats  # at these points

    @classmethod
    def of(cls, values: Floats, mass: Floats, width: float) -> "_Smoothing":
        grid = max(2000, round(20 / width)) // 2 + 1
        t = np.linspace(0, 1, grid)
        kernel = np.exp(-((t - 0.5) ** 2) / (2 * width**2)) / (np.sqrt(2 * np.pi) * width)
        at = np.linspace(0, 1, max(round(10 / width), 200))
        plain = cls(values, grid, kernel, at, np.empty(0))
        return plain._replace(density=plain.smoothed(mass[None])[0] + 0.0001)

    def smoothed(self, terms: Floats) -> Floats:
        """Smooth terms (size, values) and look at them: (size, points)."""
        from scipy.signal import fftconvolve  # noqa: PLC0415

        place = self.values * (self.grid - 1)
        low = place.astype(int).clip(0, self.grid - 2)
        share = place - low
        rounded = np.zeros((terms.shape[0], self.grid))
        for row, line in zip(rounded, terms, strict=True):
            row[:] = np.bincount(low, (1 - share) * line, self.grid)
            row[:] += np.bincount(low + 1, share * line, self.grid)
        mirrored = np.flip(rounded, axis=1)
        wide = np.concatenate((mirrored[:, :-1], rounded, mirrored[:, 1:]), axis=1)
        found = fftconvolve(wide, self.kernel[None], "valid", axes=1)
        found = found[:, self.grid // 2 : self.grid // 2 + self.grid]
        left = (self.at * (self.grid - 1)).astype(int).clip(0, self.grid - 2)
        gap = 1 / (self.grid - 1)
        inner = (self.at - left * gap) / gap
        return np.asarray(found[:, left] * (1 - inner) + found[:, left + 1] * inner)

    def errors(self, residuals: Floats) -> Floats:
        """Return the weighted mean deviation of each data set (size,)."""
        step = max(1, LAID_OUT // (4 * self.grid))
        found = [
            np.abs(self.smoothed(residuals[start : start + step])).sum(axis=1)
            for start in range(0, len(residuals), step)
        ]
        return np.asarray(np.concatenate(found) / self.density.sum())


def _searched(of_width: Callable[[float], _Smoothing], residuals: Floats) -> Floats:
    """Bisect for the width of each data set ten times; those of one width are smoothed together."""
    size = len(residuals)
    smoothings: dict[float, _Smoothing] = {}

    def errors(rows: Any, width: float) -> Floats:
        if width not in smoothings:
            smoothings[width] = of_width(width)
        return smoothings[width].errors(residuals[rows])

    low, high = np.zeros(size), np.ones(size)
    for _ in range(10):
        middle = (low + high) / 2
        for width in np.unique(middle).tolist():
            rows = np.flatnonzero(middle == width)
            wider = np.full(rows.size, True) if width < 0.001 else errors(rows, width) > width
            low[rows[wider]], high[rows[~wider]] = width, width
    found = np.empty(size)
    for width in np.unique(high).tolist():
        rows = np.flatnonzero(high == width)
        found[rows] = errors(rows, width)
    return found
