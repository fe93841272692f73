"""Mean and spread of the deviations of cells under a hypothesis, from sums over their rows."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.calibration import Cells
from calibrant.inference.clusters import sums_of
from calibrant.inference.problem import Problem
from calibrant.lenses import Lens
from calibrant.partitions import Partition
from calibrant.predictions import Predictions
from calibrant.resampling import Resampler
from calibrant.scanning import Batch

Floats = NDArray[np.float64]
Limbs = NDArray[np.int64]


def moments(problem: Problem, cells: Cells) -> tuple[Floats, Floats]:
    """Return mean and standard deviation (cells, m) of the deviations under the hypothesis."""
    if problem.resampler.flips_signs:
        divisor = np.where(cells.mass > 0, cells.mass, 1.0)[:, None]
        sums = sums_of(problem, cells)
        return sums.centre / divisor, sums.spread / divisor
    unit = engine.sums.unit_of(cells.data.rows)
    limbs = _limbs(cells.data, problem.seen_probs, (cells.of_rows, cells.n_cells), unit)
    return moments_from(limbs, cells, unit, problem.seen_probs is cells.data.probs)


def moments_from(limbs: Limbs, cells: Any, unit: float, own: bool) -> tuple[Floats, Floats]:
    """Return mean and standard deviation (cells, m) of the deviations, from sums.

    Parameters
    ----------
    limbs : array of shape (3, 2, cells, m)
        Of the sums of w p, and of w² p (1 - p).
    cells : Cells
        Those of the data.
    unit : float
        That of the weights.
    own : bool
        Whether labels come from the predictions themselves: then the mean is 0.
    """
    divisor = np.where(cells.mass > 0, cells.mass, 1.0)[:, None]
    mean, variance = engine.sums.value(limbs)
    centre = np.zeros_like(mean)
    if not own:
        centre = mean * unit / divisor - cells.means().predicted
    return centre, np.sqrt(variance) * unit / divisor


def _limbs(
    data: Predictions, probs: Any, cells: tuple[NDArray[np.int32], int], unit: float
) -> Limbs:
    """Return the sums of w p and of w² p (1 - p) in every cell: (3, 2, cells, m)."""
    of_rows, n_cells = cells
    out = np.empty((3, 2, n_cells, data.m), np.int64)
    weights = data.weights / unit
    for j in range(data.m):
        p = probs[:, j].astype(np.float64)
        terms = weights * p, weights**2 * (p * (1.0 - p))
        for kind, values in enumerate(terms):
            out[:, kind, :, j] = engine.laws.add_values(values, of_rows, n_cells)
    return out


@final
@dataclass(frozen=True, slots=True)
class MomentTally:
    """Sums over batches from which moments follow.

    Parameters
    ----------
    lens : Lens
        What rows are seen through.
    resampler : Resampler
        What labels are drawn from.
    partition : Partition
        The cells.
    fitted : FittedPartition
        All of them.
    m : int
        Number of outcomes.
    unit : float
        That of the weights.
    """

    lens: Lens
    resampler: Resampler
    partition: Partition
    fitted: Any
    m: int
    unit: float

    def zero(self) -> Limbs:
        """Return the sums of no rows."""
        return np.zeros((3, 2, self.fitted.n_cells, self.m), np.int64)

    def update(self, state: Limbs, batch: Batch) -> Limbs:
        """Add up the rows of a batch."""
        problem = Problem.of(batch.data, self.lens, self.resampler, np.uint64(0))
        mine, of_rows = self.partition.locate(problem.seen)
        _, _, at = self.fitted.join(mine)
        cells = of_rows, mine.n_cells
        state[:, :, at] += _limbs(problem.seen, problem.seen_probs, cells, self.unit)
        return state

    def merge(self, a: Limbs, b: Limbs) -> Limbs:
        """Return the sums of the rows of both."""
        return a + b
