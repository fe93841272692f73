"""The executors of Spark, for files that they read and frames that they compute.

What Spark can read, it hands over as a frame: Delta, Iceberg, tables of a catalog.
"""

import os
import pickle
import re
import shutil
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple, final

from calibrant.checks.doors import needs
from calibrant.engine import threads
from calibrant.rows.fragments import FrameFragment
from calibrant.rows.workers.workers import (
    Merge,
    Progress,
    Split,
    Work,
    refuse_version,
    split_alone,
    tasks,
)

Task = Callable[[Iterator[Any]], Iterator[Any]]  # from the batches of a partition to others
Parts = Callable[[Iterator[Any]], Iterator[tuple[int, Iterable[Any]]]]  # fragments, and a number

TASKS = 4  # for each core
OTHER = re.compile(r"No module named 'calibrant\.|Can't get attribute .* on <module 'calibrant")
NONE = -1  # the bucket of errors
PIECE = "bucket long, piece binary"
RESULT = "number long, version string, error binary, state binary"


class OnSpark(ABC):
    """Work that tasks do on the partitions of a frame, whether it holds rows or numbers of files.

    A task returns its state as a row of a frame: rows of attempts that failed never arrive, so
    nothing is counted twice.
    """

    __slots__ = ()

    @abstractmethod
    def parts(self, fragments: Sequence[Any], names: list[str]) -> tuple[Any, Parts]:
        """Return the frame, and what finds fragments in the batches of a partition."""

    def reduce(
        self, fragments: Sequence[Any], work: Any, merge: Merge, progress: Progress | None
    ) -> Any:
        """Return the merged states of all partitions."""
        frame, parts = self.parts(fragments, work.names)
        return _reduced(frame, partial(_states, work, parts), merge, progress)

    def exchange(self, fragments: Sequence[Any], exchange: Split, progress: Progress | None) -> Any:
        """Return the merged states of all buckets; rows go through a shuffle by bucket.

        Pieces are shuffled by the number of their bucket, never dealt out in turns: then a task
        that is done again sends them the same way. They are sorted, so that a task has one bucket
        in memory.
        """
        frame, parts = self.parts(fragments, exchange.names)
        pieces = frame.mapInArrow(partial(_pieces, exchange, parts), PIECE)
        pieces = pieces.repartition(exchange.n_buckets, "bucket").sortWithinPartitions("bucket")
        return _reduced(pieces, partial(_on_pieces, exchange), exchange.merge, progress)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


@final
@dataclass(frozen=True, slots=True, repr=False)
class Spark(OnSpark):
    """The executors of a Spark session; a task reads its fragments with pyarrow."""

    session: Any  # SparkSession

    ordered = True  # files have an order

    @classmethod
    def of(cls, engine: Any) -> "Spark":
        """Return the executors of a session, of the master at spark://host:port, or of Connect."""
        if not isinstance(engine, str):
            return cls(engine)
        needs("Spark", "pyspark", extra="spark")
        from pyspark.sql import SparkSession  # noqa: PLC0415

        if engine.startswith("sc://"):
            return cls(SparkSession.builder.remote(engine).getOrCreate())
        return cls(SparkSession.builder.master(engine).appName("calibrant").getOrCreate())

    def parts(self, fragments: Sequence[Any], names: list[str]) -> tuple[Any, Parts]:  # noqa: ARG002
        """Return a frame of numbers, one to a partition; each stands for some fragments."""
        groups = tasks(fragments, TASKS * self._cores())
        return self.session.range(0, len(groups), 1, len(groups)), partial(_numbered, groups)

    def _cores(self) -> int:
        try:
            return max(1, int(self.session.sparkContext.defaultParallelism))
        except Exception:  # Connect has no context
            return 8


class Whole(NamedTuple):
    """All rows of a frame: Spark says where they are."""

    n: int


@final
@dataclass(frozen=True, slots=True, repr=False)
class SparkFrame(OnSpark):
    """The executors that compute a frame of Spark; they are given the columns that are read."""

    frame: Any

    ordered = False  # rows have no order: a column must tell

    def parts(self, fragments: Sequence[Any], names: list[str]) -> tuple[Any, Parts]:  # noqa: ARG002
        """Return the columns that are read; Spark knows where rows are."""
        return self.frame.select(*names), _at_hand


