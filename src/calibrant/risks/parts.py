r"""Numbers made of three parts that vary independently: the rate, and a mean of either outcome.

The Brier score of an event and its scaled form are functions f(π, a, b) of the
rate π of the event, a mean a over the rows with the event and a mean b over the others. Each part
has limits of its own, and they are put together as distances are (Zou and Donner, 2008):

.. math:: f - \sqrt{\sum_j (f - \min f_j)^2}, \qquad f + \sqrt{\sum_j (\max f_j - f)^2}

where the extremes :math:`f_j` are over the limits of part j, the others as estimated. So with few
events an interval is as lopsided as that of their number.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from calibrant.risks.sample import Floats, Interval, Measured, Risks, limits_of_share

STEPS = 33  # values of a part that are looked at between its limits
Formula = Callable[[Any, Any, Any], Any]  # of rate, mean of events, mean of the others


class Parts(NamedTuple):
    """A rate and two means."""

    rate: float
    means: tuple[float, float]  # of the rows with the event, and of the others
    limits: tuple[Interval, ...]  # of the three

    def measure(self, formula: Formula) -> Measured:
        """Return the number that a formula makes of the parts, and the ends of its interval."""
        parts = [self.rate, *self.means]
        value = float(formula(*parts))
        down = up = 0.0
        for j, limits in enumerate(self.limits):
            at = np.linspace(*limits, STEPS)
            ends = np.asarray(_with(formula, parts, j, at))
            down += max(0.0, value - float(ends.min())) ** 2
            up += max(0.0, float(ends.max()) - value) ** 2
        return Measured(value, (value - float(np.sqrt(down)), value + float(np.sqrt(up))))


class Sides(NamedTuple):
    """What a row contributes, if the event occurs and if not: numbers from 0 to 1 (n,) each."""

    event: Floats
    other: Floats

    def occurred(self, risks: Risks) -> Floats:
        """Return what rows contribute as it happened (n,)."""
        return np.where(risks.occurred, self.event, self.other)


def measure(risks: Risks, sides: Sides, formula: Formula) -> Measured:
    """Return a number of three parts and its interval."""
    z = risks.z
    if risks.clusters is not None:
        z = risks.stretched(influence_of(risks, sides.occurred(risks), formula))
    return parts_of(risks, sides, z).measure(formula)


def parts_of(risks: Risks, sides: Sides, z: float) -> Parts:
    """Return the rate, the mean of either outcome, and their limits."""
    rate = limits_of_share(risks.rate, risks.total, z)
    means, limits = [], []
    for side, some, p in (
        (sides.event, risks.occurred, risks.p),
        (sides.other, ~risks.occurred, 1 - risks.p),
    ):
        implied = risks.weights * p  # how probable a row is among those of this outcome
        mean, ends = _mean(side, risks.weights * some, implied, z)
        means.append(mean)
        limits.append(ends)
    return Parts(risks.rate, (means[0], means[1]), (rate, limits[0], limits[1]))


def _mean(values: Floats, weights: Floats, implied: Floats, z: float) -> tuple[float, Interval]:
    """Return the mean of numbers from 0 to 1, and limits.

    The spread is at least what predictions imply, which all rows tell: a few rows with the event
    may look alike by chance.
    """
    from scipy.special import ndtr, stdtrit  # noqa: PLC0415 (slow to import)

    mass = float(weights.sum())
    if not mass:
        return average(values, implied), (0.0, 1.0)
    mean = average(values, weights)
    rows = mass * mass / float(weights @ weights)
    if rows < 1.5:
        return mean, (0.0, 1.0)
    shown = average((values - mean) ** 2, weights) * rows / (rows - 1)
    spread = average((values - average(values, implied)) ** 2, implied)
    t = float(stdtrit(rows - 1, ndtr(z)))
    half = max(t * np.sqrt(shown), z * np.sqrt(spread)) / np.sqrt(rows)
    return mean, (max(0.0, mean - half), min(1.0, mean + half))


def average(values: Floats, weights: Floats) -> float:
    """Return a weighted mean; 1/2 where there is no weight."""
    total = float(weights.sum())
    return float(weights @ values) / total if total > 0 else 0.5


def influence_of(risks: Risks, values: Floats, formula: Formula) -> Floats:
    """Return the influence (n,) of rows on a formula of means of values (n,), by differences."""
    rate = risks.rate
    if not 0.0 < rate < 1.0:
        return np.zeros_like(values)
    sides = risks.occurred, ~risks.occurred
    here = [rate, *(average(values, risks.weights * some) for some in sides)]
    slopes = []
    for j, step in enumerate((1e-6 * rate * (1 - rate), 1e-6, 1e-6)):
        ends = [_with(formula, here, j, here[j] + s * step) for s in (1, -1)]
        slopes.append((ends[0] - ends[1]) / (2 * step))
    among = np.where(
        risks.occurred,
        slopes[1] * (values - here[1]) / rate,
        slopes[2] * (values - here[2]) / (1 - rate),
    )
    return np.asarray(risks.weights * (slopes[0] * (risks.y - rate) + among) / risks.total)


def _with(formula: Formula, parts: list[Any], j: int, value: Any) -> Any:
    """Return a formula of parts, of which part j is replaced."""
    changed = [*parts[:j], value, *parts[j + 1 :]]
    return formula(changed[0], changed[1], changed[2])


def brier(risks: Risks) -> Measured:
    r"""Return the Brier score of the event alone, the mean of :math:`(y - p)^2`."""
    found = measure(risks, _squares(risks), lambda rate, a, b: rate * a + (1 - rate) * b)
    return Measured(found.value, (max(0.0, found.interval[0]), found.interval[1]))


def scaled_brier(risks: Risks, climatology: float | None = None) -> Measured:
    r"""Return how much better the Brier score is than that of the rate as a constant prediction.

    .. math:: 1 - \frac{\mathrm{BS}}{\pi (1 - \pi)}

    It is the Brier skill score against climatology, which is π, unless another one is given: then
    the score of the reference is :math:`\pi (1 - c)^2 + (1 - \pi) c^2`.
    """

    def formula(rate: Any, a: Any, b: Any) -> Any:
        c = rate if climatology is None else climatology
        reference = rate * (1 - c) ** 2 + (1 - rate) * c**2
        return 1 - (rate * a + (1 - rate) * b) / np.maximum(reference, 1e-300)

    if climatology is None and not 0.0 < risks.rate < 1.0:
        return Measured(np.nan, (-np.inf, 1.0))
    found = measure(risks, _squares(risks), formula)
    return Measured(found.value, (found.interval[0], min(1.0, found.interval[1])))


def _squares(risks: Risks) -> Sides:
    return Sides((1 - risks.p) ** 2, risks.p**2)
