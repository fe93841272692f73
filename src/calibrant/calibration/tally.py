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
    """

    lens: Lens
    partitions: tuple[Partition, ...]
    unit: float
    event_probs: Callable[[Batch], Floats] | None = None

    def zero(self) -> list[CellState | None]:
        """Return the state of no rows."""
        return [None] * len(self.partitions)

    def update(self, state: list[CellState | None], batch: Batch) -> list[CellState | None]:
        """Add up the rows of a batch."""
        seen = self.lens(batch.data)
        p = None if self.event_probs is None else self.event_probs(batch)
        found: list[CellState | None] = []
        for partition in self.partitions:
            fitted, cells = partition.locate(seen)
            sums = CellSums.of(seen, cells, fitted.n_cells, self.unit)
            laws = None if p is None else LawSums.of(p, cells, fitted.n_cells)
            found.append(CellState(fitted, sums, laws))
        return self.merge(state, found)

    def merge(self, a: list[CellState | None], b: list[CellState | None]) -> list[CellState | None]:
        """Return the cells and sums of the rows of both."""
        return [
            mine if theirs is None else theirs if mine is None else mine.merge(theirs)
            for mine, theirs in zip(a, b, strict=True)
        ]


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
