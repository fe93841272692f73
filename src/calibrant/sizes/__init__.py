"""How far predictions are off, in amounts that hold: sizes, biases, and models compared."""

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
FEWEST = 10  # rows, or clusters, from which a size is told


class Size(NamedTuple):
    """The root mean square deviation, in units of the total variation of two outcomes."""

    value: float
    """What directions that were learned on other rows see of it."""
    low: float
    """What it is at least."""
    high: float | None
    """What it is at most; None of more than two outcomes, of which there is no upper bound."""


def size_of(data: Predictions, seed: int, clusters: NDArray[Any] | None = None) -> Size | None:
    """Return how far predictions are off, with 95 % limits; None if there are too few rows.

    seed : deals out rows to folds, and draws the upper limit
    clusters : (n,) of rows, if they are others than those of the data
    """
    sample, numbers = sample_of(data, clusters)
    if (sample.labels.size if numbers is None else int(numbers.max()) + 1) < FEWEST:
        return None
    fit = CrossFit(data, seed, clusters)
    if data.m > 2:
        found = at_least(fit, Z)
        return Size(found.size, found.low, None)
    loss = cluster_loss(fit.sample, fit.clusters)
    found = at_least(fit, Z, loss)
    within = cluster_loss(fit.sample, within_bins(fit.sample, fit.clusters))
    high = at_most(fit.sample, seed, LEVEL, loss, within)
    return Size(min(found.size, max(high, found.low)), found.low, max(high, found.low))


def bias_of(data: Predictions, clusters: NDArray[Any] | None = None, level: float = LEVEL) -> Bias:
    """Return mean prediction minus rate of the event of two outcomes, with limits."""
    return _bias_of(*sample_of(data, clusters), level)
