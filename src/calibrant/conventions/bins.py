"""Bins as pieces of software draw them, and calibration errors on them: one family for all.

What differs between them are limits, the side on which a bin is closed, the precision, and how the
bins are put together.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from calibrant.calibration import Block, View
from calibrant.checks.parameters import whole
from calibrant.partitions.partition import Alike, Cells, Partition, points
from calibrant.predictions import Predictions
from calibrant.statistics.statistic import Evaluate, Floats, Statistic

Array = NDArray[Any]
Limits = tuple[Array, Array]  # where each bin begins and ends (bins,), in order
Draw = Callable[[Array, int], Limits]  # from predictions (n,) and a number of bins
Closed = Literal["left", "right"]

MOST = 100_000  # bins


@final
@dataclass(frozen=True, slots=True)
class FittedBins(Alike):
    """Bins that are drawn. A cell is all rows that lie in the same bins: usually in one."""

    limits: Limits
    bins: "Bins"
    coordinate: int  # which of the two outcomes is binned
    known: NDArray[np.int64]  # (cells, 2): a cell lies in the bins from the one to the other

    @property
    def n_cells(self) -> int:  # type: ignore[override]
        """Number of cells that hold rows."""
        return len(self.known)

    def assign(self, probs: Array) -> Cells:
        """Return the cell of each row of probs (n, 2); -1 for one that held no row."""
        spans = self.bins.spans(points(probs, 2)[:, self.coordinate], self.limits)
        place = {tuple(span): c for c, span in enumerate(self.known.tolist())}
        return np.array([place.get(tuple(span), -1) for span in spans.tolist()], np.int32)

    def members(self) -> Floats:
        """Return which cells lie in which bins: (bins, cells) of 0 and 1."""
        numbers = np.arange(self.limits[0].size)[:, None]
        return ((numbers >= self.known[:, 0]) & (numbers < self.known[:, 1])).astype(np.float64)


@final
@dataclass(frozen=True, slots=True)
class Bins(Partition):
    """Bins of the event's probability, with the limits that some software draws.

    A row may lie in no bin, or in two, where the limits leave a gap or overlap by rounding.

    Parameters
    ----------
    draw : callable
        Function of predictions (n,) and the number of bins that returns where each begins and ends.
    k : int
        Number of bins.
    closed : {"left", "right"}
        The side on which a bin includes its limit.
    precision : {"double", "single", "torch"}, default "double"
        What predictions are rounded to. "torch": single, but for the event of two classes, which
        keeps its type.
    clip : float, default 0
        How far predictions are kept from 0 and 1.
    """

    draw: Draw
    k: int
    closed: Closed
    precision: Literal["double", "single", "torch"] = "double"
    clip: float = 0.0

    fixed = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", whole("n_bins", self.k, least=1, most=MOST))

    def locate(self, data: Predictions) -> tuple[FittedBins, Cells]:
        """Draw the bins, and return the cell of every row."""
        assert data.event is not None
        values = self._values(data)
        limits = self.draw(values, self.k)
        known, cells = np.unique(self.spans(values, limits), axis=0, return_inverse=True)
        fitted = FittedBins(limits, self, data.event, known)
        return fitted, cells.reshape(-1).astype(np.int32)

    def _values(self, data: Predictions) -> Array:
        """Return the predictions as the software has them: (n,)."""
        assert data.event is not None
        values = data.probs[:, data.event]
        induced = data.event == 0
        if self.precision == "single" or (self.precision == "torch" and induced):
            values = values.astype(np.float32)
        return values.clip(self.clip, 1.0 - self.clip) if self.clip else values

    def spans(self, values: Array, limits: Limits) -> NDArray[np.int64]:
        """Return the first bin that each value lies in, and the one after the last: (n, 2)."""
        lows, highs = limits
        side: Closed = "right" if self.closed == "left" else "left"
        ended = np.searchsorted(highs, values, side)
        begun = np.searchsorted(lows, values, side)
        return np.stack((ended, np.maximum(ended, begun)), axis=1)

    def __str__(self) -> str:
        return f"{self.k} bins"


class BinSums(NamedTuple):
    """What the bins hold."""

    mass: Floats  # (bins, 1) rows, or their weight
    predicted: Floats  # (bins, 1) sum of predictions
    rest: Floats  # (bins, 1) sum of what they leave to the other outcome
    events: Floats  # (bins, size) in every replicate
    total: float  # all rows

    @property
    def gaps(self) -> Floats:
        """Frequency minus mean prediction (bins, size)."""
        return np.abs(self.events - self.predicted) / self.mass

    @property
    def shares(self) -> Floats:
        """Share of the rows in each bin (bins, 1)."""
        return self.mass / self.total


def mean(sums: BinSums) -> Floats:
    """Add up shares times deviations."""
    return np.asarray((sums.shares * sums.gaps).sum(axis=0))


def root_mean_square(sums: BinSums) -> Floats:
    """Add up shares times squares, and take the root."""
    return np.asarray(np.sqrt((sums.shares * sums.gaps**2).sum(axis=0)))


def largest(sums: BinSums) -> Floats:
    """Take the worst bin."""
    return np.asarray(sums.gaps.max(axis=0))


def mean_of_bins(sums: BinSums) -> Floats:
    """Take the mean of all bins that hold rows, each of them alike."""
    return np.asarray(sums.gaps.mean(axis=0))


def debiased(sums: BinSums) -> Floats:
    """Subtract the variance of each frequency, cut at 0, and take the root (Kumar et al., 2019)."""
    rates = sums.events / sums.mass
    fewer = np.maximum(sums.mass - 1.0, 1.0)
    terms = np.where(sums.mass >= 2.0, sums.gaps**2 - rates * (1.0 - rates) / fewer, 0.0)
    return np.asarray(np.sqrt(np.maximum((sums.shares * terms).sum(axis=0), 0.0)))


def hosmer_lemeshow(sums: BinSums) -> Floats:
    """Add up squared deviations over expectations, of events and of the rest.

    A group in which nothing else can happen adds nothing if that happens, else infinity.
    """
    off = (sums.events - sums.predicted) ** 2
    found = np.zeros(off.shape)
    for expected in (sums.predicted, sums.rest):
        possible = np.broadcast_to(expected > 0.0, off.shape)
        terms = np.where(off > 1e-20, np.inf, 0.0)
        found += np.divide(off, expected, out=terms, where=possible)
    return np.asarray(found.sum(axis=0))


@final
@dataclass(frozen=True, slots=True)
class BinnedError(Statistic):
    """A calibration error of two outcomes, on bins that some software draws.

    Parameters
    ----------
    partition : Bins
        The bins.
    combine : callable
        Turns what the bins hold that are not empty into a number for each replicate.
    """

    partition: Bins
    combine: Callable[[BinSums], Floats] = mean

    def prepare(self, view: View) -> Evaluate:
        """Sort the rows into bins."""
        check_two(self, view)
        cells = view.cells(self.partition)
        members = cells.fitted.members()
        held = members @ cells.mass > 0
        members = members[held]
        left = view.data.weights * (1.0 - view.data.probs[:, view.event].astype(np.float64))
        rest = np.bincount(cells.of_rows, left, cells.n_cells)
        mass, predicted, rest = (
            (members @ each)[:, None]
            for each in (cells.mass, cells.predictions[:, view.event], rest)
        )

        def evaluate(block: Block) -> Floats:
            events = members @ block.events(cells, 0, cells.n_cells)
            return self.combine(BinSums(mass, predicted, rest, events, cells.total))

        return evaluate

    def __str__(self) -> str:
        return f"{self.combine.__name__.replace('_', ' ')} on {self.partition}"


def check_two(statistic: Statistic, view: View) -> None:
    """Refuse a problem of more than two outcomes."""
    if view.event is None:
        raise ValueError(
            f"`{type(statistic).__name__}(…)` needs a problem with two outcomes; found {view.m}."
            " Look through a lens such as `TopLabel()` or `Marginal(…)`."
        )


def numpy_widths(values: Array, k: int) -> Limits:  # noqa: ARG001
    """Equal widths, at `np.linspace`; what lies beyond them belongs to the first or the last."""
    return _joined(np.linspace(0.0, 1.0, k + 1)[1:-1])


def quotient_widths(values: Array, k: int) -> Limits:  # noqa: ARG001
    """Equal widths, at i / k."""
    return _joined(np.arange(1, k) / k)


def stretched_widths(values: Array, k: int) -> Limits:  # noqa: ARG001
    """Equal widths of 0 to 1 + 1e-8."""
    return _joined(np.linspace(0.0, 1.0 + 1e-8, k + 1)[1:-1])


def torch_widths(values: Array, k: int) -> Limits:
    """Equal widths, at `torch.linspace`, and a bin of its own for 1."""
    edges = _torch_linspace(k, values.dtype)
    return edges, np.append(edges[1:], np.inf)


def open_widths(values: Array, k: int) -> Limits:
    """Equal widths, at `torch.linspace`; 0 lies in none of them."""
    edges = _torch_linspace(k, values.dtype)
    return edges[:-1], edges[1:]


def added_widths(values: Array, k: int) -> Limits:  # noqa: ARG001
    """Equal widths, whose ends are at `np.arange` and whose beginnings one width before."""
    width = 1 / k
    ends = np.arange(width, 1 + width, width)
    begins = ends - width
    return np.where(begins == 0.0, -np.inf, begins), ends


def pointed_widths(values: Array, k: int) -> Limits:  # noqa: ARG001
    """A bin for 0, and k - 1 equal widths."""
    return _upper(np.linspace(0.0, 1.0, k))


def percentiles(values: Array, k: int) -> Limits:
    """Between k + 1 percentiles."""
    return _joined(np.percentile(values, np.linspace(0, 1, k + 1) * 100)[1:-1])


def pointed_percentiles(values: Array, k: int) -> Limits:
    """A bin for the smallest prediction, and between k percentiles."""
    return _upper(np.percentile(values, np.linspace(0, 1, k) * 100))


def quantiles(values: Array, k: int) -> Limits:
    """Between k + 1 quantiles, each of them once."""
    return _joined(np.unique(np.quantile(values, np.linspace(0, 1, k + 1)))[1:-1])


def row_splits(values: Array, k: int) -> Limits:
    """At the largest prediction of each of k runs of rows, in the order of the rows."""
    ends = [part.max(initial=-np.inf) for part in np.array_split(values, k)[:-1]]
    return _upper(np.append(np.sort(np.array(ends, np.float64)), np.inf))


def midpoints(values: Array, k: int) -> Limits:
    """Between as many sorted rows each: half way from the last of a bin to the first of the next.

    Limits that are equal are one, so that equal predictions may leave fewer bins.
    """
    parts = np.array_split(np.sort(values), min(k, values.size))
    ends = [(a[-1] + b[0]) / values.dtype.type(2) for a, b in pairwise(parts)]
    return _upper(np.unique(np.append(np.array(ends, np.float64), 1.0)))


def _joined(inner: Array) -> Limits:
    """Return bins that meet at these limits and have no other."""
    return np.append(-np.inf, inner), np.append(inner, np.inf)


def _upper(ends: Array) -> Limits:
    """Return bins with these ends, each of which begins where the last one ends."""
    return np.append(-np.inf, ends[:-1]), ends


def _torch_linspace(k: int, dtype: Any) -> Array:
    """Return what `torch.linspace(0, 1, k + 1)` returns, which is not i / k.

    It counts multiples of the rounded step from both ends, and rounds once more.
    """
    step = Fraction(float(dtype.type(1) / dtype.type(k)))
    edges = [step * i if i < (k + 1) // 2 else 1 - step * (k - i) for i in range(k + 1)]
    return np.array([float(edge) for edge in edges]).astype(dtype)
