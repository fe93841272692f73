"""Estimates with standard errors and intervals, §4.2."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant.checks.parameters import fraction, function
from calibrant.checks.seeds import Rng, make_key
from calibrant.inference.arguments import (
    check_data,
    check_lens,
    check_progress,
    check_resampler,
    check_resamples,
)
from calibrant.inference.pvalues import rounding, spread
from calibrant.inference.replicates import Plan, Progress, Statistic, number, replicates
from calibrant.lenses import Canonical, Lens
from calibrant.predictions import Predictions
from calibrant.resampling import Bootstrap, Resampler


@final
@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """A statistic with its variability.

    Parameters
    ----------
    value : of the data
    replicates : (n_resamples,) of the resampled data sets
    """

    value: float
    replicates: NDArray[np.float64]

    @property
    def standard_error(self) -> float:
        """Standard deviation of the replicates; nan if there is only one, or an infinite one."""
        return spread(self.replicates, ddof=1)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the percentile interval: quantiles of the replicates."""
        tail = (1 - fraction("level", level)) / 2
        return _quantiles(self.replicates, [tail, 1 - tail])

    def bias_corrected_interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the bias-corrected percentile interval of Efron.

        Its quantiles are shifted by how far the value is from the median of the replicates.
        Replicates that are equal to it up to rounding count half.
        """
        from scipy.special import ndtr, ndtri  # noqa: PLC0415

        tail = (1 - fraction("level", level)) / 2
        slack = rounding(self.value)
        below = (
            np.mean(self.replicates < self.value - slack)
            + np.mean(self.replicates <= self.value + slack)
        ) / 2
        size = self.replicates.size
        shift = ndtri(np.clip(below, 0.5 / size, 1 - 0.5 / size))
        return _quantiles(self.replicates, ndtr(2 * shift + ndtri([tail, 1 - tail])))

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        return {
            "value": self.value,
            "standard_error": self.standard_error,
            "interval_95": list(self.interval(0.95)),
            "bias_corrected_interval_95": list(self.bias_corrected_interval(0.95)),
            "n_resamples": self.replicates.size,
        }

    def __str__(self) -> str:
        return f"{self.value:.4g} ± {self.standard_error:.2g}"


def _quantiles(replicates: NDArray[np.float64], levels: Any) -> tuple[float, float]:
    """Return two quantiles; between two infinite replicates, or at one, infinity."""
    with np.errstate(invalid="ignore"):
        found = np.quantile(replicates, levels)
    low, high = np.where(np.isnan(found), np.quantile(replicates, levels, method="higher"), found)
    return float(low), float(high)


def estimate(
    data: Predictions,
    statistic: Statistic,
    *,
    lens: Lens = Canonical(),
    resampler: Resampler = Bootstrap(),
    n_resamples: int = 999,
    rng: Rng = None,
    progress: Progress | None = None,
) -> Estimate:
    """Estimate a statistic as seen through `lens`, with its standard error.

    Parameters
    ----------
    data : Predictions
    statistic : an object of `statistics`, or any function of `Predictions`
    lens : what aspect of the predictions is looked at
    resampler : `Bootstrap` resamples rows
    n_resamples : number of resampled data sets
    rng : seed, generator or None
    progress : function of (done, total), called now and then

    Returns
    -------
    Estimate

    Examples
    --------
    >>> from calibrant import scores
    >>> data = Predictions([0.9] * 50, [1] * 30 + [0] * 20)
    >>> found = estimate(data, scores.accuracy, rng=0)
    >>> found.value, round(found.standard_error, 2)
    (0.6, 0.07)
    """
    check_data(data)
    check_lens(lens)
    function("statistic", statistic)
    check_resampler(resampler)
    check_progress(progress)
    plan = Plan(resampler, check_resamples(n_resamples), make_key(rng), progress)
    value = number(statistic(lens(data)), "the data")
    return Estimate(value, replicates(data, [statistic], lens, plan)[0])
