"""How often a test would reject if labels came from something else than the predictions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp, sqrt
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant.checks.parameters import derive
from calibrant.inference.replicates.driver import replicates
from calibrant.inference.replicates.plan import Plan
from calibrant.inference.replicates.problem import Problem
from calibrant.inference.testing.pvalues import pvalue, strongest
from calibrant.resampling import Exact, Tempered
from calibrant.statistics import Statistic
from calibrant.statistics.statistic import Evaluate

Floats = NDArray[np.float64]
Rho = Callable[[Any], Any]

STEPS = 5  # halvings of the span of amounts in which the smallest one is looked for
POWER = 0.8  # with which something is said to be seen
LIMIT = 6.0  # the largest amount that is tried, of log temperature or log-odds
LOOKED_AT = 1 << 20  # probabilities up to which evaluate says what it would have seen
FINEST = 199  # resamples from which it does
DATA_SETS = 50  # that are drawn for it at each step


def too_confident(amount: float) -> Tempered:
    """Return the truth of a model that is too confident by a logarithm of the temperature."""
    return Tempered(exp(amount))


@final
@dataclass(frozen=True, slots=True, eq=False)
class Detector:
    """Tests that share one null distribution, and how often they would reject together.

    Parameters
    ----------
    problem : Problem
        Predictions as a lens shows them; their labels do not matter.
    statistics : tuple of Statistic
        What is tested together.
    prepared : tuple of callable
        The statistics, prepared for these predictions.
    nulls : array of shape (statistics, B)
        Their null distributions.
    alpha : float
        Level of the test.
    """

    problem: Problem
    statistics: tuple[Statistic, ...]
    prepared: tuple[Evaluate, ...]
    nulls: Floats
    alpha: float

    @classmethod
    def of(
        cls, problem: Problem, statistics: Sequence[Statistic], nulls: Floats, alpha: float
    ) -> "Detector":
        """Prepare the statistics."""
        prepared = tuple(statistic.prepare(problem.view) for statistic in statistics)
        return cls(problem, tuple(statistics), prepared, nulls, alpha)

    def pvalues(self, rho: Rho, n_data_sets: int) -> Floats:
        """Return the p-values of data sets whose labels come from rho: (n_data_sets,)."""
        other = self.problem.under(Exact(rho), derive(self.problem.redraw.key, 7))
        plan = Plan(other.resampler, n_data_sets, 0)
        drawn = replicates(other, self.statistics, self.prepared, plan)
        return np.array([self._pvalue(values) for values in drawn.T])

    def _pvalue(self, values: Floats) -> float:
        if len(self.statistics) == 1:
            return float(pvalue(values[0], self.nulls[0]))
        return float(pvalue(*strongest(values, self.nulls)))

    def power(self, rho: Rho, n_data_sets: int) -> float:
        """Return the share of data sets that would be rejected."""
        return float((self.pvalues(rho, n_data_sets) <= self.alpha).mean())

    def smallest(
        self, family: Callable[[float], Rho], target: float, n_data_sets: int
    ) -> float | None:
        """Return the smallest amount that is seen with a power of `target`; None if none is.

        All amounts see the same random numbers, so that power hardly ever falls with the amount.
        """
        low, high = 0.0, 0.05
        while self.power(family(high), n_data_sets) < target:
            if high >= LIMIT:
                return None
            low, high = high, min(2 * high, LIMIT)
        for _ in range(STEPS):
            middle = (low + high) / 2
            if self.power(family(middle), n_data_sets) < target:
                low = middle
            else:
                high = middle
        return high

    def size(self, rho: Rho) -> tuple[float | None, float | None]:
        """Return how far predictions would be off, as verdicts say it: root mean square and bias.

        None where a lens takes rows apart, and the bias of more than two outcomes.
        """
        problem, seen = self.problem, self.problem.seen
        if not problem.lens.rowwise:
            return None, None
        other = problem.under(Exact(rho), problem.redraw.key)
        gaps = seen.probs - np.asarray(other.hypothesis.seen_probs, np.float64)
        share = seen.weights / seen.weights.sum()
        bias = None if seen.event is None else float(share @ gaps[:, seen.event])
        return sqrt(float(share @ (gaps**2).sum(axis=1)) / 2), bias


def can_tell(problem: Problem, n_resamples: int) -> bool:
    """Whether it can be said, in reasonable time, what tests would have seen."""
    return (
        problem.rows.held
        and problem.redraws_labels
        and problem.calibrated
        and problem.rows.n * problem.rows.m <= LOOKED_AT
        and n_resamples >= FINEST
    )


def detectable(
    problem: Problem, tests: Sequence[tuple[Statistic, Floats]], alpha: float
) -> float | None:
    """Return how far over-confident predictions would have to be off to be seen in 80 of 100."""
    mine, nulls = zip(*tests, strict=True)
    detector = Detector.of(problem, mine, np.stack(nulls), alpha)
    amount = detector.smallest(too_confident, POWER, DATA_SETS)
    return None if amount is None else detector.size(too_confident(amount))[0]
