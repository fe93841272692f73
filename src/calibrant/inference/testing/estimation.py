"""Estimates with standard errors and intervals, §4.2."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant.arguments import as_lens, check_data, takes_arrays
from calibrant.checks.parameters import Rng, fraction
from calibrant.inference.replicates.driver import values_and_replicates
from calibrant.inference.replicates.plan import Plan, Progress, Settings
from calibrant.inference.replicates.problem import Problem
from calibrant.inference.testing.pvalues import spread
from calibrant.lenses import Canonical, Lens
from calibrant.predictions import Predictions
from calibrant.resampling import Bootstrap, Resampler
from calibrant.rows import Scan
from calibrant.statistics.spelled import as_statistic
from calibrant.statistics.statistic import AnyStatistic


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Estimate:
    """A statistic with its variability.

    Parameters
    ----------
    value : float
        Of the data.
    replicates : array of shape (n_resamples,)
        Of the resampled data sets.
    settings : mapping
        What the estimate was made with.
    bounds : callable, optional
        The statistic's own interval, as a function of the level.
    """

    value: float
    replicates: NDArray[np.float64]
    settings: Settings
    bounds: Callable[[float], tuple[float, float] | None] = lambda level: None  # noqa: ARG005

    @property
    def standard_error(self) -> float:
        """Standard deviation of the replicates; nan if there is only one, or an infinite one."""
        return spread(self.replicates, ddof=1)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return an interval for what the statistic estimates.

        `SquaredMiscalibration` has one of its own, which covers. Of others it is the percentile
        interval, quantiles of the replicates: right for a score, but not for a measure that is
        biased upwards, such as `ExpectedMiscalibration`. Drawing rows again adds the bias once
        more, so that its quantiles tell how replicates scatter, not where the truth is.
        """
        own = self.bounds(fraction("level", level))
        if own is not None:
            return own
        tail = (1 - level) / 2
        return _quantiles(self.replicates, [tail, 1 - tail])

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        return {
            "value": self.value,
            "standard_error": self.standard_error,
            "interval_95": list(self.interval(0.95)),
            "n_resamples": self.replicates.size,
            "settings": dict(self.settings),
        }

    def __repr__(self) -> str:
        return f"<estimate: {self}>"

    def __str__(self) -> str:
        return f"{self.value:.4g} ± {self.standard_error:.2g}"


def _quantiles(replicates: NDArray[np.float64], levels: Any) -> tuple[float, float]:
    """Return two quantiles; between two infinite replicates, or at one, infinity."""
    with np.errstate(invalid="ignore"):
        found = np.quantile(replicates, levels)
    low, high = np.where(np.isnan(found), np.quantile(replicates, levels, method="higher"), found)
    return float(low), float(high)


@takes_arrays
def estimate(
    data: Predictions | Scan,
    statistic: AnyStatistic,
    *,
    lens: Lens | str = Canonical(),
    resampler: Resampler | str = Bootstrap(),
    n_resamples: int = 999,
    rng: Rng = None,
    progress: Progress | None = None,
) -> Estimate:
    """Estimate a statistic as seen through `lens`, with its standard error.

    Parameters
    ----------
    data : Predictions or Scan
        Predictions and outcomes.
    statistic : Statistic or callable
        An object of `statistics`, or any function of `Predictions`.
    lens : Lens, default Canonical()
        What aspect of the predictions is looked at.
    resampler : Resampler, default Bootstrap()
        `Bootstrap` draws rows again.
    n_resamples : int, default 999
        Number of resampled data sets.
    rng : int, Generator or None
        The same seed gives the same replicates.
    progress : callable, optional
        Function of (done, total), called now and then.

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
    check_data(data, scans=True)
    lens = as_lens(lens, data)
    chosen = as_statistic(statistic)
    plan = Plan.of(data, resampler, n_resamples, rng, progress)
    problem = Problem.of(data, lens, plan.resampler, plan.key)
    (value,), (found,) = values_and_replicates(problem, [chosen], plan)
    made_with = plan.settings(statistic=chosen, lens=lens)
    if not problem.rows.held:
        return Estimate(value, found, made_with)
    return Estimate(value, found, made_with, lambda level: chosen.interval(problem.seen, level))
