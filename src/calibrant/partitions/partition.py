"""What every partition is."""

from dataclasses import dataclass
from typing import Any, Protocol, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.checks.parameters import brief
from calibrant.predictions import Predictions

Cells = NDArray[np.int32]


class FittedPartition(Protocol):
    """The cells that hold at least one row of the predictions they were fitted to.

    Law: ``assign(data.probs)`` of the predictions it was fitted to gives every cell number
    0, …, n_cells - 1 at least once, and rows in one cell have one number.
    """

    @property
    def n_cells(self) -> int:
        """Number of cells that hold rows."""
        ...

    def assign(self, probs: NDArray[Any]) -> Cells:
        """Return the cell of each row of probs (n, m); -1 for a cell that held no row."""
        ...


class Partition(Protocol):
    """A way to cut the simplex into cells.

    Law: ``fit`` looks at predictions and weights, never at labels, so a test that redraws
    labels may keep the cells. Where `fit` depends on all rows and these are elsewhere,
    ``fitting(seen, unit)`` is a conversation: a generator that yields a reduction, is sent what it
    adds up to, and returns the cells as `Fitted`, the same to the last bit.
    """

    @property
    def fixed(self) -> bool:
        """Whether two equal predictions share a cell whatever the other rows are."""
        ...

    def fit(self, data: Predictions) -> FittedPartition:
        """Find the cells of these predictions."""
        ...

    def locate(self, data: Predictions) -> tuple[FittedPartition, Cells]:
        """Return ``fit(data)`` and the cell of every row, in one go."""
        ...


@final
@dataclass(frozen=True, slots=True)
class Fitted:
    """Cells that were fitted already, in place of a partition."""

    fitted: Any  # FittedIntervals or FittedTree
    name: str  # of the partition

    fixed = True  # by now

    def fit(self, data: Predictions) -> Any:  # noqa: ARG002
        """Return the cells, whatever the rows."""
        return self.fitted

    def locate(self, data: Predictions) -> tuple[Any, Cells]:
        """Return the cells and that of every row."""
        return self.fitted, self.fitted.assign(data.probs)

    def __str__(self) -> str:
        return self.name


def check_partition(partition: Any) -> None:
    """Refuse anything but a partition."""
    if isinstance(partition, type) or not hasattr(partition, "locate"):
        raise TypeError(
            f"`partition` must be one such as EqualWidth(10); found {brief(partition)}."
        )


def points(probs: ArrayLike, m: int) -> NDArray[Any]:
    """Return predictions to be assigned to cells, (n, m), or refuse another shape."""
    array = np.asarray(probs)
    if array.ndim != 2 or array.shape[1] != m:
        raise ValueError(f"`probs` must be of shape (n, {m}); found {array.shape}.")
    return array
