"""The workers of a Dask cluster, for files that they read and frames that they hold."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import accumulate
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

Started = list[tuple[Any, int]]  # futures of tasks, and how many rows each works on

TASKS = 8  # for each worker: enough for balance
PATIENCE = "10s"  # for a scheduler to answer
SIDE = 8  # states that are merged together on a worker


class FramePart(NamedTuple):
    """A partition of a frame that somebody still has to compute."""

    delayed: Any
    first: int
    n: int
    name: str


def on_files(client: Any, work: Any, fragments: Sequence[Any]) -> Started:
    """Start tasks on groups of rows of files, a few for each worker."""
    count = max(1, len(client.scheduler_info(n_workers=-1)["workers"]))
    return [
        (
            client.submit(threads.alone, work, group, pure=False),
            sum(fragment.n for fragment in group),
        )
        for group in tasks(fragments, TASKS * count)
    ]


def on_partitions(client: Any, work: Any, fragments: Sequence[FramePart]) -> Started:
    """Start a task on each partition of a frame, where it is or is computed."""
    return [
        (client.submit(_run_on, work, client.compute(part.delayed), part[1:], pure=False), part.n)
        for part in fragments
    ]


@final
@dataclass(frozen=True, slots=True)
class Dask:
    """The workers of a Dask cluster.

    Tasks are pure functions of fragments, and none changes what it is given: those of a worker
    that was lost are done again, and the result is the same.
    """

    client: Any  # distributed.Client
    start: Callable[[Any, Any, Sequence[Any]], Started] = on_files

    ordered = True  # files have an order, and so have partitions

    @classmethod
    def of(cls, engine: Any) -> "Dask":
        """Return the workers of a client, or of the scheduler at dask://host:port."""
        needs("a Dask cluster", "distributed", extra="dask")
        from distributed import Client  # noqa: PLC0415

        if isinstance(engine, str):
            address = engine.replace("dask://", "tcp://")
            try:
                engine = Client(address, timeout=PATIENCE, set_as_default=False)
            except (OSError, TimeoutError):
                raise ValueError(
                    f"`engine` must be the address of a Dask scheduler; none answers at {address}."
                ) from None
        found = cls(engine)
        found.check()
        return found

    def check(self) -> None:
        """Refuse workers that lack calibrant, or have another version of it."""

        def version() -> str | None:  # it travels by value, so that workers need no calibrant
            try:
                import calibrant  # noqa: PLC0415
            except ImportError:
                return None
            return calibrant.__version__

        for worker, found in self.client.run(version).items():
            refuse_version(f"the Dask worker {worker}", found)

    def reduce(
        self, fragments: Sequence[Any], work: Work, merge: Merge, progress: Progress | None
    ) -> Any:
        """Return the merged states; states are merged where they are, a few at a time."""
        started = self.start(self.client, self._hand_out(work), fragments)
        return self._merged(started, merge, progress)

    def exchange(self, fragments: Sequence[Any], exchange: Split, progress: Progress | None) -> Any:
        """Return the merged states of all buckets; rows go from worker to worker."""
        submit = partial(self.client.submit, pure=False)
        split = self._hand_out(partial(_split, exchange))
        parts = [part for part, _ in self.start(self.client, split, fragments)]
        task = self._hand_out(exchange)
        finished = [
            (submit(_finish, task, k, [submit(dict.get, part, k, ()) for part in parts]), 1)
            for k in range(exchange.n_buckets)
        ]
        return self._merged(finished, partial(_both, exchange.merge), progress)

    def _hand_out(self, work: Any) -> Any:
        """Send the work to the cluster once, as a task of its own.

        Data that are scattered are gone with the last worker that has them; a task is done again.
        """
        return self.client.submit(_same, work, pure=False)

    def _merged(self, started: Started, merge: Merge, progress: Progress | None) -> Any:
        """Return the merged states of tasks."""
        found = [future for future, _ in started]
        while len(found) > 1:
            found = [
                self.client.submit(reduce, merge, found[i : i + SIDE], pure=False)
                for i in range(0, len(found), SIDE)
            ]
        try:
            _wait(started, progress)
            return found[0].result()
        finally:
            for future in (*(future for future, _ in started), *found):
                future.release()  # tasks that nobody waits for are dropped

    def __repr__(self) -> str:
        return f"Dask({self.client.scheduler.address!r})"


def open_dask(frame: Any, engine: Any) -> tuple[Dask, tuple[FramePart, ...], Any]:
    """Return the workers and partitions of a Dask frame, and the Arrow schema of its columns."""
    import pyarrow  # noqa: PLC0415 (an extra)
    from distributed import default_client  # noqa: PLC0415

    try:
        client = Dask.of(default_client() if engine is None else engine).client
    except ValueError as error:
        if "No client" not in str(error):
            raise
        raise ValueError(
            "`engine` must be a Dask client for a Dask frame; there is none. Make one with"
            " distributed.Client(…)."
        ) from None
    lengths = client.compute(frame.map_partitions(len)).result().tolist()
    places = zip(frame.to_delayed(), accumulate(lengths, initial=0), lengths, strict=False)
    parts = tuple(
        FramePart(delayed, start, n, f"partition {i}")
        for i, (delayed, start, n) in enumerate(places)
        if n
    )
    sample = frame.head(1, npartitions=-1) if parts else frame._meta
    schema = pyarrow.Schema.from_pandas(sample, preserve_index=False)
    return Dask(client, on_partitions), parts, schema


def _wait(started: Started, progress: Progress | None) -> None:
    """Wait for tasks in their order, so that the first failure of all is raised."""
    total, done = sum(n for _, n in started), 0
    for future, n in started:
        error = future.exception()
        if error is not None:
            raise error
        done += n
        if progress is not None:
            progress(done, total)


def _same(work: Any) -> Any:
    return work


def _run_on(work: Work, frame: Any, place: tuple[int, int, str]) -> Any:
    """Do the work on a partition that was computed; its rows must be as many as before."""
    import pyarrow  # noqa: PLC0415

    first, n, name = place
    if len(frame) != n:
        raise ValueError(f"{name} changed while it was read ({n:,} rows, now {len(frame):,}).")
    table = pyarrow.Table.from_pandas(frame, preserve_index=False).combine_chunks()
    return threads.alone(work, [FrameFragment(table.to_batches()[0], first, name)])


def _split(exchange: Split, fragments: Iterable[Any]) -> dict[int, list[bytes]]:
    """Return the pieces of every bucket."""
    found: dict[int, list[bytes]] = {}
    for bucket, piece in split_alone(exchange, fragments):
        found.setdefault(bucket, []).append(piece)
    return found


def _finish(exchange: Split, bucket: int, parts: Sequence[Sequence[bytes]]) -> Any:
    """Return the state of a bucket; None if it is empty."""
    pieces = [piece for part in parts for piece in part]
    return threads.alone(exchange.finish, bucket, pieces) if pieces else None


def _both(merge: Merge, a: Any, b: Any) -> Any:
    """Return the states of two buckets, either of which may be empty."""
    return b if a is None else a if b is None else merge(a, b)
