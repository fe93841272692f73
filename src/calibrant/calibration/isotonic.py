"""Isotonic regression of the calibration function of two outcomes: no cells to choose."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.predictions import Predictions

Array = NDArray[Any]
Floats = NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True, eq=False)
class IsotonicFunction:
    r"""The increasing function of the prediction that is nearest to what occurred.

    .. math:: \min_{f \text{ increasing}} \sum_i w_i (y_i - f(p_i))^2

    The same function has the best value of every proper score.
    """

    values: Floats  # (points,) the different predictions p of the event, in increasing order
    mass: Floats  # (points,) weight of the rows at each,
    events: Floats  # and of the events
    last: NDArray[np.int64]  # (pools,) where each run of predictions with one value of f ends

    @property
    def first(self) -> NDArray[np.int64]:
        """Where each run of predictions with one value of f begins (pools,)."""
        return np.concatenate(([0], self.last[:-1] + 1))

    def pooled(self, amounts: Floats) -> Floats:
        """Add up amounts (points,) over each run: (pools,)."""
        return np.asarray(np.add.reduceat(amounts, self.first))

    @property
    def levels(self) -> Floats:
        """The values of f (pools,), which rise."""
        return self.pooled(self.events) / self.pooled(self.mass)

    @property
    def fitted(self) -> Floats:
        """The function f at every prediction (points,)."""
        return np.repeat(self.levels, np.diff(self.last, prepend=-1))

    def corners(self) -> NDArray[np.int64]:
        """Return the predictions at which f ceases to be constant, as indices."""
        return np.unique(np.concatenate((self.first, self.last)))


def isotonic(data: Predictions, column: int) -> IsotonicFunction:
    """Fit an increasing function of the probability of one class.

    Equal predictions are pooled first, then neighbours that do not rise: the
    pool-adjacent-violators algorithm. Rows without weight do not count.

    Examples
    --------
    >>> found = isotonic(Predictions([0.1, 0.4, 0.5, 0.8], [0, 1, 0, 1]), 1)
    >>> found.fitted.tolist()
    [0.0, 0.5, 0.5, 1.0]
    """
    p, occurred = data.probs[:, column], data.labels == column
    if data.weighted:
        values, mass, events = _weighed(p, occurred, data.weights)
    else:
        values, mass, events = engine.isotonic.tally(p, occurred)
    losses = np.zeros((2, values.size))
    pools = engine.isotonic.Pools.start(1)
    pools = engine.isotonic.pool(events[:, None], mass, losses, 0, pools)
    return IsotonicFunction(values, mass, events, pools.last[0, : pools.height[0]])


def _weighed(p: Array, occurred: Array, weights: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the different predictions, and the weight of rows and of events at each."""
    order = np.argsort(p)
    order = order[weights[order] > 0]
    p, occurred, weights = p[order], occurred[order], weights[order]
    starts = np.flatnonzero(np.concatenate(([True], p[1:] != p[:-1])))
    events = np.add.reduceat(np.where(occurred, weights, 0.0), starts)
    return p[starts].astype(np.float64), np.add.reduceat(weights, starts), events
