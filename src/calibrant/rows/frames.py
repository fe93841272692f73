"""Frames of Dask and Spark: their partitions are read where they are.

What Spark can read, it hands over: Delta, Iceberg, tables of a catalog.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Any, NamedTuple, final

from calibrant.engine import threads
from calibrant.rows.fragments import FrameFragment
from calibrant.rows.workers.dask import Dask, split_pieces
from calibrant.rows.workers.spark import collected, exchanged, merged, pieces_of, result
from calibrant.rows.workers.spill import Split

Progress = Callable[[int, int], None]


class Partition(NamedTuple):
    """A partition of a frame that somebody still has to compute."""

    delayed: Any
    first: int
    n: int
    name: str


@final
@dataclass(frozen=True, slots=True)
class DaskFrame:
    """The workers that hold, or compute, the partitions of a frame of Dask."""

    cluster: Dask

    ordered = True  # partitions have an order

    def reduce(
        self,
        fragments: Sequence[Any],
        work: Callable[[Iterable[Any]], Any],
        merge: Callable[[Any, Any], Any],
        progress: Progress | None,
    ) -> Any:
        """Return the merged states of all partitions."""
        client, task = self.cluster.client, self.cluster.hand_out(work)
        futures = [
            client.submit(_run, task, client.compute(part.delayed), part[1:], pure=False)
            for part in fragments
        ]
        return self.cluster.merged(futures, [[part] for part in fragments], merge, progress)

    def exchange(self, fragments: Sequence[Any], exchange: Split, progress: Progress | None) -> Any:
        """Return the merged states of all buckets."""
        client, task = self.cluster.client, self.cluster.hand_out(exchange)
        split = self.cluster.hand_out(partial(split_pieces, exchange))
        parts = [
            client.submit(_run, split, client.compute(part.delayed), part[1:], pure=False)
            for part in fragments
        ]
        return self.cluster.finished(task, parts, exchange, progress)


def open_dask(frame: Any, engine: Any) -> tuple[DaskFrame, tuple[Partition, ...], Any]:
    """Return the workers and partitions of a Dask frame, and the Arrow schema of its columns."""
    import pyarrow  # noqa: PLC0415 (an extra)
    from distributed import default_client  # noqa: PLC0415

    try:
        cluster = Dask.of(default_client() if engine is None else engine)
    except ValueError as error:
        if "No client" not in str(error):
            raise
        raise ValueError(
            "`engine` must be a Dask client for a Dask frame; there is none. Make one with"
            " distributed.Client(…)."
        ) from None
    lengths = cluster.client.compute(frame.map_partitions(len)).result().tolist()
    starts = list(accumulate(lengths, initial=0))
    parts = tuple(
        Partition(delayed, start, n, f"partition {i}")
        for i, (delayed, start, n) in enumerate(
            zip(frame.to_delayed(), starts, lengths, strict=False)
        )
        if n
    )
    sample = frame.head(1, npartitions=-1) if parts else frame._meta
    return DaskFrame(cluster), parts, pyarrow.Schema.from_pandas(sample, preserve_index=False)


def _run(work: Callable[[Iterable[Any]], Any], frame: Any, place: tuple[int, int, str]) -> Any:
    """Do the work on a partition that was computed; its rows must be as many as before."""
    import pyarrow  # noqa: PLC0415

    first, n, name = place
    if len(frame) != n:
        raise ValueError(f"{name} changed while it was read ({n:,} rows, now {len(frame):,}).")
    table = pyarrow.Table.from_pandas(frame, preserve_index=False).combine_chunks()
    batch = table.to_batches()[0]
    return threads.alone(work, [FrameFragment(batch, first, name)])


class Whole(NamedTuple):
    """All rows of a frame: Spark says where they are."""

    n: int


@final
@dataclass(frozen=True, slots=True)
class SparkFrame:
    """The executors that compute a frame of Spark; its rows have no order."""

    frame: Any

    ordered = False  # a column must tell

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
        exchange: Split,
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

    exchange: Split

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
