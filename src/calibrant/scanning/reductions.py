"""What is added up over the rows of a data set, one thing or several in one pass."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, final

from calibrant.scanning.batches import Batch, Group

S = TypeVar("S")

MOST_VALUES = 100_000  # of a column that rows are grouped by


class Reduction(Protocol[S]):
    """What is added up over the rows of a data set.

    Law: `merge` is exact, associative and commutative, and ``update`` of two batches one after
    the other is ``merge`` of their updates. So the result depends on the rows alone.
    """

    def zero(self) -> S:
        """Return the state of no rows."""
        ...

    def update(self, state: S, batch: Batch) -> S:
        """Return the state with further rows; `state` is nobody else's, and may be changed."""
        ...

    def merge(self, a: S, b: S) -> S:
        """Return the state of the rows of both, neither of which is changed."""
        ...


@final
@dataclass(frozen=True, slots=True)
class Together:
    """Several reductions in one pass, each of all rows or of a group of them.

    Parameters
    ----------
    parts : tuple of (Group or None, Reduction)
        Which rows, and what is added up over them.
    """

    parts: Sequence[tuple[Group | None, Any]]

    def zero(self) -> list[Any]:
        """Return the states of no rows."""
        return [reduction.zero() for _, reduction in self.parts]

    def update(self, state: list[Any], batch: Batch) -> list[Any]:
        """Let each reduction have its rows."""
        some = {group: batch if group is None else group.of(batch) for group, _ in self.parts}
        return [
            reduction.update(mine, some[group]) if some[group].data.n else mine
            for mine, (group, reduction) in zip(state, self.parts, strict=True)
        ]

    def merge(self, a: list[Any], b: list[Any]) -> list[Any]:
        """Return the states of the rows of both."""
        threes = zip(a, b, self.parts, strict=True)
        return [reduction.merge(mine, theirs) for mine, theirs, (_, reduction) in threes]


@final
@dataclass(frozen=True, slots=True)
class ValueTally:
    """How many rows have each value of columns that were kept.

    Parameters
    ----------
    columns : tuple of str
        Their names.
    """

    columns: tuple[str, ...]

    def zero(self) -> list[Counter[str]]:
        """Return no rows."""
        return [Counter() for _ in self.columns]

    def update(self, state: list[Counter[str]], batch: Batch) -> list[Counter[str]]:
        """Count the rows of a batch."""
        return self.merge(state, [Counter(batch.beside[name].counts()) for name in self.columns])

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
