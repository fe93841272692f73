"""Bins with equally many predictions."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant.checks.parameters import whole
from calibrant.partitions.partition import Alike, Cells, Fitted, Partition, points
from calibrant.predictions import Predictions
from calibrant.rows import Batch

Floats = NDArray[np.float64]
Words = NDArray[np.uint64]
# Bits of a number; prefixes that occur, sorted; their weight.
DigitState = tuple[int, Words, Floats]

DIGIT = 16  # bits


@final
@dataclass(frozen=True, slots=True)
class EqualMass(Partition):
    """Quantile bins of a binary problem: k bins with n/k predictions each, or nearly.

    With the predictions sorted, value v is in bin ⌊k (W(v) + w(v)/2) / W⌋, where W(v) is the
    weight below v, w(v) the weight at v and W all of it. So equal values stay together, and
    there are fewer than k bins where a value is heavy.

    Parameters
    ----------
    k : int
        Number of bins.

    Examples
    --------
    >>> data = Predictions([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0, 0, 1, 0, 1, 1])
    >>> EqualMass(3).fit(data).assign(data.probs).tolist()
    [0, 0, 1, 1, 2, 2]
    """

    k: int

    fixed = False  # the bins follow the data

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", whole("k", self.k, least=1))

    def fit(self, data: Predictions) -> "FittedIntervals":
        event = _event(data)
        present = data.weights > 0
        values, where = np.unique(data.probs[present, event], return_inverse=True)
        mass = np.bincount(where, data.weights[present])
        return FittedIntervals(values[_begins(mass, self.k)], event)

    def locate(self, data: Predictions) -> tuple["FittedIntervals", Cells]:
        fitted = self.fit(data)
        return fitted, fitted.assign(data.probs)

    def fitting(self, seen: Any, unit: float) -> Generator[Any, Any, Fitted]:  # noqa: ARG002
        """Find the bins of rows that are elsewhere, digit by digit: those of the rows in memory.

        Each pass counts the weight of numbers that begin with some digits. Only where a bin begins
        among numbers with the same digits does another pass look at the next digit: two passes for
        32 bits, four for 64.
        """
        event = _event(seen)
        bits, words, mass = yield DigitWeights(1)
        digits = 1
        while digits * DIGIT < bits:
            open_words = words[_opened(mass, self.k)]
            digits += 1
            _, inner, weight = yield DigitWeights(digits, open_words)
            closed = ~np.isin(words, open_words)
            words = np.concatenate((words[closed] << np.uint64(DIGIT), inner))
            mass = np.concatenate((mass[closed], weight))
            order = np.argsort(words)
            words, mass = words[order], mass[order]
        lows = words[_begins(mass, self.k)]
        values = lows.astype(np.uint32).view(np.float32) if bits == 32 else lows.view(np.float64)
        return Fitted(FittedIntervals(values, event), str(self))

    def __str__(self) -> str:
        return f"{self.k} equal masses"


def _event(data: Any) -> int:
    """Return the outcome that is binned, or refuse more than two."""
    if data.event is None:
        raise ValueError(
            f"`EqualMass(…)` needs a problem with two outcomes; found {data.m}. Look through a"
            " lens such as `TopLabel()` or `Marginal(…)`, or use `VarianceTree()`."
        )
    return int(data.event)


def _begins(mass: NDArray[Any], k: int) -> NDArray[np.bool_]:
    """Return which of some sorted values with this weight are the first of a bin: (values,)."""
    middle = np.cumsum(mass) - 0.5 * mass
    reached = k * middle / mass.sum() + 1e-9  # sums of weights are rounded
    return np.asarray(np.diff(np.floor(reached).clip(max=k - 1), prepend=-1) > 0)


@final
@dataclass(frozen=True, slots=True)
class FittedIntervals(Alike):
    """Bins [low_0, low_1), …, [low_last, 1]; what is below low_0 belongs to the first."""

    lows: NDArray[Any]  # (cells,) the smallest value of each bin
    coordinate: int  # which of the two outcomes is binned

    @property
    def n_cells(self) -> int:  # type: ignore[override]
        return int(self.lows.size)

    def assign(self, probs: NDArray[Any]) -> Cells:
        values = points(probs, 2)[:, self.coordinate]
        bins = np.searchsorted(self.lows, values, side="right") - 1
        return bins.clip(min=0).astype(np.int32)


@final
@dataclass(frozen=True, slots=True)
class DigitWeights:
    """The weight of predictions of the event by the first digits of their bits.

    Probabilities are not negative, so their bits, read as whole numbers, are in their order.
    """

    digits: int  # of 16 bits, that are told apart
    within: Words | None = None  # only numbers whose digits before the last are among these

    def zero(self) -> DigitState:
        return 0, np.empty(0, np.uint64), np.empty(0)

    def add(self, state: DigitState, batch: Batch) -> DigitState:
        """Add the rows of a batch; those of weight 0 are absent."""
        seen = batch.seen
        values = seen.probs[:, seen.event] + seen.probs.dtype.type(0)  # no zero with a sign
        bits = values.itemsize * 8
        words = values.view(np.uint32 if bits == 32 else np.uint64).astype(np.uint64)
        words >>= np.uint64(bits - DIGIT * self.digits)
        kept = seen.weights > 0
        if self.within is not None:
            kept = kept & np.isin(words >> np.uint64(DIGIT), self.within)
        found, where = np.unique(words[kept], return_inverse=True)
        mass = np.bincount(where, seen.weights[kept], found.size).astype(np.float64)
        return self.merge(state, (bits, found, mass))

    def merge(self, a: DigitState, b: DigitState) -> DigitState:
        words, where = np.unique(np.concatenate((a[1], b[1])), return_inverse=True)
        mass = np.bincount(where, np.concatenate((a[2], b[2])), words.size)
        return max(a[0], b[0]), words, mass.astype(np.float64)


def _opened(mass: Floats, k: int) -> NDArray[np.bool_]:
    """Return the groups of numbers among which a bin may begin.

    The bins of a group are between that of a number with nothing below it in the group, and that
    of one with all of it below. If the last bin of a group is the first of the group before, none
    begins in it.
    """
    above = np.cumsum(mass)
    total = above[-1]
    first = np.floor(k * (above - mass) / total + 1e-9).clip(max=k - 1)
    last = np.floor(k * above / total + 1e-9).clip(max=k - 1)
    return np.asarray(last != np.append(-1.0, first[:-1]))
