"""The executors of Spark."""

import pickle
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import groupby
from operator import itemgetter
from typing import Any, final

from calibrant.engine import threads
from calibrant.rows.workers.spill import Split, split_alone
from calibrant.rows.workers.workers import refuse_version, tasks

Progress = Callable[[int, int], None]

TASKS = 4  # for each core
OTHER = re.compile(r"No module named 'calibrant\.|Can't get attribute .* on <module 'calibrant")
NONE = -1  # the bucket of errors
PIECE = "bucket long, piece binary"
RESULT = "number long, version string, error binary, state binary"


@final
@dataclass(frozen=True, slots=True)
class Spark:
    """The executors of a Spark session.

    A task reads its fragments with pyarrow and returns its state as a row of a frame: rows of
    attempts that failed never arrive, so nothing is counted twice.

    Parameters
    ----------
    session : SparkSession
        Connected to the cluster.
    """

    session: Any

    @classmethod
    def of(cls, engine: Any) -> "Spark":
        """Return the executors of a session, of the master at spark://host:port, or of Connect."""
        if not isinstance(engine, str):
            return cls(engine)
        try:
            from pyspark.sql import SparkSession  # noqa: PLC0415
        except ImportError:
            raise ImportError(
                "`engine` means Spark, but `pyspark` cannot be imported; install calibrant[spark]."
            ) from None
        if engine.startswith("sc://"):
            return cls(SparkSession.builder.remote(engine).getOrCreate())
        return cls(SparkSession.builder.master(engine).appName("calibrant").getOrCreate())

    ordered = True  # they are those of files

    def reduce(
        self,
        fragments: Sequence[Any],
        work: Callable[[Iterable[Any]], Any],
        merge: Callable[[Any, Any], Any],
        progress: Progress | None,
    ) -> Any:
        """Return the merged states; each task has a partition of its own."""
        groups = tasks(fragments, TASKS * self._cores())
        numbers = self.session.range(0, len(groups), 1, len(groups))
        found = collected(numbers, _OnGroups(work, groups))
        if progress is not None:
            total = sum(fragment.n for fragment in fragments)
            progress(total, total)
        return merged(found, merge)

    def exchange(self, fragments: Sequence[Any], exchange: Split, progress: Progress | None) -> Any:
        """Return the merged states of all buckets; rows go through a shuffle by bucket."""
        groups = tasks(fragments, TASKS * self._cores())
        numbers = self.session.range(0, len(groups), 1, len(groups))
        return exchanged(numbers, _SplitsGroups(exchange, groups), exchange, progress)

    def _cores(self) -> int:
        try:
            return max(1, int(self.session.sparkContext.defaultParallelism))
        except Exception:  # Connect has no context
            return 8

    def __repr__(self) -> str:
        return "Spark()"


def collected(frame: Any, task: Callable[[Iterator[Any]], Iterator[Any]]) -> list[Any]:
    """Return the rows that tasks give for the partitions of a frame."""
    try:
        rows: list[Any] = frame.mapInArrow(task, RESULT).collect()
    except Exception as error:
        if "No module named 'calibrant'" in str(error):
            refuse_version("a Spark executor", None)
        if OTHER.search(str(error)):
            refuse_version("a Spark executor", "of another version")
        raise
    return rows


def exchanged(
    frame: Any,
    split: Callable[[Iterator[Any]], Iterator[Any]],
    exchange: Split,
    progress: Progress | None,
) -> Any:
    """Return the merged states of buckets, of pieces that tasks yield for partitions of a frame.

    Pieces are shuffled by the number of their bucket, never dealt out in turns: then a task that is
    done again sends them the same way. They are sorted, so that a task has one bucket in memory.
    """
    pieces = frame.mapInArrow(split, PIECE).repartition(exchange.n_buckets, "bucket")
    pieces = pieces.sortWithinPartitions("bucket")
    found = collected(pieces, _Finishes(exchange))
    if progress is not None:
        progress(1, 1)
    return merged(found, exchange.merge)


def pieces_of(exchange: Split, fragments: Iterable[Any]) -> Iterator[Any]:
    """Yield an Arrow batch for each piece; a sentence of ours goes on as a piece of no bucket."""
    import pyarrow  # noqa: PLC0415 (an extra)

    def batch(bucket: int, piece: bytes) -> Any:
        numbers = pyarrow.array([bucket], pyarrow.int64())
        pieces = pyarrow.array([piece], pyarrow.binary())
        return pyarrow.RecordBatch.from_arrays([numbers, pieces], ["bucket", "piece"])

    try:
        for bucket, piece in split_alone(exchange, fragments):
            yield batch(bucket, piece)
    except ValueError as error:
        yield batch(NONE, pickle.dumps(error))


def merged(rows: Sequence[Any], merge: Callable[[Any, Any], Any]) -> Any:
    """Return the merged states of tasks, or raise the error of the first that failed."""
    ordered = sorted(rows, key=lambda row: int(row["number"]))
    for row in ordered:
        refuse_version("a Spark executor", row["version"])
        if row["error"] is not None:
            raise pickle.loads(row["error"])
    return reduce(merge, (pickle.loads(row["state"]) for row in ordered))


def result(number: int, work: Callable[..., Any], argument: Any) -> Any:
    """Return an Arrow batch of one row: the state of a task, or why it failed.

    Our own sentences are ValueErrors, which no further attempt would mend: they come back. Anything
    else fails the task, and Spark tries again.
    """
    import pyarrow  # noqa: PLC0415 (an extra)

    from calibrant import __version__  # noqa: PLC0415

    error = state = None
    try:
        state = pickle.dumps(threads.alone(work, argument), pickle.HIGHEST_PROTOCOL)
    except ValueError as found:
        error = pickle.dumps(found)
    columns = {
        "number": pyarrow.array([number], pyarrow.int64()),
        "version": pyarrow.array([__version__]),
        "error": pyarrow.array([error], pyarrow.binary()),
        "state": pyarrow.array([state], pyarrow.binary()),
    }
    return pyarrow.RecordBatch.from_pydict(columns)


@final
@dataclass(frozen=True, slots=True)
class _OnGroups:
    """What a task does with the numbers of groups of fragments."""

    work: Callable[[Iterable[Any]], Any]
    groups: Sequence[Sequence[Any]]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield the result of every group."""
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield result(number, self.work, self.groups[number])


@final
@dataclass(frozen=True, slots=True)
class _SplitsGroups:
    """What a task does with the numbers of groups of fragments whose rows are moved."""

    exchange: Split
    groups: Sequence[Sequence[Any]]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield the pieces of every group."""
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from pieces_of(self.exchange, self.groups[number])


@final
@dataclass(frozen=True, slots=True)
class _Finishes:
    """What a task does with the pieces of its buckets."""

    exchange: Split

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield the result of every bucket."""
        rows = (row for batch in batches for row in zip(*map(_values, batch), strict=True))
        for bucket, some in groupby(rows, itemgetter(0)):
            pieces = [piece for _, piece in some]
            yield result(bucket, partial(_finish, self.exchange, bucket), pieces)


def _values(column: Any) -> list[Any]:
    values: list[Any] = column.to_pylist()
    return values


def _finish(exchange: Split, bucket: int, pieces: list[bytes]) -> Any:
    """Return the state of a bucket, or raise the error that stands in place of one."""
    if bucket == NONE:
        raise pickle.loads(pieces[0])
    return exchange.finish(bucket, pieces)
