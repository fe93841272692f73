"""Inference for every cell: which of them are off."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant import _kernels
from calibrant._check import fraction, whole
from calibrant._kernels import threads
from calibrant._random import Rng, make_key
from calibrant.calibration import Binned, CalibrationFunction, bin_predictions, cell_means
from calibrant.inference.draws import CellDraws
from calibrant.inference.pvalues import pvalue
from calibrant.inference.replicates import ROOM, Progress
from calibrant.lenses import Canonical, Lens
from calibrant.partitions import Partition
from calibrant.predictions import Predictions
from calibrant.resampling import Exact

Floats = NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True)
class Cellwise:
    """Deviations of every cell, and what they would be under the hypothesis.

    Parameters
    ----------
    function : the estimated calibration function
    lower, upper : (cells, m) pointwise limits of each deviation under the hypothesis
    level : of these limits
    centre, spread : (cells, m) mean and standard deviation of the deviations under it, exact
    largest : (n_resamples,) the largest standardised deviation of any cell, in each replicate
    """

    function: CalibrationFunction
    lower: Floats
    upper: Floats
    level: float
    centre: Floats
    spread: Floats
    largest: Floats

    @property
    def standardised(self) -> Floats:
        """Largest |deviation - centre| / spread over the outcomes of each cell (cells,)."""
        return _standardise(self.function.deviations, self.centre, self.spread)

    @property
    def adjusted_pvalues(self) -> Floats:
        """P-value of each cell (cells,), adjusted for the number of cells.

        The chance that any cell of a calibrated model falls below alpha is at most alpha.
        """
        return np.asarray(pvalue(self.standardised, self.largest[None, :]))

    def simultaneous(self, level: float) -> tuple[Floats, Floats]:
        """Return limits (cells, m) within which all deviations are with this probability."""
        fraction("level", level)
        size = self.largest.size
        rank = min(int(np.ceil(level * (size + 1))), size)
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
    resampler: Exact = Exact(),
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
    lens : what aspect of the predictions is looked at; one that keeps a row for a row
    resampler : `Exact`, with any hypothesis
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
    n_resamples = whole("n_resamples", n_resamples, least=1)
    fraction("level", level)
    if not isinstance(resampler, Exact):
        raise TypeError(f"`resampler` must be Exact, whose cells stay; found {resampler!r}.")
    if not lens.rowwise:
        raise ValueError(f"`lens` must keep a row for a row; {lens} does not.")
    if resampler.rho is not None and not isinstance(lens, Canonical):
        raise ValueError("`rho` is a hypothesis on the predictions themselves: use Canonical().")
    induced = lens(data)
    binned = bin_predictions(induced, partition)
    draws = CellDraws.of(binned, resampler.law(induced), make_key(rng))
    predicted, observed = cell_means(binned, induced.labels, 0, binned.n_cells)
    function = CalibrationFunction(
        binned.fitted, induced.classes, binned.mass, predicted, observed, induced.weighted
    )
    centre, spread = _moments(binned, draws.law, predicted)
    lower, upper, largest = _limits(draws, predicted, centre, spread, n_resamples, level, progress)
    return Cellwise(function, lower, upper, level, centre, spread, largest)


def _moments(binned: Binned, law: NDArray[Any], predicted: Floats) -> tuple[Floats, Floats]:
    """Return mean and standard deviation of the deviations under the law of the labels."""
    mean = np.zeros(predicted.shape)
    variance = np.zeros(predicted.shape)
    weights, step = binned.data.kernel_weights
    _kernels.cells.variances(law, weights, step, binned.rows, binned.starts, mean, variance)
    mass = np.where(binned.mass > 0, binned.mass, 1.0)[:, None]
    centre = np.zeros_like(mean) if law is binned.data.probs else mean / mass - predicted
    return centre, np.sqrt(variance) / mass


def _standardise(deviations: Floats, centre: Floats, spread: Floats) -> Floats:
    """Return the largest |deviation - centre| / spread over the outcomes (…, cells).

    Where the spread is zero, anything but rounding is infinitely far off.
    """
    gap = np.abs(deviations - centre)
    sure = spread <= 1e-12
    scaled = np.where(sure, np.where(gap > 1e-6, np.inf, 0.0), gap / np.where(sure, 1.0, spread))
    return np.asarray(scaled.max(axis=-1))


def _limits(
    draws: CellDraws,
    predicted: Floats,
    centre: Floats,
    spread: Floats,
    n_resamples: int,
    level: float,
    progress: Progress | None,
) -> tuple[Floats, Floats, Floats]:
    binned = draws.binned
    mass = np.where(binned.mass > 0, binned.mass, 1.0)[:, None]
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    limits = np.empty((2, *predicted.shape))
    largest = np.zeros(n_resamples)
    size = max(1, ROOM // (n_resamples * binned.data.m))
    for first, last in threads.blocks(binned.n_cells, size):
        counts = draws.counts(0, n_resamples, first, last)
        deviations = counts / mass[first:last] - predicted[first:last]
        t = _standardise(deviations, centre[first:last], spread[first:last])
        np.maximum(largest, t.max(axis=-1), out=largest)
        limits[:, first:last] = np.quantile(deviations, tails, axis=0, method="inverted_cdf")
        if progress is not None:
            progress(last, binned.n_cells)
    if draws.counts_law is not None:
        limits = _exact_limits(draws, predicted, tails)
    return limits[0], limits[1], largest


def _exact_limits(draws: CellDraws, predicted: Floats, tails: Floats) -> Floats:
    """Return the Poisson-binomial limits of both outcomes: (2, cells, 2)."""
    assert draws.counts_law is not None
    event = draws.binned.data.event
    limits = np.empty((2, *predicted.shape))
    events = np.stack([draws.counts_law.quantile(float(tail)) for tail in tails])
    share = events / draws.binned.mass
    limits[:, :, event] = share - predicted[:, event]
    limits[:, :, 1 - event] = (1 - share[::-1]) - predicted[:, 1 - event]
    return limits
