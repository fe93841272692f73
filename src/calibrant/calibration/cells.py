"""Cells of a partition: what is known of them, and rows sorted into them."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant import device, engine
from calibrant.calibration.sums import CellSums, EventSums, Means
from calibrant.engine import threads
from calibrant.engine.arrays import Order
from calibrant.partitions import FittedPartition, Partition
from calibrant.predictions import Predictions

Floats = NDArray[np.float64]
Located = tuple[FittedPartition, NDArray[np.int32]]

LARGE = 1 << 18  # entries of a table of cells beyond which cells are added up one by one


class Cells(ABC):
    """The cells of a partition, whether their rows are at hand (`Gathered`) or not (`Tabled`).

    Law: both have the same bits.
    """

    partition: Partition
    m: int  # outcomes
    event: int | None  # the one of two that the problem is about
    wanted: set[int]  # norms that are going to be asked for, so that all come at once

    @property
    @abstractmethod
    def fitted(self) -> FittedPartition:
        """The cells that hold rows."""

    @property
    @abstractmethod
    def mass(self) -> Floats:
        """Number of rows of each cell, or their weight (cells,)."""

    @property
    @abstractmethod
    def total(self) -> float:
        """The weight of all rows, of which shares are."""

    @property
    @abstractmethod
    def predictions(self) -> Floats:
        """Sums of the predictions of every cell (cells, m)."""

    @abstractmethod
    def means(self) -> Means:
        """Return weight, mean prediction and outcome frequencies of every cell."""

    @abstractmethod
    def sums_of(self, first: int, last: int) -> Means:
        """Return weight and sums of cells first … last - 1 alone: (cells,) and twice (cells, m)."""

    @abstractmethod
    def totals(self) -> Any:
        """Return norms of the deviations, summed over the cells and largest: `engine.norms`."""

    @abstractmethod
    def event_sums(self, probs: Any) -> EventSums:
        """Return what distributions of the number of events follow from.

        probs : function that gives the probability that each row draws the event (n,)
        """

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return self.fitted.n_cells

    @property
    def proportions(self) -> Floats:
        """Share of the rows (or weight) in each cell (cells,), p-hat."""
        return np.asarray(self.mass / self.total)

    @property
    def norms_wanted(self) -> tuple[int, int]:
        """The span that holds the norms that are going to be asked for; all if nobody said."""
        norms = self.wanted or {0, 2}
        return min(norms), max(norms) + 1


@final
class Gathered(Cells):
    """Rows sorted by cell, which are found when they are first asked for.

    Parameters
    ----------
    data : Predictions
        The rows.
    partition : Partition
        The cells.
    located : tuple of FittedPartition and array of int32 of shape (n,), optional
        The cells, and that of every row, if they are known already.
    whole : float, optional
        The weight of all rows, if these are some of them: shares are of that.
    """

    def __init__(
        self,
        data: Predictions,
        partition: Partition,
        located: Located | None = None,
        whole: float | None = None,
    ) -> None:
        self.data, self.partition, self._known, self._whole = data, partition, located, whole
        self.m, self.event = data.m, data.event
        self.wanted = set()

    def of_other(self, data: Predictions) -> "Gathered":
        """Return other rows: in cells of the same partition, or in the very same cells."""
        if self._known is None and self.partition.fixed:
            return Gathered(data, self.partition)
        return self.same_of(data)

    def same_of(self, data: Predictions) -> "Gathered":
        """Return other rows in the very same cells."""
        return Gathered(data, self.partition, (self.fitted, self.fitted.assign(data.probs)))

    @property
    def _located(self) -> Located:
        if self._known is None:
            self._known = self.partition.locate(self.data)
        return self._known

    @property
    def fitted(self) -> FittedPartition:
        """The cells that hold rows."""
        return self._located[0]

    @property
    def of_rows(self) -> NDArray[np.int32]:
        """The number of each row's cell (n,)."""
        return self._located[1]

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
    def total(self) -> float:
        """The weight of all rows, of which shares are."""
        return float(self.mass.sum()) if self._whole is None else self._whole

    def sums(self, data: Predictions | None = None) -> CellSums:
        """Add up the rows of every cell; those of `data`, if they have other labels or weights."""
        return CellSums.of(self.data if data is None else data, self.of_rows, self.n_cells)

    @cached_property
    def predictions(self) -> Floats:
        """Sums of the predictions of every cell (cells, m)."""
        return self.sums().predictions()

    def means(self, data: Predictions | None = None) -> Means:
        """Return weight, mean prediction and outcome frequencies of every cell."""
        if self.n_cells * self.m <= LARGE:
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
        sums = None if add_up is None or self._known is not None else add_up(data)
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
        """Return norms of the deviations, summed over the cells and largest: `engine.norms`."""
        if (data is None or data is self.data) and self.there is not None:
            return self.there.totals()
        return totals_of(*self.norms(data), self._whole)

    def event_sums(self, probs: Any) -> EventSums:
        """Return what distributions of the number of events follow from."""
        return EventSums.of(probs(), self.of_rows, self.n_cells)

    @property
    def by_order(self) -> Any:
        """The cells as the engine takes them: rows sorted by cell, their weight, and all of it."""
        return engine.null.Cells(self.order, self.mass, self.total)

    def prepare(self) -> None:
        """Work out what all replicates need, before there are threads."""
        _ = self.order, self.mass, self.m == 2 and self.predictions

    def blocks(self, entries: int = threads.ENTRIES) -> Iterator[tuple[int, int]]:
        """Cut the cells into spans of about so many probabilities, at least one cell."""
        size = max(1, entries // self.m)
        marks = np.searchsorted(self.order.starts, np.arange(size, self.data.n, size))
        ends = np.unique(np.append(marks, self.n_cells))
        yield from zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)


def totals_of(mass: Floats, one: Floats, two: Floats, whole: float | None = None) -> Any:
    """Return the totals of cells with this weight, 1-norm and squared 2-norm (cells,).

    whole : the weight of all cells, if these are some of them
    """
    shares = (mass / (mass.sum() if whole is None else whole))[:, None]
    totals = engine.norms.Totals.zeros(1)
    for norm, values in enumerate((one, np.sqrt(two), two)):
        engine.norms.add_cells(totals, norm, values[:, None], shares)
    return totals


def _two(n_cells: int, m: int) -> tuple[Floats, Floats]:
    """Return two tables (cells, m) to write to."""
    return np.empty((n_cells, m)), np.empty((n_cells, m))
