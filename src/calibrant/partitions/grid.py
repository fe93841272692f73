"""Grids: boxes of equal width, and simplices of equal size; only cells that hold rows exist."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant import device, engine
from calibrant.checks.parameters import whole
from calibrant.engine import threads
from calibrant.partitions.partition import Cells, Partition, points
from calibrant.predictions import Predictions

Keys = NDArray[np.uint64]
MakeKeys = Callable[[NDArray[Any]], Keys]

ROWS = 1 << 15  # at most, whose keys are made together
SORTED = 1 << 17  # rows whose keys are sorted together
SMALL = 1 << 16  # intervals up to which a table of them all is the fastest way
MOST = 1_000_000  # parts of an edge: a table of their limits is made


@final
@dataclass(frozen=True, slots=True)
class FittedGrid:
    """The occupied cells of a grid, in the order of their keys."""

    keys: Keys  # (cells, words)
    make_keys: MakeKeys  # gives the keys of new predictions (n, m)
    m: int  # outcomes
    first: int  # the first coordinate that is cut

    @property
    def n_cells(self) -> int:
        return int(self.keys.shape[0])

    def assign(self, probs: NDArray[Any]) -> Cells:
        keys, cells = _large(points(probs, self.m), self.make_keys)
        both, ranks = ranked(np.concatenate((self.keys, keys)))
        numbers = np.full(len(both), -1, np.int32)
        numbers[ranks[: self.n_cells]] = np.arange(self.n_cells)
        return numbers[ranks[self.n_cells :]][cells]

    def join(self, other: "FittedGrid") -> tuple["FittedGrid", Cells, Cells]:
        if np.array_equal(self.keys, other.keys):
            same = np.arange(self.n_cells, dtype=np.int32)
            return self, same, same
        keys, ranks = ranked(np.concatenate((self.keys, other.keys)))
        return replace(self, keys=keys), ranks[: self.n_cells], ranks[self.n_cells :]

    def keep(self, cells: Cells) -> "FittedGrid":
        return replace(self, keys=self.keys[np.sort(cells)])

    @property
    def marks(self) -> Keys:
        found = np.zeros(self.n_cells, np.uint64)
        for word in self.keys.T:
            found = np.asarray(engine.draws.mix(found + word))
        return found


def ranked(keys: Keys) -> tuple[Keys, Cells]:
    """Sort keys (n, words); return the different ones in their order, and every row's rank.

    Several words are compared as bytes, those that weigh most first.
    """
    n, words = keys.shape
    whole = keys[:, 0] if words == 1 else keys.astype(">u8").view(f"V{8 * words}")[:, 0]
    order = np.argsort(whole)
    whole = whole[order]
    new = np.ones(n, np.bool_)
    new[1:] = whole[1:] != whole[:-1]
    ranks = np.empty(n, np.int32)
    ranks[order] = np.cumsum(new, dtype=np.int32) - np.int32(1)
    return keys[order[new]], ranks


def _locate_intervals(data: Predictions, k: int, make_keys: MakeKeys) -> tuple[FittedGrid, Cells]:
    """Number the intervals that hold rows, of k along one coordinate."""
    first, _ = axes(data)
    cells, occupied = engine.grid.intervals(data.probs, first, engine.grid.edges(k))
    keys = np.flatnonzero(occupied).astype(np.uint64)[:, None]
    rank = np.cumsum(occupied, dtype=np.int32) - np.int32(1)

    def renumber(start: int, stop: int) -> None:
        rank.take(cells[start:stop], out=cells[start:stop], mode="clip")

    if not occupied.all():
        _by_rows(renumber, data.probs)
    return FittedGrid(keys, make_keys, data.m, first), cells


def _large(probs: NDArray[Any], make_keys: MakeKeys) -> tuple[Keys, Cells]:
    """Return the keys that occur, sorted, and the rank of every row's key.

    The keys of each block of rows are sorted, then those that were found.
    """
    cells = np.empty(probs.shape[0], np.int32)
    parts: dict[int, Keys] = {}

    def find(start: int, stop: int) -> None:
        parts[start], cells[start:stop] = ranked(make_keys(probs[start:stop]))

    def renumber(start: int, stop: int) -> None:
        ranks[offsets[start] :].take(cells[start:stop], out=cells[start:stop], mode="clip")

    _by_rows(find, probs, SORTED)
    offsets = dict(zip(parts, accumulate(map(len, parts.values()), initial=0), strict=False))
    found, ranks = ranked(np.concatenate((make_keys(probs[:0]), *parts.values())))
    _by_rows(renumber, probs, SORTED)
    return found, cells


def _by_rows(work: Callable[[int, int], None], probs: NDArray[Any], most: int = ROWS) -> None:
    """Run `work` over blocks of at most so many rows, fewer of more than 16 classes.

    So neither the keys of a block nor the probabilities that it reads take much memory.
    """
    size = max(1, min(most, 16 * most // probs.shape[1]))
    threads.run(work, threads.blocks(probs.shape[0], size))


@dataclass(frozen=True, slots=True)
class Grid(Partition):
    """Cells that have keys: whole numbers that say where a cell is among k parts of an edge."""

    k: int

    fixed = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", whole("k", self.k, least=1, most=MOST))

    @abstractmethod
    def keys(self, columns: tuple[int, int], probs: NDArray[Any]) -> Keys:
        """Return the keys of probs (n, m), cut along some columns: the first, and how many."""

    def locate(self, data: Predictions) -> tuple[FittedGrid, Cells]:
        """Number the cells that hold rows in the order of their keys."""
        make_keys = partial(self.keys, axes(data))
        keys, cells = _large(data.probs, make_keys)
        return FittedGrid(keys, make_keys, data.m, axes(data)[0]), cells


@final
@dataclass(frozen=True, slots=True)
class EqualWidth(Grid):
    """k intervals [j/k, (j+1)/k) along each of the first m - 1 coordinates; the last is closed.

    Two-class data as a user gives them are cut along P(class 1). Only cells that hold rows
    exist, so the k^(m-1) possible ones cost nothing.

    Parameters
    ----------
    k : int
        Number of intervals.

    Notes
    -----
    With more than two outcomes the cells depend on the order of the classes, since the last
    coordinate is not cut. Cells are numbered by their intervals, first coordinate first.

    Examples
    --------
    >>> data = Predictions([0.0, 0.05, 0.1, 0.95, 1.0], [0, 0, 1, 1, 1])
    >>> EqualWidth(10).fit(data).assign(data.probs).tolist()
    [0, 0, 1, 2, 2]
    """

    def keys(self, columns: tuple[int, int], probs: NDArray[Any]) -> Keys:
        return np.asarray(engine.grid.box_keys(probs, columns, engine.grid.edges(self.k)))

    def locate(self, data: Predictions) -> tuple[FittedGrid, Cells]:
        if axes(data)[1] == 1 and self.k <= SMALL:
            return _locate_intervals(data, self.k, partial(self.keys, axes(data)))
        return Grid.locate(self, data)

    def add_up(self, data: Predictions) -> "engine.sums.Sums | None":
        """Add up the rows of k intervals, empty ones too; None if more coordinates are cut."""
        if data.event is None or self.k > SMALL:
            return None
        if data.on_device is not None:
            found: engine.sums.Sums | None = device.rows.top_bins(data.on_device, self.k)
            return found
        edges = engine.grid.edges(self.k)
        if data.ranked is None or data.weighted:
            return engine.sums.add_intervals(data.rows, edges)
        return engine.sums.add_ranked_intervals(data.ranked, edges)

    def locate_on_device(self, data: Predictions) -> "device.cells.DeviceCells | None":
        """Return the cells of rows on a device, found there; None if the host has to do it."""
        assert data.on_device is not None
        return device.cells.boxes(data.on_device, axes(data), self.k)

    def __str__(self) -> str:
        return "one bin" if self.k == 1 else f"{self.k} equal widths"


@final
@dataclass(frozen=True, slots=True)
class SimplexBins(Grid):
    """The simplex cut into k^(m-1) simplices of equal volume: the triangles of Figure 1.

    With c_i = k (p_1 + … + p_i), the integer parts of c_1, …, c_{m-1} and the order of their
    fractional parts name the cell (the edgewise subdivision). For two outcomes these are k
    intervals, for three k² triangles, for four k³ tetrahedra.

    Parameters
    ----------
    k : int
        Number of parts along an edge.

    Examples
    --------
    >>> data = Predictions([[0.9, 0.05, 0.05], [0.3, 0.3, 0.4], [0.25, 0.35, 0.4]], [0, 1, 2])
    >>> SimplexBins(2).fit(data).assign(data.probs).tolist()
    [1, 0, 0]
    """

    def keys(self, columns: tuple[int, int], probs: NDArray[Any]) -> Keys:
        edges, packing = engine.grid.edges(self.k), self._packing(columns[1])
        return np.asarray(engine.grid.simplex_keys(probs, columns, edges, packing))

    def locate_on_device(self, data: Predictions) -> "device.cells.DeviceCells | None":
        assert data.on_device is not None
        return device.cells.simplices(data.on_device, axes(data), self.k)

    def _packing(self, count: int) -> "engine.grid.Digits":
        """Return how keys of so many coordinates are packed: integer parts, then ranks."""
        return engine.grid.Digits.of(2 * count, max(self.k, count))

    def digits(self, fitted: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return integer parts and ranks of fractional parts of each cell: (cells, m - 1) each."""
        count = fitted.m - 1
        found = self._packing(count).unpack(fitted.keys)
        return found[:, :count], found[:, count:]

    def vertices(self, fitted: Any) -> NDArray[np.float64]:
        """Return the corners of each cell as points of the simplex: (cells, m corners, m).

        Cell (f, order): start at c = f and add 1 to its coordinates one after the other, the
        one with the largest fractional part first. Then p_i = (c_i - c_{i-1}) / k.
        """
        m = fitted.m
        whole, rank = self.digits(fitted)
        steps = np.arange(m)[:, None] > m - 2 - rank[:, None, :]  # (cells, m, m - 1)
        c = (whole[:, None, :] + steps) / self.k
        corners = np.diff(c, axis=-1, prepend=0.0, append=1.0)
        return np.asarray(corners if fitted.first == 0 else corners[..., ::-1])  # about class 1

    def __str__(self) -> str:
        return f"{self.k} simplex cells an edge"


def axes(data: Predictions) -> tuple[int, int]:
    """Return the first coordinate to cut along, and how many.

    The first m - 1 coordinates fix a point of the simplex; of two outcomes, that of the event.
    """
    return (0, data.m - 1) if data.event is None else (data.event, 1)
