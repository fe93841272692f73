"""How far predictions are off, in amounts that hold: sizes, biases, and models compared."""

from typing import NamedTuple

from calibrant.predictions import Predictions
from calibrant.sizes.bias import Bias, cluster_loss
from calibrant.sizes.bias import bias_of as _bias_of
from calibrant.sizes.comparison import Further, compare
from calibrant.sizes.cross_fit import CrossFit, at_least, sample_of
from calibrant.sizes.upper import at_most

__all__ = ["Bias", "CrossFit", "Further", "Size", "bias_of", "compare", "size_of"]

LEVEL = 0.95
Z = 1.96


class Size(NamedTuple):
    """The root mean square deviation, in units of the total variation of two outcomes."""

    value: float
    """What directions that were learned on other rows see of it."""
    low: float
    """What it is at least."""
    high: float | None
    """What it is at most; None of more than two outcomes, of which there is no upper bound."""


def size_of(data: Predictions, seed: int) -> Size:
    """Return how far predictions are off, with 95 % limits; rows are dealt to folds by the seed."""
    fit = CrossFit(data, seed)
    found = at_least(fit, Z)
    if data.m > 2:
        return Size(found.size, found.low, None)
    high = at_most(fit.sample, seed, LEVEL, cluster_loss(fit.sample, fit.clusters))
    return Size(min(found.size, max(high, found.low)), found.low, max(high, found.low))


def bias_of(data: Predictions) -> Bias:
    """Return mean prediction minus rate of the event of two outcomes, with 95 % limits."""
    return _bias_of(*sample_of(data), LEVEL)
