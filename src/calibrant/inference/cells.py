"""Inference for every cell: which of them are off."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import erfc, sqrt
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant.calibration import CalibrationFunction, Cells
from calibrant.calibration.function import on_cells
from calibrant.checks.parameters import fraction
from calibrant.checks.seeds import Rng
from calibrant.inference.counts import CountDistributions
from calibrant.inference.frequencies import Summary, frequencies, problem_moments, standardise
from calibrant.inference.plans import Plan, Progress, Settings
from calibrant.inference.problem import check_hypothesis
from calibrant.inference.pvalues import pvalue
from calibrant.inference.scanned import AnyProblem, problem_of
from calibrant.lenses import Canonical, Lens
from calibrant.partitions import Partition
from calibrant.predictions import Predictions
from calibrant.resampling import Exact, Resampler
from calibrant.scanning import Scan
from calibrant.spelling import as_lens, as_partition
from calibrant.verbs import check_data, takes_arrays
from calibrant.words import be

Floats = NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Cellwise:
    r"""Deviations of every cell, and what they would be under the hypothesis.

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
    standardised : array of shape (cells,)
        How far each cell is off: for two outcomes without weights the normal score of the exact
        p-value of its count, else the largest \|deviation - centre\| / spread over its outcomes.
    largest : array of shape (n_resamples,)
        The largest of these in each replicate.
    regions : array of shape (cells, points, 3) or None
        For three outcomes, an ellipse around the outcome frequencies that each cell would show
        under the hypothesis, in a share `level` of the replicates.
    settings : mapping
        What it was made with.
    exact : callable, optional
        Exact limits of all deviations at a level: (2, cells, m).
    together : callable, optional
        Adjusts p-values further, for what else is tested beside these cells.
    """

    function: CalibrationFunction
    lower: Floats
    upper: Floats
    level: float
    centre: Floats
    spread: Floats
    standardised: Floats
    largest: Floats
    regions: Floats | None
    settings: Settings
    exact: Callable[[float], Floats] | None = None
    together: Callable[[Floats], Floats] | None = None

    @property
    def adjusted_pvalues(self) -> Floats:
        """P-value of each cell (cells,), adjusted for the number of cells.

        The chance that any cell of a calibrated model falls below alpha is at most alpha.
        """
        found = np.asarray(pvalue(self.standardised, self.largest[None, :]))
        return found if self.together is None else self.together(found)

    def simultaneous(self, level: float) -> tuple[Floats, Floats]:
        """Return limits (cells, m) within which all deviations are with this probability."""
        size = self.largest.size
        rank = int(np.ceil(fraction("level", level) * (size + 1) * (1 - 1e-12)))
        if rank > size:
            raise ValueError(
                f"`level` must be at most {size}/{size + 1} with {size} resamples; found {level}."
                " Use more resamples."
            )
        largest = float(np.sort(self.largest)[rank - 1])
        if self.exact is not None:
            both_tails = erfc(largest / sqrt(2.0)) * (1 - 1e-7)  # what is reached is inside
            low, high = self.exact(1 - both_tails)
            return low, high
        reach = largest * self.spread
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
        return f"{off} of {self.function.n_cells} cells {be(off)} off at 5 % (family-wise)"


@takes_arrays
def cellwise(
    data: Predictions | Scan,
    partition: Partition | str,
    *,
    lens: Lens | str = Canonical(),
    resampler: Resampler | str = Exact(),
    n_resamples: int = 999,
    level: float = 0.9,
    rng: Rng = None,
    progress: Progress | None = None,
) -> Cellwise:
    """Return what each cell's deviation would be if the model were calibrated.

    Pointwise limits are quantiles of the deviation of each cell and outcome. For binary
    outcomes without weights they come from the exact Poisson-binomial distribution of the
    count. The adjusted p-values compare how far a cell is off with the largest of all cells in
    each replicate, so they hold for all cells at once: by the exact p-value of its count for
    binary outcomes without weights (min-P), else by its standardised deviation, the largest over
    its outcomes (max-T).

    Parameters
    ----------
    data : Predictions or Scan
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
    check_data(data, scans=True)
    lens, partition = as_lens(lens, data), as_partition(partition)
    plan = Plan.of(data, resampler, n_resamples, rng, progress)
    problem = problem_of(data, lens, plan.resampler, plan.key, laws=True)
    check_hypothesis(problem)
    return of_problem(problem, partition, plan, fraction("level", level))


def of_problem(problem: AnyProblem, partition: Partition, plan: Plan, level: float) -> Cellwise:
    """Do what `cellwise` does for a problem that is seen through its lens already."""
    cells = problem.shared.cells(partition)
    function = on_cells(cells)
    centre, spread = problem_moments(problem, cells)
    summary = Summary.empty(function.predicted, centre, spread, plan.n_resamples, level)
    exact = None
    score = partial(_standardise, function, centre, spread)
    event = problem.seen.event
    if problem.exact_counts and event is not None:
        counts = problem.event_distributions(cells)
        exact = partial(_exact_limits, counts, function, event)
        score = partial(_scores, counts, cells, event)
    for first, last, found in frequencies(problem, cells, plan):
        summary.add(first, last, found, score(first, last, found))
    if exact is not None:
        summary.limits[:] = exact(level)
    return Cellwise(
        function=function,
        lower=summary.limits[0],
        upper=summary.limits[1],
        level=level,
        centre=centre,
        spread=spread,
        standardised=score(0, function.n_cells, function.observed[None])[0],
        largest=summary.largest,
        regions=summary.regions,
        settings=plan.settings(partition=partition, lens=problem.lens, level=level),
        exact=exact,
    )


def _standardise(
    function: CalibrationFunction,
    centre: Floats,
    spread: Floats,
    first: int,
    last: int,
    frequencies: Floats,
) -> Floats:
    """Return the largest standardised deviation of cells with these frequencies: (B, cells)."""
    deviations = frequencies - function.predicted[first:last]
    return standardise(deviations, centre[first:last], spread[first:last])


def _scores(
    counts: CountDistributions, cells: Cells, event: int, first: int, last: int, frequencies: Floats
) -> Floats:
    """Return the normal scores of the counts of cells with these frequencies: (B, cells)."""
    return counts.scores(frequencies[:, :, event] * cells.mass[first:last], first)


def _exact_limits(
    counts: CountDistributions, function: CalibrationFunction, event: int, level: float
) -> Floats:
    """Return the Poisson-binomial limits of both outcomes: (2, cells, 2)."""
    predicted = function.predicted
    limits = np.empty((2, *predicted.shape))
    events = np.stack([counts.quantile(tail) for tail in ((1 - level) / 2, (1 + level) / 2)])
    share = events / function.counts
    limits[:, :, event] = share - predicted[:, event]
    limits[:, :, 1 - event] = (1 - share[::-1]) - predicted[:, 1 - event]
    return limits
