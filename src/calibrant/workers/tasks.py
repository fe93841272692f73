"""How fragments become tasks."""

from collections.abc import Sequence
from typing import Any

MOST = 64  # tasks: enough for balance, few enough that merging their states costs little


def tasks(fragments: Sequence[Any], most: int = MOST) -> list[tuple[Any, ...]]:
    """Cut fragments into at most so many runs of about equally many rows.

    Examples
    --------
    >>> from types import SimpleNamespace as Rows
    >>> [len(run) for run in tasks([Rows(n=10), Rows(n=1), Rows(n=1), Rows(n=8)], 2)]
    [1, 3]
    """
    total = sum(fragment.n for fragment in fragments)
    runs: list[list[Any]] = []
    done = 0
    for fragment in fragments:
        number = done * most // max(total, 1)
        if not runs or number > (done - runs[-1][-1].n) * most // max(total, 1):
            runs.append([])
        runs[-1].append(fragment)
        done += fragment.n
    return [tuple(run) for run in runs]
