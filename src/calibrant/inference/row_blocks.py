"""Blocks of replicates in which rows are drawn again."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.calibration import Cells
from calibrant.calibration.cells import Known
from calibrant.engine.tuples import Replicates, Source
from calibrant.inference.label_blocks import joined
from calibrant.inference.problem import Problem
from calibrant.inference.replicated import Replicated
from calibrant.predictions import Predictions

Floats = NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True, eq=False)
class RowBlock(Replicated):
    """Replicates in which rows are drawn again, and perhaps their labels.

    Parameters
    ----------
    problem : Problem
        What is drawn.
    replicates : Replicates
        Which ones.
    """

    problem: Problem
    replicates: Replicates

    @property
    def rows_change(self) -> bool:
        """Whether rows are drawn again: yes."""
        return True

    @property
    def refit(self) -> bool:
        """Whether partitions are fitted again, as the resampler says."""
        return self.problem.resampler.refit

    def totals(self, cells: Cells) -> Any:
        """Return norms of the cells' deviations, summed and largest."""
        problem = self.problem
        if not problem.row_by_row:
            return joined([_cells_of(data, cells).totals() for data in self.data_sets()])
        if problem.probs is None:
            return problem.resampler.totals(cells, problem.key, self.replicates)
        times = np.stack([self._times(b) for b in range(*self.replicates)])
        drawn = engine.resample.Redrawn(
            problem.source, problem.outcomes.event, times, self.replicates
        )
        return engine.resample.redrawn_totals(problem.rows, cells.by_order, drawn)

    def counts(self, cells: Cells, first: int, last: int) -> Floats:  # noqa: ARG002
        """Refuse: means of cells change with their rows, so counts alone say nothing."""
        raise ValueError("`counts` are for replicates whose rows stay.")

    def labels(self) -> Iterator[NDArray[np.int32]]:
        """Yield the labels of each replicate, which has rows of its own."""
        for data in self.data_sets():
            yield data.labels

    def data_sets(self) -> Iterator[Predictions]:
        """Yield each replicate as a data set, the copies of a row one after the other."""
        problem = self.problem
        for b in range(*self.replicates):
            if problem.row_by_row:
                yield self._data_set(self._rows(b), b)
            else:
                yield problem.lens(problem.resampler.draw(problem.data, problem.key, b))

    def _rows(self, b: int) -> NDArray[np.int64]:
        """Return the numbers of the rows of replicate b."""
        return np.repeat(np.arange(self.problem.data.n), self._times(b))

    def _times(self, b: int) -> NDArray[np.int32]:
        """Return how often each row stands in replicate b: (n,)."""
        problem = self.problem
        times = problem.resampler.times(problem.data, problem.key, b)
        assert times is not None
        return np.asarray(times, np.int32)

    def _data_set(self, rows: NDArray[np.int64], b: int) -> Predictions:
        """Return replicate b, which has these rows, as the lens shows it."""
        problem = self.problem
        seen = problem.seen.take(rows)
        if problem.probs is None:
            return seen
        times = np.bincount(rows, minlength=problem.data.n)
        plain = Source(problem.probs, None, problem.resampler.label_key(problem.key), 0)
        labels = engine.draws.draw_copies(plain, times, b)
        return seen.with_labels(problem.outcomes.take(rows).of(labels))


def _cells_of(data: Predictions, cells: Cells) -> Cells:
    """Return the cells of other data: of the same partition, or the very same cells."""
    if isinstance(cells.partition, Known) or not cells.partition.fixed:
        return Cells(data, Known(cells.fitted, cells.fitted.assign(data.probs)))
    return Cells(data, cells.partition)
