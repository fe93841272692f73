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

from calibrant.sizes.cross_fit import CrossFit, RowGains
from calibrant.sizes.samples import combination, dot

Floats = NDArray[np.float64]


class Further(NamedTuple):
    """How much further the first model is off than the second, in squared sizes."""

    value: float
    standard_error: float


def compare(a: CrossFit, b: CrossFit, *, paired: bool) -> Further:
    """Compare two models, of the same rows if they are paired."""
    evidence = zip(a.learned.evidence(), b.learned.evidence(), strict=True)
    shares = [combination(x[0] + y[0], x[1] + y[1]) for x, y in evidence]
    first, second = a.rows(shares), b.rows(shares)
    value = first.brier - second.brier
    if not paired:
        alone = (_variance(fit, rows) for fit, rows in ((a, first), (b, second)))
        return Further(value, sqrt(sum(alone)))
    both = first._replace(
        gains=first.gains - second.gains,
        lengths=first.lengths - second.lengths,
        spread=np.array([_halfway(a, b, shares), 0.0, 0.0]),
        gains_without=first.gains_without - second.gains_without,
        lengths_without=first.lengths_without - second.lengths_without,
    )
    return Further(value, sqrt(_variance(a, both)))


def _variance(fit: CrossFit, rows: RowGains) -> float:
    """Return the variance of a mean gain: the larger of what is seen and what is implied.

    Both grow by the share that is due to what directions learned, of each row and of all alike.
    """
    weights, mass, gains = rows.weights, float(rows.weights.sum()), rows.brier_gains
    gaps = weights * (gains - dot(weights, gains) / mass)
    if fit.clusters is not None:
        sums = np.bincount(fit.clusters, gaps).astype(np.float64)
        gaps = sums * sqrt(sums.size / max(1, sums.size - 1))
    noise = rows.noise(rows.gains_without - rows.lengths_without / 2, gains)
    own = (1 + noise) * max(float((gaps**2).sum()), float(rows.spread[0])) / mass**2
    return own + rows.learning()


def _halfway(a: CrossFit, b: CrossFit, shares: list[Floats]) -> float:
    """Return the variance of the difference of gains if the truth lay halfway, times w²."""
    total = 0.0
    pairs = zip(a.directions(shares), b.directions(shares), strict=True)
    for (_, mine, h), (_, theirs, other) in pairs:
        truth, gap = (mine.probs + theirs.probs) / 2, h - other
        variances = (truth * gap * gap).sum(axis=1) - (truth * gap).sum(axis=1) ** 2
        total += dot(mine.weights**2, variances)
    return total
