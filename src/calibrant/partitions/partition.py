"""What every partition is; one that the user's own function makes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, Self, final
from zlib import crc32

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.checks.parameters import brief, function
from calibrant.predictions import Predictions

Cells = NDArray[np.int32]
NameCells = Callable[[NDArray[Any]], ArrayLike]


class FittedPartition(Protocol):
    """The cells that hold at least one row of the predictions they were fitted to.

    Law: ``assign(data.probs)`` of the predictions it was fitted to gives every cell number
    0, …, n_cells - 1 at least once, and rows in one cell have one number.

    Cells that are found in parts of the rows have ``join(other)``, the cells of both and where
    those of each are among them; ``keep(cells)``, some of them in their order; and ``marks``, a
    number for each cell (cells,), the same wherever the cell is found.
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

    __slots__ = ()

    @property
    def fixed(self) -> bool:
        """Whether two equal predictions share a cell whatever the other rows are."""
        ...

    def fit(self, data: Predictions) -> FittedPartition:
        """Find the cells of these predictions."""
        return self.locate(data)[0]

    def locate(self, data: Predictions) -> tuple[FittedPartition, Cells]:
        """Return ``fit(data)`` and the cell of every row, in one go."""
        ...


class Alike:
    """Cells that are all known before any part of the rows is looked at: alike in every part."""

    __slots__ = ()

    n_cells: int

    def join(self, other: Self) -> tuple[Self, Cells, Cells]:
        assert self.n_cells == other.n_cells
        same = np.arange(self.n_cells, dtype=np.int32)
        return self, same, same

    @property
    def marks(self) -> NDArray[np.uint64]:
        return np.arange(self.n_cells, dtype=np.uint64)


@final
@dataclass(frozen=True, slots=True)
class Fitted(Partition):
    """Cells that were fitted already, in place of a partition."""

    fitted: Any  # FittedIntervals or FittedTree
    name: str  # of the partition

    fixed = True  # by now

    def locate(self, data: Predictions) -> tuple[Any, Cells]:
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


@final
@dataclass(frozen=True, slots=True)
class FromFunction(Partition):
    """Bins of your own: rows for which a function returns the same value share a bin.

    Parameters
    ----------
    name_cells : callable
        Function of probs (n, m) that gives a number or a string for each row. It must look at
        each row alone.

    Examples
    --------
    >>> data = Predictions([0.1, 0.45, 0.55, 0.9], [0, 1, 0, 1])
    >>> sure = FromFunction(lambda probs: probs.max(axis=1) > 0.8)
    >>> sure.fit(data).assign(data.probs).tolist()
    [1, 0, 0, 1]
    """

    name_cells: NameCells

    fixed = True

    def __post_init__(self) -> None:
        function("name_cells", self.name_cells, "probs")

    def locate(self, data: Predictions) -> tuple["FittedFunction", Cells]:
        names, cells = np.unique(_named(self.name_cells, data.probs), return_inverse=True)
        return FittedFunction(names, self.name_cells), cells.astype(np.int32)

    def __str__(self) -> str:
        return f"cells of {getattr(self.name_cells, '__name__', 'a function')}"


@final
@dataclass(frozen=True, slots=True)
class FittedFunction:
    """The values that the function took, sorted."""

    names: NDArray[Any]  # (cells,) the value of each
    name_cells: NameCells

    @property
    def n_cells(self) -> int:
        return int(self.names.size)

    def assign(self, probs: NDArray[Any]) -> Cells:
        found = _named(self.name_cells, probs)
        place = np.searchsorted(self.names, found).clip(max=self.n_cells - 1)
        return np.where(self.names[place] == found, place, -1).astype(np.int32)

    def join(self, other: "FittedFunction") -> tuple["FittedFunction", Cells, Cells]:
        both = np.concatenate((self.names, other.names))
        names, places = np.unique(both, return_inverse=True)
        at = places.astype(np.int32)
        return FittedFunction(names, self.name_cells), at[: self.n_cells], at[self.n_cells :]

    def keep(self, cells: Cells) -> "FittedFunction":
        return FittedFunction(self.names[np.sort(cells)], self.name_cells)

    @property
    def marks(self) -> NDArray[np.uint64]:
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
