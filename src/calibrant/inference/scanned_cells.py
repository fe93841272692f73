"""What is known of scanned rows, and of their cells."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn, final

import numpy as np
from numpy.typing import NDArray

from calibrant.calibration.cells import Cells, totals_of
from calibrant.calibration.sums import CellSums, Means
from calibrant.calibration.tally import MEMORY, CellState, Many
from calibrant.inference.moved import Moved
from calibrant.partitions import FittedPartition, Partition
from calibrant.predictions import Predictions

Floats = NDArray[np.float64]


def refuse_rows(kind: type, name: str) -> NoReturn:
    """Refuse what objects of this kind have if their rows are in memory."""
    if hasattr(kind, name):
        raise ValueError(
            "`statistic` must look at cells alone for scanned data, as ExpectedMiscalibration"
            f" and WorstMiscalibration do; this one looks at rows. {MEMORY}"
        )
    raise AttributeError(name)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Outline:
    """What is known of rows before they are read: how many, and of what outcomes.

    Parameters
    ----------
    n : int
        Number of rows.
    classes : tuple of str
        Names of the outcomes.
    event : int or None
        The one of two that the problem is about.
    weighted : bool
        Whether rows have weights.
    clusters : None
        Rows are taken as independent.
    """

    n: int
    classes: tuple[str, ...]
    event: int | None
    weighted: bool
    clusters: None = None

    @property
    def m(self) -> int:
        """Number of outcomes."""
        return len(self.classes)

    def __getattr__(self, name: str) -> NoReturn:
        refuse_rows(Predictions, name)


@final
@dataclass(frozen=True, eq=False)
class ScannedCells:
    """The cells of scanned rows: what `calibration.Cells` offers without rows.

    Parameters
    ----------
    data : Outline
        What is known of the rows.
    partition : Partition
        The cells.
    settle : function
        Finds all cells that were asked for, in one pass.
    """

    data: Outline
    partition: Partition
    settle: Callable[[], None]

    @cached_property
    def cut(self) -> Partition:
        """What rows are located with: the partition, or its bins once they were found."""
        return self.partition

    @cached_property
    def found(self) -> CellState:
        """The cells and their sums, with those of all cells that were asked for."""
        if "many" not in self.__dict__:
            self.settle()
        if "many" in self.__dict__:
            raise ValueError(
                f"{self.partition} has too many cells to be looked at one by one in scanned data;"
                f" use a coarser partition. {MEMORY}"
            )
        state: CellState = self.__dict__["found"]
        return state

    @property
    def many(self) -> Many | None:
        """The heaviest cells, if there are too many to be added up one by one."""
        return self.__dict__.get("many")

    @property
    def moved(self) -> Moved | None:
        """The totals of many cells, once their rows were moved."""
        return self.__dict__.get("moved")

    @property
    def fitted(self) -> FittedPartition:
        """The cells that hold rows."""
        fitted: FittedPartition = self.found.fitted
        return fitted

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return self.fitted.n_cells

    @property
    def mass(self) -> Floats:
        """Number of rows of each cell, or their weight (cells,)."""
        return np.asarray(self.found.sums.sums.mass)

    @property
    def proportions(self) -> Floats:
        """Share of the rows (or weight) in each cell (cells,)."""
        return np.asarray(self.mass / self.mass.sum())

    def sums(self, _: Any = None) -> CellSums:
        """Return the sums of every cell."""
        return self.found.sums

    @cached_property
    def predictions(self) -> Floats:
        """Sums of the predictions of every cell (cells, m)."""
        return self.found.sums.predictions()

    def means(self, _: Any = None) -> Means:
        """Return weight, mean prediction and outcome frequencies of every cell."""
        return self.found.sums.finish()

    def sums_of(self, first: int, last: int, _: Any = None) -> Means:
        """Return weight and sums of cells first … last - 1."""
        sums = self.found.sums.sums
        return Means(sums.mass[first:last], self.predictions[first:last], sums.observed[first:last])

    def norms(self, _: Any = None) -> tuple[Floats, Floats, Floats]:
        """Return the weight of each cell, and 1-norm and squared 2-norm of its mean deviation."""
        return self.mass, *self.found.sums.norms()

    def totals(self, _: Any = None) -> Any:
        """Return norms of the deviations, summed over the cells and largest."""
        moved = self.moved
        return totals_of(*self.norms()) if moved is None else moved.observed

    def __getattr__(self, name: str) -> NoReturn:
        refuse_rows(Cells, name)
