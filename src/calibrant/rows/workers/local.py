"""Workers of this process and of those that it starts: threads, and executors."""

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial, reduce
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any, NamedTuple, final

from calibrant.engine import threads
from calibrant.rows.workers.workers import Merge, Progress, Split, Work, tasks

OUT = 8  # buckets whose rows are in memory at a time


class Bucket(NamedTuple):
    """A bucket, as a fragment to be worked on."""

    number: int
    n: int  # bytes


@final
@dataclass(frozen=True, slots=True)
class Spill:
    """Pieces of buckets, in files of a temporary folder."""

    folder: Path
    sizes: dict[int, int] = field(default_factory=dict)  # bytes of every bucket that has some
    lock: Any = field(default_factory=Lock)

    @classmethod
    @contextmanager
    def temporary(cls) -> Iterator["Spill"]:
        """Keep pieces for as long as this lasts."""
        with TemporaryDirectory(prefix="calibrant-") as name:
            yield cls(Path(name))

    def add(self, bucket: int, piece: bytes) -> None:
        """Keep a piece."""
        try:
            with self.lock, self._path(bucket).open("ab") as file:
                pickle.dump(piece, file, pickle.HIGHEST_PROTOCOL)
                self.sizes[bucket] = self.sizes.get(bucket, 0) + len(piece)
        except OSError as error:
            raise ValueError(
                f"the rows of very many cells wait in temporary files in {self.folder.parent},"
                f" where they cannot be written ({error.strerror}). Set TMPDIR to a folder with"
                " more room, or use a coarser partition."
            ) from None

    def pieces(self, bucket: int) -> Iterator[bytes]:
        """Yield the pieces of a bucket."""
        with self._path(bucket).open("rb") as file:
            while file.peek(1):
                yield pickle.load(file)  # what this process wrote

    @property
    def buckets(self) -> list[Bucket]:
        """All buckets that have pieces."""
        return [Bucket(number, size) for number, size in sorted(self.sizes.items())]

    def _path(self, bucket: int) -> Path:
        return self.folder / f"bucket-{bucket}"


def half(progress: Progress | None, which: int) -> Progress | None:
    """Report the first or the second half of the work as part of the whole."""
    if progress is None:
        return None
    return lambda done, total: progress(which * total + done, 2 * total)


@final
@dataclass(frozen=True, slots=True)
class Threads:
    """Threads of this process, as many as `CALIBRANT_THREADS` says or there are cores."""

    ordered = True  # they are those of files

    def reduce(
        self, fragments: Sequence[Any], work: Work, merge: Merge, progress: Progress | None
    ) -> Any:
        """Return the merged states; each thread takes the next fragment that nobody has."""
        queue = Queue(fragments, progress)
        states: list[Any] = []
        count = max(1, min(threads.count(), len(fragments)))
        threads.run(lambda *_: states.extend(queue.work(work)), threads.blocks(count, 1))
        if queue.errors:
            raise queue.errors[min(queue.errors)]
        return reduce(merge, states)

    def exchange(self, fragments: Sequence[Any], exchange: Split, progress: Progress | None) -> Any:
        """Return the merged states of all buckets, whose rows wait in temporary files."""
        with Spill.temporary() as spill:

            def split(taken: Iterable[Any]) -> None:
                for bucket, piece in exchange.split(taken):
                    spill.add(bucket, piece)

            def finish(taken: Iterable[Bucket]) -> list[Any]:
                states = [exchange.finish(one.number, spill.pieces(one.number)) for one in taken]
                return [reduce(exchange.merge, states)] if states else []

            self.reduce(fragments, split, lambda a, b: None, half(progress, 0))  # noqa: ARG005
            found = self.reduce(spill.buckets, finish, list.__add__, half(progress, 1))
        return reduce(exchange.merge, found)


@final
@dataclass(slots=True, eq=False)
class Queue:
    """Fragments that several threads take from, in their order.

    When the work on one fails, no further ones are handed out. All before it were, so the first
    failure of all is among those that are seen. `progress` is called with the rows that are done,
    and all.
    """

    fragments: Sequence[Any]
    progress: Progress | None
    next: int = 0
    done: int = 0
    errors: dict[int, BaseException] = field(default_factory=dict)  # by the number of the fragment
    lock: Any = field(default_factory=Lock)

    def work(self, work: Work) -> list[Any]:
        """Return the state of fragments that no other thread takes, or keep the error."""
        number = -1

        def taken() -> Iterator[Any]:
            nonlocal number
            while (number := self._take()) < len(self.fragments):
                yield self.fragments[number]
                self._finish(number)

        try:
            return [work(taken())]
        except BaseException as error:
            self.errors[number] = error
            return []

    def _take(self) -> int:
        """Return the number of the next fragment; of none, if one has failed."""
        with self.lock:
            self.next += 1
            return len(self.fragments) if self.errors else self.next - 1

    def _finish(self, number: int) -> None:
        """Count the rows of a fragment as done."""
        with self.lock:
            self.done += self.fragments[number].n
            if self.progress is not None:
                self.progress(self.done, sum(fragment.n for fragment in self.fragments))


@final
@dataclass(frozen=True, slots=True)
class Futures:
    """The workers of an executor of `concurrent.futures`: processes, MPI, Ray, a batch system."""

    executor: Executor

    ordered = True  # they are those of files

    def reduce(
        self, fragments: Sequence[Any], work: Work, merge: Merge, progress: Progress | None
    ) -> Any:
        """Return the merged states; the first task that fails ends the others."""
        return reduce(merge, self._results(fragments, work, progress))

    def exchange(self, fragments: Sequence[Any], exchange: Split, progress: Progress | None) -> Any:
        """Return the merged states of all buckets; rows pass through files of this process."""
        with Spill.temporary() as spill:
            for pieces in self._results(fragments, partial(_split, exchange), half(progress, 0)):
                for bucket, piece in pieces:
                    spill.add(bucket, piece)
            return reduce(exchange.merge, self._finished(exchange, spill, half(progress, 1)))

    def _results(
        self, fragments: Sequence[Any], work: Callable[..., Any], progress: Progress | None
    ) -> Iterator[Any]:
        """Yield what tasks on all fragments return, in their order."""
        groups = tasks(fragments)
        futures = [self.executor.submit(threads.alone, work, group) for group in groups]
        total, done = sum(fragment.n for fragment in fragments), 0
        try:
            for future, group in zip(futures, groups, strict=True):
                yield future.result()
                done += sum(fragment.n for fragment in group)
                if progress is not None:
                    progress(done, total)
        finally:
            for future in futures:
                future.cancel()

    def _finished(self, exchange: Split, spill: Spill, progress: Progress | None) -> Iterator[Any]:
        """Yield the states of all buckets, of which few are out at a time."""
        numbers = [bucket.number for bucket in spill.buckets]
        for start in range(0, len(numbers), OUT):
            futures = [
                self.executor.submit(threads.alone, exchange.finish, k, list(spill.pieces(k)))
                for k in numbers[start : start + OUT]
            ]
            for done, future in enumerate(futures, start + 1):
                yield future.result()
                if progress is not None:
                    progress(done, len(numbers))


def _split(exchange: Split, fragments: Iterable[Any]) -> list[tuple[int, bytes]]:
    return list(exchange.split(fragments))
