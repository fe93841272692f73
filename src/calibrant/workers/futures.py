"""Any executor of `concurrent.futures`: processes, MPI, Ray, a batch system."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import reduce
from typing import Any, final

from calibrant.engine import threads
from calibrant.workers.tasks import tasks

Progress = Callable[[int, int], None]


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

    @property
    def ordered(self) -> bool:
        """Whether fragments know the numbers of their rows: yes, they are those of files."""
        return True

    def reduce(
        self,
        fragments: Sequence[Any],
        work: Callable[[Iterable[Any]], Any],
        merge: Callable[[Any, Any], Any],
        progress: Progress | None,
    ) -> Any:
        """Return the merged states; the first task that fails ends the others."""
        groups = tasks(fragments)
        futures = [self.executor.submit(threads.alone, work, group) for group in groups]
        total, done, states = sum(fragment.n for fragment in fragments), 0, []
        try:
            for future, group in zip(futures, groups, strict=True):
                states.append(future.result())
                done += sum(fragment.n for fragment in group)
                if progress is not None:
                    progress(done, total)
        finally:
            for future in futures:
                future.cancel()
        return reduce(merge, states)
