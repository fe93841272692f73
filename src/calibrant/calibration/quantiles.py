"""Bins of equal mass of rows that are read in batches: found digit by digit.

Probabilities are not negative, so their bits, read as whole numbers, are in their order. Each pass
counts the weight of numbers that begin with some digits of 16 bits. Only where a bin begins among
numbers with the same digits does another pass look at the next digit: two passes for 32 bits,
four for 64.
"""

from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from calibrant.lenses import Lens
from calibrant.partitions import EqualMass
from calibrant.partitions.equal_mass import FittedIntervals, bins_of
from calibrant.partitions.partition import Cells
from calibrant.predictions import Predictions
from calibrant.scanning import Batch, Reduction

Floats = NDArray[np.float64]
Words = NDArray[np.uint64]
State = tuple[int, Words, Floats]  # bits of a number; prefixes that occur, sorted; their weight

S = TypeVar("S")

DIGIT = 16  # bits


class Adds(Protocol):
    """Whoever adds up rows: a Scan, or a problem that sees some of its rows."""

    def add_up(self, reduction: Reduction[S]) -> S:
        """Add up all rows."""
        ...


@final
@dataclass(frozen=True, slots=True)
class Kept:
    """Cells that were fitted already, in place of a partition.

    Parameters
    ----------
    fitted : FittedIntervals or FittedTree
        The cells.
    name : str
        What partition they are of.
    """

    fitted: Any
    name: str

    @property
    def fixed(self) -> bool:
        """Whether equal predictions always share a cell: yes, by now."""
        return True

    def fit(self, data: Predictions) -> Any:  # noqa: ARG002
        """Return the cells, whatever the rows."""
        return self.fitted

    def locate(self, data: Predictions) -> tuple[Any, Cells]:
        """Return the cells and that of every row."""
        return self.fitted, self.fitted.assign(data.probs)

    def __str__(self) -> str:
        return self.name


@final
@dataclass(frozen=True, slots=True)
class DigitTally:
    """The weight of predictions of the event by the first digits of their bits.

    Parameters
    ----------
    lens : Lens
        What rows are seen through.
    digits : int
        How many digits are told apart.
    within : array of uint64, optional
        Only numbers whose digits before the last are among these; None for all.
    """

    lens: Lens
    digits: int
    within: Words | None = None

    def zero(self) -> State:
        """Return the weight of no rows."""
        return 0, np.empty(0, np.uint64), np.empty(0)

    def update(self, state: State, batch: Batch) -> State:
        """Add the rows of a batch; those of weight 0 are absent."""
        seen = self.lens(batch.data)
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

    def merge(self, a: State, b: State) -> State:
        """Return the weight of the rows of both."""
        words, where = np.unique(np.concatenate((a[1], b[1])), return_inverse=True)
        mass = np.bincount(where, np.concatenate((a[2], b[2])), words.size)
        return max(a[0], b[0]), words, mass.astype(np.float64)


def equal_masses(scan: Adds, lens: Lens, partition: EqualMass, event: int) -> Kept:
    """Return the bins of equal mass of scanned rows: those of the same rows in memory."""
    bits, words, mass = scan.add_up(DigitTally(lens, 1))
    digits = 1
    while digits * DIGIT < bits:
        open_words = words[_opened(mass, partition.k)]
        digits += 1
        _, inner, weight = scan.add_up(DigitTally(lens, digits, open_words))
        closed = ~np.isin(words, open_words)
        words = np.concatenate((words[closed] << np.uint64(DIGIT), inner))
        mass = np.concatenate((mass[closed], weight))
        order = np.argsort(words)
        words, mass = words[order], mass[order]
    bins = bins_of(mass, partition.k)
    lows = words[np.diff(bins, prepend=-1) > 0]
    kind: Any = np.uint32 if bits == 32 else np.uint64
    values = lows.astype(kind).view(np.float32 if bits == 32 else np.float64)
    return Kept(FittedIntervals(values, event), str(partition))


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
    before = np.concatenate(([-1.0], first[:-1]))
    return np.asarray(last != before)
