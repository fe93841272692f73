"""The test of a hypothesis of calibration, §4.3."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant import words
from calibrant.arguments import as_lens, check_data, takes_arrays
from calibrant.checks.parameters import Rng
from calibrant.inference.replicates.driver import values_and_replicates
from calibrant.inference.replicates.plan import Plan, Progress, Settings
from calibrant.inference.replicates.problem import Problem, check_hypothesis
from calibrant.inference.testing.families import omnibus, said_of
from calibrant.inference.testing.pvalues import pvalue, spread, strongest
from calibrant.lenses import Canonical, Lens
from calibrant.predictions import Predictions
from calibrant.resampling import Exact, Resampler
from calibrant.rows import Scan
from calibrant.statistics.spelled import as_statistic
from calibrant.statistics.statistic import AnyStatistic


@final
@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A statistic of the omnibus test.

    Parameters
    ----------
    statistic : str
        What it is.
    value : float
        Of the data.
    pvalue : float
        By itself.
    """

    statistic: str
    value: float
    pvalue: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        return {"statistic": self.statistic, "value": self.value, "pvalue": self.pvalue}

    def told(self, n_resamples: int) -> str:
        """Say what was found with so many resamples."""
        return f"{self.statistic} {self.value:.4g} ({words.pvalue(self.pvalue, n_resamples, ' ')})"


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
    parts : tuple of Part
        Of the omnibus test: the statistics that were tested together.
    """

    statistic: float
    null: NDArray[np.float64]
    calibrated: bool
    settings: Settings
    parts: tuple[Part, ...] = ()

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
            "parts": [part.to_dict() for part in self.parts],
            "settings": dict(self.settings),
        }

    def __repr__(self) -> str:
        return f"<test: {self}>"

    def __str__(self) -> str:
        p = f"{words.pvalue(self.pvalue, self.null.size, ' ')} ({self.null.size} resamples)"
        if self.parts:
            return f"{p} from {'; '.join(part.told(self.null.size) for part in self.parts)}"
        hypothesis = "if calibrated" if self.calibrated else "under the hypothesis"
        return (
            f"{self.statistic:.4g} against {self.null.mean():.4g} ± {spread(self.null):.2g}"
            f" {hypothesis}: {p}"
        )


@takes_arrays
def calibration_test(
    data: Predictions | Scan,
    statistic: AnyStatistic | None = None,
    *,
    lens: Lens | str = Canonical(),
    resampler: Resampler | str = Exact(),
    n_resamples: int = 999,
    rng: Rng = None,
    progress: Progress | None = None,
) -> CalibrationTest:
    r"""Test whether the predictions are calibrated as seen through `lens`.

    .. math:: p = \frac{1 + |\{b : h(D^{*b}) \ge h(D)\}|}{B + 1}

    Parameters
    ----------
    data : Predictions or Scan
        Predictions and outcomes.
    statistic : Statistic or callable, optional
        Large if calibration is bad: an object of `statistics`, or any function of
        `Predictions` that returns a number. Without one, a few that complement each other are
        tested together: the statistic is then -log10 of their smallest p-value, and the test
        stays exact.
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
    >>> calibration_test(data, rng=0).pvalue
    0.001
    """
    check_data(data, scans=True)
    lens = as_lens(lens, data)
    one = None if statistic is None else as_statistic(statistic)
    plan = Plan.of(data, resampler, n_resamples, rng, progress)
    problem = Problem.of(data, lens, plan.resampler, plan.key)
    check_hypothesis(problem)
    chosen = omnibus(problem.view) if one is None else (one,)
    values, nulls = values_and_replicates(problem, chosen, plan)
    made_with = plan.settings(statistic=said_of(problem.rows) if one is None else one, lens=lens)
    parts: tuple[Part, ...] = ()
    value, null = values[0], nulls[0]
    if one is None:
        value, null = strongest(np.array(values), nulls)
        alone = pvalue(values, nulls)
        parts = tuple(map(Part, map(str, chosen), values, alone.tolist()))
    return CalibrationTest(value, null, problem.calibrated, made_with, parts)
