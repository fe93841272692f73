"""A statistic against its replicates: a test of calibration, §4.3, or a standard error, §4.2."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from calibrant import words
from calibrant.arguments import as_lens, check_data, takes_arrays
from calibrant.checks.parameters import Rng, fraction
from calibrant.engine.arrays import Floats
from calibrant.inference.replicates.driver import values_and_replicates
from calibrant.inference.replicates.problem import Plan, Progress, Settings, fields
from calibrant.inference.testing.families import (
    combined,
    omnibus,
    omnibus_weights,
    pvalue,
    said_of,
    spread,
    summary_of,
)
from calibrant.lenses import Canonical, Lens
from calibrant.predictions import Predictions
from calibrant.resampling import Bootstrap, Exact, Resampler
from calibrant.rows import Scan
from calibrant.statistics.spelled import as_statistic
from calibrant.statistics.statistic import AnyStatistic, Statistic


@final
@dataclass(frozen=True, slots=True, eq=False)
class OmnibusPart:
    """A statistic of the omnibus test."""

    statistic: str
    value: float  # of the data
    pvalue: float  # by itself

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        return fields(self, "statistic", "value", "pvalue")

    def sentence(self, n_resamples: int) -> str:
        """Say what was found with so many resamples."""
        return f"{self.statistic} {self.value:.4g} ({words.pvalue(self.pvalue, n_resamples, ' ')})"


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CalibrationTest:
    """The result of a test: the statistic, its null distribution and the p-value.

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
    parts : tuple of OmnibusPart
        Of the omnibus test: the statistics that were tested together.
    n_clusters, clusters_worth : optional
        Of rows in clusters: as in `Verdict`. If they are worth fewer than six, the test cannot
        tell: `null` repeats the statistic, and the p-value is 1.
    """

    statistic: float
    null: Floats
    calibrated: bool
    settings: Settings
    parts: tuple[OmnibusPart, ...] = ()
    n_clusters: int | None = None
    clusters_worth: float | None = None

    @property
    def decided(self) -> bool:
        """Whether there were clusters enough to tell, or rows are independent."""
        return self.clusters_worth is None or self.clusters_worth >= words.CLUSTERS

    @property
    def pvalue(self) -> float:
        """P-value, (1 + #{null ≥ statistic}) / (n_resamples + 1)."""
        return float(pvalue(self.statistic, self.null))

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        found = fields(self, "statistic", "pvalue", "decided") | summary_of(self.null)
        found["n_resamples"] = self.null.size
        return found | fields(self, "null", "parts", "settings")

    def __repr__(self) -> str:
        return f"<test: {self}>"

    def __str__(self) -> str:
        if not self.decided:
            count = self.n_clusters or 0
            why = words.few_clusters(self.clusters_worth or 0.0, count)
            return f"cannot tell with {words.many(count, 'cluster')}: {why}"
        p = f"{words.pvalue(self.pvalue, self.null.size, ' ')} ({self.null.size} resamples)"
        if self.parts:
            return f"{p} from {'; '.join(part.sentence(self.null.size) for part in self.parts)}"
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
    r"""Test whether the predictions are calibrated as seen through `lens`: an exact p-value.

    .. math:: p = \frac{1 + |\{b : h(D^{*b}) \ge h(D)\}|}{B + 1}

    Parameters
    ----------
    data : Predictions or Scan
        Or probabilities, with labels after them; or a data frame, with ``label="y"``.
    statistic : Statistic or callable, optional
        Large if calibration is bad: an object of `statistics`, or any function of
        `Predictions` that returns a number. Without one, a few that complement each other are
        tested together: the statistic is then -log10 of the harmonic mean of their p-values, and
        the test stays exact.
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
    problem = plan.look(data, lens)
    problem.check_hypothesis()
    clusters = problem.n_clusters, problem.clusters_worth
    if one is not None:
        (value,), (null,) = values_and_replicates(problem, [one], plan)
        made_with = plan.settings(statistic=one, lens=lens)
        return CalibrationTest(value, null, problem.calibrated, made_with, (), *clusters)
    chosen = omnibus(problem.view)
    values, nulls = values_and_replicates(problem, chosen, plan)
    made_with = plan.settings(statistic=said_of(problem.rows), lens=lens)
    found = omnibus_test(chosen, values, nulls, made_with)
    n_clusters, worth = clusters
    return replace(
        found, calibrated=problem.calibrated, n_clusters=n_clusters, clusters_worth=worth
    )


def omnibus_test(
    chosen: Sequence[Statistic], values: Sequence[float], nulls: Floats, settings: Settings
) -> CalibrationTest:
    """Combine the statistics of the omnibus test, which saw the same draws."""
    value, null = combined(values, nulls, omnibus_weights(chosen))
    parts = tuple(map(OmnibusPart, map(str, chosen), values, pvalue(values, nulls).tolist()))
    return CalibrationTest(value, null, True, settings, parts)


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Estimate:
    """A statistic with its standard error and interval.

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
    replicates: Floats
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
        found = fields(self, "value", "standard_error", "settings")
        found["interval_95"] = list(self.interval(0.95))
        found["n_resamples"] = self.replicates.size
        return found

    def __repr__(self) -> str:
        return f"<estimate: {self}>"

    def __str__(self) -> str:
        return f"{self.value:.4g} ± {self.standard_error:.2g}"


def _quantiles(replicates: Floats, levels: Any) -> tuple[float, float]:
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
        Or probabilities, with labels after them; or a data frame, with ``label="y"``.
    statistic : Statistic or callable
        An object of `statistics`, or any function of `Predictions`.
    lens : Lens, default Canonical()
        What aspect of the predictions is looked at.
    resampler : Resampler, default Bootstrap()
        `Bootstrap` draws rows again.
    n_resamples, rng, progress
        As in `calibration_test`.

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
    problem = plan.look(data, lens)
    (value,), (found,) = values_and_replicates(problem, [chosen], plan)
    made_with = plan.settings(statistic=chosen, lens=lens)
    if not problem.rows.held:
        return Estimate(value, found, made_with)
    return Estimate(value, found, made_with, lambda level: chosen.interval(problem.seen, level))
