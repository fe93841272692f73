r"""What is measured in a region: by how much predictions are too high, or too extreme.

Both compare what occurred with what was predicted, R, with the root of its variance if the model is
calibrated, :math:`z = R / \sqrt V`.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from calibrant.arguments import not_one
from calibrant.engine.arrays import Array, Floats, Ints
from calibrant.regions.rows import Event

VARIANCE = 5.0  # the least V of a region that is looked at
BITS = 40  # of probabilities, which are added up as whole numbers
REACH = 8.0  # log-odds beyond this count as this
STEPS = 1024  # of a unit of log-odds, which are counted in whole steps


class Measurements(NamedTuple):
    """What is known of regions: each (regions,)."""

    expected: Floats  # sums of p
    excess: Floats  # how much more often the event occurred
    variance: Floats  # of the residual, if the model is calibrated
    residual: Floats
    spread: Floats  # what the residual is compared with
    centre: Floats  # what is expected of what replicates count
    mean: Floats  # log-odds that others are distances from
    norm: Floats  # what makes an amount of the residual
    scatter: Floats  # variance of the residual by the outcomes

    def keep(self, some: Any) -> "Measurements":
        """Return some of the regions."""
        return Measurements(*(part[some] for part in self))


@final
@dataclass(frozen=True, slots=True)
class Bias:
    r"""How much too high predictions are: R is :math:`N - \sum p`, with N events."""

    name = "bias"
    counts = 1  # tables of a replicate

    def unit(self, n: int) -> float:
        """Return the power of two that values of n rows are multiples of, to be added up."""
        return float(2.0 ** -min(BITS, 61 - n.bit_length()))

    def values(self, event: Event) -> Floats:
        """Return what is added up over the rows of a region: (n, 3)."""
        p = event.probs
        return np.stack((p, p * (1.0 - p), event.occurred - p), axis=1)

    def found(self, sums: Floats, n: Ints) -> tuple[Measurements, Any]:
        """Return what sums of regions (3, regions) say, and which of them can tell."""
        expected, variance, residual = sums
        none = np.zeros(n.size)
        parts = residual, variance, residual, np.sqrt(variance), expected, none, n.astype(float)
        return Measurements(expected, *parts, variance), variance >= VARIANCE

    def counted(self, event: Event, drawn: Array, n: int) -> list[Array]:  # noqa: ARG002
        """Return what rows of a data set of n add to tables of replicates: (rows, size) each."""
        return [drawn.astype(np.int32)]

    def shares(self, event: Event) -> Floats:
        """Return what is added up over rows that two regions share: (n, 0)."""
        return np.empty((event.probs.size, 0))

    def common(self, shared: Floats, sums: Floats, means: tuple[float, Floats]) -> Floats:  # noqa: ARG002
        """Return how much of a residual of one region others have, in units of that region."""
        return shared

    def __str__(self) -> str:
        return self.name


@final
@dataclass(frozen=True, slots=True)
class Slope:
    r"""How much too extreme predictions are: R is :math:`\sum (y - p)(x - \bar x)`.

    x are log-odds, at most 8 from 0, and their mean has weights p (1 - p), so that a bias has no
    part in R. Divided by the root of :math:`n \sum (x - \bar x)^2`, R is an amount: the bias of
    predictions, on average over rows, times their distance from the mean in standard deviations.
    """

    name = "slope"
    counts = 2

    def unit(self, n: int) -> float:
        """Return the power of two that values of n rows are multiples of, to be added up."""
        return REACH**2 * Bias().unit(n)

    def values(self, event: Event) -> Floats:
        """Return what is added up over the rows of a region: (n, 12)."""
        p, x = event.probs, steps(event.probs) / STEPS
        v, e = p * (1.0 - p), event.occurred - p
        of_x = v * x, v * x * x, e * x, p * x, x, x * x
        return np.stack((p, v, e, *of_x, e * e, e * e * x, e * e * x * x), axis=1)

    def found(self, sums: Floats, n: Ints) -> tuple[Measurements, Any]:
        """Return what sums of regions (12, regions) say, and which of them can tell."""
        p, v, e, vx, vxx, ex, px, x, xx, ee, eex, eexx = sums
        mean = np.divide(vx, v, out=np.zeros(n.size), where=v > 0)
        variance = np.maximum(vxx - mean * vx, 0.0)
        norm = np.sqrt(n * np.maximum(xx - 2.0 * mean * x + n * mean**2, 0.0))
        scatter = eexx - 2.0 * mean * eex + mean**2 * ee
        centre = STEPS * (px - mean * p)
        parts = e, variance, ex - mean * e, np.sqrt(variance), centre, STEPS * mean, norm
        return Measurements(p, *parts, scatter), (v >= VARIANCE) & (variance >= VARIANCE)

    def counted(self, event: Event, drawn: Array, n: int) -> list[Array]:
        """Return what rows of a data set of n add to tables of replicates: (rows, size) each."""
        small = n * REACH * STEPS < 2**31
        x = steps(event.probs).astype(np.int32 if small else np.int64)
        occurred = drawn.astype(x.dtype)
        return [occurred * x[:, None], occurred]

    def shares(self, event: Event) -> Floats:
        """Return what is added up over rows that two regions share: (n, 3)."""
        p, x = event.probs, steps(event.probs) / STEPS
        v = p * (1.0 - p)
        return np.stack((v, v * x, v * x * x), axis=1)

    def common(self, shared: Floats, sums: Floats, means: tuple[float, Floats]) -> Floats:  # noqa: ARG002
        """Return how much of a residual of one region others have, in units of that region."""
        v, vx, vxx = sums
        one, others = means[0] / STEPS, means[1] / STEPS
        return np.asarray(vxx - (one + others) * vx + one * others * v)

    def __str__(self) -> str:
        return self.name


Measure = Bias | Slope
MEASURES: dict[str, Measure] = {"bias": Bias(), "slope": Slope()}


def as_measure(value: Any) -> Measure:
    """Return what is measured, or what a text names."""
    if isinstance(value, Bias | Slope):
        return value
    if not isinstance(value, str) or value not in MEASURES:
        raise not_one("statistic", value, "bias or slope")
    return MEASURES[value]


def steps(probs: Floats) -> Ints:
    """Return log-odds in whole steps (n,)."""
    with np.errstate(divide="ignore"):
        odds = np.log(probs) - np.log1p(-probs)
    return np.asarray(np.rint(STEPS * np.clip(odds, -REACH, REACH)), np.int64)
