"""Whether row numbers are unique, from a sample of them that does not depend on their order."""

from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from calibrant.rows.rows import Batch

Words = NDArray[np.uint64]

KEPT = 4096  # numbers of the sample: if 1 in 200 stands twice, the chance to miss it is 1e-9
NONE = np.iinfo(np.uint64).max


class Sample(NamedTuple):
    """The numbers whose hashes are smallest, and one that stood twice.

    Every copy of such a number is in the sample of the rows that it is among. So it is seen to
    stand twice however rows are cut and merged.
    """

    hashes: Words  # sorted, at most KEPT
    twice: np.uint64 = np.uint64(NONE)  # the smallest hash of a number that stood twice

    def check(self) -> None:
        """Refuse numbers of which one in the sample stood twice."""
        if self.twice < NONE and self.twice <= self.hashes[-1]:
            raise ValueError(f"`row` must be unique; {_number(self.twice)} stands more than once.")


@final
@dataclass(frozen=True, slots=True)
class RowNumbers:
    """A sample of the numbers of rows."""

    def zero(self) -> Sample:
        """Return the sample of no rows."""
        return Sample(np.empty(0, np.uint64))

    def add(self, state: Sample, batch: Batch) -> Sample:
        """Look at the numbers of a batch, which differ among themselves."""
        assert batch.numbers is not None
        hashes = _hash(batch.numbers)
        if state.hashes.size == KEPT:
            hashes = hashes[hashes <= state.hashes[-1]]
        return self.merge(state, Sample(np.sort(hashes)[:KEPT]))

    def merge(self, a: Sample, b: Sample) -> Sample:
        """Return the sample of the rows of both."""
        hashes, times = np.unique(np.concatenate((a.hashes, b.hashes)), return_counts=True)
        again = hashes[times > 1][:1]
        twice = min(a.twice, b.twice, *again)
        return Sample(hashes[:KEPT], np.uint64(twice))


def _hash(numbers: NDArray[np.int64]) -> Words:
    """Mix the bits of numbers so that different ones stay different (SplitMix64)."""
    x = numbers.astype(np.uint64)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))


def _number(hashed: np.uint64) -> int:
    """Return the number that has a hash."""
    x = _unshifted(int(hashed), 31)
    x = _unshifted(x * pow(0x94D049BB133111EB, -1, 1 << 64) % (1 << 64), 27)
    return _unshifted(x * pow(0xBF58476D1CE4E5B9, -1, 1 << 64) % (1 << 64), 30)


def _unshifted(y: int, bits: int) -> int:
    """Return the x of which y is x ^ (x >> bits), both of 64 bits."""
    x = y
    for _ in range(64 // bits):
        x = y ^ (x >> bits)
    return x
