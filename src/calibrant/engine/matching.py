"""Rows sorted by outcome in every replicate, and sums of what their outcomes amount to.

Sums are whole numbers of very small units in two words. So neither the order of rows nor the number
of threads or of replicates that are made at a time changes a bit.
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.engine.arrays import expect, within
from calibrant.engine.kernel import helper, i4, i8, kernel, out, u1

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

BLOCK = 128  # rows that are sorted together
WORD = np.int64((1 << 32) - 1)


class Words(NamedTuple):
    """Whole numbers high · 2^32 + low of each replicate: (size,)."""

    high: Annotated[Whole, out(i8["size"])]
    low: Annotated[Whole, out(i8["size"])]

    @classmethod
    def zeros(cls, size: int) -> "Words":
        """Return the sums of nothing."""
        return cls(np.zeros(size, np.int64), np.zeros(size, np.int64))

    def plus(self, other: "Words", times: int = 1) -> "Words":
        """Return the sums with a multiple of others."""
        return Words(self.high + times * other.high, self.low + times * other.low)

    def shifted(self, value: int) -> "Words":
        """Return the sums with a whole number added to each."""
        return Words(self.high + (value >> 32), self.low + (value & int(WORD)))

    @property
    def value(self) -> Floats:
        """The numbers, rounded once."""
        return np.asarray(self.high * 2.0**32 + self.low, np.float64)


def total(words: list[Words]) -> Words:
    """Return the sum of one or more."""
    return Words(*(np.sum(part, axis=0) for part in zip(*words, strict=True)))


class Matching(NamedTuple):
    """Rows of each block sorted by outcome, in each replicate."""

    places: Annotated[
        NDArray[np.uint8], u1["size n"]
    ]  # (size, n) numbers of rows within their block
    starts: Annotated[
        NDArray[np.uint8], u1["size blocks m+1"]
    ]  # (size, blocks, m + 1) where the rows of each outcome begin

    @classmethod
    def empty(cls, size: int, n: int, m: int) -> "Matching":
        """Return room for so many replicates, rows and outcomes."""
        starts = np.empty((size, -(-n // BLOCK), m + 1), np.uint8)
        return cls(np.empty((size, n), np.uint8), starts)


def sort_outcomes(outcomes: NDArray[np.int32], first: int, matching: Matching) -> None:
    """Sort the rows of each block, from the one that begins with this row; outcomes (rows, size).

    They end with a block, or with the last row.
    """
    size, n = matching.places.shape
    expect("outcomes", outcomes, (None, size), "i")
    expect("starts", matching.starts, (size, -(-n // BLOCK), None), "u")
    within("outcomes", outcomes, matching.starts.shape[2] - 1)
    last = first + outcomes.shape[0]
    if first % BLOCK or not 0 <= first < last <= n or (last % BLOCK and last < n):
        raise IndexError(f"`outcomes` must be of whole blocks of {BLOCK} of the {n} rows.")
    _sort_outcomes(outcomes, first, matching)


@kernel(i4["_ size"], i8, Matching)
def _sort_outcomes(outcomes, first, matching):
    for begin in range(0, outcomes.shape[0], BLOCK):
        some = outcomes[begin : begin + BLOCK]
        starts = matching.starts[:, (first + begin) // BLOCK]
        places = matching.places[:, first + begin : first + begin + some.shape[0]]
        sort_block(some, places, starts)


@helper
def sort_block(outcomes, places, starts):
    """Sort the rows of one block in each replicate."""
    m = starts.shape[1] - 1
    for t in range(outcomes.shape[1]):
        for c in range(m + 1):
            starts[t, c] = 0
        for s in range(outcomes.shape[0]):
            starts[t, outcomes[s, t] + 1] += 1
        for c in range(m):
            starts[t, c + 1] += starts[t, c]
        # While rows are placed, starts[t, c] is where the next row of outcome c goes.
        for s in range(outcomes.shape[0]):
            c = outcomes[s, t]
            places[t, starts[t, c]] = s
            starts[t, c] += 1
        for c in range(m, 0, -1):
            starts[t, c] = starts[t, c - 1]
        starts[t, 0] = 0


def add_entries(table: Whole, outcomes: NDArray[np.int32], words: Words) -> None:
    """Add the entries of a table (rows, m) for the outcomes (rows, size) of its rows."""
    expect("table", table, (None, None), "i")
    expect("outcomes", outcomes, (table.shape[0], words.high.size), "i")
    within("outcomes", outcomes, table.shape[1])
    _add_entries(table, outcomes, words)


@kernel(i8["rows m"], i4["rows size"], Words)
def _add_entries(table, outcomes, words):
    for s in range(outcomes.shape[0]):
        row, drawn = table[s], outcomes[s]
        for t in range(drawn.shape[0]):
            x = row[drawn[t]]
            words.high[t] += x >> 32
            words.low[t] += x & WORD
