"""The test of a hypothesis of calibration, §4.3."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant.checks.parameters import function
from calibrant.checks.seeds import Rng, make_key
from calibrant.inference.arguments import check_data, check_lens, check_progress, check_resamples
from calibrant.inference.pvalues import pvalue, shown, spread
from calibrant.inference.replicates import (
    Plan,
    Progress,
    Statistic,
    calibrated,
    check_hypothesis,
    number,
    replicates,
)
from calibrant.lenses import Canonical, Lens
from calibrant.predictions import Predictions
from calibrant.resampling import Exact, Resampler
from calibrant.statistics import ExpectedMiscalibration, WorstMiscalibration


@final
@dataclass(frozen=True, slots=True, eq=False)
class CalibrationTest:
    """The result of a test: the statistic, and what it would have been under the hypothesis.

    Parameters
    ----------
    statistic : of the data
    null : (n_resamples,) of the resampled data sets
    calibrated : whether the hypothesis is that the model is calibrated, not another one
    """

    statistic: float
    null: NDArray[np.float64]
    calibrated: bool = True

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
        }

    def __str__(self) -> str:
        hypothesis = "if calibrated" if self.calibrated else "under the hypothesis"
        return (
            f"{self.statistic:.4g} against {self.null.mean():.4g} ± {spread(self.null):.2g}"
            f" {hypothesis}: {shown(self.pvalue)} ({self.null.size} resamples)"
        )


def calibration_test(
    data: Predictions,
    statistic: Statistic,
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
    statistic : large if calibration is bad: an object of `statistics`, or any function of
        `Predictions` that returns a number
    lens : what aspect of the predictions is tested
    resampler : draws data sets under the hypothesis; `Exact` makes the p-value valid for
        every number of rows
    n_resamples : number of resampled data sets, B
    rng : seed, generator or None; the same seed gives the same null distribution
    progress : function of (done, total), called now and then

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
    function("statistic", statistic)
    check_hypothesis(resampler)
    check_progress(progress)
    plan = Plan(resampler, check_resamples(n_resamples), make_key(rng), progress)
    induced, binned = lens(data), None
    if isinstance(statistic, ExpectedMiscalibration | WorstMiscalibration):
        binned = statistic.prepare(induced)
        value = statistic.evaluate(binned, induced.labels)
    else:
        value = number(statistic(induced), "the data")
    null = replicates(data, [statistic], lens, plan, binned)[0]
    return CalibrationTest(value, null, calibrated(resampler))
