"""Cells of a regular grid, named by keys: shared by the partitions that do not look at data."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.engine import threads
from calibrant.partitions.partition import Cells, axes, points
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
    """The occupied cells of a grid, in the order of their keys.

    Parameters
    ----------
    keys : array of uint64 of shape (cells, words)
        The key of each cell.
    make_keys : callable
        Gives the keys of new predictions (n, m).
    m : int
        Number of outcomes.
    first : int
        The first coordinate that is cut.
    """

    keys: Keys
    make_keys: MakeKeys
    m: int
    first: int

    @property
    def n_cells(self) -> int:
        """Number of cells that hold rows."""
        return int(self.keys.shape[0])

    def assign(self, probs: NDArray[Any]) -> Cells:
        """Return the cell of each row of probs (n, m); -1 for a cell that held no row."""
        keys, cells = _large(points(probs, self.m), self.make_keys)
        both, ranks = ranked(np.concatenate((self.keys, keys)))
        numbers = np.full(len(both), -1, np.int32)
        numbers[ranks[: self.n_cells]] = np.arange(self.n_cells)
        return numbers[ranks[self.n_cells :]][cells]

    def join(self, other: "FittedGrid") -> tuple["FittedGrid", Cells, Cells]:
        """Return the cells of both, and where those of each are among them."""
        if np.array_equal(self.keys, other.keys):
            same = np.arange(self.n_cells, dtype=np.int32)
            return self, same, same
        keys, ranks = ranked(np.concatenate((self.keys, other.keys)))
        return replace(self, keys=keys), ranks[: self.n_cells], ranks[self.n_cells :]

    def keep(self, cells: Cells) -> "FittedGrid":
        """Return some of the cells, in their order."""
        return replace(self, keys=self.keys[np.sort(cells)])

    @property
    def marks(self) -> Keys:
        """A number for each cell (cells,), the same wherever the cell is found."""
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


def locate_intervals(data: Predictions, k: int, make_keys: MakeKeys) -> tuple[FittedGrid, Cells]:
    """Number the intervals that hold rows, of k along one coordinate."""
    first, _ = axes(data)
    cells, occupied = engine.grid.intervals(data.probs, first, engine.grid.edges(k))
    keys = np.flatnonzero(occupied).astype(np.uint64)[:, None]
    if not occupied.all():
        rank = np.cumsum(occupied, dtype=np.int32) - np.int32(1)
        _renumber(cells, rank, data.probs)
    return FittedGrid(keys, make_keys, data.m, first), cells


def _renumber(cells: Cells, rank: Cells, probs: NDArray[Any]) -> None:
    """Replace numbers of intervals by their ranks among those that hold rows, in place."""

    def work(start: int, stop: int) -> None:
        rank.take(cells[start:stop], out=cells[start:stop], mode="clip")

    _by_rows(work, probs)


def locate(data: Predictions, make_keys: MakeKeys) -> tuple[FittedGrid, Cells]:
    """Number the cells that hold rows in the order of their keys."""
    keys, cells = _large(data.probs, make_keys)
    return FittedGrid(keys, make_keys, data.m, axes(data)[0]), cells


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
