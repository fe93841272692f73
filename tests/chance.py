"""Data sets drawn from models that are calibrated by construction, and limits for chance.

Labels are drawn here with NumPy, not with the package. A limit is exact: a right test passes
it with probability 1 - 1e-6.
"""

import numpy as np
from places import IN_FULL
from scipy.stats import binom

from calibrant import Predictions

BUDGET = 1e-6
TRIALS = 4000 if IN_FULL else 1200


def most(trials, rate):
    """Return the largest count that a share of `rate` explains: P(more) <= BUDGET."""
    return int(binom.isf(BUDGET, trials, rate))


def fewest(trials, rate):
    """Return the smallest count that a share of `rate` explains: P(fewer) <= BUDGET."""
    return int(binom.ppf(BUDGET, trials, rate))


def agrees(count, trials, rate, tests=1):
    """Say whether each count is within two-sided limits, whose budget `tests` of them share."""
    tail = BUDGET / (2 * tests)
    low, high = binom.ppf(tail, trials, rate), binom.isf(tail, trials, rate)
    return (low <= count) & (count <= high)


def outcomes(rng, law):
    """Draw a label (…) for each distribution of law (…, m)."""
    u = rng.random(law.shape[:-1])[..., None]
    return np.minimum((u > np.cumsum(law, axis=-1)).sum(axis=-1), law.shape[-1] - 1)


def wrap(probs, labels, weights=None):
    """Return `Predictions` without the time that checks take."""
    probs = np.ascontiguousarray(probs)
    classes = tuple(str(j) for j in range(probs.shape[1]))
    return Predictions.trusted(probs, labels.astype(np.int32), classes, weights, event=1)


def models(seed, n, m, *, trials=TRIALS, law=None, weights=None, spread=1.0):
    """Yield data sets of n rows: Dirichlet predictions and labels from them, or from law(probs).

    weights : function of (rng, n)
    """
    rng = np.random.default_rng(seed)
    for _ in range(trials):
        probs = rng.dirichlet(np.full(m, spread), n)
        labels = outcomes(rng, probs if law is None else law(probs))
        yield wrap(probs, labels, None if weights is None else weights(rng, n))


def rejections(pvalues, alpha=0.05):
    """Count p-values that reject at the level alpha."""
    return sum(p <= alpha for p in pvalues)
