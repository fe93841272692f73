"""Candidate regions: one condition on a column, or one on each of two columns.

They follow from columns and predictions alone. A region is a rectangle of codes of two columns; the
first column, of one code, stands for no condition.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from calibrant.cuts.coders import Codes
from calibrant.cuts.columns import Column, Cut, Span
from calibrant.engine.arrays import Ints
from calibrant.engine.regions import Layout, accumulate, rectangles, tables

Mask = NDArray[np.bool_]

NOTHING = Cut("", ("",))  # the column that no condition is on
ALL = "all rows"


@final
@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Rectangles of codes.

    Parameters
    ----------
    cuts : tuple of Cut
        The columns; the first has one code.
    layout : Layout
        The tables of pairs of columns.
    pair : array of shape (regions,)
        The pair of columns of each region.
    low, high : array of shape (regions, 2)
        Codes of both columns, from and below.
    """

    cuts: tuple[Cut, ...]
    layout: Layout
    pair: Ints
    low: Ints
    high: Ints

    @classmethod
    def of(cls, columns: Sequence[Column], depth: int) -> Self:
        """Return all rows, every interval or level, and two halves or levels of two columns."""
        cuts = (NOTHING, *(column.cut for column in columns))
        sizes = [len(cut.names) for cut in cuts]
        pairs = _pairs(columns, depth)
        spans = [(0, [(0, 1)], [(0, sizes[pairs[0][1]])])]
        for number, (a, b) in enumerate(pairs):
            both = ([(0, 1)], cuts[b].intervals) if a == 0 else (cuts[a].halves, cuts[b].halves)
            spans.append((number, *both))
        parts = zip(*(_rectangles(*each) for each in spans), strict=True)
        return cls(cuts, Layout.of(sizes, pairs), *(np.concatenate(each) for each in parts))

    def __len__(self) -> int:
        return self.pair.size

    @property
    def corners(self) -> Ints:
        """The cells that each region is read at: (regions, 4)."""
        return self.layout.corners(self.pair, self.low, self.high)

    @property
    def effort(self) -> Ints:
        """How hard regions are to tell: by their conditions, and those on predictions."""
        sides = self.layout.pairs[self.pair, :2]
        narrow = self.high - self.low < self.layout.sizes[sides]
        predicted = np.array([cut.predicted for cut in self.cuts])[sides]
        return np.asarray((2 * narrow + (narrow & predicted)).sum(axis=1))

    def keep(self, some: Any) -> Self:
        """Return some of the regions."""
        return replace(self, pair=self.pair[some], low=self.low[some], high=self.high[some])

    def wider(self, side: int) -> Self:
        """Return the regions without their condition on the first or the second column."""
        low, high = self.low.copy(), self.high.copy()
        low[:, side] = 0
        high[:, side] = self.layout.sizes[self.layout.pairs[self.pair, side]]
        return replace(self, low=low, high=high)

    def conditions(self, g: int) -> list[tuple[int, Span]]:
        """Return the conditions of a region: columns, and spans of their codes."""
        found = []
        for side in range(2):
            column = int(self.layout.pairs[self.pair[g], side])
            span = int(self.low[g, side]), int(self.high[g, side])
            if span != (0, self.layout.sizes[column]):
                found.append((column, span))
        return found

    def text(self, g: int) -> str:
        """Say which rows a region has."""
        parts = [self.cuts[column].text(span) for column, span in self.conditions(g)]
        return " and ".join(parts) or ALL

    def mask(self, g: int, codes: Codes) -> Mask:
        """Return which rows a region has: (n,)."""
        found = np.ones(len(codes), np.bool_)
        for column, (low, high) in self.conditions(g):
            found &= (codes[:, column] >= low) & (codes[:, column] < high)
        return found

    def sums(self, codes: Codes, values: Any) -> Any:
        """Return the sums of whole numbers (n, size) over the rows of each region."""
        return self.read(self.accumulated(tables(codes, self.layout, values)))

    def accumulated(self, table: Any) -> Any:
        """Return tables in which each cell holds the sum over all smaller codes."""
        accumulate(self.layout, table)
        return table

    def read(self, table: Any) -> Any:
        """Return the sums over the rows of each region from accumulated tables: (regions, size)."""
        return rectangles(table, self.corners)


def _pairs(columns: Sequence[Column], depth: int) -> list[tuple[int, int]]:
    """Return the pairs of columns, numbered from 1, that have regions; 0 stands for none."""
    alone = [(0, c) for c, column in enumerate(columns, 1) if column.alone]
    paired = [c for c, column in enumerate(columns, 1) if column.paired]
    both = list(combinations(paired, 2)) if depth > 1 else []
    return [*alone, *both] or [(0, 0)]  # where no column differs between rows, there are all rows


def _rectangles(pair: int, first: Sequence[Span], second: Sequence[Span]) -> tuple[Ints, ...]:
    """Return every span of one column with every one of another: pair, low and high."""
    a, b = (np.array(spans, np.int64).reshape(-1, 2) for spans in (first, second))
    a, b = np.repeat(a, len(second), axis=0), np.tile(b, (len(first), 1))
    ends = np.stack((a, b), axis=1)
    return np.full(len(a), pair), ends[:, :, 0], ends[:, :, 1]
