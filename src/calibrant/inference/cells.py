"""Inference for every cell: which of them are off."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.calibration import Binned, CalibrationFunction, bin_predictions, cell_means
from calibrant.checks.parameters import fraction
from calibrant.checks.seeds import Rng, make_key
from calibrant.engine import threads
from calibrant.inference.arguments import check_data, check_lens, check_progress, check_resamples
from calibrant.inference.draws import CellDraws
from calibrant.inference.pvalues import pvalue
from calibrant.inference.replicates import ROOM, Plan, Progress, part
from calibrant.lenses import Canonical, Lens
from calibrant.partitions import Partition
from calibrant.partitions.partition import check_partition
from calibrant.predictions import Predictions
from calibrant.resampling import Consistency, Exact

Floats = NDArray[np.float64]

OUTLINE = 49  # points of an ellipse, the first again at the end


@final
@dataclass(frozen=True, slots=True, eq=False)
class Cellwise:
    """Deviations of every cell, and what they would be under the hypothesis.

    Parameters
    ----------
    function : the estimated calibration function
    lower, upper : (cells, m) pointwise limits of each deviation under the hypothesis
    level : of these limits
    centre, spread : (cells, m) mean and standard deviation of the deviations under it, exact
        but for `Pooled`, whose pairs are taken as independent
    largest : (n_resamples,) the largest standardised deviation of any cell, in each replicate
    regions : (cells, points, 3) for three outcomes, an ellipse around the outcome frequencies
        that each cell would show under the hypothesis, in a share `level` of the replicates
    """

    function: CalibrationFunction
    lower: Floats
    upper: Floats
    level: float
    centre: Floats
    spread: Floats
    largest: Floats
    regions: Floats | None = None

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
        }

    def __str__(self) -> str:
        off = int((self.adjusted_pvalues <= 0.05).sum())
        return f"{off} of {self.function.n_cells} cells are off at 5 % (family-wise)"


def cellwise(
    data: Predictions,
    partition: Partition,
    *,
    lens: Lens = Canonical(),
    resampler: Exact | Consistency = Exact(),
    n_resamples: int = 999,
    level: float = 0.9,
    rng: Rng = None,
    progress: Progress | None = None,
) -> Cellwise:
    """Return what each cell's deviation would be if the model were calibrated.

    Pointwise limits are quantiles of the deviation of each cell and outcome. For binary
    outcomes without weights they come from the exact Poisson-binomial law of the count. The
    adjusted p-values compare a cell's standardised deviation, the largest over its outcomes,
    with the largest of all cells in each replicate, so they hold for all cells at once.

    Parameters
    ----------
    data : Predictions
    partition : the cells
    lens : what aspect of the predictions is looked at
    resampler : draws data sets under the hypothesis; the cells stay those of the data
    n_resamples : number of data sets drawn under the hypothesis
    level : of the pointwise limits, half of the rest on either side
    rng : seed, generator or None
    progress : function of (done, total), called now and then

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
    check_progress(progress)
    n_resamples = check_resamples(n_resamples)
    fraction("level", level)
    if not isinstance(resampler, Exact | Consistency):
        raise TypeError(
            f"`resampler` must draw under the hypothesis, as Exact does; found {resampler!r}."
        )
    if resampler.rho is not None and not isinstance(lens, Canonical):
        raise ValueError("`rho` is a hypothesis on the predictions themselves: use Canonical().")
    induced = lens(data)
    binned = bin_predictions(induced, partition)
    predicted, observed = cell_means(binned, induced.labels, 0, binned.n_cells)
    function = CalibrationFunction(
        binned.fitted, induced.classes, binned.mass, predicted, observed, induced.weighted
    )
    law = resampler.law(induced) if lens.rowwise else induced.probs
    centre, spread = _moments(binned, law, predicted)
    summary = _Summary.empty(predicted, centre, spread, n_resamples, level)
    if isinstance(resampler, Exact) and lens.rowwise:
        draws = CellDraws.of(binned, law, make_key(rng))
        blocks = threads.blocks(binned.n_cells, max(1, ROOM // (n_resamples * induced.m)))
        for number, (first, last) in enumerate(blocks):
            told = part(progress, number, len(blocks))
            summary.add(first, last, draws.frequencies(0, n_resamples, first, last, told))
        if draws.counts_law is not None:
            summary.limits[:] = _exact_limits(draws, predicted, level)
    else:
        plan = Plan(resampler, n_resamples, make_key(rng), progress)
        summary.add(0, binned.n_cells, _plain_frequencies(data, lens, binned, plan))
    return Cellwise(
        function,
        summary.limits[0],
        summary.limits[1],
        level,
        centre,
        spread,
        summary.largest,
        summary.regions,
    )


def _plain_frequencies(data: Predictions, lens: Lens, binned: Binned, plan: Plan) -> Floats:
    """Return the outcome frequencies of all replicates: (n_resamples, cells, m).

    For lenses that mix rows and resamplers that redraw predictions. Where predictions stay, a
    replicate with the labels of the data has the frequencies of the data to the last digit.
    """
    out = np.empty((plan.n_resamples, binned.n_cells, binned.data.m))
    predicted = cell_means(binned, binned.data.labels, 0, binned.n_cells)[0]
    for b in range(plan.n_resamples):
        drawn = lens(plan.resampler.draw(data, plan.key, b))
        if isinstance(plan.resampler, Exact):
            out[b] = cell_means(binned, drawn.labels, 0, binned.n_cells)[1]
        else:
            out[b] = predicted + _deviations(binned, drawn)
        if plan.progress is not None:
            plan.progress(b + 1, plan.n_resamples)
    return out


def _deviations(binned: Binned, drawn: Predictions) -> Floats:
    """Return the deviations of other rows in the same cells (cells, m), nan without rows."""
    cells = binned.fitted.assign(drawn.probs)
    sums = np.zeros((binned.n_cells, drawn.m))
    for j in range(drawn.m):
        occurred = np.bincount(cells, drawn.weights * (drawn.labels == j), binned.n_cells)
        expected = np.bincount(cells, drawn.weights * drawn.probs[:, j], binned.n_cells)
        sums[:, j] = occurred - expected
    mass = np.bincount(cells, drawn.weights, binned.n_cells)[:, None]
    return np.divide(sums, mass, out=np.full_like(sums, np.nan), where=mass > 0)


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Summary:
    """Limits, regions and the largest deviation, filled in block by block of cells."""

    predicted: Floats
    centre: Floats
    spread: Floats
    level: float
    limits: Floats
    largest: Floats
    regions: Floats | None

    @classmethod
    def empty(
        cls, predicted: Floats, centre: Floats, spread: Floats, n_resamples: int, level: float
    ) -> "_Summary":
        n_cells, m = predicted.shape
        return cls(
            predicted,
            centre,
            spread,
            level,
            np.empty((2, n_cells, m)),
            np.zeros(n_resamples),
            np.empty((n_cells, OUTLINE, 3)) if m == 3 else None,
        )

    def add(self, first: int, last: int, frequencies: Floats) -> None:
        """Take in the outcome frequencies (n_resamples, cells, m) of some cells."""
        deviations = frequencies - self.predicted[first:last]
        t = standardise(deviations, self.centre[first:last], self.spread[first:last])
        np.fmax(self.largest, np.fmax.reduce(t, axis=-1), out=self.largest)
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


def _moments(binned: Binned, law: NDArray[Any], predicted: Floats) -> tuple[Floats, Floats]:
    """Return mean and standard deviation of the deviations under the law of the labels."""
    mean = np.zeros(predicted.shape)
    variance = np.zeros(predicted.shape)
    weights, step = binned.data.kernel_weights
    engine.cells.variances(law, weights, step, binned.rows, binned.starts, mean, variance)
    mass = np.where(binned.mass > 0, binned.mass, 1.0)[:, None]
    centre = np.zeros_like(mean) if law is binned.data.probs else mean / mass - predicted
    return centre, np.sqrt(variance) / mass


def standardise(deviations: Floats, centre: Floats, spread: Floats) -> Floats:
    """Return the largest |deviation - centre| / spread over the outcomes (…, cells).

    Where the spread is zero, anything but rounding is infinitely far off.
    """
    gap = np.abs(deviations - centre)
    sure = spread <= 1e-12
    scaled = np.where(sure, np.where(gap > 1e-6, np.inf, 0.0), gap / np.where(sure, 1.0, spread))
    return np.asarray(scaled.max(axis=-1))


def _exact_limits(draws: CellDraws, predicted: Floats, level: float) -> Floats:
    """Return the Poisson-binomial limits of both outcomes: (2, cells, 2)."""
    assert draws.counts_law is not None
    event = draws.binned.data.event
    limits = np.empty((2, *predicted.shape))
    tails = ((1 - level) / 2, (1 + level) / 2)
    events = np.stack([draws.counts_law.quantile(tail) for tail in tails])
    share = events / draws.binned.mass
    limits[:, :, event] = share - predicted[:, event]
    limits[:, :, 1 - event] = (1 - share[::-1]) - predicted[:, 1 - event]
    return limits
