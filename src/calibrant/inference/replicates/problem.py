"""A problem: rows, the lens they are seen through, and what replicates are drawn from."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.arguments import as_rows
from calibrant.calibration import Cells, Draws, View
from calibrant.lenses import Lens
from calibrant.partitions import Partition
from calibrant.predictions import Predictions
from calibrant.resampling import Resampler
from calibrant.resampling.draws.counts import CountDistributions
from calibrant.resampling.draws.labels import Labels, Redraw
from calibrant.rows import Batch, Rows

Floats = NDArray[np.float64]
Limbs = NDArray[np.int64]
Moments = tuple[Floats, Floats]


@final
class Problem:
    """Rows, the lens they are seen through, and what replicates are drawn from.

    Parameters
    ----------
    rows : Rows
        At hand or elsewhere.
    redraw : Redraw
        The lens, the resampler and the key.
    view : View, optional
        The rows as the lens shows them, if somebody has looked already.
    distributions : bool, default False
        Whether distributions of counts are going to be asked for, where they are known.
    """

    def __init__(
        self, rows: Rows, redraw: Redraw, view: View | None = None, *, distributions: bool = False
    ) -> None:
        self.rows, self.redraw = rows, redraw
        self.view = View(rows, redraw.lens) if view is None else view
        self._moments: dict[Cells, Moments] = {}
        if not rows.held:
            _ = self.away  # it would refuse, before anything is read
            if self.exact_counts and (distributions or not self.away.entries):
                self.view.event_probs = redraw.event_probs

    @classmethod
    def of(
        cls,
        data: Any,
        lens: Lens,
        resampler: Resampler,
        key: np.uint64,
        *,
        distributions: bool = False,
    ) -> "Problem":
        """Look at Predictions, or at a Scan, through a lens."""
        return cls(as_rows(data), Redraw(lens, resampler, key), distributions=distributions)

    def under(self, resampler: Resampler, key: np.uint64) -> "Problem":
        """Return the same rows and cells under another hypothesis."""
        return Problem(self.rows, Redraw(self.lens, resampler, key), self.view)

    @property
    def lens(self) -> Lens:
        """What rows are seen through."""
        return self.redraw.lens

    @property
    def resampler(self) -> Resampler:
        """The source of data sets."""
        found: Resampler = self.redraw.resampler
        return found

    @property
    def seen(self) -> Predictions:
        """All rows as the lens shows them; refused of rows that are elsewhere."""
        return self.view.data

    @cached_property
    def draws(self) -> Draws:
        """Replicates of rows that are at hand."""
        return self.resampler.redraw(self.view.batch, self.redraw)

    @cached_property
    def away(self) -> Any:
        """How replicates of rows that are elsewhere are drawn."""
        return self.resampler.away(self.view, self.redraw)

    @cached_property
    def hypothesis(self) -> Labels:
        """What labels are drawn from: of rows elsewhere, known of a sample."""
        if self.rows.held:
            found: Labels = self.draws.hypothesis
            return found
        return Labels(self.view.sample, self.redraw)

    @property
    def calibrated(self) -> bool:
        """Whether labels are drawn from the predictions: the hypothesis is that of calibration."""
        return self.hypothesis.own

    @property
    def rows_change(self) -> bool:
        """Whether rows are drawn again, or may be, not only labels."""
        return self.resampler.draws_data_sets or self.resampler.draws_rows

    @property
    def redraws_labels(self) -> bool:
        """Whether labels of rows that stay are drawn, row by row."""
        return self.lens.rowwise and not (self.rows_change or self.resampler.flips_signs)

    @property
    def exact_counts(self) -> bool:
        """Whether the distribution of a cell's count is known: two outcomes and no weights."""
        return self.redraws_labels and self.view.m == 2 and not self.view.weighted

    def event_distributions(self, cells: Cells) -> CountDistributions:
        """Return the exact distribution of the number of events in each cell."""
        return CountDistributions.of(cells.event_sums(lambda: self.hypothesis.event_probs))

    def moments(self, cells: Any) -> Moments:
        """Return mean and standard deviation (cells, m) of the deviations under the hypothesis."""
        if cells not in self._moments:
            find_moments([(self, cells.partition)])
        return self._moments[cells]

    def keep_moments(self, cells: Any, found: Moments) -> None:
        """Remember the moments of cells."""
        self._moments[cells] = found


