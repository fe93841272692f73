"""Frames of Spark, of whatever Spark can read: Delta, Iceberg, tables of a catalog."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

from calibrant.scanning.fragments import FrameFragment
from calibrant.workers.exchange import Exchange
from calibrant.workers.spark import collected, exchanged, merged, pieces_of, result

Progress = Callable[[int, int], None]


class Whole(NamedTuple):
    """All rows of a frame: Spark says where they are."""

    n: int


@final
@dataclass(frozen=True, slots=True)
class SparkFrame:
    """The executors that compute a frame; its rows have no order.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        With all its columns.
    """

    frame: Any

    @property
    def ordered(self) -> bool:
        """Whether fragments know the numbers of their rows: no, a column must tell."""
        return False

    def reduce(
        self,
        fragments: Sequence[Any],
        work: Any,
        merge: Callable[[Any, Any], Any],
        progress: Progress | None,
    ) -> Any:
        """Return the merged states of all partitions; Spark hands over the columns of the work."""
        found = collected(self.frame.select(*work.names), _OnBatches(work))
        if progress is not None:
            progress(fragments[0].n, fragments[0].n)
        return merged(found, merge)

    def exchange(
        self,
        fragments: Sequence[Any],  # noqa: ARG002 (Spark knows where rows are)
        exchange: Exchange,
        progress: Progress | None,
    ) -> Any:
        """Return the merged states of all buckets."""
        return exchanged(
            self.frame.select(*exchange.names), _SplitsBatches(exchange), exchange, progress
        )

    def __repr__(self) -> str:
        return "SparkFrame()"


@final
@dataclass(frozen=True, slots=True)
class _OnBatches:
    """What a task does with the batches of its partition."""

    work: Callable[[Iterable[Any]], Any]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield the result of all rows of a partition."""
        number, parts = _parts(batches)
        yield result(number, self.work, parts)


@final
@dataclass(frozen=True, slots=True)
class _SplitsBatches:
    """What a task does with the batches of its partition whose rows are moved."""

    exchange: Exchange

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield the pieces of all rows of a partition."""
        _, parts = _parts(batches)
        yield from pieces_of(self.exchange, parts)


def _parts(batches: Iterator[Any]) -> tuple[int, Iterator[FrameFragment]]:
    """Return the number of this task's partition, and its batches as fragments."""
    from pyspark import TaskContext  # noqa: PLC0415

    context = TaskContext.get()
    number = 0 if context is None else context.partitionId()
    parts = (
        FrameFragment(batch, 0, f"batch {i} of partition {number}")
        for i, batch in enumerate(batches)
        if batch.num_rows
    )
    return number, parts


def arrow_schema(frame: Any) -> Any:
    """Return the Arrow schema of a frame's columns."""
    from pyspark.sql.pandas.types import to_arrow_schema  # noqa: PLC0415

    return to_arrow_schema(frame.schema)
