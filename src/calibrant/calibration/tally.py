"""Sums of cells over batches of rows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from calibrant.calibration.law_sums import LawSums
from calibrant.calibration.sums import CellSums
from calibrant.lenses import Lens
from calibrant.partitions import EqualMass, Partition, VarianceTree
from calibrant.partitions.partition import check_partition
from calibrant.predictions import Predictions
from calibrant.scanning import Batch

Floats = NDArray[np.float64]

MEMORY = "Use scan.load() if the rows fit into memory."


HEAVIEST = 1024  # cells of which it is known, nearly, how many rows they have, where there are many


class Many(NamedTuple):
    """Cells that are too many to be added up one by one.

    Which are the heaviest is known nearly, and depends on the order of merging: it decides how rows
    are moved, and changes no result.
    """

    fitted: Any
    rows: Floats  # (cells,)

    @classmethod
    def of(cls, state: "CellState") -> "Many":
        """Keep the heaviest cells."""
        return cls(state.fitted, np.asarray(state.sums.sums.mass)).heaviest()

    def heaviest(self) -> "Many":
        """Keep the heaviest cells, if they can be told apart from others."""
        if self.fitted.n_cells <= HEAVIEST or not hasattr(self.fitted, "keep"):
            return self
        first = np.sort(np.argpartition(-self.rows, HEAVIEST)[:HEAVIEST])
        return Many(self.fitted.keep(first), self.rows[first])

    def merge(self, other: "Many") -> "Many":
        """Return the heaviest cells of both."""
        fitted, mine, theirs = self.fitted.join(other.fitted)
        rows = np.zeros(fitted.n_cells)
        rows[mine] += self.rows
        rows[theirs] += other.rows
        return Many(fitted, rows).heaviest()


class CellState(NamedTuple):
    """The cells that were seen, and sums over their rows."""

    fitted: Any  # a fitted partition with `join`
    sums: CellSums
    laws: LawSums | None  # of two outcomes, if they were asked for

    def merge(self, other: "CellState") -> "CellState":
        """Return the cells and sums of both."""
        fitted, mine, theirs = self.fitted.join(other.fitted)
        size = fitted.n_cells
        sums = self.sums.placed(mine, size).merge(other.sums.placed(theirs, size))
        laws = None
        if self.laws is not None and other.laws is not None:
            laws = self.laws.placed(mine, size).merge(other.laws.placed(theirs, size))
        return CellState(fitted, sums, laws)


State = CellState | Many | None


@final
@dataclass(frozen=True, slots=True)
class CellTally:
    """Weight, predictions and outcomes in the cells of partitions.

    Parameters
    ----------
    lens : Lens
        What rows are seen through.
    partitions : tuple of Partition
        The cells.
    unit : float
        That of the limbs of predictions.
    event_probs : callable, optional
        Gives the probability that a row of a batch draws the event (n,); None if the
        distributions of counts are not wanted.
    most : tuple of int or None, optional
        Number of cells of each partition beyond which only the heaviest are kept; default: none.
    """

    lens: Lens
    partitions: tuple[Partition, ...]
    unit: float
    event_probs: Callable[[Batch], Floats] | None = None
    most: tuple[int | None, ...] = ()

    def zero(self) -> list[State]:
        """Return the state of no rows."""
        return [None] * len(self.partitions)

    def update(self, state: list[State], batch: Batch) -> list[State]:
        """Add up the rows of a batch."""
        seen = self.lens(batch.data)
        p = None if self.event_probs is None else self.event_probs(batch)
        found: list[State] = []
        for partition in self.partitions:
            fitted, cells = partition.locate(seen)
            sums = CellSums.of(seen, cells, fitted.n_cells, self.unit)
            laws = None if p is None else LawSums.of(p, cells, fitted.n_cells)
            found.append(CellState(fitted, sums, laws))
        return self.merge(state, found)

    def merge(self, a: list[State], b: list[State]) -> list[State]:
        """Return the cells and sums of the rows of both."""
        most = self.most or (None,) * len(a)
        return [_limited(_both(x, y), limit) for x, y, limit in zip(a, b, most, strict=True)]


def _limited(state: State, most: int | None) -> State:
    """Keep the heaviest cells alone if there are too many."""
    few = most is None or not isinstance(state, CellState) or state.fitted.n_cells <= most
    return state if few else _many(state)


def _both(a: State, b: State) -> State:
    """Return the cells and sums of the rows of both."""
    if a is None or b is None:
        return b if a is None else a
    if isinstance(a, CellState) and isinstance(b, CellState):
        return a.merge(b)
    return _many(a).merge(_many(b))


def _many(state: Any) -> Many:
    return state if isinstance(state, Many) else Many.of(state)


def check_scannable(partition: Partition, m: int) -> None:
    """Refuse a partition of m outcomes that must see all rows before it knows its cells."""
    check_partition(partition)
    if getattr(partition, "split", "mean") == "median":
        raise ValueError(
            "`partition` must split at means for scanned data: medians would take several passes"
            " over the rows for each level of a tree. Use VarianceTree(…), EqualMass(…), or"
            " scan.load() if the rows fit into memory."
        )
    if not (partition.fixed or isinstance(partition, EqualMass | VarianceTree)):
        raise ValueError(
            f"`partition` must not depend on the rows for scanned data; {partition} does. Use"
            f" EqualWidth(…), SimplexCells(…), EqualMass(…) or VarianceTree(…). {MEMORY}"
        )
    row = Predictions.trusted(np.full((1, m), 1.0 / m), np.zeros(1, np.int32), ("",) * m)
    if not hasattr(partition.fit(row), "join"):
        raise ValueError(
            "cells of scanned data must be put together from parts, with `join`, as those of"
            f" EqualWidth(…) are; {partition} cannot. {MEMORY}"
        )
