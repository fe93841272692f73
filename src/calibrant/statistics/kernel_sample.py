"""The rows that a kernel statistic looks at, and what is known of it under redrawn labels."""

from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.predictions import Predictions

Floats = NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """The rows that count.

    Parameters
    ----------
    rows : array of int of shape (k,)
        Numbers of the rows of positive weight.
    points : engine.pairs.Points
        Their predictions in float64, and weights.
    event : int or None
        The outcome of two that the problem is about.
    """

    rows: NDArray[np.int64]
    points: Any
    event: int | None

    @classmethod
    def of(cls, data: Predictions) -> Self:
        """Take the rows of positive weight; of two outcomes the event tells the other."""
        rows = np.flatnonzero(data.weights > 0)
        chosen = data.probs if rows.size == data.n else data.probs[rows]
        probs = np.ascontiguousarray(chosen, np.float64)
        if data.event is not None:
            events = probs[:, data.event]
            both = (events, 1.0 - events) if data.event == 0 else (1.0 - events, events)
            probs = np.stack(both, axis=1)
        return cls(rows, engine.pairs.Points(probs, data.weights[rows].copy()), data.event)

    @property
    def mass(self) -> float:
        """The weight of all rows."""
        return float(self.points.weights.sum())

    def pairs(self, *, unbiased: bool) -> float:
        """Return the number of pairs, if a row of weight w is w rows; 0 if there are none."""
        if not unbiased:
            return self.mass**2
        return self.mass * (self.mass - 1) if self.mass >= 2 else 0.0

    def own(self, *, unbiased: bool) -> Floats:
        """Return how often each row is paired with its own prediction and label: (k,)."""
        weights = self.points.weights
        return np.asarray(weights * (weights - 1) if unbiased else weights**2)


def on_a_line(sample: Sample, kernel: Any) -> bool:
    """Whether one sweep over sorted predictions does: two outcomes and exponential kernels."""
    return sample.event is not None and bool(kernel.kind == engine.kernels.EXPONENTIAL)


def decays(values: Floats, kernel: Any) -> Floats:
    """Return what each scale leaves of a sum on the way from a value to the next: (scales, k)."""
    gaps = np.append(np.diff(values), 0.0)
    if kernel.distance == engine.kernels.EUCLIDEAN:
        gaps = gaps * np.sqrt(2.0)
    return np.asarray(np.exp(-gaps / kernel.scales[:, None]))


def null_mean(sample: Sample, kernel: Any, *, unbiased: bool) -> float:
    """Return the mean under redrawn labels; each row has one label, whatever its weight."""
    pairs = sample.pairs(unbiased=unbiased)
    if pairs == 0:
        return 0.0
    variances = 1.0 - (sample.points.probs**2).sum(axis=1)  # tr C
    return float(kernel.scales.size * (sample.own(unbiased=unbiased) * variances).sum() / pairs)


def null_spread(sample: Sample, kernel: Any, *, unbiased: bool) -> float:
    """Return the standard deviation under redrawn labels; each row has one label."""
    pairs = sample.pairs(unbiased=unbiased)
    if pairs == 0:
        return 0.0
    if on_a_line(sample, kernel):
        between = line_spread(sample, kernel)
    else:
        between = engine.pairs.spread(sample.points, kernel)
    p = sample.points.probs
    lengths = 4 * ((p**3).sum(axis=1) - (p**2).sum(axis=1) ** 2)  # variance of |e_y - p|²
    own = kernel.scales.size * sample.own(unbiased=unbiased)
    return float(np.sqrt(4 * between + (own**2 * lengths).sum()) / pairs)


def line_spread(sample: Sample, kernel: Any) -> float:
    """Return what `engine.pairs.spread` does, for two outcomes and exponential kernels."""
    assert sample.event is not None
    values, group = np.unique(sample.points.probs[:, sample.event], return_inverse=True)
    weights = sample.points.weights
    variances = values * (1.0 - values)
    sums = np.bincount(group, weights**2) * variances
    squares = np.bincount(group, weights**4) * variances**2
    alike = kernel.scales.size**2 * (sums**2 - squares).sum() / 2
    steps = decays(values, kernel)
    apart = sum(engine.line.pair_sum(sums, one * two) for one in steps for two in steps)
    return float(4 * (apart + alike))
