"""The smallest size that the gains of rows along directions do not speak against."""

from itertools import combinations
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

RIDGE = 0.1  # of the combination of directions, in units of their squared lengths
SHARED = 0.7  # share of variance due to pairs of rows, at least, where nothing is off
NOTHING = 1e-16  # squared length below which there is no direction


class LowerBound(NamedTuple):
    """How far predictions are off, of which directions see a part."""

    size: float
    """An estimate of what they see: at least 0."""
    low: float
    """What it is at least, at the level that was asked for."""
    reach: float = 0.0
    """Up to where the estimate does not tell, where something is shown: no upper limit is below."""


class Totals(NamedTuple):
    """What rows say about the size together."""

    mass: float  # weight of all
    gain: float  # mean gain <e_y - p, h>
    length: float  # mean squared length |h|²
    spread: Floats  # (3,) variances of gains at r = p + t h, times w²: coefficients of 1, t and t²
    noise: float = 0.0  # share of the variance of gains that is due to what directions learned
    uneven: float = 0.0  # sum of w² (1 - |h|² / length)²
    scatter: float = 0.0  # variance of the gain that clusters show, times the squared mass


def bound(rows: Totals, z: float, loss: float = 1.0) -> LowerBound:
    r"""Return the estimate, and the smallest x that it does not speak against.

    The variance is that of a truth p + t h of size x. A pair of rows counts twice, each in the
    direction of the other, which doubles the variance where directions are noise. The share that
    is noise is seen from how gains change as folds are left out; a truth of size 0 has at least
    `SHARED` of it.
    """
    if rows.length < NOTHING:
        return LowerBound(0.0, 0.0)
    root = sqrt(2 * rows.length)
    estimate = rows.gain / root

    def error(x: float) -> float:
        t = 2 * x / root
        own = max(0.0, float(rows.spread[0] + t * (rows.spread[1] + t * rows.spread[2])))
        variance = loss * (own / root**2 + x * x * rows.uneven / 4)
        shared = rows.noise + max(0.0, SHARED - rows.noise) * (1 - (x / estimate) ** 2)
        return sqrt((1 + shared) * max(variance, rows.scatter)) / rows.mass

    if estimate <= z * error(0.0) if estimate > 0 else True:
        return LowerBound(max(0.0, estimate), 0.0)
    low, high = 0.0, estimate
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if estimate - middle <= z * error(middle) else (middle, high)
    return LowerBound(estimate, high, estimate + z * error(estimate))


def combination(gains: Floats, products: Floats) -> Floats:
    """Return shares v >= 0 of directions that sum to 1, along the least v'(G + ridge) v / 2 - A'v.

    All subsets are tried: there are at most fifteen.
    """
    count = gains.size
    matrix = products + RIDGE * np.diag(np.diag(products))
    best, shares = 0.0, np.full(count, 1.0 / count)
    for size in range(1, count + 1):
        for some in map(list, combinations(range(count), size)):
            part = matrix[np.ix_(some, some)]
            if np.diag(part).min() <= 0:
                continue
            found = np.linalg.lstsq(part, gains[some], rcond=None)[0]
            value = float(gains[some] @ found)
            if (found > 0).all() and value > best:
                best, shares = value, np.zeros(count)
                shares[some] = found / found.sum()
    return shares
