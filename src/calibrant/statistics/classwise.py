"""The expected miscalibration of every class against the rest, and its mean."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Self, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.arguments import as_distance, as_partition
from calibrant.calibration import Block, View
from calibrant.distances import Distance, measure, name_of, norm_of, total_variation
from calibrant.engine.arrays import Array, Floats, Ints, Replicates, Source
from calibrant.lenses import Marginal
from calibrant.partitions import EqualWidth, Partition
from calibrant.rows import Batch
from calibrant.statistics.statistic import Evaluate, Statistic

LAID_OUT = 1 << 21  # numbers in a block of counts


@final
@dataclass(frozen=True, slots=True)
class ClasswiseMiscalibration(Statistic):
    r"""The mean over the classes of the expected miscalibration of each against the rest, Eq. (3).

    .. math:: \frac{1}{m} \sum_j \hat\eta_d(\text{class } j)

    With `EqualWidth` and the total variation it is the "classwise ECE" of Kull et al. (2019).
    `calibrant.classwise` has the classes one by one.

    Parameters
    ----------
    partition : Partition
        Bins of each class.
    distance : callable, default total_variation
        Compares a bin's frequency with its mean prediction.

    Examples
    --------
    >>> from calibrant import Predictions
    >>> ClasswiseMiscalibration(EqualWidth(2))(Predictions([[0.5, 0.25, 0.25]] * 2, [0, 1]))
    0.16666666666666666
    """

    partition: Partition
    distance: Distance = total_variation

    def __post_init__(self) -> None:
        object.__setattr__(self, "partition", as_partition(self.partition))
        object.__setattr__(self, "distance", as_distance(self.distance))

    def prepare(self, view: View) -> Evaluate:
        batch = view.batch._replace(given=view.data)
        cells = ClassCells.of(batch, self.partition, view.unit)
        tables = ClassTables.of(cells, view.unit)
        step = max(1, LAID_OUT // int(cells.offsets[-1]))

        def evaluate(block: Block) -> Floats:
            counts = cells.counted(block, step, same=view.unchanged)
            parts = [tables.distances(some, self.distance).mean(axis=0) for some in counts]
            return np.concatenate(parts)

        return evaluate

    def __str__(self) -> str:
        return f"mean over classes of expected {name_of(self.distance)} on {self.partition}"


@final
@dataclass(frozen=True, slots=True, eq=False)
class ClassTables:
    """What the cells of every class hold."""

    offsets: Ints  # (m + 1,) where the cells of each class begin
    mass: Floats  # (all cells,) weight
    predicted: Floats  # (all cells,) sum of predictions

    @classmethod
    def of(cls, cells: "ClassCells", unit: float) -> Self:
        """Return what was added up, with predictions in units of the weights."""
        return cls(cells.offsets, cells.mass, engine.sums.value(cells.limbs) * unit)

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
        terms[held] = engine.norms.event_norm(off, norm.kind) * shares
        high, low, _ = engine.norms.limbs(terms)
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
                engine.norms.weighted_sum(values[first:last], shares[first:last])
                for first, last in pairwise(self.offsets)
            ]
        )


@final
@dataclass(frozen=True, slots=True, eq=False)
class ClassCells:
    """The cells of every class that rows lie in, and sums over them."""

    batch: Batch
    of_entries: Array  # (n, m) the cell of every entry, among those of its class
    offsets: Ints  # (m + 1,) where the cells of each class begin
    mass: Floats  # (all cells,) weight
    limbs: Ints  # (3, all cells) of the sums of predictions

    @classmethod
    def of(cls, batch: Batch, partition: Partition, unit: float) -> Self:
        """Find the cells of all marginals; of equal widths in one sweep over the array."""
        data = batch.given
        if isinstance(partition, EqualWidth):
            offsets = np.arange(data.m + 1) * partition.k
            edges = engine.grid.edges(partition.k)
            cells, mass, limbs = engine.classes.class_boxes(data.rows, edges, unit)
            return cls(batch, cells, offsets, mass, limbs)
        cells = np.empty((data.n, data.m), np.int32)
        counts = np.empty(data.m, np.int64)
        for j in range(data.m):
            fitted, cells[:, j] = partition.locate(Marginal(j)(data))
            counts[j] = fitted.n_cells
        offsets = np.concatenate(([0], np.cumsum(counts)))
        return cls(
            batch, cells, offsets, *engine.classes.class_sums(data.rows, cells, offsets, unit)
        )

    @property
    def observed(self) -> Floats:
        """Weight that occurred in each cell (all cells,)."""
        return self.occurred(self.batch.given.labels)

    def occurred(self, labels: Array) -> Floats:
        """Return the weight that occurs in each cell if these are the labels: (all cells,)."""
        data = self.batch.given
        places = self.offsets[labels] + self.of_entries[np.arange(data.n), labels]
        weights = data.weights if data.weighted else None
        return np.bincount(places, weights, minlength=int(self.offsets[-1])).astype(np.float64)

    def counted(self, block: Block, step: int, *, same: bool) -> Iterator[Floats]:
        """Yield the weight that occurs in each cell in some replicates: (all cells, step).

        same : whether rows are seen as they were given, so that what is drawn is what occurs
        """
        drawing = block.drawing if same else None
        if drawing is not None:
            first, last = block.replicates
            place = self.batch.given.rows, self.of_entries, self.offsets, drawing.source
            for start in range(first, last, step):
                some = Replicates(start, min(start + step, last))
                yield engine.classes.class_counts(*place, some)
        else:
            for labels in block.labels():
                yield self.occurred(labels)[:, None]

    def drawn(self, key: np.uint64, some: Replicates) -> Floats:
        """Return the weight that occurs in each cell in replicates: (all cells, replicates)."""
        data = self.batch.given
        source = Source(data.probs, None, key, self.batch.first, self.batch.numbers)
        place = data.rows, self.of_entries, self.offsets, source, some
        found: Floats = engine.classes.class_counts(*place)
        return found


def _both(events: Floats, mass: Floats) -> Floats:
    """Return the shares of the event and of the other outcome (…, 2)."""
    return np.stack((events / mass, (mass - events) / mass), axis=-1)
