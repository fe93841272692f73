r"""Which of two models is further off, by one functional, the same folds and one combination.

With :math:`|d|^2 \ge E[2 \langle e_y - p, h \rangle - |h|^2]`, the gain in Brier score along h, the
difference of two models' gains is compared with its standard error. Estimates of sizes are no use
here: the model whose deviations are easier to learn has the tighter bound. One combination of
directions for both models keeps that small; what is compared is what calibrators can repair.
"""

from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.sizes.cross_fit import CrossFit, combination
from calibrant.sizes.directions import dot

Floats = NDArray[np.float64]


class Further(NamedTuple):
    """How much further the first model is off than the second, in squared sizes."""

    value: float
    standard_error: float


def compare(a: CrossFit, b: CrossFit, *, paired: bool) -> Further:
    """Compare two models, of the same rows if they are paired."""
    both = zip(a.evidence(), b.evidence(), strict=True)
    shares = [combination(x[0] + y[0], x[1] + y[1]) for x, y in both]
    first, second = a.rows(shares), b.rows(shares)
    value = first.brier - second.brier
    if paired:
        gaps = first.brier_gains - second.brier_gains
        return Further(value, sqrt(_variance(a, gaps, _halfway(a, b, shares))))
    alone = _variance(a, first.brier_gains, first.spread[0])
    return Further(value, sqrt(alone + _variance(b, second.brier_gains, second.spread[0])))


def _variance(fit: CrossFit, gains: Floats, implied: Floats) -> float:
    """Return the variance of a mean: the larger of what is seen and what is implied."""
    weights, mass = fit.sample.weights, float(fit.sample.weights.sum())
    gaps = weights * (gains - dot(weights, gains) / mass)
    if fit.clusters is not None:
        sums = np.bincount(fit.clusters, gaps).astype(np.float64)
        gaps = sums * sqrt(sums.size / max(1, sums.size - 1))
    return max(float((gaps**2).sum()), dot(weights**2, implied)) / mass**2


def _halfway(a: CrossFit, b: CrossFit, shares: list[Floats]) -> Floats:
    """Return the variance of each row's difference if the truth lay halfway (n,)."""
    out = np.empty(a.sample.weights.size)
    pairs = zip(a.directions(shares), b.directions(shares), strict=True)
    for (rows, mine, h), (_, theirs, other) in pairs:
        truth, gap = (mine.probs + theirs.probs) / 2, h - other
        out[rows] = (truth * gap * gap).sum(axis=1) - (truth * gap).sum(axis=1) ** 2
    return out
