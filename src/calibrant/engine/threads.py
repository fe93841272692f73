"""Blocks of work on several threads.

Kernels release Python's global lock, so plain threads run them in parallel. A block writes
only what belongs to it. Blocks whose results are added up are cut by the size of the work and
never by the number of threads: the result is the same, bit for bit, for any number. Work
within a block has no threads of its own.
"""

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Thread, current_thread, local
from typing import Any, TypeVar

ENTRIES = 1 << 19  # numbers that a block of rows reads
FEW = 1 << 16  # numbers that are read in the time that a thread takes to start

T = TypeVar("T")
Work = Callable[[int, int], T]
Spans = list[tuple[int, int]]
Progress = Callable[[int, int], None]

_here = local()


def count() -> int:
    """Return the number of threads: `CALIBRANT_THREADS`, or the cores this process may use."""
    asked = os.environ.get("CALIBRANT_THREADS", "")
    if asked:
        if not asked.isdecimal() or int(asked) < 1:
            raise ValueError(f"`CALIBRANT_THREADS` must be a whole number from 1; found {asked!r}.")
        return int(asked)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def blocks(total: int, size: int) -> Spans:
    """Cut range(total) into spans of at most `size`."""
    return [(start, min(start + size, total)) for start in range(0, total, size)]


def even_blocks(total: int, most: int, least: int = 1) -> Spans:
    """Cut range(total) into spans of at most `most`, short enough that every thread has work.

    But not shorter than `least`, which is worth the start of a thread. For work whose result does
    not depend on the cut.
    """
    return blocks(total, min(most, max(1, least, -(-total // count()))))


def row_blocks(shape: tuple[int, ...]) -> Spans:
    """Cut the rows of an (n, m) array into spans of about `ENTRIES` numbers."""
    return blocks(shape[0], max(1, ENTRIES // shape[1]))


def run(work: Work[T], spans: Spans, progress: Progress | None = None) -> list[T]:
    """Return what ``work(start, stop)`` gives for every span, in their order.

    After each, ``progress(done, total)`` is told. An exception, or the user's interrupt, ends the
    work after the spans that have begun.
    """
    n_threads = min(count(), len(spans))
    if n_threads <= 1 or getattr(_here, "within", False):
        return run_here(work, spans, progress)
    if progress is None:
        return _share(work, spans, n_threads)
    return _watch(work, spans, n_threads, progress)


def run_here(work: Work[T], spans: Spans, progress: Progress | None = None) -> list[T]:
    """Do what `run` does one span after the other, on the caller's thread."""
    found = []
    for start, stop in spans:
        found.append(work(start, stop))
        if progress is not None:
            progress(stop, spans[-1][1])
    return found


def fold(
    start: Callable[[], T],
    add: Callable[[T, int, int], None],
    spans: Spans,
    progress: Progress | None = None,
) -> list[T]:
    """Return the states of threads that take one span after another and add it to their own.

    For sums that are exact in any order. After each span of its own, the caller's thread tells
    ``progress(done, total)``.
    """
    states: list[T] = []
    own, caller = local(), current_thread()

    def work(first: int, last: int) -> None:
        if not hasattr(own, "state"):
            own.state = start()
            states.append(own.state)
        add(own.state, first, last)
        if progress is not None and current_thread() is caller:
            progress(last, spans[-1][1])

    n_threads = min(count(), len(spans))
    if n_threads <= 1 or getattr(_here, "within", False):
        run_here(work, spans)
    else:
        _share(work, spans, n_threads)
    return states


def _share(work: Work[T], spans: Spans, n_threads: int) -> list[T]:
    """Let threads take one span after another, the caller's among them: the quickest to start."""
    left = deque(enumerate(spans))
    found: dict[int, T] = {}
    failed: dict[int, BaseException] = {}

    def take() -> None:
        while left:
            try:
                number, span = left.popleft()
            except IndexError:  # somebody was faster
                return
            try:
                found[number] = work(*span)
            except BaseException as error:
                failed[number] = error
                left.clear()

    others = [Thread(target=alone, args=(take,), daemon=True) for _ in range(n_threads - 1)]
    for other in others:
        other.start()
    try:
        alone(take)
    finally:
        left.clear()
        for other in others:
            other.join()
    if failed:
        raise failed[min(failed)]
    return [found[number] for number in range(len(spans))]


def _watch(work: Work[T], spans: Spans, n_threads: int, progress: Progress) -> list[T]:
    """Let threads work while the caller's tells how far they are."""
    pool = ThreadPoolExecutor(n_threads)
    try:
        futures = [pool.submit(alone, work, *span) for span in spans]
        for future, (_, stop) in zip(futures, spans, strict=True):
            future.result()
            progress(stop, spans[-1][1])
    finally:
        pool.shutdown(cancel_futures=True)
    return [future.result() for future in futures]


def alone(work: Callable[..., T], *arguments: Any) -> T:
    """Do work whose blocks run one after the other: for one of several threads or processes."""
    before = getattr(_here, "within", False)
    _here.within = True
    try:
        return work(*arguments)
    finally:
        _here.within = before
