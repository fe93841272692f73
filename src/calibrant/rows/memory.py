"""Rows in memory, or tensors on a device: all at hand."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, final

from numpy.typing import NDArray

from calibrant import engine
from calibrant.predictions import Predictions
from calibrant.rows.protocol import Batch, Exchange, Lens, Part, Progress

S = TypeVar("S")


@final
@dataclass(frozen=True, slots=True, eq=False)
class Memory:
    """All rows of `Predictions`, as one batch; kernels cut it into spans on threads."""

    data: Predictions

    held = True

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.data.n

    @property
    def m(self) -> int:
        """Number of classes."""
        return self.data.m

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes."""
        return self.data.classes

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return self.data.weighted

    @property
    def clusters(self) -> NDArray[Any] | None:
        """Number of the cluster of each row (n,); None if rows are independent."""
        return self.data.clusters

    @property
    def unit(self) -> float:
        """The smallest power of 2 that no weight exceeds."""
        return float(engine.sums.unit_of(self.data.rows))

    @property
    def kept(self) -> tuple[str, ...]:
        """Names of the columns that were kept beside the predictions."""
        return tuple(self.data.columns)

    def part(self, reduction: Any, lens: Lens | None = None) -> Part:
        """Return a part of a pass over these rows."""
        return Part(reduction, lens)

    def fold(self, parts: Sequence[Part], progress: Progress | None = None) -> list[Any]:  # noqa: ARG002
        """Add up all rows."""
        whole = self.at_hand("")
        return [
            part.reduction.add(part.reduction.zero(), whole.through(part.lens)) for part in parts
        ]

    def exchange(self, work: Exchange[S], lens: Lens | None, progress: Progress | None = None) -> S:  # noqa: ARG002
        """Finish all rows as those of one owner."""
        return work.finish(self.at_hand("").through(lens))

    def at_hand(self, asker: str) -> Batch:  # noqa: ARG002
        """Return all rows."""
        return Batch(self.data, self.data)

    def numbered(self) -> None:
        """Accept: rows have the numbers of their places."""
