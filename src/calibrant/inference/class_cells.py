"""The cells of every class, what they hold, and how far off they are."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.distances import Distance, measure, norm_of
from calibrant.engine import threads
from calibrant.engine.tuples import Replicates, Source
from calibrant.inference.plans import Plan
from calibrant.lenses import Marginal
from calibrant.partitions import EqualWidth, Partition
from calibrant.predictions import Predictions

Array = NDArray[Any]
Floats = NDArray[np.float64]

ROOM = 1 << 21  # numbers in a block of counts


@final
@dataclass(frozen=True, slots=True, eq=False)
class ClassTables:
    """What the cells of every class hold.

    Parameters
    ----------
    offsets : array of shape (m + 1,)
        Where the cells of each class begin in the tables.
    mass : array of shape (all cells,)
        Weight.
    predicted : array of shape (all cells,)
        Sum of predictions.
    """

    offsets: NDArray[np.int64]
    mass: Floats
    predicted: Floats

    def distances(self, counts: Floats, distance: Distance) -> Floats:
        """Return the expected distance of each class (m, size) for counts (all cells, size)."""
        held = self.mass > 0  # a distance need not be defined where there are no rows
        mass = self.mass[held, None]
        norm = norm_of(distance)
        if norm is None:
            return self._of_function(counts, distance, held)
        off = np.abs((counts[held] - self.predicted[held, None]) * (1.0 / mass))
        terms = np.zeros(counts.shape)
        shares = mass / self.mass[: self.offsets[1]].sum()
        terms[held] = engine.totals.event_norm(off, norm.kind) * shares
        high, low = engine.totals.parts(terms)
        starts = self.offsets[:-1]
        sums = np.add.reduceat(high, starts, axis=0) + np.add.reduceat(low, starts, axis=0)
        return np.asarray(norm.scale * sums)

    def _of_function(self, counts: Floats, distance: Distance, held: NDArray[np.bool_]) -> Floats:
        """Measure any distance, which may be infinite, in cells that hold rows."""
        mass = self.mass[held, None]
        observed = _both(counts[held], mass)
        predicted = np.broadcast_to(_both(self.predicted[held, None], mass), observed.shape)
        values = np.zeros(counts.shape)
        values[held] = measure(distance, observed, predicted)
        shares = self.mass / self.mass[: self.offsets[1]].sum()
        return np.stack(
            [
                engine.totals.weighted_sum(values[first:last], shares[first:last])
                for first, last in pairwise(self.offsets)
            ]
        )


@final
@dataclass(frozen=True, slots=True, eq=False)
class ClassCells:
    """The cell of every entry, among those of its class.

    Parameters
    ----------
    data : Predictions
        The rows.
    cells : array of shape (n, m)
        The cell of each entry.
    tables : ClassTables
        What the cells hold.
    """

    data: Predictions
    cells: Array
    tables: ClassTables

    @classmethod
    def of(cls, data: Predictions, partition: Partition) -> Self:
        """Find the cells of all marginals; of equal widths in one sweep over the array."""
        rows, unit = data.rows, engine.sums.unit_of(data.rows)
        if isinstance(partition, EqualWidth):
            offsets = np.arange(data.m + 1) * partition.k
            edges = engine.grid.edges(partition.k)
            cells, mass, limbs = engine.classes.class_boxes(rows, edges, unit)
        else:
            cells = np.empty((data.n, data.m), np.int32)
            counts = np.empty(data.m, np.int64)
            for j in range(data.m):
                fitted, cells[:, j] = partition.locate(Marginal(j)(data))
                counts[j] = fitted.n_cells
            offsets = np.concatenate(([0], np.cumsum(counts)))
            mass, limbs = engine.classes.class_sums(rows, cells, offsets, unit)
        predicted = engine.sums.value(limbs) * unit
        return cls(data, cells, ClassTables(offsets, mass, predicted))

    @property
    def observed(self) -> Floats:
        """Weight that occurred in each cell (all cells, 1)."""
        return occurred(self.data, self.cells, self.tables.offsets)[:, None]

    def drawn(self, key: np.uint64, b0: int, b1: int) -> Floats:
        """Return the weight that occurs in each cell in replicates: (all cells, replicates)."""
        source = Source(self.data.probs, None, key, 0)
        found: Floats = engine.classes.class_counts(
            self.data.rows, self.cells, self.tables.offsets, source, Replicates(b0, b1)
        )
        return found


def occurred(data: Predictions, cells: Array, offsets: NDArray[np.int64]) -> Floats:
    """Return the weight that occurred in each cell (all cells,), given those of entries (n, m)."""
    places = offsets[data.labels] + cells[np.arange(data.n), data.labels]
    weights = data.weights if data.weighted else None
    return np.bincount(places, weights, minlength=int(offsets[-1])).astype(np.float64)


def class_values(
    data: Predictions, partition: Partition, distance: Distance, plan: Plan
) -> tuple[Floats, Floats]:
    """Return the expected distance of each class (m,), and in each replicate (m, B).

    Rows in clusters are not drawn here: their replicates flip signs, and these are left empty.
    """
    cells = ClassCells.of(data, partition)
    null = np.empty((data.m, plan.n_resamples))

    def work(b0: int, b1: int) -> None:
        null[:, b0:b1] = cells.tables.distances(cells.drawn(plan.key, b0, b1), distance)

    size = min(max(1, ROOM // int(cells.tables.offsets[-1])), 128)
    if not plan.resampler.flips_signs:
        threads.run(work, threads.blocks(plan.n_resamples, size), plan.progress)
    return cells.tables.distances(cells.observed, distance)[:, 0], null


def _both(events: Floats, mass: Floats) -> Floats:
    """Return the shares of the event and of the other outcome (…, 2)."""
    return np.stack((events / mass, (mass - events) / mass), axis=-1)
