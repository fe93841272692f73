"""Statistics that are made of sums over rows of what their outcomes bring.

The sums are exact, so that rows may come in any order. Those of several statistics are added up
together, while the outcomes of some rows are at hand: labels are drawn once for all of them, and
what depends on predictions alone is worked out once for all replicates.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from calibrant import engine
from calibrant.calibration import Block, View
from calibrant.engine import threads
from calibrant.engine.threads import Progress
from calibrant.statistics.statistic import Array, Evaluate, Floats, Outcomes, batches

Sums = tuple[Array, ...]  # of some replicates; whole numbers, or others that are added exactly


class RowSums(ABC):
    """What is added up over rows."""

    n: int  # rows
    step: int  # rows that are added up at a time
    most: int  # replicates of whose sums there is room

    @abstractmethod
    def start(self, size: int) -> Sums:
        """Return the sums of no rows."""

    @abstractmethod
    def add(self, sums: Sums, first: int, last: int, outcomes: Array) -> None:
        """Add rows first … last - 1 with their outcomes (rows, size)."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Summed:
    """A statistic of sums over rows, as a function of a block."""

    rows: RowSums
    finish: Callable[[Sums], Floats]  # turns sums into statistics (size,)
    otherwise: Evaluate | None = None  # what a block is given to that comes alone

    def __call__(self, block: Block) -> Floats:
        """Return the statistic of each replicate."""
        if self.otherwise is not None:
            return self.otherwise(block)
        parts = batches(block, self.rows.most)
        return np.concatenate([self.finish(*add_up([self.rows], some)) for some in parts])


def add_up(
    parts: Sequence[RowSums], outcomes: Outcomes, progress: Progress | None = None
) -> list[Sums]:
    """Return sums of one or several kinds over all rows, whose outcomes are drawn once."""
    step = min(part.step for part in parts)

    def start() -> list[Sums]:
        return [part.start(outcomes.size) for part in parts]

    def add(states: list[Sums], first: int, last: int) -> None:
        drawn = outcomes.of(np.arange(first, last))
        for part, sums in zip(parts, states, strict=True):
            part.add(sums, first, last, drawn)

    found, *others = threads.fold(start, add, threads.blocks(parts[0].n, step), progress)
    for states in others:
        for mine, theirs in zip(found, states, strict=True):
            for a, b in zip(mine, theirs, strict=True):
                np.add(a, b, out=a)
    return found


@final
class Counts(RowSums):
    """The weight of each outcome: (m, size)."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows  # engine.arrays.Rows
        self.n, self.m = rows.probs.shape
        self.step = 1 << 12
        self.most = max(1, (1 << 22) // self.m)

    def start(self, size: int) -> Sums:
        """Return the sums of no rows."""
        return (np.zeros((self.m, size)),)

    def add(self, sums: Sums, first: int, last: int, outcomes: Array) -> None:
        """Count outcomes."""
        engine.null.count_outcomes(self.rows, (first, last), outcomes, *sums)


def counts_of(view: View) -> Counts:
    """Return the counts of all rows, which statistics of a view share."""
    found: Counts = view.remember("counts", lambda: Counts(view.data.rows))
    return found
