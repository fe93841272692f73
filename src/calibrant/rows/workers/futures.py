"""Any executor of `concurrent.futures`: processes, MPI, Ray, a batch system."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, final

from calibrant.engine import threads
from calibrant.rows.workers.spill import Spill, Split, half
from calibrant.rows.workers.workers import tasks

Progress = Callable[[int, int], None]

OUT = 8  # buckets whose rows are in memory at a time


@final
@dataclass(frozen=True, slots=True)
class Futures:
    """The workers of an executor.

    Parameters
    ----------
    executor : Executor
        Runs tasks, each on a few fragments.
    """

    executor: Executor

    ordered = True  # they are those of files

    def reduce(
        self,
        fragments: Sequence[Any],
        work: Callable[[Iterable[Any]], Any],
        merge: Callable[[Any, Any], Any],
        progress: Progress | None,
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
