"""Bins with equally many predictions."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant.checks.parameters import whole
from calibrant.partitions.partition import Cells, points
from calibrant.predictions import Predictions


@final
@dataclass(frozen=True, slots=True)
class EqualMass:
    """Quantile bins of a binary problem: k bins with n/k predictions each, or nearly.

    With the predictions sorted, value v is in bin ⌊k (W(v) + w(v)/2) / W⌋, where W(v) is the
    weight below v, w(v) the weight at v and W all of it. So equal values stay together, and
    there are fewer than k bins where a value is heavy.

    Parameters
    ----------
    k : int
        Number of bins.

    Examples
    --------
    >>> from calibrant import Predictions
    >>> data = Predictions([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0, 0, 1, 0, 1, 1])
    >>> EqualMass(3).fit(data).assign(data.probs).tolist()
    [0, 0, 1, 1, 2, 2]
    """

    k: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", whole("k", self.k, least=1))

    @property
    def fixed(self) -> bool:
        """Whether equal predictions always share a cell: no, the bins follow the data."""
        return False

    def fit(self, data: Predictions) -> "FittedIntervals":
        """Find the lower ends of the bins."""
        if data.event is None:
            raise ValueError(
                f"`EqualMass(…)` needs a problem with two outcomes; found {data.m}. Look through a"
                " lens such as `TopLabel()` or `Marginal(…)`, or use `VarianceTree()`."
            )
        present = data.weights > 0
        values, where = np.unique(data.probs[present, data.event], return_inverse=True)
        mass = np.bincount(where, data.weights[present])
        bins = bins_of(mass, self.k)
        return FittedIntervals(values[np.diff(bins, prepend=-1) > 0], data.event)

    def locate(self, data: Predictions) -> tuple["FittedIntervals", Cells]:
        """Return the fitted form and the cell of every row."""
        fitted = self.fit(data)
        return fitted, fitted.assign(data.probs)

    def __str__(self) -> str:
        return f"{self.k} equal masses"


def bins_of(mass: NDArray[Any], k: int) -> NDArray[np.float64]:
    """Return the bin of each of some values with this weight, in their order: (values,)."""
    middle = np.cumsum(mass) - 0.5 * mass
    reached = k * middle / mass.sum() + 1e-9  # sums of weights are rounded
    return np.asarray(np.floor(reached).clip(max=k - 1))


@final
@dataclass(frozen=True, slots=True)
class FittedIntervals:
    """Bins [low_0, low_1), …, [low_last, 1]; what is below low_0 belongs to the first.

    Parameters
    ----------
    lows : array of shape (cells,)
        The smallest value of each bin.
    coordinate : int
        Which of the two outcomes is binned.
    """

    lows: NDArray[Any]
    coordinate: int

    @property
    def n_cells(self) -> int:
        """Number of bins."""
        return int(self.lows.size)

    def assign(self, probs: NDArray[Any]) -> Cells:
        """Return the bin of each row of probs (n, 2)."""
        values = points(probs, 2)[:, self.coordinate]
        bins = np.searchsorted(self.lows, values, side="right") - 1
        return bins.clip(min=0).astype(np.int32)

    def join(self, other: "FittedIntervals") -> tuple["FittedIntervals", Cells, Cells]:
        """Return the cells of both, and where those of each are among them: they are the same."""
        if not np.array_equal(self.lows, other.lows):
            raise ValueError("`other` must be of the same bins; their ends depend on the rows.")
        same = np.arange(self.n_cells, dtype=np.int32)
        return self, same, same

    @property
    def marks(self) -> NDArray[np.uint64]:
        """A number for each cell (cells,): all rows have the same cells."""
        return np.arange(self.n_cells, dtype=np.uint64)
