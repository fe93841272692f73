"""The cells of every class, in one sweep over the array."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.distances import Distance, measure, norm_of
from calibrant.engine.tuples import Replicates, Source
from calibrant.lenses import Marginal
from calibrant.partitions import EqualWidth, Partition
from calibrant.predictions import Predictions

Array = NDArray[Any]
Floats = NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True, eq=False)
class ClassCells:
    """The cells of every class, and what they hold.

    Parameters
    ----------
    data : Predictions
        The rows.
    cells : array of shape (n, m)
        The cell of each entry among those of its class.
    offsets : array of shape (m + 1,)
        Where the cells of each class begin in the tables.
    mass : array of shape (all cells,)
        Weight.
    predicted : array of shape (all cells,)
        Sum of predictions.
    """

    data: Predictions
    cells: Array
    offsets: NDArray[np.int64]
    mass: Floats
    predicted: Floats

    @classmethod
    def of(cls, data: Predictions, partition: Partition) -> Self:
        """Find the cells of all marginals; of equal widths in one sweep over the array."""
        if isinstance(partition, EqualWidth):
            edges = engine.grid.edges(partition.k)
            cells, mass, predicted = engine.classes.class_boxes(data.rows, edges)
            return cls(data, cells, np.arange(data.m + 1) * partition.k, mass, predicted)
        cells = np.empty((data.n, data.m), np.int32)
        counts = np.empty(data.m, np.int64)
        for j in range(data.m):
            fitted, cells[:, j] = partition.locate(Marginal(j)(data))
            counts[j] = fitted.n_cells
        offsets = np.concatenate(([0], np.cumsum(counts)))
        return cls(data, cells, offsets, *engine.classes.class_sums(data.rows, cells, offsets))

    @property
    def observed(self) -> Floats:
        """Weight that occurred in each cell (all cells, 1)."""
        labels = self.data.labels
        places = self.offsets[labels] + self.cells[np.arange(self.data.n), labels]
        weights = self.data.weights if self.data.weighted else None
        found = np.bincount(places, weights, minlength=int(self.offsets[-1]))
        return found.astype(np.float64)[:, None]

    def drawn(self, key: np.uint64, b0: int, b1: int) -> Floats:
        """Return the weight that occurs in each cell in replicates: (all cells, replicates)."""
        source = Source(self.data.probs, None, key, 0)
        found: Floats = engine.classes.class_counts(
            self.data.rows, self.cells, self.offsets, source, Replicates(b0, b1)
        )
        return found

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


def _both(events: Floats, mass: Floats) -> Floats:
    """Return the shares of the event and of the other outcome (…, 2)."""
    return np.stack((events / mass, (mass - events) / mass), axis=-1)
