"""Rows that are drawn again, and perhaps their labels: at hand, and elsewhere."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.calibration import Draws, Gathered, Tabled
from calibrant.engine.arrays import Replicates, Source
from calibrant.predictions import Predictions
from calibrant.resampling.draws import Away
from calibrant.resampling.draws.labels import Labels, Redraw, joined
from calibrant.rows import Batch

Floats = NDArray[np.float64]


@final
class RowDraws(Draws):
    """Replicates in which rows are drawn again, and perhaps their labels."""

    rows_change = True

    def __init__(self, batch: Batch, redraw: Redraw) -> None:
        self.hypothesis = Labels(batch, redraw)  # what labels would be drawn from
        self.given, self.seen = batch.given, batch.seen
        self.lens, self.resampler, self.key = redraw
        self.refit = bool(self.resampler.refit)

    @property
    def _row_by_row(self) -> bool:
        """Whether a row of a replicate is a row of the data, as the lens shows it."""
        return self.lens.rowwise and not self.resampler.draws_data_sets

    def totals(self, cells: Gathered, some: Replicates) -> Any:
        """Return norms of the cells' deviations, summed and largest."""
        if not self._row_by_row:
            return joined([cells.of_other(data).totals() for data in self.data_sets(some)])
        drawn = self.hypothesis
        if drawn.probs is None:
            return self.resampler.totals(cells, self.key, some)
        times = np.stack([self._times(b) for b in range(*some)])
        redrawn = engine.resample.Redrawn(drawn.source, drawn.outcomes.event, times, some)
        return engine.resample.redrawn_totals(drawn.batch.rows, cells.by_order, redrawn)

    def data_sets(self, some: Replicates) -> Iterator[Predictions]:
        """Yield each replicate as a data set, the copies of a row one after the other."""
        for b in range(*some):
            if self._row_by_row:
                yield self._data_set(b)
            else:
                yield self.lens(self.resampler.draw(self.given, self.key, b))

    def _times(self, b: int) -> NDArray[np.int32]:
        """Return how often each row stands in replicate b: (n,)."""
        times = self.resampler.times(self.given, self.key, b)
        assert times is not None
        return np.asarray(times, np.int32)

    def _data_set(self, b: int) -> Predictions:
        """Return replicate b as the lens shows it."""
        times, probs = self._times(b), self.hypothesis.probs
        rows = np.repeat(np.arange(self.given.n), times)
        seen = self.seen.take(rows)
        if probs is None:
            return seen
        plain = Source(probs, None, self.resampler.label_key(self.key), 0)
        labels = engine.draws.draw_copies(plain, times, b)
        return seen.with_labels(self.hypothesis.outcomes.take(rows).of(labels))


class RowState(NamedTuple):
    """Sums over the rows of every cell, in several replicates in which rows are drawn again."""

    mass: Floats  # (cells, size)
    observed: Floats  # (cells, m, size)
    limbs: NDArray[np.int64]  # (3, cells, m, size)


@final
@dataclass(frozen=True, slots=True)
class RowReduction:
    """Sums of the cells of partitions, in replicates in which rows stand several times."""

    key: np.uint64
    cells: tuple[tuple[Any, Any], ...]  # partitions, and all their cells
    m: int  # outcomes
    unit: float  # of the limbs of predictions
    replicates: Replicates

    def zero(self) -> list[RowState]:
        """Return the sums of no rows."""
        shapes = [(fitted.n_cells, self.m, self.replicates.size) for _, fitted in self.cells]
        return [
            RowState(np.zeros(shape[::2]), np.zeros(shape), np.zeros((3, *shape), np.int64))
            for shape in shapes
        ]

    def add(self, state: list[RowState], batch: Batch) -> list[RowState]:
        """Add up the rows of a batch, each as often as it stands in a replicate."""
        for (partition, fitted), sums in zip(self.cells, state, strict=True):
            mine, of_rows = partition.locate(batch.seen)
            _, _, at = fitted.join(mine)
            order = engine.sums.sort_rows(of_rows, mine.n_cells)
            place = batch.rows, order, self.key, self.replicates, self.unit
            found = engine.resample.resampled_sums(*place)
            sums.mass[at] += found.mass
            sums.observed[at] += found.observed
            sums.limbs[:, at] += engine.sums.whole(found.limbs)
        return state

    def merge(self, a: list[RowState], b: list[RowState]) -> list[RowState]:
        """Return the sums of the rows of both."""
        return [
            RowState(*(x + y for x, y in zip(mine, theirs, strict=True)))  # type: ignore[arg-type]
            for mine, theirs in zip(a, b, strict=True)
        ]


@final
class FromSums(Draws):
    """Replicates of rows that are elsewhere and were drawn again, from sums over cells."""

    rows_change = True

    def __init__(self, sums: Mapping[Tabled, RowState], unit: float) -> None:
        self._sums, self._unit = sums, unit

    def totals(self, cells: Tabled, some: Replicates) -> Any:
        """Return norms of the cells' deviations, summed and largest."""
        mass, observed, limbs = self._sums[cells]
        units = np.array([2.0**-bits for bits in engine.sums.LIMBS]).reshape(3, 1, 1, 1)
        sums = engine.resample.ReplicateSums(mass, observed, limbs * units)
        totals = engine.norms.Totals.zeros(some.size)
        event, total = cells.event, cells.total
        sums.add_to(totals, -1 if event is None else event, 1.0 / self._unit, total)
        weight = mass.sum(axis=0)
        return engine.resample.settled(totals, weight, total, cells.totals)


def rows_away(key: np.uint64, m: int, unit: float) -> Away:
    """Return how rows that are elsewhere are drawn again: sums of cells are added up."""

    def adding(cells: tuple[Any, ...], some: Replicates) -> RowReduction:
        return RowReduction(key, cells, m, unit, some)

    return Away(4 * m + 1, adding, lambda tables, _: FromSums(tables, unit), rows_change=True)
