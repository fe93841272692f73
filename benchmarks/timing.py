"""Clocks, memory and tables that every section uses."""

import gc
import time
import tracemalloc
from collections.abc import Callable, Sequence

Task = Callable[[], object]


def interleaved(tasks: dict[str, Task], rounds: int) -> dict[str, list[float]]:
    """Time every task once a round, so that a busy moment of the machine meets all of them.

    Every task runs once before, so that nothing is compiled or loaded while it is timed.
    """
    for task in tasks.values():
        task()
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(rounds):
        for name, task in tasks.items():
            gc.collect()
            start = time.perf_counter()
            task()
            seconds[name].append(time.perf_counter() - start)
    return seconds


def peak_bytes(task: Task) -> int:
    """Return the most memory that `task` held at once beyond what was there before.

    Python and NumPy report what they allocate; torch does not.
    """
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        task()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def best(seconds: dict[str, list[float]]) -> dict[str, float]:
    """Return the fastest run of each task: the one that other work disturbed least."""
    return {name: min(runs) for name, runs in seconds.items()}


def verdict(claim: str, holds: bool) -> str:
    """Say whether a bar is met."""
    return f"- {claim}: {'met' if holds else '**missed**'}"


def milliseconds(seconds: float) -> str:
    """Write a duration in ms."""
    value = seconds * 1e3
    return f"{value:.1f} ms" if value < 100 else f"{value:,.0f} ms"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table whose columns are also aligned as plain text."""
    lines = [list(header), *[list(row) for row in rows]]
    widths = [max(len(line[c]) for line in lines) for c in range(len(header))]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    lines.insert(1, rule)
    return "\n".join(
        "| "
        + " | ".join(
            cell.ljust(width) if c == 0 else cell.rjust(width)
            for c, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        + " |"
        for line in lines
    )
