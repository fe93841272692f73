"""Cells of a partition: exact sums over their rows, and rows sorted into them."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self, final

import numpy as np
from numpy.typing import NDArray

from calibrant import device, engine
from calibrant.engine import threads
from calibrant.engine.arrays import Order
from calibrant.partitions import FittedPartition, Partition
from calibrant.predictions import Predictions

Floats = NDArray[np.float64]
Numbers = NDArray[np.int32]
Norms = tuple[Floats, Floats, Floats]  # weight, 1-norm and squared 2-norm of each cell (cells,)
Located = tuple[FittedPartition, Numbers]  # the cells that hold rows, and that of every row (n,)

LARGE = 1 << 18  # entries of a table of cells beyond which cells are added up one by one
ENOUGH = 200.0  # variance from which twelve cumulants tell a distribution to 1e-15


class Means(NamedTuple):
    """Weight, mean prediction and outcome frequencies of every cell."""

    mass: Floats  # (cells,)
    predicted: Floats  # (cells, m)
    observed: Floats  # (cells, m)


@final
@dataclass(frozen=True, slots=True, eq=False)
class CellSums:
    """Weight, predictions and outcomes, added up in each cell.

    Sums of blocks of rows, merged in any order, have the same bits as the sums of all rows:
    predictions are added as whole numbers of very small units, and weights are rounded so that
    their sums are exact.
    """

    sums: Any  # engine.sums.Sums
    unit: float  # the power of 2 that the limbs of the predictions are counted in
    event: int | None  # the one of two whose predictions are added up; those of the other follow

    @classmethod
    def of(cls, data: Predictions, cells: Numbers, n_cells: int, unit: float | None = None) -> Self:
        """Add up rows whose cells (n,) are known; `unit` is that of all rows, if these are some."""
        rows = data.rows
        unit = engine.sums.unit_of(rows) if unit is None else unit
        return cls(engine.sums.add_up(rows, cells, n_cells, unit), unit, data.event)

    def placed(self, at: Numbers, n_cells: int) -> Self:
        """Return the same sums among more cells: cell c at place at[c], others without rows."""
        mass, observed, limbs = self.sums
        wide = type(self.sums)(
            np.zeros(n_cells),
            np.zeros((n_cells, observed.shape[1])),
            np.zeros((3, n_cells, limbs.shape[2]), np.int64),
        )
        wide.mass[at], wide.observed[at], wide.limbs[:, at] = mass, observed, limbs
        return type(self)(wide, self.unit, self.event)

    def merge(self, other: Self) -> Self:
        """Return the sums over the rows of both."""
        if self.unit != other.unit or self.event != other.event:
            raise ValueError("`other` must be sums of the same problem, with weights of one unit.")
        return type(self)(engine.sums.merged(self.sums, other.sums), self.unit, self.event)

    def predictions(self) -> Floats:
        """Return the sums of predictions (cells, m)."""
        found = engine.sums.value(self.sums.limbs) * self.unit
        if self.event is None:
            return np.asarray(found)
        both = np.empty((found.shape[0], 2))
        both[:, self.event] = found[:, 0]
        both[:, 1 - self.event] = self.sums.mass - found[:, 0]
        return both

    def finish(self) -> Means:
        """Divide by the weight of each cell; a cell without weight has means of 0."""
        mass = _divisor(self.sums.mass)
        return Means(self.sums.mass, self.predictions() / mass, self.sums.observed / mass)

    def norms(self) -> Norms:
        """Return the weight of each cell, and 1-norm and squared 2-norm of its mean deviation."""
        mass = self.sums.mass
        off = (self.sums.observed - self.predictions()) * (1.0 / _divisor(mass))
        if self.event is None:
            return mass, *engine.norms.norms(off)
        both = np.abs(off[:, self.event])  # of two outcomes, which are off by the same
        return mass, engine.norms.event_norm(both, 0), engine.norms.event_norm(both, 2)


def _divisor(mass: Floats) -> Floats:
    """Return what sums are divided by (cells, 1): 1 for a cell without weight."""
    return np.where(mass > 0, mass, 1.0)[:, None]


@final
@dataclass(frozen=True, slots=True, eq=False)
class EventSums:
    """What the distribution of the number of events in each cell of two outcomes follows from.

    Sums of powers, and the moderate rows of cells of small variance. Once the variance of a cell is
    large, its rows are dropped for good. The variance is a sum of terms that are not negative, so
    what remains does not depend on the order of merging.
    """

    powers: Any  # engine.poisson_binomial.PowerSums of all rows
    cells: Numbers  # the cell of each row that is kept,
    p: Floats  # and its probability

    @classmethod
    def of(cls, p: Floats, cells: Numbers, n_cells: int) -> Self:
        """Add up rows with probabilities p (n,) of the event, whose cells (n,) are known."""
        powers = engine.poisson_binomial.power_sums(p, cells, n_cells)
        small = _variance(powers) < ENOUGH
        kept = np.flatnonzero(small[cells]) if small.any() else np.empty(0, np.int64)
        mine = p[kept]
        moderate = mine * (1.0 - mine) >= engine.poisson_binomial.MODERATE
        return cls(powers, cells[kept[moderate]], mine[moderate])

    def placed(self, at: Numbers, n_cells: int) -> Self:
        """Return the same sums among more cells: cell c at place at[c], others without rows."""
        rows = np.zeros((n_cells, 2), np.int64)
        limbs = np.zeros((3, n_cells, engine.poisson_binomial.COLUMNS), np.int64)
        rows[at], limbs[:, at] = self.powers
        return type(self)(type(self.powers)(rows, limbs), at[self.cells], self.p)

    def merge(self, other: Self) -> Self:
        """Return the sums over the rows of both."""
        pairs = zip(self.powers, other.powers, strict=True)
        powers = type(self.powers)(*(mine + theirs for mine, theirs in pairs))
        cells, p = np.concatenate((self.cells, other.cells)), np.concatenate((self.p, other.p))
        kept = (_variance(powers) < ENOUGH)[cells]
        return type(self)(powers, cells[kept], p[kept])

    def rows_of(self) -> list[Floats]:
        """Return the sorted probabilities of the rows that are kept, of every cell."""
        order = np.lexsort((self.p, self.cells))
        n_cells = self.powers.rows.shape[0]
        ends = np.searchsorted(self.cells[order], np.arange(1, n_cells))
        return np.split(self.p[order], ends)


def _variance(powers: Any) -> Floats:
    found: Floats = engine.sums.value(powers.limbs[:, :, 1])
    return found


class Cells(ABC):
    """The cells of a partition, whether their rows are at hand (`Gathered`) or not (`Tabled`).

    Law: both have the same bits. What follows from sums over all cells is said here; rows at hand
    have quicker ways where cells are many or few of them are asked for.
    """

    open = False  # whether a fold over the rows has to come first

    def __init__(
        self, partition: Partition, m: int, event: int | None, whole: float | None
    ) -> None:
        self.partition = partition
        self.m, self.event = m, event  # outcomes, and the one of two that the problem is about
        self._whole = whole  # the weight of all rows, if these are some of them
        self.wanted: set[int] = set()  # norms that will be asked for, so that all come at once

    @property
    @abstractmethod
    def fitted(self) -> FittedPartition:
        """The cells that hold rows."""

    @abstractmethod
    def sums(self) -> CellSums:
        """Return weight, predictions and outcomes, added up in every cell."""

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
    def mass(self) -> Floats:
        """Number of rows of each cell, or their weight (cells,)."""
        return np.asarray(self.sums().sums.mass)

    @property
    def total(self) -> float:
        """The weight of all rows, of which shares are."""
        return float(self.mass.sum()) if self._whole is None else self._whole

    @property
    def proportions(self) -> Floats:
        """Share of the rows (or weight) in each cell (cells,), p-hat."""
        return np.asarray(self.mass / self.total)

    @cached_property
    def predictions(self) -> Floats:
        """Sums of the predictions of every cell (cells, m)."""
        return self.sums().predictions()

    def means(self) -> Means:
        """Return weight, mean prediction and outcome frequencies of every cell."""
        return self.sums().finish()

    def sums_of(self, first: int, last: int) -> Means:
        """Return weight and sums of cells first … last - 1 alone: (cells,) and twice (cells, m)."""
        some = slice(first, last)
        return Means(self.mass[some], self.predictions[some], self.sums().sums.observed[some])

    def totals(self) -> Any:
        """Return norms of the deviations, summed over the cells and largest: `engine.norms`."""
        return totals_of(self.sums().norms(), self._whole)

    @property
    def norms_wanted(self) -> tuple[int, int]:
        """The span that holds the norms that are going to be asked for; all if nobody said."""
        norms = self.wanted or {0, 2}
        return min(norms), max(norms) + 1


@final
class Gathered(Cells):
    """Rows sorted by cell, which are found when they are first asked for.

    located : the cells, and that of every row, if they are known already
    whole : the weight of all rows, if these are some of them
    """

    def __init__(
        self,
        data: Predictions,
        partition: Partition,
        located: Located | None = None,
        whole: float | None = None,
    ) -> None:
        super().__init__(partition, data.m, data.event, whole)
        self.data, self._known = data, located

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
    def of_rows(self) -> Numbers:
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

    def sums(self, data: Predictions | None = None) -> CellSums:
        """Add up the rows, or `data`: here and below, the same with other labels or weights."""
        return CellSums.of(self.data if data is None else data, self.of_rows, self.n_cells)

    def means(self, data: Predictions | None = None) -> Means:
        """Return weight, mean prediction and outcome frequencies of every cell."""
        if self.n_cells * self.m <= LARGE:
            return self.sums(data).finish()
        mass, predicted, observed = self.sums_of(0, self.n_cells, data)
        return Means(mass, predicted / _divisor(mass), observed / _divisor(mass))

    def sums_of(self, first: int, last: int, data: Predictions | None = None) -> Means:
        """Return weight and sums of cells first … last - 1 alone: (cells,) and twice (cells, m)."""
        data = self.data if data is None else data
        predicted, observed = np.empty((2, last - first, data.m))
        tables = engine.sums.CellTables(predicted, observed, step=1)
        norms = engine.sums.CellNorms(*np.empty((3, self.n_cells)))
        engine.sums.by_cell(data.rows, self.order, (first, last), tables, norms)
        return Means(norms.mass[first:last], predicted, observed)

    def norms(self, data: Predictions | None = None) -> Norms:
        """Return the weight of each cell, and 1-norm and squared 2-norm of its mean deviation.

        Where a partition can add up rows without naming their cells, in one sweep, there may be
        further cells without rows. Sums are exact, so no bit differs.
        """
        data = self.data if data is None else data
        quick = self._quick_sums(data)
        if quick is not None:
            return quick.norms()
        if self.n_cells * data.m <= LARGE:
            return self.sums(data).norms()
        found = engine.sums.CellNorms(*np.empty((3, self.n_cells)))

        def work(first: int, last: int) -> None:
            predicted, observed = np.empty((2, 1, data.m))
            tables = engine.sums.CellTables(predicted, observed, step=0)
            engine.sums.by_cell(data.rows, self.order, (first, last), tables, found)

        threads.run(work, list(self.blocks()))
        return found.mass, found.one, found.two

    def _quick_sums(self, data: Predictions) -> CellSums | None:
        if self._known is not None or not hasattr(self.partition, "add_up"):
            return None
        sums = self.partition.add_up(data)
        if sums is None:
            return None
        unit = engine.sums.unit_of(data.rows) if data.weighted else 1.0
        return CellSums(sums, unit, data.event)

    @cached_property
    def on_device(self) -> Any:
        """The cells on the device of the rows (`DeviceCells`); None of rows on the host."""
        rows = self.data.on_device
        if rows is None:
            return None
        locate = getattr(self.partition, "locate_on_device", None)
        found = None if locate is None else locate(self.data)
        return device.cells.from_host(rows, self.of_rows) if found is None else found

    def totals(self, data: Predictions | None = None) -> Any:
        """Return norms of the deviations, summed over the cells and largest: `engine.norms`."""
        if (data is None or data is self.data) and self.data.on_device is not None:
            quick = self._quick_sums(self.data)
            if quick is None:
                return self.on_device.totals()
            return totals_of(quick.norms(), None, self.norms_wanted)
        return totals_of(self.norms(data), self._whole)

    def event_sums(self, probs: Any) -> EventSums:
        """Return what distributions of the number of events follow from."""
        return EventSums.of(probs(), self.of_rows, self.n_cells)

    @property
    def by_order(self) -> Any:
        """The cells as the engine takes them: rows sorted by cell, their weight, and all of it."""
        return engine.null.SortedCells(self.order, self.mass, self.total)

    def prepare(self) -> None:
        """Work out what all replicates need, before there are threads."""
        _ = self.order
        if self.wanted:
            _ = self.mass, self.m == 2 and self.predictions

    def blocks(self, entries: int = threads.ENTRIES) -> Iterator[tuple[int, int]]:
        """Cut the cells into spans of about so many probabilities, at least one cell."""
        size = max(1, entries // self.m)
        marks = np.searchsorted(self.order.starts, np.arange(size, self.data.n, size))
        ends = np.unique(np.append(marks, self.n_cells))
        yield from zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)


def totals_of(norms: Norms, whole: float | None, wanted: tuple[int, int] = (0, 3)) -> Any:
    """Return the totals of cells; `whole` is the weight of all, if these are some of them."""
    mass, one, two = norms
    shares = (mass / (mass.sum() if whole is None else whole))[:, None]
    totals = engine.norms.Totals.zeros(1)
    for norm in range(*wanted):
        values = (one, np.sqrt(two), two)[norm]
        engine.norms.add_cells(totals, norm, values[:, None], shares)
    return totals
