"""Threads of this process."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from threading import Lock
from typing import Any, final

from calibrant.engine import threads
from calibrant.rows.workers.spill import Bucket, Spill, Split, half

Progress = Callable[[int, int], None]


@final
@dataclass(frozen=True, slots=True)
class Threads:
    """Threads of this process, as many as `CALIBRANT_THREADS` says or there are cores."""

    ordered = True  # they are those of files

    def reduce(
        self,
        fragments: Sequence[Any],
        work: Callable[[Iterable[Any]], Any],
        merge: Callable[[Any, Any], Any],
        progress: Progress | None,
    ) -> Any:
        """Return the merged states; each thread takes the next fragment that nobody has."""
        queue = Queue(fragments, progress)
        states: list[Any] = []

        def run(_start: int, _stop: int) -> None:
            mine = Taken(queue)
            try:
                states.append(work(mine))
            except BaseException as error:  # raised below: that of the first fragment
                queue.fail(mine.number, error)

        count = max(1, min(threads.count(), len(fragments)))
        threads.run(run, threads.blocks(count, 1))
        queue.raise_first()
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
    failure of all is among those that are seen.

    Parameters
    ----------
    fragments : sequence
        What is handed out.
    progress : callable, optional
        Called with the rows that are done, and all.
    """

    fragments: Sequence[Any]
    progress: Progress | None
    next: int = 0
    done: int = 0
    errors: dict[int, BaseException] = field(default_factory=dict)
    lock: Any = field(default_factory=Lock)

    def take(self) -> int | None:
        """Return the number of the next fragment; None if there are no more."""
        with self.lock:
            if self.errors or self.next >= len(self.fragments):
                return None
            self.next += 1
            return self.next - 1

    def finish(self, number: int) -> None:
        """Count the rows of a fragment as done."""
        with self.lock:
            self.done += self.fragments[number].n
            if self.progress is not None:
                self.progress(self.done, sum(fragment.n for fragment in self.fragments))

    def fail(self, number: int, error: BaseException) -> None:
        """Keep an error of the work on a fragment."""
        with self.lock:
            self.errors[number] = error

    def raise_first(self) -> None:
        """Raise the error of the first fragment that has one."""
        if self.errors:
            raise self.errors[min(self.errors)]


@final
@dataclass(slots=True, eq=False)
class Taken:
    """The fragments that one thread takes.

    Parameters
    ----------
    queue : Queue
        Where they come from.
    """

    queue: Queue
    number: int = -1

    def __iter__(self) -> Iterator[Any]:
        while (number := self.queue.take()) is not None:
            self.number = number
            yield self.queue.fragments[number]
            self.queue.finish(number)
