"""Every class of scanned rows at once."""

from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.calibration.tally import MEMORY
from calibrant.distances import Distance
from calibrant.engine import threads
from calibrant.engine.tuples import Replicates, Source
from calibrant.inference.class_cells import ClassTables, occurred
from calibrant.inference.moving import READING, TABLES, part_of
from calibrant.inference.plans import Plan
from calibrant.inference.scanned import check_numbered
from calibrant.partitions import EqualWidth, Partition
from calibrant.scanning import Batch, Scan

Floats = NDArray[np.float64]


class ClassState(NamedTuple):
    """Tables of all cells of all classes."""

    mass: Floats
    limbs: NDArray[np.int64]  # (3, all cells)
    observed: Floats
    drawn: Floats  # (all cells, replicates)


@final
@dataclass(frozen=True, slots=True)
class ClassTally:
    """Equal widths of all classes, and what is drawn in them in some replicates.

    Parameters
    ----------
    m : int
        Number of classes.
    k : int
        Number of intervals.
    unit : float
        That of the limbs of predictions.
    key : uint64
        Of the draws.
    replicates : Replicates
        Which ones.
    """

    m: int
    k: int
    unit: float
    key: np.uint64
    replicates: Replicates

    def zero(self) -> ClassState:
        """Return empty tables."""
        size = self.m * self.k
        limbs = np.zeros((3, size), np.int64)
        drawn = np.zeros((size, self.replicates.size))
        return ClassState(np.zeros(size), limbs, np.zeros(size), drawn)

    def update(self, state: ClassState, batch: Batch) -> ClassState:
        """Add up the rows of a batch, and draw their labels."""
        data, offsets = batch.data, np.arange(self.m + 1) * self.k
        edges = engine.grid.edges(self.k)
        cells, mass, limbs = engine.classes.class_boxes(data.rows, edges, self.unit)
        if self.replicates.size:
            source = Source(data.probs, None, self.key, batch.first, batch.numbers)
            state.drawn[:] += engine.classes.class_counts(
                data.rows, cells, offsets, source, self.replicates
            )
        state.mass[:] += mass
        state.limbs[:] += limbs
        state.observed[:] += occurred(data, cells, offsets)
        return state

    def merge(self, a: ClassState, b: ClassState) -> ClassState:
        """Return the tables of the rows of both."""
        pairs = zip(a, b, strict=True)
        return ClassState(*(mine + theirs for mine, theirs in pairs))  # type: ignore[arg-type]


def scanned_classes(
    scan: Scan, partition: Partition, distance: Distance, plan: Plan
) -> tuple[Floats, Floats]:
    """Return the expected distance of each class (m,), and in each replicate (m, B)."""
    if not isinstance(partition, EqualWidth):
        raise ValueError(
            f"`partition` must be EqualWidth(…) for all classes of scanned data; found {partition}."
            f" {MEMORY}"
        )
    if plan.n_resamples:
        check_numbered(scan)
    entries = scan.m * partition.k
    spans = threads.blocks(plan.n_resamples, max(1, TABLES // entries)) or [(0, 0)]
    null = np.empty((scan.m, plan.n_resamples))
    values: Any = None
    for start, stop in spans:
        tally = ClassTally(scan.m, partition.k, scan.unit, plan.key, Replicates(start, stop))
        before = start + READING if start else 0
        state: ClassState = scan.add_up(tally, part_of(plan, before, stop - before + READING))
        predicted = engine.sums.value(state.limbs) * scan.unit
        offsets = np.arange(scan.m + 1) * partition.k
        found = ClassTables(offsets, state.mass, predicted)
        null[:, start:stop] = found.distances(state.drawn, distance)
        values = found.distances(state.observed[:, None], distance)[:, 0]
    return values, null
