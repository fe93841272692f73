"""What rows are, wherever they lie: they fold a reduction, and exchange themselves by owner."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn, Protocol, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.predictions import Predictions
from calibrant.rows.columns import Coded

S = TypeVar("S")
Progress = Callable[[int, int], None]
Lens = Callable[[Predictions], Predictions]

MEMORY = "Use scan.load() if the rows fit into memory."
STAYS = -1  # the owner of rows that are counted where they are


class Batch(NamedTuple):
    """Rows of a data set: those from number `first` on, or those with these numbers."""

    given: Predictions  # labels are drawn for these
    seen: Predictions  # as a lens shows them
    first: int = 0
    numbers: NDArray[np.int64] | None = None  # (n,)
    columns: Mapping[str, Coded] = MappingProxyType({})  # that were kept beside predictions

    def through(self, lens: Lens | None) -> "Batch":
        """Return the same rows, seen through a lens; None for no lens."""
        return self if lens is None else self._replace(seen=lens(self.given))

    @property
    def rows(self) -> engine.arrays.Rows:
        """The rows as the lens shows them and the engine takes them, with their numbers."""
        return self.seen.rows._replace(first=self.first, numbers=self.numbers)

    def take(self, rows: NDArray[np.intp]) -> "Batch":
        """Return some rows as they were given, which keep their numbers."""
        numbers = rows + self.first if self.numbers is None else self.numbers[rows]
        some = self.given.take(rows)
        return Batch(some, some, 0, numbers.astype(np.int64))


class Group(NamedTuple):
    """Rows of which a column that was kept has one of these values."""

    column: str
    values: tuple[str, ...]

    def of(self, batch: Batch) -> Batch:
        """Return the rows of a batch that belong to it."""
        return batch.take(batch.columns[self.column].rows(set(self.values)))


class Reduction(Protocol[S]):
    """What is added up over the rows of a data set; it travels to workers and holds no rows.

    Law: `merge` is exact, associative and commutative and changes neither of its arguments, and
    adding two batches is merging their states. So the result depends on the rows alone.
    """

    def zero(self) -> S:
        """Return the state of no rows."""

    def add(self, state: S, batch: Batch) -> S:
        """Return the state with further rows; `state` is nobody else's, and may be changed."""

    def merge(self, a: S, b: S) -> S:
        """Return the state of the rows of both."""


class Exchange(Protocol[S]):
    """What is done with all rows of a cell at once, where cells lie apart; it travels to workers.

    Law: an owner gets all rows of its cells, in the order of their numbers. `merge` is exact,
    associative and commutative, so who owns what decides about speed alone.
    """

    n_owners: int
    staying: Reduction[Any] | None  # over rows whose owner is STAYS

    def owners(self, batch: Batch) -> NDArray[np.int32]:
        """Return the owner of each row (n,)."""

    def finish(self, batch: Batch) -> S:
        """Return the state of all rows of an owner."""

    def finish_staying(self, state: Any) -> S:
        """Return the state of rows that stayed, from what was added up over them."""

    def merge(self, a: S, b: S) -> S:
        """Return the state of both."""


class Part(NamedTuple):
    """A reduction of a pass: of which rows, and through which lens they are seen."""

    reduction: Any
    lens: Lens | None = None
    group: Group | None = None


def refuse_rows(asker: str) -> NoReturn:
    """Say that something needs all rows at once."""
    raise ValueError(f"{asker} looks at rows, and scanned rows come in batches. {MEMORY}")


@final
class Memory:
    """All rows of `Predictions`, as one batch; kernels cut it into spans on threads.

    What rows are: they `fold` a reduction, `exchange` themselves by owner, and hand out all of
    them `at_hand`. `Scan` has the same attributes and methods, of rows that are elsewhere. `held`
    is all that others ask about the place.
    """

    held = True  # whether all rows are at hand

    def __init__(self, data: Predictions) -> None:
        self.data = data
        self.n, self.m, self.classes = data.n, data.m, data.classes
        self.weighted, self.clusters = data.weighted, data.clusters
        self.kept = tuple(data.columns)  # names of columns beside the predictions

    @property
    def unit(self) -> float:
        """The smallest power of 2 that no weight exceeds."""
        return float(engine.sums.unit_of(self.data.rows))

    def part(self, reduction: Any, lens: Lens | None = None) -> Part:
        """Return a part of a pass over these rows."""
        return Part(reduction, lens)

    def fold(self, parts: Sequence[Part], progress: Progress | None = None) -> list[Any]:  # noqa: ARG002
        """Add up all rows, in one pass; return the state of each part."""
        whole = self.at_hand("")
        return [one.reduction.add(one.reduction.zero(), whole.through(one.lens)) for one in parts]

    def exchange(self, work: Exchange[S], lens: Lens | None, progress: Progress | None = None) -> S:  # noqa: ARG002
        """Bring the rows of each owner together, and merge their states: here there is one."""
        return work.finish(self.at_hand("").through(lens))

    def at_hand(self, asker: str) -> Batch:  # noqa: ARG002
        """Return all rows, or refuse in the name of who asks for them."""
        return Batch(self.data, self.data)

    def numbered(self) -> None:
        """Refuse rows without numbers, by which labels are drawn; here these are places."""
