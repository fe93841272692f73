"""The workers of a Dask cluster."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, final

from calibrant.engine import threads
from calibrant.rows.workers.spill import Bucket, Split, split_alone
from calibrant.rows.workers.workers import refuse_version, tasks

Progress = Callable[[int, int], None]

TASKS = 8  # for each worker: enough for balance
PATIENCE = "10s"  # for a scheduler to answer
SIDE = 8  # states that are merged together on a worker


@final
@dataclass(frozen=True, slots=True)
class Dask:
    """The workers of a Dask cluster.

    Tasks are pure functions of fragments, and none changes what it is given: those of a worker
    that was lost are done again, and the result is the same.

    Parameters
    ----------
    client : distributed.Client
        Connected to the cluster.
    """

    client: Any

    @classmethod
    def of(cls, engine: Any) -> "Dask":
        """Return the workers of a client, or of the scheduler at dask://host:port."""
        try:
            from distributed import Client  # noqa: PLC0415
        except ImportError:
            raise ImportError(
                "`engine` means a Dask cluster, but `distributed` cannot be imported; install"
                " calibrant[dask]."
            ) from None
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

    ordered = True

    def reduce(
        self,
        fragments: Sequence[Any],
        work: Callable[[Iterable[Any]], Any],
        merge: Callable[[Any, Any], Any],
        progress: Progress | None,
    ) -> Any:
        """Return the merged states; states are merged where they are, a few at a time."""
        groups = tasks(fragments, TASKS * self._count())
        task = self.hand_out(work)
        futures = [self.client.submit(_run, task, group, pure=False) for group in groups]
        return self.merged(futures, groups, merge, progress)

    def exchange(self, fragments: Sequence[Any], exchange: Split, progress: Progress | None) -> Any:
        """Return the merged states of all buckets; rows go from worker to worker."""
        groups = tasks(fragments, TASKS * self._count())
        task = self.hand_out(exchange)
        parts = [self.client.submit(split_pieces, task, group, pure=False) for group in groups]
        return self.finished(task, parts, exchange, progress)

    def finished(
        self, task: Any, parts: Sequence[Any], exchange: Split, progress: Progress | None
    ) -> Any:
        """Return the merged states of buckets whose pieces are among parts."""
        submit = partial(self.client.submit, pure=False)
        futures = [
            submit(_finish, task, k, [submit(_pieces, part, k) for part in parts])
            for k in range(exchange.n_buckets)
        ]
        groups = [[Bucket(k, 1)] for k in range(exchange.n_buckets)]
        return self.merged(futures, groups, partial(_both, exchange.merge), progress)

    def _count(self) -> int:
        return max(1, len(self.client.scheduler_info(n_workers=-1)["workers"]))

    def hand_out(self, work: Any) -> Any:
        """Send the work to the cluster once, as a task of its own.

        Data that are scattered are gone with the last worker that has them; a task is done again.
        """
        return self.client.submit(_same, work, pure=False)

    def merged(
        self,
        futures: Sequence[Any],
        groups: Sequence[Sequence[Any]],
        merge: Callable[[Any, Any], Any],
        progress: Progress | None,
    ) -> Any:
        """Return the merged states of tasks on groups of fragments."""
        found = list(futures)
        while len(found) > 1:
            found = [
                self.client.submit(_merged, merge, found[i : i + SIDE], pure=False)
                for i in range(0, len(found), SIDE)
            ]
        try:
            self._wait(futures, groups, progress)
            return found[0].result()
        finally:
            for future in (*futures, *found):  # tasks that nobody waits for are dropped
                future.release()

    def _wait(
        self, futures: Sequence[Any], groups: Sequence[Any], progress: Progress | None
    ) -> None:
        """Wait for the tasks in their order, so that the first failure of all is raised."""
        total, done = sum(fragment.n for group in groups for fragment in group), 0
        for future, group in zip(futures, groups, strict=True):
            error = future.exception()
            if error is not None:
                raise error
            done += sum(fragment.n for fragment in group)
            if progress is not None:
                progress(done, total)

    def __repr__(self) -> str:
        return f"Dask({self.client.scheduler.address!r})"


def _same(work: Any) -> Any:
    return work


def _run(work: Callable[[Iterable[Any]], Any], group: Sequence[Any]) -> Any:
    return threads.alone(work, group)


def split_pieces(exchange: Split, group: Sequence[Any]) -> dict[int, list[bytes]]:
    """Return the pieces of every bucket."""
    found: dict[int, list[bytes]] = {}
    for bucket, piece in split_alone(exchange, group):
        found.setdefault(bucket, []).append(piece)
    return found


def _pieces(parts: dict[int, list[bytes]], bucket: int) -> list[bytes]:
    return parts.get(bucket, [])


def _finish(exchange: Split, bucket: int, parts: Sequence[list[bytes]]) -> Any:
    """Return the state of a bucket; None if it is empty."""
    pieces = [piece for part in parts for piece in part]
    return threads.alone(exchange.finish, bucket, pieces) if pieces else None


def _both(merge: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """Return the states of two buckets, either of which may be empty."""
    return b if a is None else a if b is None else merge(a, b)


def _merged(merge: Callable[[Any, Any], Any], states: Sequence[Any]) -> Any:
    return reduce(merge, states)