def arrow_schema(frame: Any) -> Any:
    """Return the Arrow schema of a frame's columns."""
    from pyspark.sql.pandas.types import to_arrow_schema  # noqa: PLC0415

    return to_arrow_schema(frame.schema)


def _reduced(frame: Any, task: Task, merge: Merge, progress: Progress | None) -> Any:
    """Return the merged states that tasks give for the partitions of a frame."""
    found = collected(frame, task)
    if progress is not None:
        progress(1, 1)
    return merged(found, merge)


def collected(frame: Any, task: Task) -> list[Any]:
    """Return the rows that tasks give for the partitions of a frame."""
    try:
        rows: list[Any] = frame.mapInArrow(task, RESULT).collect()
    except Exception as error:
        if "No module named 'calibrant'" in str(error):
            refuse_version("a Spark executor", None, _likely_cause())
        if OTHER.search(str(error)):
            refuse_version("a Spark executor", "of another version")
        raise
    return rows


def _likely_cause() -> str:
    """Say which Python executors start, if it may be another than this one."""
    named = os.environ.get("PYSPARK_PYTHON")
    if named is None:
        return (
            f" Executors start python3, and here is {sys.executable}: set PYSPARK_PYTHON to the"
            " Python that has calibrant before the session is made."
        )
    if shutil.which(named) == sys.executable:
        return ""
    return f" PYSPARK_PYTHON is {named}, another Python than the driver's {sys.executable}."


def merged(rows: Sequence[Any], merge: Merge) -> Any:
    """Return the merged states of tasks, or raise the error of the first that failed."""
    ordered = sorted(rows, key=lambda row: int(row["number"]))
    for row in ordered:
        refuse_version("a Spark executor", row["version"])
        if row["error"] is not None:
            raise pickle.loads(row["error"])
    return reduce(merge, (pickle.loads(row["state"]) for row in ordered))


def _numbered(groups: Sequence[Sequence[Any]], batches: Iterator[Any]) -> Any:
    """Yield every group of fragments that a task has the number of."""
    for batch in batches:
        for number in batch.column(0).to_pylist():
            yield number, groups[number]


def _at_hand(batches: Iterator[Any]) -> Iterator[tuple[int, Iterator[FrameFragment]]]:
    """Yield the number of this task's partition, and its batches as fragments."""
    from pyspark import TaskContext  # noqa: PLC0415

    context = TaskContext.get()
    number = 0 if context is None else context.partitionId()
    parts = (
        FrameFragment(batch, 0, f"batch {i} of partition {number}")
        for i, batch in enumerate(batches)
        if batch.num_rows
    )
    yield number, parts


def _states(work: Work, parts: Parts, batches: Iterator[Any]) -> Iterator[Any]:
    """Yield the result of fragments that a task finds."""
    for number, fragments in parts(batches):
        yield _result(number, work, fragments)


def _on_pieces(exchange: Split, batches: Iterator[Any]) -> Iterator[Any]:
    """Yield the result of every bucket whose pieces a task has."""
    rows = (tuple(row.values()) for batch in batches for row in batch.to_pylist())
    for bucket, some in groupby(rows, itemgetter(0)):
        pieces = [piece for _, piece in some]
        yield _result(bucket, partial(_finish, exchange, bucket), pieces)


def _finish(exchange: Split, bucket: int, pieces: list[bytes]) -> Any:
    """Return the state of a bucket, or raise the error that stands in place of one."""
    if bucket == NONE:
        raise pickle.loads(pieces[0])
    return exchange.finish(bucket, pieces)


def _result(number: int, work: Callable[..., Any], argument: Any) -> Any:
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


def _pieces(exchange: Split, parts: Parts, batches: Iterator[Any]) -> Iterator[Any]:
    """Yield an Arrow batch for each piece; a sentence of ours goes on as a piece of no bucket."""
    import pyarrow  # noqa: PLC0415 (an extra)

    def batch(bucket: int, piece: bytes) -> Any:
        numbers = pyarrow.array([bucket], pyarrow.int64())
        pieces = pyarrow.array([piece], pyarrow.binary())
        return pyarrow.RecordBatch.from_arrays([numbers, pieces], ["bucket", "piece"])

    try:
        for _, fragments in parts(batches):
            for bucket, piece in split_alone(exchange, fragments):
                yield batch(bucket, piece)
    except ValueError as error:
        yield batch(NONE, pickle.dumps(error))
