"""The test of a hypothesis of calibration, §4.3."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant.checks.seeds import Rng
from calibrant.inference.plans import Plan, Progress, Settings
from calibrant.inference.problem import Problem, check_hypothesis
from calibrant.inference.pvalues import pvalue, shown, spread
from calibrant.inference.replicates import values_and_replicates
from calibrant.lenses import Canonical, Lens
from calibrant.lenses.lens import check_lens
from calibrant.predictions import Predictions, check_data
from calibrant.resampling import Exact, Resampler
from calibrant.statistics.statistic import AnyStatistic, as_statistic


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CalibrationTest:
    """The result of a test: the statistic, and what it would have been under the hypothesis.

    Parameters
    ----------
    statistic : float
        Of the data.
    null : array of shape (n_resamples,)
        Of the resampled data sets.
    calibrated : bool
        Whether the hypothesis is that the model is calibrated, not another one.
    settings : mapping
        What the test was made with.
    """

    statistic: float
    null: NDArray[np.float64]
    calibrated: bool
    settings: Settings

    @property
    def pvalue(self) -> float:
        """P-value, (1 + #{null ≥ statistic}) / (n_resamples + 1)."""
        return float(pvalue(self.statistic, self.null))

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        return {
            "statistic": self.statistic,
            "pvalue": self.pvalue,
            "null_mean": float(self.null.mean()),
            "null_sd": spread(self.null),
            "n_resamples": self.null.size,
            "null": self.null.tolist(),
            "settings": dict(self.settings),
        }

    def __repr__(self) -> str:
        return f"<test: {self}>"

    def __str__(self) -> str:
        hypothesis = "if calibrated" if self.calibrated else "under the hypothesis"
        return (
            f"{self.statistic:.4g} against {self.null.mean():.4g} ± {spread(self.null):.2g}"
            f" {hypothesis}: {shown(self.pvalue)} ({self.null.size} resamples)"
        )


def calibration_test(
    data: Predictions,
    statistic: AnyStatistic,
    *,
    lens: Lens = Canonical(),
    resampler: Resampler = Exact(),
    n_resamples: int = 999,
    rng: Rng = None,
    progress: Progress | None = None,
) -> CalibrationTest:
    r"""Test whether the predictions are calibrated as seen through `lens`.

    .. math:: p = \frac{1 + |\{b : h(D^{*b}) \ge h(D)\}|}{B + 1}

    Parameters
    ----------
    data : Predictions
        Predictions and outcomes.
    statistic : Statistic or callable
        Large if calibration is bad: an object of `statistics`, or any function of
        `Predictions` that returns a number.
    lens : Lens, default Canonical()
        What aspect of the predictions is tested.
    resampler : Resampler, default Exact()
        Draws data sets under the hypothesis; `Exact` makes the p-value valid for every number
        of rows, if they are independent.
    n_resamples : int, default 999
        Number of resampled data sets, B.
    rng : int, Generator or None
        The same seed gives the same null distribution.
    progress : callable, optional
        Function of (done, total), called now and then.

    Returns
    -------
    CalibrationTest

    Examples
    --------
    >>> from calibrant import partitions, statistics
    >>> data = Predictions([0.9] * 50, [1] * 30 + [0] * 20)
    >>> eta = statistics.ExpectedMiscalibration(partitions.EqualWidth(10))
    >>> calibration_test(data, eta, rng=0).pvalue
    0.001
    """
    check_data(data)
    check_lens(lens)
    chosen = as_statistic(statistic)
    plan = Plan.of(resampler, n_resamples, rng, progress)
    problem = Problem.of(data, lens, resampler, plan.key)
    check_hypothesis(problem)
    (value,), (null,) = values_and_replicates(problem, [chosen], plan)
    made_with = plan.settings(statistic=chosen, lens=lens)
    return CalibrationTest(value, null, problem.probs is data.probs, made_with)
