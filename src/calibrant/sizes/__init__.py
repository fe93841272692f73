"""How far predictions are off, in amounts that hold: sizes, biases, and models compared."""

from math import sqrt
from typing import Any, NamedTuple

from numpy.typing import NDArray

from calibrant.predictions import Predictions
from calibrant.sizes.bias import Bias, cluster_loss, within_bins
from calibrant.sizes.bias import bias_of as _bias_of
from calibrant.sizes.comparison import Further, compare
from calibrant.sizes.cross_fit import CrossFit, at_least, sample_of
from calibrant.sizes.upper import at_most

__all__ = ["Bias", "CrossFit", "Further", "Size", "bias_of", "compare", "size_of"]

LEVEL = 0.95
Z = 1.96
OF_TWO = 2.24  # standard errors of the larger of two limits, each of which may fail half as often
FEWEST = 10  # rows, or clusters, from which a size is told


class Size(NamedTuple):
    """The root mean square deviation, in units of the total variation of two outcomes."""

    value: float
    """What directions that were learned on other rows see of it."""
    low: float
    """What it is at least."""
    high: float | None
    """What it is at most; None of more than two outcomes, of which there is no upper bound."""


def size_of(fit: CrossFit, top: CrossFit | None = None) -> Size | None:
    """Return how far predictions are off, with 95 % limits; None if there are too few rows.

    Of more than two outcomes it is never below what the most probable class implies: what that is
    off by, the others are off by at least as much together. The larger of both limits counts, so
    each is one of 98.75 %.

    top : of the most probable class of the same rows, if there are more than two outcomes
    """
    if fit.count < FEWEST:
        return None
    m = fit.sample.probs.shape[1]
    if top is not None:
        share, own, other = sqrt(m / (m - 1) / 2), at_least(fit, OF_TWO), at_least(top, OF_TWO)
        return Size(max(own.size, share * other.size), max(own.low, share * other.low), None)
    if m > 2:
        return Size(*at_least(fit, Z)[:2], None)
    loss = cluster_loss(fit.sample, fit.clusters)
    within = cluster_loss(fit.sample, within_bins(fit.sample, fit.clusters))
    found = at_least(fit, Z, loss)
    high = max(found.reach, at_most(fit.sample, Z, loss, within))
    return Size(min(found.size, high), found.low, high)


def bias_of(data: Predictions, clusters: NDArray[Any] | None = None, level: float = LEVEL) -> Bias:
    """Return mean prediction minus rate of the event of two outcomes, with limits."""
    return _bias_of(*sample_of(data, clusters), level)
