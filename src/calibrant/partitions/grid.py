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

Keys = NDArray[np.uint64]
Rows = NDArray[np.integer[Any]]
MakeKeys = Callable[[NDArray[Any]], Keys]

ROWS = 1 << 15  # at most, whose keys are made together
SMALL = 1 << 16  # possible keys up to which a table of them all is the fastest way


def empty_keys(n: int, digits: int, base: int) -> tuple[int, Keys]:
    """Return how many digits fit in a word of 64 bits, and zeros for the words of n keys."""
    per_word = max(1, int(63.999 / log2(max(base, 2))))
    return per_word, np.zeros((n, -(-digits // per_word)), np.uint64)


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
        both = np.concatenate((self.keys, _all_keys(self.make_keys, points(probs, self.m))))
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
    find = _small if space <= SMALL else _large
    keys, cells = find(data.probs, make_keys, space)
    return FittedGrid(keys, make_keys, data.m, axes(data)[0]), cells


def _small(probs: NDArray[Any], make_keys: MakeKeys, space: int) -> tuple[Keys, Cells]:
    """Return the keys that occur, of one word each, and the rank of every row's key."""
    cells = np.empty(probs.shape[0], np.int32)
    occurs = np.zeros(space, np.bool_)

    def find(start: int, stop: int) -> None:
        keys = make_keys(probs[start:stop])[:, 0].view(np.int64)
        cells[start:stop] = keys
        occurs[keys] = True

    def renumber(start: int, stop: int) -> None:
        rank.take(cells[start:stop], out=cells[start:stop], mode="clip")

    _by_rows(find, probs)
    rank = np.cumsum(occurs, dtype=np.int32) - np.int32(1)
    _by_rows(renumber, probs)
    return np.flatnonzero(occurs).astype(np.uint64)[:, None], cells


def _large(probs: NDArray[Any], make_keys: MakeKeys, _: int) -> tuple[Keys, Cells]:
    """Do the same for keys of any size."""
    keys = _all_keys(make_keys, probs)
    examples, cells = number(keys)
    found = keys[examples]
    order = np.lexsort(found.T[::-1])
    rank = np.empty(order.size, np.int32)
    rank[order] = np.arange(order.size, dtype=np.int32)
    return found[order], rank[cells]


def _all_keys(make_keys: MakeKeys, probs: NDArray[Any]) -> Keys:
    words = make_keys(probs[:0]).shape[1]
    keys = np.empty((probs.shape[0], words), np.uint64)

    def work(start: int, stop: int) -> None:
        keys[start:stop] = make_keys(probs[start:stop])

    _by_rows(work, probs)
    return keys


def edges(k: int) -> NDArray[np.float64]:
    """Return the edges j / k of k intervals, open at the ends, so that every number is in one."""
    return np.concatenate(([-np.inf], np.arange(1, k) / k, [np.inf]))


def _by_rows(work: Callable[[int, int], None], probs: NDArray[Any]) -> None:
    """Run `work` over blocks of rows, whose keys take little memory."""
    size = max(1, min(ROWS, threads.ENTRIES // probs.shape[1]))
    threads.run(work, threads.blocks(probs.shape[0], size))