def find_moments(asked: Sequence[tuple[Problem, Partition]]) -> None:
    """Find moments of cells of problems of the same rows, in one pass if these are elsewhere."""
    pairs: list[tuple[Problem, Any]] = [(one, one.view.cells(cut)) for one, cut in asked]
    away = [pair for pair in pairs if not pair[0].rows.held]
    parts = [
        problem.rows.part(MomentReduction.of(problem, cells), problem.lens)
        for problem, cells in away
    ]
    states = iter(away[0][0].rows.fold(parts) if away else ())
    for problem, cells in pairs:
        if problem.resampler.flips_signs:
            found = problem.draws.moments(cells)  # type: ignore[attr-defined]
        elif problem.rows.held:
            found = _moments(problem, cells, _moment_sums(problem, cells))
        else:
            found = _moments(problem, cells, next(states))
        problem.keep_moments(cells, found)


def _moments(problem: Problem, cells: Any, limbs: Limbs) -> Moments:
    """Return mean and standard deviation (cells, m), from sums of w p and of w² p (1 - p)."""
    divisor = np.where(cells.mass > 0, cells.mass, 1.0)[:, None]
    mean, variance = engine.sums.value(limbs)
    unit = problem.view.unit
    centre = np.zeros_like(mean)
    if not problem.calibrated:
        centre = mean * unit / divisor - cells.means().predicted
    return centre, np.sqrt(variance) * unit / divisor


def _moment_sums(problem: Problem, cells: Any) -> Limbs:
    """Add up rows that are at hand."""
    unit = problem.view.unit
    return moment_sums(problem.hypothesis, (cells.of_rows, cells.n_cells), unit)


def moment_sums(labels: Labels, cells: tuple[NDArray[np.int32], int], unit: float) -> Limbs:
    """Return limbs of the sums of w p and of w² p (1 - p) in every cell: (3, 2, cells, m)."""
    of_rows, n_cells = cells
    seen, probs = labels.seen, labels.seen_probs
    out = np.empty((3, 2, n_cells, seen.m), np.int64)
    weights = seen.weights / unit
    for j in range(seen.m):
        p = probs[:, j].astype(np.float64)
        terms = weights * p, weights**2 * (p * (1.0 - p))
        for kind, values in enumerate(terms):
            out[:, kind, :, j] = engine.poisson_binomial.add_values(values, of_rows, n_cells)
    return out


@final
@dataclass(frozen=True, slots=True)
class MomentReduction:
    """Sums over rows that are elsewhere, from which moments follow."""

    redraw: Redraw
    partition: Any
    fitted: Any  # all cells
    m: int  # outcomes
    unit: float  # of the weights

    @classmethod
    def of(cls, problem: Problem, cells: Any) -> "MomentReduction":
        """Return what is added up for the cells of a problem."""
        return cls(problem.redraw, cells.cut, cells.fitted, cells.m, problem.view.unit)

    def zero(self) -> Limbs:
        """Return the sums of no rows: (3, 2, cells, m)."""
        return np.zeros((3, 2, self.fitted.n_cells, self.m), np.int64)

    def add(self, state: Limbs, batch: Batch) -> Limbs:
        """Add up the rows of a batch."""
        mine, of_rows = self.partition.locate(batch.seen)
        _, _, at = self.fitted.join(mine)
        labels = Labels(batch, self.redraw)
        state[:, :, at] += moment_sums(labels, (of_rows, mine.n_cells), self.unit)
        return state

    def merge(self, a: Limbs, b: Limbs) -> Limbs:
        """Return the sums of the rows of both."""
        return a + b


def check_hypothesis(problem: Problem) -> None:
    """Refuse a resampler that does not draw labels under a hypothesis."""
    drawn = problem.calibrated or problem.resampler.draws_data_sets
    if not drawn and problem.hypothesis.probs is None:
        name = type(problem.resampler).__name__
        raise ValueError(
            f"`resampler` must draw labels under the hypothesis, as Exact does; {name} keeps those"
            " that were observed. Use it in estimate()."
        )
