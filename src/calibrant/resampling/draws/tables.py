"""Labels of rows that are elsewhere: counts of cells are added up, and replicates made of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.calibration import Draws, Gathered, Tabled
from calibrant.engine.arrays import Replicates
from calibrant.predictions import Predictions
from calibrant.resampling.draws.labels import Labels, Redraw, both_outcomes, event_totals
from calibrant.rows import Batch

Floats = NDArray[np.float64]


@final
class Counted(Draws):
    """Replicates of rows that are elsewhere, from tables of what was counted."""

    def __init__(self, tables: Mapping[Tabled, Floats], some: Replicates) -> None:
        self._tables, self._some = tables, some  # (cells, size) of the event, else (cells, m, size)

    def totals(self, cells: Tabled, some: Replicates) -> Any:
        """Return norms of the cells' deviations, summed and largest."""
        if cells.exchanged is not None:
            return cells.exchanged.some(some)
        return table_totals(cells, self._tables[cells])

    def events(self, cells: Tabled, some: Replicates, first: int, last: int) -> Floats:
        """Return the weight of the event in cells first … last - 1: (cells, size)."""
        return self._tables[cells][first:last, self._span(some)].copy()

    def counts(self, cells: Tabled, some: Replicates, first: int, last: int) -> Floats:
        """Return the weight of each outcome in cells first … last - 1: (size, cells, m)."""
        if cells.m > 2:
            return self._tables[cells][first:last, :, self._span(some)].transpose(2, 0, 1)
        events = self.events(cells, some, first, last).T
        return both_outcomes(events, cells.mass[first:last], cells.event)

    def _span(self, some: Replicates) -> slice:
        return slice(some.start - self._some.start, some.stop - self._some.start)


@final
@dataclass(frozen=True, slots=True)
class CountReduction:
    """Outcomes that are drawn in the cells of partitions, in some replicates."""

    redraw: Redraw
    cells: tuple[tuple[Any, Any], ...]  # partitions, and all their cells
    m: int  # outcomes
    replicates: Replicates

    def zero(self) -> list[Floats]:
        """Return empty tables: (cells, size) of two outcomes, else (cells, m, size)."""
        inner = () if self.m == 2 else (self.m,)
        sizes = [(fitted.n_cells, *inner, self.replicates.size) for _, fitted in self.cells]
        return [np.zeros(size) for size in sizes]

    def add(self, state: list[Floats], batch: Batch) -> list[Floats]:
        """Draw the outcomes of a batch, each row by its number in the whole data set.

        What is drawn in the finest cells is also counted in coarser ones that they lie in.
        """
        labels = Labels(batch, self.redraw)
        located = [_Located.of(batch.seen, *pair) for pair in self.cells]
        if len(located) == 1:
            labels.add_counts(*located[0], state[0], self.replicates)
            return state
        finest = max(located, key=lambda one: one.cells.n_cells)
        counts = np.zeros((finest.cells.n_cells, *state[0].shape[1:]))
        all_of_them = np.arange(len(counts), dtype=np.int32)
        labels.add_counts(finest.cells, all_of_them, counts, self.replicates)
        for one, table in zip(located, state, strict=True):
            within = finest.within(one)
            if within is None:
                labels.add_counts(*one, table, self.replicates)
            else:
                np.add.at(table, one.at[within], counts)
        return state

    def merge(self, a: list[Floats], b: list[Floats]) -> list[Floats]:
        """Return the counts of the rows of both."""
        return [mine + theirs for mine, theirs in zip(a, b, strict=True)]


class _Located(NamedTuple):
    """The cells of the rows of a batch, and where they are among all cells."""

    cells: Gathered
    at: NDArray[np.int32]  # (cells,)

    @classmethod
    def of(cls, seen: Predictions, partition: Any, fitted: Any) -> "_Located":
        """Find the cells of rows."""
        located = partition.locate(seen)
        return cls(Gathered(seen, partition, located), fitted.join(located[0])[2])

    def within(self, other: "_Located") -> NDArray[np.int32] | None:
        """Return the cell of another partition that each cell lies in; None if some lie in two."""
        found = np.zeros(self.cells.n_cells, np.int32)
        found[self.cells.of_rows] = other.cells.of_rows
        nested = np.array_equal(found[self.cells.of_rows], other.cells.of_rows)
        return found if nested else None


@final
@dataclass(frozen=True, slots=True)
class LabelsAway:
    """How labels of rows that are elsewhere are drawn: counts of cells are added up."""

    redraw: Redraw
    m: int  # outcomes

    rows_change = False

    @property
    def entries(self) -> int:
        """How many numbers a replicate has for each cell."""
        return 1 if self.m == 2 else self.m

    def reduction(self, tables: Sequence[Tabled], some: Replicates) -> CountReduction:
        """Return what is added up in some replicates."""
        cells = tuple((table.cut, table.fitted) for table in tables)
        return CountReduction(self.redraw, cells, self.m, some)

    def over(self, tables: Mapping[Tabled, Any], some: Replicates) -> Draws:
        """Return the replicates that were added up."""
        return Counted(tables, some)


def table_totals(cells: Tabled, table: Floats) -> Any:
    """Return the totals of cells in replicates from what was counted in them."""
    if cells.m == 2:
        return event_totals(lambda first, last: table[first:last].copy(), cells, table.shape[-1])
    place = table, cells.predictions, cells.mass, cells.norms_wanted, cells.total
    return engine.null.table_totals(*place)
