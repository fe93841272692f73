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

Floats = NDArray[np.float64]


class Further(NamedTuple):
    """How much further the first model is off than the second, in squared sizes."""

    value: float
    standard_error: float


def compare(a: CrossFit, b: CrossFit, *, paired: bool) -> Further:
    """Compare two models, of the same rows if they are paired."""
    both = zip(a.evidence(), b.evidence(), strict=True)
    shares = [combination(x[0] + y[0], x[1] + y[1]) for x, y in both]
    gains = [_gains(fit, shares) for fit in (a, b)]
    means = [fit.sample.weights @ gain / fit.sample.weights.sum() for fit, gain in zip((a, b), gains)]
    value = float(means[0] - means[1])
    if not paired:
        alone = [_variance(fit, gain, _own(fit, shares)) for fit, gain in zip((a, b), gains)]
        return Further(value, sqrt(sum(alone)))
    return Further(value, sqrt(_variance(a, gains[0] - gains[1], _halfway(a, b, shares))))


def _gains(fit: CrossFit, shares: list[Floats]) -> Floats:
    """Return the gain of each row, in squared sizes: (n,)."""
    rows = fit.rows(shares)
    return np.asarray(rows.gains - rows.lengths / 2)


def _variance(fit: CrossFit, gains: Floats, implied: Floats) -> float:
    """Return the variance of a mean: the larger of what is seen and what is implied."""
    weights, mass = fit.sample.weights, float(fit.sample.weights.sum())
    gaps = weights * (gains - weights @ gains / mass)
    if fit.clusters is not None:
        gaps = np.bincount(fit.clusters, gaps)
        gaps = gaps * sqrt(gaps.size / max(1, gaps.size - 1))
    return max(float((gaps**2).sum()), float(weights**2 @ implied)) / mass**2


def _own(fit: CrossFit, shares: list[Floats]) -> Floats:
    """Return the variance of each row's gain if predictions were right (n,)."""
    return fit.rows(shares).spread[0]


def _halfway(a: CrossFit, b: CrossFit, shares: list[Floats]) -> Floats:
    """Return the variance of each row's difference if the truth lay halfway (n,)."""
    out = np.empty(a.sample.weights.size)
    pairs = zip(a.directions(shares), b.directions(shares), strict=True)
    for (rows, mine, h), (_, theirs, other) in pairs:
        truth, gap = (mine.probs + theirs.probs) / 2, h - other
        out[rows] = (truth * gap * gap).sum(axis=1) - (truth * gap).sum(axis=1) ** 2
    return out
