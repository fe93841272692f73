"""Inference for every bin: which of them are off."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from math import erfc, sqrt
from typing import Any, final

import numpy as np

from calibrant.arguments import as_lens, as_partition, check_data, takes_arrays
from calibrant.calibration import CalibrationFunction
from calibrant.calibration.function import on_cells
from calibrant.checks.parameters import Rng, fraction
from calibrant.engine import threads
from calibrant.engine.arrays import Floats, Replicates
from calibrant.inference.replicates.problem import Plan, Problem, Progress, Settings, fields, part
from calibrant.inference.replicates.ways import Elsewhere
from calibrant.inference.testing.families import pvalue
from calibrant.lenses import Canonical, Lens
from calibrant.partitions import Partition
from calibrant.predictions import Predictions
from calibrant.resampling import Exact, Resampler
from calibrant.resampling.draws.counts import CountDistributions
from calibrant.rows import Scan
from calibrant.words import be, many

LAID_OUT = 1 << 21  # numbers in a block of frequencies
SIDE = 256  # replicates that are drawn together
OUTLINE = 49  # points of an ellipse, the first again at the end


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Binwise:
    r"""The deviation of every bin, and what it would be if the model were calibrated.

    Parameters
    ----------
    function : CalibrationFunction
        The estimated calibration function.
    lower, upper : array of shape (bins, m)
        Pointwise limits of each deviation under the hypothesis.
    level : float
        Of these limits.
    centre : array of shape (bins, m)
        Mean of the deviations under the hypothesis, exact.
    spread : array of shape (bins, m)
        Their standard deviation, exact but for `Pooled`, whose pairs are taken as independent.
    standardised : array of shape (bins,)
        How far each bin is off: for two outcomes without weights the normal score of the exact
        p-value of its count, else the largest \|deviation - centre\| / spread over its outcomes.
    largest : array of shape (n_resamples,)
        The largest of these in each replicate.
    regions : array of shape (bins, points, 3) or None
        For three outcomes, an ellipse around the outcome frequencies that each bin would show
        under the hypothesis, in a share `level` of the replicates.
    settings : mapping
        What it was made with.
    exact : callable, optional
        Exact limits of all deviations at a level: (2, bins, m).
    together : callable, optional
        Adjusts p-values further, for what else is tested beside these bins.
    decided : bool
        Whether the rows can tell; if not, for want of clusters, all adjusted p-values are 1.
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
    decided: bool = True

    @property
    def adjusted_pvalues(self) -> Floats:
        """P-value of each bin (bins,), adjusted for the number of bins.

        The chance that any bin of a calibrated model falls below alpha is at most alpha.
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
        found = fields(self.function, "classes", "counts", "predicted", "observed")
        found |= fields(self, "lower", "upper", "level", "adjusted_pvalues")
        return found | {"n_resamples": self.largest.size, "settings": dict(self.settings)}

    def __repr__(self) -> str:
        return f"<bins: {self}>"

    def __str__(self) -> str:
        if not self.decided:
            return f"too few clusters to judge {many(self.function.n_cells, 'bin')}"
        off = int((self.adjusted_pvalues <= 0.05).sum())
        return f"{off} of {self.function.n_cells} bins {be(off)} significant at 5% (family-wise)"


@takes_arrays
def binwise(
    data: Predictions | Scan,
    partition: Partition | str,
    *,
    lens: Lens | str = Canonical(),
    resampler: Resampler | str = Exact(),
    n_resamples: int = 999,
    level: float = 0.9,
    rng: Rng = None,
    progress: Progress | None = None,
) -> Binwise:
    """Find out which bins are off, and what chance alone would do to each.

    Pointwise limits are quantiles of the deviation of each bin and outcome. For binary
    outcomes without weights they come from the exact Poisson-binomial distribution of the
    count. The adjusted p-values compare how far a bin is off with the largest of all bins in
    each replicate, so they hold for all bins at once: by the exact p-value of its count for
    binary outcomes without weights (min-P), else by its standardised deviation, the largest over
    its outcomes (max-T).

    Parameters
    ----------
    data : Predictions or Scan
        Or probabilities, with labels after them; or a data frame, with ``label="y"``.
    partition : Partition
        The bins.
    lens : Lens, default Canonical()
        What aspect of the predictions is looked at.
    resampler : Resampler, default Exact()
        Draws data sets under the hypothesis; the bins stay those of the data.
    level : float, default 0.9
        Of the pointwise limits, half of the rest on either side.
    n_resamples, rng, progress
        As in `calibration_test`.

    Returns
    -------
    Binwise

    Examples
    --------
    >>> from calibrant import partitions
    >>> data = Predictions([0.2] * 100 + [0.8] * 100, [0, 1] * 50 + [1] * 80 + [0] * 20)
    >>> found = binwise(data, partitions.EqualWidth(2), rng=0)
    >>> found.adjusted_pvalues.round(3).tolist()
    [0.001, 1.0]
    >>> found.lower[:, 1].round(2).tolist(), found.upper[:, 1].round(2).tolist()
    ([-0.06, -0.07], [0.07, 0.06])
    """
    check_data(data, scans=True)
    lens, partition = as_lens(lens, data), as_partition(partition)
    plan = Plan.of(data, resampler, n_resamples, rng, progress)
    problem = plan.look(data, lens, distributions=True)
    problem.check_hypothesis()
    return of_problem(problem, partition, plan, fraction("level", level))


def of_problem(problem: Problem, partition: Partition, plan: Plan, level: float) -> Binwise:
    """Do what `binwise` does for a problem that is seen through its lens already."""
    cells = problem.view.cells(partition)
    function = on_cells(problem.view, partition)
    centre, spread = problem.moments(cells)
    counts = problem.event_distributions(cells) if problem.exact_counts else None

    def score(first: int, last: int, found: Floats) -> Floats:
        """Return how far cells with these frequencies (B, cells, m) are off: (B, cells)."""
        here = slice(first, last)
        if counts is not None:
            return counts.scores(found[:, :, function.event] * cells.mass[here], first)
        return standardise(found - function.predicted[here], centre[here], spread[here])

    summary = Summary(function.predicted, centre, level, plan.n_resamples)
    for first, last, found in frequencies(problem, cells, plan):
        summary.add(first, last, found, score(first, last, found))
    exact = None
    if counts is not None:
        exact = partial(_exact_limits, counts, function)
        summary.limits[:] = exact(level)
    standardised = score(0, function.n_cells, function.observed[None])[0]
    if not problem.tells:
        np.fmax(summary.largest, standardised.max(), out=summary.largest)
    return Binwise(
        function=function,
        lower=summary.limits[0],
        upper=summary.limits[1],
        level=level,
        centre=centre,
        spread=spread,
        standardised=standardised,
        largest=summary.largest,
        regions=summary.regions,
        settings=plan.settings(partition=partition, lens=problem.lens, level=level),
        exact=exact,
        decided=problem.tells,
    )


def _exact_limits(
    counts: CountDistributions, function: CalibrationFunction, level: float
) -> Floats:
    """Return the Poisson-binomial limits of both outcomes: (2, cells, 2)."""
    predicted, event = function.predicted, function.event or 0
    limits = np.empty((2, *predicted.shape))
    events = np.stack([counts.quantile(tail) for tail in ((1 - level) / 2, (1 + level) / 2)])
    share = events / function.counts
    limits[:, :, event] = share - predicted[:, event]
    limits[:, :, 1 - event] = (1 - share[::-1]) - predicted[:, 1 - event]
    return limits


def frequencies(problem: Problem, cells: Any, plan: Plan) -> Iterator[tuple[int, int, Floats]]:
    """Yield the outcome frequencies (n_resamples, cells, m) of one span of cells after another."""
    mass = np.where(cells.mass > 0, cells.mass, 1.0)[:, None]
    if not problem.rows.held:
        blocks = Elsewhere([problem], plan).blocks()
        found = [block.counts(cells, 0, cells.n_cells) for (block,) in blocks]
        yield 0, cells.n_cells, np.concatenate(found) / mass
        return
    draws = problem.draws
    if draws.rows_change or not (problem.lens.rowwise or problem.resampler.flips_signs):
        yield 0, cells.n_cells, _of_data_sets(problem, cells, plan)
        return
    m, size = problem.view.m, plan.n_resamples
    spans = threads.blocks(cells.n_cells, max(1, LAID_OUT // (size * m)))
    draws.prepare([cells])
    for number, (first, last) in enumerate(spans):
        out = np.empty((size, last - first, m))

        def work(b0: int, b1: int, first: int = first, last: int = last) -> None:
            out[b0:b1] = draws.counts(cells, Replicates(b0, b1), first, last)  # noqa: B023

        threads.run(work, threads.blocks(size, SIDE), part(plan.progress, number, len(spans)))
        out /= mass[first:last]
        yield first, last, out


def _of_data_sets(problem: Problem, cells: Any, plan: Plan) -> Floats:
    """Return the frequencies where a lens mixes rows, or predictions are drawn again.

    Where predictions stay, a replicate with the labels of the data has the frequencies of the
    data to the last digit.
    """
    out = np.empty((plan.n_resamples, cells.n_cells, problem.view.m))
    predicted = cells.means().predicted
    for b in range(plan.n_resamples):
        (data,) = problem.draws.data_sets(Replicates(b, b + 1))
        if problem.draws.rows_change:
            means = cells.same_of(data).means()
            off = np.where(means.mass[:, None] > 0, means.observed - means.predicted, np.nan)
            out[b] = predicted + off
        else:
            out[b] = cells.means(data).observed
        if plan.progress is not None:
            plan.progress(b + 1, plan.n_resamples)
    return out


def standardise(deviations: Floats, centre: Floats, spread: Floats) -> Floats:
    """Return the largest |deviation - centre| / spread over the outcomes (…, cells).

    Where the spread is zero, anything but rounding is infinitely far off.
    """
    gap = np.abs(deviations - centre)
    sure = spread <= 1e-12
    scaled = np.where(sure, np.where(gap > 1e-6, np.inf, 0.0), gap / np.where(sure, 1.0, spread))
    return np.asarray(scaled.max(axis=-1))


@final
class Summary:
    """Limits, regions and the largest deviation, filled in block by block of cells."""

    def __init__(self, predicted: Floats, centre: Floats, level: float, n_resamples: int) -> None:
        n_cells, m = predicted.shape
        self.predicted, self.centre, self.level = predicted, centre, level
        self.limits = np.empty((2, n_cells, m))
        self.largest = np.zeros(n_resamples)
        self.regions = np.empty((n_cells, OUTLINE, 3)) if m == 3 else None

    def add(self, first: int, last: int, frequencies: Floats, scores: Floats) -> None:
        """Take in frequencies (n_resamples, cells, m) of some cells, and how far they are off."""
        deviations = frequencies - self.predicted[first:last]
        np.fmax(self.largest, np.fmax.reduce(scores, axis=-1), out=self.largest)
        tails = [(1 - self.level) / 2, (1 + self.level) / 2]
        quantile = np.nanquantile if np.isnan(deviations).any() else np.quantile
        never = np.isnan(deviations).all(axis=0)  # no row in any replicate, so no limits
        deviations[:, never] = 0.0
        limits = quantile(deviations, tails, axis=0, method="inverted_cdf")
        limits[:, never] = np.nan
        self.limits[:, first:last] = limits
        if self.regions is not None:
            middle = self.predicted[first:last] + self.centre[first:last]
            self.regions[first:last] = _ellipses(frequencies - middle, middle, self.level)


def _ellipses(deviations: Floats, middle: Floats, level: float) -> Floats:
    """Return ellipses (cells, points, 3) that hold a share `level` of deviations (B, cells, 3)."""
    deviations = np.nan_to_num(deviations)
    covariance = np.einsum("bci,bcj->cij", deviations, deviations) / deviations.shape[0]
    values, vectors = np.linalg.eigh(covariance)
    axes = vectors[:, :, 1:] * np.sqrt(np.maximum(values[:, None, 1:], 0.0))  # (cells, 3, 2)
    inverse = np.linalg.pinv(axes, rcond=1e-9)
    radius = np.quantile(
        np.linalg.norm(np.einsum("cki,bci->bck", inverse, deviations), axis=-1), level, axis=0
    )
    turn = np.linspace(0, 2 * np.pi, OUTLINE)
    circle = np.stack((np.cos(turn), np.sin(turn)))  # (2, points)
    offset = np.einsum("cik,kp->cpi", axes, circle)
    return np.asarray(middle[:, None, :] + radius[:, None, None] * offset)
