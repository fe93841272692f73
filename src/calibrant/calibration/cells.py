"""Predictions sorted into cells: all that is needed of them when labels are redrawn."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant import device, engine
from calibrant.calibration.sums import CellSums, Means
from calibrant.engine import threads
from calibrant.engine.tuples import Order
from calibrant.partitions import FittedPartition, Partition
from calibrant.predictions import Predictions

Array = NDArray[Any]
Floats = NDArray[np.float64]

LARGE = 1 << 18  # entries of a table of cells beyond which cells are added up one by one


@final
@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """Cells that were found already, in place of a partition.

    Parameters
    ----------
    fitted : FittedPartition
        The cells.
    of_rows : array of int32 of shape (n,)
        The number of each row's cell.
    """

    fitted: FittedPartition
    of_rows: NDArray[np.int32]

    def locate(self, data: Predictions) -> tuple[FittedPartition, NDArray[np.int32]]:  # noqa: ARG002
        """Return what is known."""
        return self.fitted, self.of_rows


@final
@dataclass(frozen=True, eq=False)
class Cells:
    """The cell of every row, found when it is first asked for.

    Parameters
    ----------
    data : Predictions
        The rows.
    partition : Partition or Known
        The cells.
    whole : float, optional
        The weight of all rows, if these are some of them: shares are of that.
    """

    data: Predictions
    partition: Partition | Known
    whole: float | None = None

    @cached_property
    def _located(self) -> tuple[FittedPartition, NDArray[np.int32]]:
        return self.partition.locate(self.data)

    @property
    def fitted(self) -> FittedPartition:
        """The cells that hold rows."""
        return self._located[0]

    @property
    def of_rows(self) -> NDArray[np.int32]:
        """The number of each row's cell (n,)."""
        return self._located[1]

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return self.fitted.n_cells

    @cached_property
    def order(self) -> Order:
        """The rows sorted by cell."""
        found: Order = engine.sums.sort_rows(self.of_rows, self.n_cells)
        return found

    @cached_property
    def mass(self) -> Floats:
        """Number of rows of each cell, or their weight (cells,)."""
        weights = self.data.weights if self.data.weighted else None
        return np.bincount(self.of_rows, weights, self.n_cells).astype(np.float64)

    @property
    def proportions(self) -> Floats:
        """Share of the rows (or weight) in each cell (cells,), p-hat."""
        return np.asarray(self.mass / self._total)

    @property
    def _total(self) -> float:
        return float(self.mass.sum()) if self.whole is None else self.whole

    def sums(self, data: Predictions | None = None) -> CellSums:
        """Add up the rows of every cell; those of `data`, if they have other labels or weights."""
        return CellSums.of(self.data if data is None else data, self.of_rows, self.n_cells)

    @cached_property
    def predictions(self) -> Floats:
        """Sums of the predictions of every cell (cells, m)."""
        return self.sums().predictions()

    def means(self, data: Predictions | None = None) -> Means:
        """Return weight, mean prediction and outcome frequencies of every cell."""
        if self.n_cells * self.data.m <= LARGE:
            return self.sums(data).finish()
        mass, predicted, observed = self.sums_of(0, self.n_cells, data)
        divisor = np.where(mass > 0, mass, 1.0)[:, None]
        return Means(mass, predicted / divisor, observed / divisor)

    def sums_of(self, first: int, last: int, data: Predictions | None = None) -> Means:
        """Return weight and sums of cells first … last - 1 alone: (cells,) and twice (cells, m)."""
        data = self.data if data is None else data
        tables = engine.sums.CellTables(*_two(last - first, data.m), step=1)
        norms = engine.sums.CellNorms(*np.empty((3, self.n_cells)))
        engine.sums.by_cell(data.rows, self.order, (first, last), tables, norms)
        return Means(norms.mass[first:last], tables.predicted, tables.observed)

    def norms(self, data: Predictions | None = None) -> tuple[Floats, Floats, Floats]:
        """Return the weight of each cell, and 1-norm and squared 2-norm of its mean deviation.

        Where a partition can add up rows without naming their cells, in one sweep, there may be
        further cells without rows. Sums are exact, so no bit differs.
        """
        data = self.data if data is None else data
        quick = self._quick_sums(data)
        if quick is not None:
            return quick.sums.mass, *quick.norms()
        if self.n_cells * data.m <= LARGE:
            sums = self.sums(data)
            return sums.sums.mass, *sums.norms()
        found = engine.sums.CellNorms(*np.empty((3, self.n_cells)))

        def work(first: int, last: int) -> None:
            tables = engine.sums.CellTables(*_two(1, data.m), step=0)
            engine.sums.by_cell(data.rows, self.order, (first, last), tables, found)

        threads.run(work, list(self.blocks()))
        return found.mass, found.one, found.two

    def _quick_sums(self, data: Predictions) -> CellSums | None:
        add_up = getattr(self.partition, "add_up", None)
        if add_up is None or "_located" in self.__dict__:
            return None
        sums = add_up(data)
        if sums is None:
            return None
        unit = engine.sums.unit_of(data.rows) if data.weighted else 1.0
        return CellSums(sums, unit, data.event)

    @cached_property
    def there(self) -> Any:
        """The cells on the device of the rows: `device.cells.Cells`; None of rows on the host."""
        rows = self.data.there
        if rows is None:
            return None
        locate = getattr(self.partition, "locate_there", None)
        found = None if locate is None else locate(self.data)
        return device.cells.from_host(rows, self.of_rows) if found is None else found

    def totals(self, data: Predictions | None = None) -> Any:
        """Return norms of the deviations, summed over the cells and largest: `engine.totals`."""
        if (data is None or data is self.data) and self.there is not None:
            return self.there.totals()
        return totals_of(*self.norms(data), self.whole)

    @property
    def by_order(self) -> Any:
        """The cells as the engine takes them: rows sorted by cell, their weight, and all of it."""
        return engine.null.Cells(self.order, self.mass, self._total)

    def blocks(self, entries: int = threads.ENTRIES) -> Iterator[tuple[int, int]]:
        """Cut the cells into spans of about so many probabilities, at least one cell."""
        size = max(1, entries // self.data.m)
        marks = np.searchsorted(self.order.starts, np.arange(size, self.data.n, size))
        ends = np.unique(np.append(marks, self.n_cells))
        yield from zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)


def totals_of(mass: Floats, one: Floats, two: Floats, whole: float | None = None) -> Any:
    """Return the totals of cells with this weight, 1-norm and squared 2-norm (cells,).

    whole : the weight of all cells, if these are some of them
    """
    shares = (mass / (mass.sum() if whole is None else whole))[:, None]
    totals = engine.totals.Totals.zeros(1)
    for norm, values in enumerate((one, np.sqrt(two), two)):
        engine.totals.add_cells(totals, norm, values[:, None], shares)
    return totals


def _two(n_cells: int, m: int) -> tuple[Floats, Floats]:
    """Return two tables (cells, m) to write to."""
    return np.empty((n_cells, m)), np.empty((n_cells, m))


def find_cells(data: Predictions, partition: Partition) -> Cells:
    """Return the cells of a partition, which is fitted when they are first asked for."""
    return Cells(data, partition)
