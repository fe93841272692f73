"""A partition from the user's own function."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final
from zlib import crc32

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.checks.parameters import function
from calibrant.partitions.partition import Cells
from calibrant.predictions import Predictions

NameCells = Callable[[NDArray[Any]], ArrayLike]


@final
@dataclass(frozen=True, slots=True)
class FromFunction:
    """Rows for which the user's function gives the same value share a cell.

    Parameters
    ----------
    name_cells : callable
        Function of probs (n, m) that gives a number or a string for each row. It must look at
        each row alone.

    Examples
    --------
    >>> from calibrant import Predictions
    >>> data = Predictions([0.1, 0.45, 0.55, 0.9], [0, 1, 0, 1])
    >>> sure = FromFunction(lambda probs: probs.max(axis=1) > 0.8)
    >>> sure.fit(data).assign(data.probs).tolist()
    [1, 0, 0, 1]
    """

    name_cells: NameCells

    def __post_init__(self) -> None:
        function("name_cells", self.name_cells)

    fixed = True

    def fit(self, data: Predictions) -> "FittedFunction":
        """Find the values that occur."""
        return self.locate(data)[0]

    def locate(self, data: Predictions) -> tuple["FittedFunction", Cells]:
        """Return the fitted form and the cell of every row."""
        names, cells = np.unique(_named(self.name_cells, data.probs), return_inverse=True)
        return FittedFunction(names, self.name_cells), cells.astype(np.int32)

    def __str__(self) -> str:
        return f"cells of {getattr(self.name_cells, '__name__', 'a function')}"


@final
@dataclass(frozen=True, slots=True)
class FittedFunction:
    """The values that the function took, sorted.

    Parameters
    ----------
    names : array of shape (cells,)
        The value of each cell.
    name_cells : callable
        The function.
    """

    names: NDArray[Any]
    name_cells: NameCells

    @property
    def n_cells(self) -> int:
        """Number of values."""
        return int(self.names.size)

    def assign(self, probs: NDArray[Any]) -> Cells:
        """Return the cell of each row of probs (n, m); -1 for a value that was not seen."""
        found = _named(self.name_cells, probs)
        place = np.searchsorted(self.names, found).clip(max=self.n_cells - 1)
        return np.where(self.names[place] == found, place, -1).astype(np.int32)

    def join(self, other: "FittedFunction") -> tuple["FittedFunction", Cells, Cells]:
        """Return the cells of both, and where those of each are among them."""
        both = np.concatenate((self.names, other.names))
        names, places = np.unique(both, return_inverse=True)
        at = places.astype(np.int32)
        return FittedFunction(names, self.name_cells), at[: self.n_cells], at[self.n_cells :]

    def keep(self, cells: Cells) -> "FittedFunction":
        """Return some of the cells, in their order."""
        return FittedFunction(self.names[np.sort(cells)], self.name_cells)

    @property
    def marks(self) -> NDArray[np.uint64]:
        """A number for each cell (cells,), the same wherever the cell is found."""
        if self.names.dtype.kind in "biuf":
            return (self.names + 0.0).astype(np.float64).view(np.uint64)  # one zero, not two
        return np.array([crc32(str(name).encode()) for name in self.names.tolist()], np.uint64)


def _named(name_cells: NameCells, probs: NDArray[Any]) -> NDArray[Any]:
    names = np.asarray(name_cells(probs))
    if names.shape != probs.shape[:1]:
        raise ValueError(
            f"`name_cells` must give one value for each of the {probs.shape[0]:,} rows; it gave"
            f" shape {names.shape}."
        )
    if names.dtype.kind == "f" and np.isnan(names).any():
        row = int(np.argmax(np.isnan(names)))
        raise ValueError(f"`name_cells` must not give nan; it does for row {row}.")
    return names
