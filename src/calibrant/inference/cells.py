"""Inference for every cell: which of them are off."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant.calibration import CalibrationFunction, Cells
from calibrant.calibration.function import on_cells
from calibrant.checks.parameters import fraction
from calibrant.checks.seeds import Rng
from calibrant.inference.frequencies import Summary, frequencies, moments, standardise
from calibrant.inference.plans import Plan, Progress, Settings
from calibrant.inference.problem import Problem, check_hypothesis
from calibrant.inference.pvalues import pvalue
from calibrant.lenses import Canonical, Lens
from calibrant.lenses.lens import check_lens
from calibrant.partitions import Partition
from calibrant.partitions.partition import check_partition
from calibrant.predictions import Predictions, check_data
from calibrant.resampling import Exact, Resampler

Floats = NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Cellwise:
    """Deviations of every cell, and what they would be under the hypothesis.

    Parameters
    ----------
    function : CalibrationFunction
        The estimated calibration function.
    lower : array of shape (cells, m)
        Pointwise lower limits of each deviation under the hypothesis.
    upper : array of shape (cells, m)
        Upper limits.
    level : float
        Of these limits.
    centre : array of shape (cells, m)
        Mean of the deviations under the hypothesis, exact.
    spread : array of shape (cells, m)
        Their standard deviation, exact but for `Pooled`, whose pairs are taken as independent.
    largest : array of shape (n_resamples,)
        The largest standardised deviation of any cell, in each replicate.
    regions : array of shape (cells, points, 3) or None
        For three outcomes, an ellipse around the outcome frequencies that each cell would show
        under the hypothesis, in a share `level` of the replicates.
    settings : mapping
        What it was made with.
    """

    function: CalibrationFunction
    lower: Floats
    upper: Floats
    level: float
    centre: Floats
    spread: Floats
    largest: Floats
    regions: Floats | None
    settings: Settings

    @property
    def standardised(self) -> Floats:
        """Largest |deviation - centre| / spread over the outcomes of each cell (cells,)."""
        return standardise(self.function.deviations, self.centre, self.spread)

    @property
    def adjusted_pvalues(self) -> Floats:
        """P-value of each cell (cells,), adjusted for the number of cells.

        The chance that any cell of a calibrated model falls below alpha is at most alpha.
        """
        return np.asarray(pvalue(self.standardised, self.largest[None, :]))

    def simultaneous(self, level: float) -> tuple[Floats, Floats]:
        """Return limits (cells, m) within which all deviations are with this probability."""
        size = self.largest.size
        rank = int(np.ceil(fraction("level", level) * (size + 1) * (1 - 1e-12)))
        if rank > size:
            raise ValueError(
                f"`level` must be at most {size}/{size + 1} with {size} resamples; found {level}."
                " Use more resamples."
            )
        reach = np.sort(self.largest)[rank - 1] * self.spread
        return self.centre - reach, self.centre + reach

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        fn = self.function
        return {
            "classes": list(fn.classes),
            "counts": fn.counts.tolist(),
            "predicted": fn.predicted.tolist(),
            "observed": fn.observed.tolist(),
            "lower": self.lower.tolist(),
            "upper": self.upper.tolist(),
            "level": self.level,
            "adjusted_pvalues": self.adjusted_pvalues.tolist(),
            "n_resamples": self.largest.size,
            "settings": dict(self.settings),
        }

    def __repr__(self) -> str:
        return f"<cells: {self}>"

    def __str__(self) -> str:
        off = int((self.adjusted_pvalues <= 0.05).sum())
        return f"{off} of {self.function.n_cells} cells are off at 5 % (family-wise)"


def cellwise(
    data: Predictions,
    partition: Partition,
    *,
    lens: Lens = Canonical(),
    resampler: Resampler = Exact(),
    n_resamples: int = 999,
    level: float = 0.9,
    rng: Rng = None,
    progress: Progress | None = None,
) -> Cellwise:
    """Return what each cell's deviation would be if the model were calibrated.

    Pointwise limits are quantiles of the deviation of each cell and outcome. For binary
    outcomes without weights they come from the exact Poisson-binomial distribution of the
    count. The adjusted p-values compare a cell's standardised deviation, the largest over its
    outcomes, with the largest of all cells in each replicate, so they hold for all cells at once.

    Parameters
    ----------
    data : Predictions
        Predictions and outcomes.
    partition : Partition
        The cells.
    lens : Lens, default Canonical()
        What aspect of the predictions is looked at.
    resampler : Resampler, default Exact()
        Draws data sets under the hypothesis; the cells stay those of the data.
    n_resamples : int, default 999
        Number of data sets drawn under the hypothesis.
    level : float, default 0.9
        Of the pointwise limits, half of the rest on either side.
    rng : int, Generator or None
        The same seed gives the same draws.
    progress : callable, optional
        Function of (done, total), called now and then.

    Returns
    -------
    Cellwise

    Examples
    --------
    >>> from calibrant import partitions
    >>> data = Predictions([0.2] * 100 + [0.8] * 100, [0, 1] * 50 + [1] * 80 + [0] * 20)
    >>> found = cellwise(data, partitions.EqualWidth(2), rng=0)
    >>> found.adjusted_pvalues.round(3).tolist()
    [0.001, 1.0]
    >>> found.lower[:, 1].round(2).tolist(), found.upper[:, 1].round(2).tolist()
    ([-0.06, -0.07], [0.07, 0.06])
    """
    check_data(data)
    check_lens(lens)
    check_partition(partition)
    plan = Plan.of(resampler, n_resamples, rng, progress)
    problem = Problem.of(data, lens, resampler, plan.key)
    check_hypothesis(problem)
    return of_problem(problem, partition, plan, fraction("level", level))


def of_problem(problem: Problem, partition: Partition, plan: Plan, level: float) -> Cellwise:
    """Do what `cellwise` does for a problem that is seen through its lens already."""
    cells = problem.shared.cells(partition)
    function = on_cells(cells)
    centre, spread = moments(cells, problem.seen_probs)
    summary = Summary.empty(function.predicted, centre, spread, plan.n_resamples, level)
    for first, last, found in frequencies(problem, cells, plan):
        summary.add(first, last, found)
    if problem.exact_counts:
        summary.limits[:] = _exact_limits(problem, cells, function.predicted, level)
    return Cellwise(
        function=function,
        lower=summary.limits[0],
        upper=summary.limits[1],
        level=level,
        centre=centre,
        spread=spread,
        largest=summary.largest,
        regions=summary.regions,
        settings=plan.settings(partition=partition, lens=problem.lens, level=level),
    )


def _exact_limits(problem: Problem, cells: Cells, predicted: Floats, level: float) -> Floats:
    """Return the Poisson-binomial limits of both outcomes: (2, cells, 2)."""
    event = problem.seen.event
    assert event is not None
    limits = np.empty((2, *predicted.shape))
    counts = problem.event_distributions(cells)
    events = np.stack([counts.quantile(tail) for tail in ((1 - level) / 2, (1 + level) / 2)])
    share = events / cells.mass
    limits[:, :, event] = share - predicted[:, event]
    limits[:, :, 1 - event] = (1 - share[::-1]) - predicted[:, 1 - event]
    return limits
