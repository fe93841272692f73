"""Work on batches of rows: several reductions in one pass, and rows that change hands.

And the reductions of scans themselves: values of columns, all rows, and whether row numbers are
unique, from a sample of them that does not depend on their order.
"""

import pickle
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from calibrant.predictions import Predictions
from calibrant.rows.rows import STAYS, Batch, Group, Lens, Part

Words = NDArray[np.uint64]

KEPT = 4096  # numbers of the sample: if 1 in 200 stands twice, the chance to miss it is 1e-9
NONE = np.iinfo(np.uint64).max
MOST_VALUES = 100_000  # of a column that rows are grouped by


@final
@dataclass(frozen=True, slots=True)
class Pass:
    """Several reductions in one pass; rows of a group are chosen, and seen through a lens, once."""

    parts: Sequence[Part]

    def zero(self) -> list[Any]:
        """Return the states of no rows."""
        return [part.reduction.zero() for part in self.parts]

    def add(self, state: list[Any], batch: Batch) -> list[Any]:
        """Let each reduction have its rows, as it sees them."""
        groups: dict[Group | None, Batch] = {None: batch}
        seen: list[tuple[Part, Batch]] = []
        return [
            self._add(mine, part, groups, seen)
            for mine, part in zip(state, self.parts, strict=True)
        ]

    def _add(
        self,
        state: Any,
        part: Part,
        groups: dict[Group | None, Batch],
        seen: list[tuple[Part, Batch]],
    ) -> Any:
        if part.group not in groups:
            assert part.group is not None
            groups[part.group] = part.group.of(groups[None])
        some = groups[part.group]
        if not some.given.n:
            return state
        for other, found in seen:
            if other.lens is part.lens and other.group == part.group:
                return part.reduction.add(state, found)
        found = some.through(part.lens)
        seen.append((part, found))
        return part.reduction.add(state, found)

    def merge(self, a: list[Any], b: list[Any]) -> list[Any]:
        """Return the states of the rows of both."""
        threes = zip(a, b, self.parts, strict=True)
        return [part.reduction.merge(mine, theirs) for mine, theirs, part in threes]


@final
@dataclass(frozen=True, slots=True)
class Fold:
    """What a worker does with fragments: read, check and add up."""

    reader: Any
    reduction: Any

    @property
    def names(self) -> list[str]:
        """The columns that are read."""
        return list(self.reader.columns.names)

    def __call__(self, fragments: Iterable[Any]) -> Any:
        """Return the state of the rows of some fragments."""
        state = self.reduction.zero()
        for batch in self.reader.batches(fragments):
            state = self.reduction.add(state, batch)
        return state


@final
@dataclass(frozen=True, slots=True)
class Shuffle:
    """What workers do with rows that change hands: split them by owner, and finish each owner.

    Bucket 0 holds what was added up over rows that stay.
    """

    reader: Any
    group: Group | None
    lens: Lens | None
    work: Any  # Exchange

    @property
    def names(self) -> list[str]:
        """The columns that are read."""
        return list(self.reader.columns.names)

    @property
    def n_buckets(self) -> int:
        """How many buckets there are: that of rows that stay, and one an owner."""
        return int(self.work.n_owners) + 1

    def split(self, fragments: Iterable[Any]) -> Iterator[tuple[int, bytes]]:
        """Yield pieces of the rows of fragments, each with the number of its bucket."""
        state: Any = None
        for whole in self.reader.batches(fragments):
            batch = whole if self.group is None else self.group.of(whole)
            if not batch.given.n:
                continue
            for owner, rows in _by_owner(self.work.owners(batch.through(self.lens))):
                some = batch.take(rows)
                if owner != STAYS:
                    yield owner + 1, _packed(some)
                    continue
                state = self.work.staying.zero() if state is None else state
                state = self.work.staying.add(state, some.through(self.lens))
        if state is not None:
            yield 0, pickle.dumps(state, pickle.HIGHEST_PROTOCOL)

    def finish(self, bucket: int, pieces: Iterable[bytes]) -> Any:
        """Return the state of all pieces of a bucket."""
        found = [pickle.loads(piece) for piece in pieces]  # what our own workers packed
        if bucket == 0:
            return self.work.finish_staying(reduce(self.work.staying.merge, found))
        return self.work.finish(_unpacked(found, self.reader.columns.known.names, self.lens))

    def merge(self, a: Any, b: Any) -> Any:
        """Return the state of both."""
        return self.work.merge(a, b)


def _by_owner(owners: NDArray[np.int32]) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """Yield every owner that has rows, and which."""
    order = np.argsort(owners, kind="stable")
    found, starts = np.unique(owners[order], return_index=True)
    yield from zip(found.tolist(), np.split(order, starts[1:]), strict=True)


def _packed(batch: Batch) -> bytes:
    data = batch.given
    return pickle.dumps((data.probs, data.labels, batch.numbers), pickle.HIGHEST_PROTOCOL)


def _unpacked(pieces: list[Any], classes: tuple[str, ...], lens: Lens | None) -> Batch:
    """Put pieces together, their rows in the order of their numbers."""
    probs, labels, numbers = (np.concatenate(part) for part in zip(*pieces, strict=True))
    order = np.argsort(numbers, kind="stable")
    data = Predictions.trusted(probs[order], labels[order], classes, None, 1)
    return Batch(data, data, 0, numbers[order]).through(lens)


@final
@dataclass(frozen=True, slots=True)
class Values:
    """How many rows have each value of columns that were kept."""

    columns: tuple[str, ...]

    def zero(self) -> list[Counter[str]]:
        """Return no rows."""
        return [Counter() for _ in self.columns]

    def add(self, state: list[Counter[str]], batch: Batch) -> list[Counter[str]]:
        """Count the rows of a batch."""
        return self.merge(state, [Counter(batch.columns[name].counts()) for name in self.columns])

    def merge(self, a: list[Counter[str]], b: list[Counter[str]]) -> list[Counter[str]]:
        """Return how many rows of both have each value."""
        found = [mine + theirs for mine, theirs in zip(a, b, strict=True)]
        for name, counter in zip(self.columns, found, strict=True):
            if len(counter) > MOST_VALUES:
                raise ValueError(
                    f"`by` must name columns of few values; {name!r} has more than"
                    f" {MOST_VALUES:,} different ones."
                )
        return found


@final
@dataclass(frozen=True, slots=True)
class Everything:
    """What keeps all batches."""

    def zero(self) -> list[Batch]:
        """Return no batches."""
        return []

    def add(self, state: list[Batch], batch: Batch) -> list[Batch]:
        """Keep a batch."""
        return [*state, batch]

    def merge(self, a: list[Batch], b: list[Batch]) -> list[Batch]:
        """Keep the batches of both."""
        return a + b


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
