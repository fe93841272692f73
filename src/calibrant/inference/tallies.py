"""What is added up over batches of rows: outcomes that are drawn in cells."""

from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.calibration import Cells
from calibrant.calibration.cells import Known
from calibrant.engine.tuples import Replicates
from calibrant.inference.label_blocks import LabelBlock
from calibrant.inference.problem import Problem
from calibrant.lenses import Lens
from calibrant.partitions import Partition
from calibrant.predictions import Predictions
from calibrant.resampling import Resampler
from calibrant.scanning import Batch
from calibrant.statistics import Shared

Floats = NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True)
class EventProbs:
    """The probability that a row of a batch draws the event of a problem of two outcomes.

    Parameters
    ----------
    lens : Lens
        What rows are seen through.
    resampler : Resampler
        What labels are drawn from.
    """

    lens: Lens
    resampler: Resampler

    def __call__(self, batch: Batch) -> Floats:
        """Return them: (n,)."""
        return Problem.of(batch.data, self.lens, self.resampler, np.uint64(0)).event_probs


@final
@dataclass(frozen=True, slots=True)
class CountTally:
    """Outcomes that are drawn in the cells of partitions, in some replicates.

    Parameters
    ----------
    lens : Lens
        What rows are seen through.
    resampler : Resampler
        What labels are drawn from.
    key : uint64
        Of the draws.
    cells : tuple of (Partition, FittedPartition)
        The cells, all of which are known.
    m : int
        Number of outcomes.
    replicates : Replicates
        Which ones.
    """

    lens: Lens
    resampler: Resampler
    key: np.uint64
    cells: tuple[tuple[Partition, Any], ...]
    m: int
    replicates: Replicates

    def zero(self) -> list[Floats]:
        """Return empty tables: (cells, size) of two outcomes, else (cells, m, size)."""
        inner = () if self.m == 2 else (self.m,)
        return [np.zeros((f.n_cells, *inner, self.replicates.size)) for _, f in self.cells]

    def update(self, state: list[Floats], batch: Batch) -> list[Floats]:
        """Draw the outcomes of a batch; each row by its number in the whole data set.

        What is drawn in the finest cells is also counted in coarser ones that they lie in.
        """
        seen = self.lens(batch.data)
        place = batch.first, batch.numbers
        problem = Problem(batch.data, self.lens, self.resampler, self.key, Shared(seen), *place)
        block = LabelBlock(problem, self.replicates, {})
        located = [_Located.of(seen, *pair) for pair in self.cells]
        if len(located) == 1:
            block.add_counts(*located[0], state[0])
            return state
        finest = max(located, key=lambda one: one.cells.n_cells)
        shape = finest.cells.n_cells, *state[0].shape[1:]
        counts = np.zeros(shape)
        block.add_counts(finest.cells, np.arange(shape[0], dtype=np.int32), counts)
        for one, table in zip(located, state, strict=True):
            within = finest.within(one)
            if within is None:
                block.add_counts(*one, table)
            else:
                np.add.at(table, one.at[within], counts)
        return state

    def merge(self, a: list[Floats], b: list[Floats]) -> list[Floats]:
        """Return the counts of the rows of both."""
        return [mine + theirs for mine, theirs in zip(a, b, strict=True)]


class _Located(NamedTuple):
    """The cells of the rows of a batch, and where they are among all cells."""

    cells: Cells
    at: NDArray[np.int32]  # (cells,)

    @classmethod
    def of(cls, seen: Predictions, partition: Partition, fitted: Any) -> "_Located":
        """Find the cells of rows."""
        mine, of_rows = partition.locate(seen)
        return cls(Cells(seen, Known(mine, of_rows)), fitted.join(mine)[2])

    def within(self, other: "_Located") -> NDArray[np.int32] | None:
        """Return the cell of another partition that each cell lies in; None if some lie in two."""
        found = np.zeros(self.cells.n_cells, np.int32)
        found[self.cells.of_rows] = other.cells.of_rows
        nested = np.array_equal(found[self.cells.of_rows], other.cells.of_rows)
        return found if nested else None


class RowState(NamedTuple):
    """Sums over the rows of every cell, in several replicates in which rows are drawn again."""

    mass: Floats  # (cells, size)
    observed: Floats  # (cells, m, size)
    limbs: NDArray[np.int64]  # (3, cells, m, size)


@final
@dataclass(frozen=True, slots=True)
class RowTally:
    """Sums of the cells of partitions, in replicates in which rows stand several times.

    Parameters
    ----------
    lens : Lens
        What rows are seen through.
    key : uint64
        Of the draws.
    cells : tuple of (Partition, FittedPartition)
        The cells, all of which are known.
    m : int
        Number of outcomes.
    unit : float
        That of the limbs of predictions.
    replicates : Replicates
        Which ones.
    """

    lens: Lens
    key: np.uint64
    cells: tuple[tuple[Partition, Any], ...]
    m: int
    unit: float
    replicates: Replicates

    def zero(self) -> list[RowState]:
        """Return the sums of no rows."""
        shapes = [(fitted.n_cells, self.m, self.replicates.size) for _, fitted in self.cells]
        return [
            RowState(np.zeros(shape[::2]), np.zeros(shape), np.zeros((3, *shape), np.int64))
            for shape in shapes
        ]

    def update(self, state: list[RowState], batch: Batch) -> list[RowState]:
        """Add up the rows of a batch, each as often as it stands in a replicate."""
        seen = self.lens(batch.data)
        rows = seen.rows._replace(first=batch.first, numbers=batch.numbers)
        for (partition, fitted), sums in zip(self.cells, state, strict=True):
            mine, of_rows = partition.locate(seen)
            _, _, at = fitted.join(mine)
            order = engine.sums.sort_rows(of_rows, mine.n_cells)
            found = engine.resample.resampled_sums(
                rows, order, self.key, self.replicates, self.unit
            )
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
