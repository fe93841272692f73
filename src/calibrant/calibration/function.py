"""Estimates r-hat of the calibration function: constant on every cell, or increasing."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant import engine
from calibrant.arguments import as_partition, as_rows, takes_arrays
from calibrant.calibration.view import View
from calibrant.checks.arrays import TOLERANCE
from calibrant.partitions import FittedPartition, Partition
from calibrant.predictions import Predictions
from calibrant.rows import Scan

Array = NDArray[Any]
Floats = NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True, eq=False)
class CalibrationFunction:
    r"""The estimated calibration function r-hat, constant on every bin.

    .. math:: \hat r^{(c)}_y = \frac{|\{i : g(x_i) \in \Phi^{(c)}, y_i = y\}|}
                                    {|\{i : g(x_i) \in \Phi^{(c)}\}|}

    Parameters
    ----------
    fitted : FittedPartition
        The cells.
    classes : tuple of str
        Names of the m outcomes.
    event : int or None
        The outcome that a problem of two is about.
    mass : array of shape (cells,)
        Number of rows in each cell, or their weight.
    predicted : array of shape (cells, m)
        Mean prediction, g-hat.
    observed : array of shape (cells, m)
        Outcome frequencies, r-hat.
    weighted : bool
        Whether `mass` is a weight.

    Examples
    --------
    >>> from calibrant import Predictions, partitions
    >>> data = Predictions([0.25, 0.25, 0.75, 0.75], [0, 1, 1, 1])
    >>> fn = calibration_function(data, partitions.EqualWidth(2))
    >>> fn.observed[:, 1].tolist(), fn.deviations[:, 1].tolist()
    ([0.5, 1.0], [0.25, 0.25])
    >>> fn([0.4, 0.6]).tolist()
    [0.0, 1.0]
    """

    fitted: FittedPartition
    classes: tuple[str, ...]
    event: int | None
    mass: Floats
    predicted: Floats
    observed: Floats
    weighted: bool

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return int(self.mass.size)

    @property
    def counts(self) -> Array:
        """Number of rows in each cell (cells,); their weight if there are weights."""
        return self.mass if self.weighted else self.mass.astype(np.int64)

    @property
    def proportions(self) -> Floats:
        """Share of the rows in each cell (cells,), p-hat."""
        return np.asarray(self.mass / self.mass.sum())

    @property
    def deviations(self) -> Floats:
        """Outcome frequency minus mean prediction (cells, m)."""
        return self.observed - self.predicted

    def __call__(self, mu: ArrayLike) -> Floats:
        """Return r-hat at predictions mu (m,) or (k, m); 0 in a cell without rows."""
        points = np.asarray(mu, np.float64)
        m = len(self.classes)
        if points.ndim not in (1, 2) or points.shape[-1] != m:
            raise ValueError(f"`mu` must be of shape ({m},) or (k, {m}); found {points.shape}.")
        off = ~((points >= 0).all(axis=-1) & (np.abs(points.sum(axis=-1) - 1) <= TOLERANCE))
        if off.any():
            found = np.atleast_2d(points)[np.argmax(off)].tolist()
            raise ValueError(f"`mu` must not be negative and sum to 1; found {found}.")
        cells = self.fitted.assign(np.atleast_2d(points))
        values = np.where(cells[:, None] >= 0, self.observed[cells], 0.0)
        return values.reshape(points.shape)

    def __repr__(self) -> str:
        return f"<{self}>"

    def __str__(self) -> str:
        return f"calibration function of {len(self.classes)} outcomes on {self.n_cells} cells"


@takes_arrays
def calibration_function(
    data: Predictions | Scan, partition: Partition | str
) -> CalibrationFunction:
    """Estimate the calibration function of `data` by histogram regression on `partition`.

    Parameters
    ----------
    data : Predictions or Scan
        Or probabilities, with labels after them; or a data frame, with ``label="y"``.
    partition : Partition
        The cells.

    Returns
    -------
    CalibrationFunction

    Examples
    --------
    >>> data = Predictions([0.25, 0.5, 0.75], [0, 1, 1])
    >>> found = calibration_function(data, "width:2")
    >>> found.predicted[:, 1].tolist(), found.observed[:, 1].tolist()
    ([0.25, 0.625], [0.0, 1.0])
    """
    partition = as_partition(partition)
    return on_cells(View(as_rows(data)), partition)


def on_cells(view: View, partition: Partition) -> CalibrationFunction:
    """Return the calibration function of rows as a lens shows them."""
    cells = view.cells(partition)
    mass, predicted, observed = cells.means()
    place = cells.fitted, view.classes, view.event
    return CalibrationFunction(*place, mass, predicted, observed, view.weighted)


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
        values, mass, events = engine.line.tally(p, occurred)
    losses = np.zeros((2, values.size))
    pools = engine.line.Pools.start(1)
    pools = engine.line.pool(events[:, None], mass, losses, 0, pools)
    return IsotonicFunction(values, mass, events, pools.last[0, : pools.height[0]])


def _weighed(p: Array, occurred: Array, weights: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the different predictions, and the weight of rows and of events at each."""
    order = np.argsort(p)
    order = order[weights[order] > 0]
    p, occurred, weights = p[order], occurred[order], weights[order]
    starts = np.flatnonzero(np.concatenate(([True], p[1:] != p[:-1])))
    events = np.add.reduceat(np.where(occurred, weights, 0.0), starts)
    return p[starts].astype(np.float64), np.add.reduceat(weights, starts), events
