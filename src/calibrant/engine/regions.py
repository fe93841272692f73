"""Regions of rows by two columns: tables of whole numbers, their sums over rectangles, the maximum.

The rows of a data set have a code in every column. A pair of columns has a table with a row of
numbers for each pair of codes, behind a first row and column of zeros; once the table holds sums
over all smaller codes, any rectangle of codes is four reads. Numbers are whole, so no order of
adding shows.
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.engine import arrays
from calibrant.engine.arrays import Array, Floats, Ints, zeros
from calibrant.engine.kernel import f8, i8, index, kernel, out, u1


class Layout(NamedTuple):
    """Which columns make pairs, and where the table of each pair begins."""

    sizes: Annotated[Ints, i8["columns"]]  # codes of each column
    pairs: Annotated[Ints, i8["pairs 3"]]  # two columns, and the place of their table

    @classmethod
    def of(cls, sizes: list[int], pairs: list[tuple[int, int]]) -> "Layout":
        """Put the tables of pairs one after the other."""
        arrays.within("pairs", np.array(pairs).reshape(-1, 2), len(sizes))
        cells = [(sizes[a] + 1) * (sizes[b] + 1) for a, b in pairs]
        starts = np.concatenate(([0], np.cumsum(cells)[:-1])).astype(int).tolist()
        rows = [(a, b, start) for (a, b), start in zip(pairs, starts, strict=True)]
        return cls(np.array(sizes, np.int64), np.array(rows, np.int64).reshape(-1, 3))

    @property
    def cells(self) -> int:
        """How many cells all tables have."""
        first, second, start = self.pairs[-1]
        return int(start + (self.sizes[first] + 1) * (self.sizes[second] + 1))

    def corners(self, pair: Ints, low: Ints, high: Ints) -> Ints:
        """Return the four cells that rectangles are read at: (regions, 4).

        pair : (regions,) the table of each; low, high : (regions, 2) codes from, and below
        """
        width = self.sizes[self.pairs[pair, 1]] + 1
        start = self.pairs[pair, 2]
        ends = ((high, high), (low, high), (high, low), (low, low))
        return np.stack([start + a[:, 0] * width + b[:, 1] for a, b in ends], axis=1)


class Family(NamedTuple):
    """Regions, the strongest first, and how what is counted in them becomes evidence.

    |counted - centre| · scale
    """

    corners: Annotated[Ints, i8["regions 4"]]
    centre: Annotated[Floats, f8["regions"]]
    scale: Annotated[Floats, f8["regions"]]


def tables(codes: NDArray[np.uint8], layout: Layout, values: Array) -> Array:
    """Return the sums of values (n, size) in the cells of all pairs, not yet over rectangles."""
    table = zeros((layout.cells, values.shape[1]), values.dtype)
    add(codes, layout, values, table)
    return table


def add(codes: NDArray[np.uint8], layout: Layout, values: Array, table: Array) -> None:
    """Add values (n, size) of rows to their cell in the table of every pair: (cells, size)."""
    if codes.size and codes.dtype == np.uint8 and (codes.max(axis=0) >= layout.sizes).any():
        raise IndexError("`codes` must be below the number of codes of each column.")
    if len(table) != layout.cells:
        raise IndexError(f"`table` must have {layout.cells} cells; found {len(table)}.")
    _add(codes, layout, values, table)


@kernel(u1["n columns"], Layout, index["n size"], out(index["_ size"]))
def _add(codes, layout, values, table):
    for i in range(codes.shape[0]):
        here = values[i]
        for q in range(layout.pairs.shape[0]):
            a, b = layout.pairs[q, 0], layout.pairs[q, 1]
            width = layout.sizes[b] + 1
            at = layout.pairs[q, 2] + (np.int64(codes[i, a]) + 1) * width + codes[i, b] + 1
            sums = table[at]
            for t in range(here.shape[0]):
                sums[t] += here[t]


def accumulate(layout: Layout, table: Array) -> None:
    """Let every cell hold the sum over all smaller codes of both columns, in place."""
    if len(table) % layout.cells:
        raise IndexError(f"`table` must have a multiple of {layout.cells} cells.")
    for start in range(0, len(table), layout.cells):
        _accumulate(layout, table[start : start + layout.cells])


@kernel(Layout, out(index["_ size"]))
def _accumulate(layout, table):
    for q in range(layout.pairs.shape[0]):
        rows, width = layout.sizes[layout.pairs[q, 0]] + 1, layout.sizes[layout.pairs[q, 1]] + 1
        for a in range(1, rows):
            for b in range(1, width):
                at = layout.pairs[q, 2] + a * width + b
                here, left = table[at], table[at - 1]
                above, corner = table[at - width], table[at - width - 1]
                for t in range(here.shape[0]):
                    here[t] += left[t] + above[t] - corner[t]


def rectangles(table: Array, corners: Ints) -> Array:
    """Return the sums over rectangles (regions, size) from an accumulated table."""
    all_, left, above, both = (table[corners[:, k]] for k in range(4))
    return np.asarray(all_ - left - above + both)


def step_down(family: Family, limits: Floats, table: Array) -> tuple[Ints, Floats]:
    """Return how often the largest evidence of a region and all weaker ones reaches its limit.

    limits : (regions,) what has to be reached; table : (cells, size) accumulated
    Returns the hits (regions,), and the largest evidence of all regions in each replicate (size,).
    """
    arrays.within("corners", family.corners, len(table))
    hits, largest = np.zeros(limits.size, np.int64), np.zeros(table.shape[1])
    _step_down(family, limits, table, hits, largest)
    return hits, largest


@kernel(Family, f8["regions"], index["_ size"], out(i8["regions"]), out(f8["size"]))
def _step_down(family, limits, table, hits, largest):
    for k in range(limits.shape[0]):
        g = limits.shape[0] - 1 - k
        a, b = table[family.corners[g, 0]], table[family.corners[g, 1]]
        c, d = table[family.corners[g, 2]], table[family.corners[g, 3]]
        centre, scale, limit = family.centre[g], family.scale[g], limits[g]
        count = np.int64(0)
        for t in range(largest.shape[0]):
            counted = np.float64(a[t] - b[t] - c[t] + d[t])
            largest[t] = max(largest[t], abs(counted - centre) * scale)
            count += np.int64(largest[t] >= limit)
        hits[g] += count
