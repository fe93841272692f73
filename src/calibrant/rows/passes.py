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

KEPT = 4096  # numbers of the sample: if 1 in 200 stands twice, the chance to miss it is 1e-9
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
        chosen = {part.group for part in self.parts}
        groups = {one: batch if one is None else one.of(batch) for one in chosen}
        seen: list[tuple[Part, Batch]] = []
        found = []
        for mine, part in zip(state, self.parts, strict=True):
            some = groups[part.group]
            found.append(
                part.reduction.add(mine, _seen(some, part, seen)) if some.given.n else mine
            )
        return found

    def merge(self, a: list[Any], b: list[Any]) -> list[Any]:
        """Return the states of the rows of both."""
        threes = zip(a, b, self.parts, strict=True)
        return [part.reduction.merge(mine, theirs) for mine, theirs, part in threes]


def _seen(some: Batch, part: Part, seen: list[tuple[Part, Batch]]) -> Batch:
    """Return rows through the lens of a part; others of the same group may have looked already."""
    for other, found in seen:
        if other.lens is part.lens and other.group == part.group:
            return found
    seen.append((part, some.through(part.lens)))
    return seen[-1][1]


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


class HashSample(NamedTuple):
    """The row numbers whose hashes are smallest, and one that stood twice.

    Every copy of such a number is in the sample of the rows that it is among. So it is seen to
    stand twice however rows are cut and merged.
    """

    numbers: NDArray[np.int64]  # sorted by their hashes, at most KEPT
    twice: NDArray[np.int64]  # of those that stood twice, the one with the smallest hash: (0 or 1,)

    def check(self) -> None:
        """Refuse numbers of which one in the sample stood twice."""
        if (_hash(self.twice) <= _hash(self.numbers[-1:])).any():
            raise ValueError(f"`row` must be unique; {self.twice[0]} stands more than once.")


@final
@dataclass(frozen=True, slots=True)
class RowNumbers:
    """A sample of the numbers of rows."""

    def zero(self) -> HashSample:
        """Return the sample of no rows."""
        return HashSample(np.empty(0, np.int64), np.empty(0, np.int64))

    def add(self, state: HashSample, batch: Batch) -> HashSample:
        """Look at the numbers of a batch, which differ among themselves."""
        assert batch.numbers is not None
        numbers = batch.numbers
        if state.numbers.size == KEPT:
            numbers = numbers[_hash(numbers) <= _hash(state.numbers[-1:])]
        return self.merge(state, HashSample(_first(numbers, KEPT), state.twice))

    def merge(self, a: HashSample, b: HashSample) -> HashSample:
        """Return the sample of the rows of both."""
        numbers, times = np.unique(np.concatenate((a.numbers, b.numbers)), return_counts=True)
        twice = np.concatenate((a.twice, b.twice, numbers[times > 1]))
        return HashSample(_first(numbers, KEPT), _first(twice, 1))


def smallest_hashes(numbers: NDArray[np.int64], count: int) -> NDArray[np.intp]:
    """Return where the numbers with the smallest hashes are, in the order of these."""
    return np.argsort(_hash(numbers), kind="stable")[:count]


def _first(numbers: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    return numbers[smallest_hashes(numbers, count)]


def _hash(numbers: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Mix the bits of numbers so that different ones stay different (SplitMix64)."""
    x = numbers.astype(np.uint64)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))
