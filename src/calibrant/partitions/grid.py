"""Cells of a regular grid, named by keys: shared by the partitions that do not look at data."""

from collections.abc import Callable
from dataclasses import dataclass
from math import log2
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant import _kernels
from calibrant._kernels import threads
from calibrant.partitions.partition import Cells, axes, points
from calibrant.predictions import Predictions

Keys = NDArray[np.unsignedinteger[Any]]
Rows = NDArray[np.integer[Any]]
MakeKeys = Callable[[NDArray[Any]], Keys]

SMALL = 1 << 16


def empty_keys(n: int, digits: int, base: int) -> tuple[int, Keys]:
    """Return how many digits fit in a word, and zeros for the words of n keys.

    A word has 64 bits, or 16 where all digits fit into that: a million keys are then 2 MB.
    """
    per_word = max(1, int(63.999 / log2(max(base, 2))))
    small = base**digits <= SMALL
    return per_word, np.zeros((n, -(-digits // per_word)), np.uint16 if small else np.uint64)


@final
@dataclass(frozen=True, slots=True)
class FittedGrid:
    """The occupied cells of a grid, in the order of their keys.

    Parameters
    ----------
    keys : (cells, words) the key of each cell
    make_keys : the keys of new predictions (n, m)
    m : number of outcomes
    first : the first coordinate that is cut
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
        both = np.concatenate((self.keys, self.make_keys(points(probs, self.m))))
        cells = number(both)[1][self.n_cells :]
        return np.where(cells < self.n_cells, cells, np.int32(-1))


def number(keys: Keys) -> tuple[Rows, Cells]:
    """Number equal keys by first appearance; return a row of each number, and the numbers."""
    n = keys.shape[0]
    whole = np.int32 if n < 2**31 else np.int64
    cells = np.empty(n, np.int32)
    examples: Rows = np.empty(n, whole)
    table = np.full(1 << (2 * n - 1).bit_length(), -1, whole)
    found = _kernels.grid.number_keys(keys, table, cells, examples)
    return examples[:found].copy(), cells


def locate(data: Predictions, make_keys: MakeKeys, space: int) -> tuple[FittedGrid, Cells]:
    """Number the cells in the order of their keys; `space` is how many keys there could be."""
    keys = make_keys(data.probs)
    first = axes(data)[0]
    if space <= SMALL and keys.shape[1] == 1:
        seen = np.full(space, -1, np.int32)
        cells = np.empty(keys.shape[0], np.int32)
        _kernels.grid.number_small(keys, seen, cells)
        occupied = np.flatnonzero(seen >= 0).astype(keys.dtype)[:, None]
        return FittedGrid(occupied, make_keys, data.m, first), cells
    examples, cells = number(keys)
    found = keys[examples]
    order = np.lexsort(found.T[::-1])
    rank = np.empty(order.size, np.int32)
    rank[order] = np.arange(order.size, dtype=np.int32)
    return FittedGrid(found[order], make_keys, data.m, first), rank[cells]


def edges(k: int) -> NDArray[np.float64]:
    """Return the edges j / k of k intervals, open at the ends, so that every number is in one."""
    return np.concatenate(([-np.inf], np.arange(1, k) / k, [np.inf]))


def by_rows(work: Callable[[int, int], None], probs: NDArray[Any]) -> None:
    """Run `work` over blocks of rows."""
    threads.run(work, threads.row_blocks(probs.shape))
