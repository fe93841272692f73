"""Cells of a regular grid: every row gets a key.

A key is a vector of digits (which interval along which coordinate) packed into as few
64-bit words as they need, so two rows are in one cell exactly if their keys are equal.
"""

from math import log2
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.engine import threads
from calibrant.engine.arrays import Array, Floats, Ints, Keys, Span, expect_edges
from calibrant.engine.kernel import SPAN, b1, f8, helper, i4, i8, kernel, out, real, u8


class Digits(NamedTuple):
    """How many digits a key has, their base, and how many of them fit into a word."""

    length: int
    base: int
    per_word: int

    @classmethod
    def of(cls, length: int, base: int) -> "Digits":
        """Pack as many digits into 64 bits as fit."""
        return cls(length, base, max(1, int(63.999 / log2(max(base, 2)))))

    @property
    def words(self) -> int:
        """Number of words of a key."""
        return -(-self.length // self.per_word)

    def unpack(self, keys: Keys) -> Ints:
        """Return the digits of keys (cells, words): (cells, length)."""
        words = keys.copy()
        out = np.empty((keys.shape[0], self.length), np.int64)
        for d in reversed(range(self.length)):
            word = d // self.per_word
            out[:, d] = words[:, word] % np.uint64(self.base)
            words[:, word] //= np.uint64(self.base)
        return out


def edges(k: int) -> Floats:
    """Return the edges j / k of k intervals, open at the ends, so that every number is in one."""
    return np.concatenate(([-np.inf], np.arange(1, k) / k, [np.inf]))


@helper
def interval(p, edges):
    """Return j with j / k <= p < (j + 1) / k, the last interval closed."""
    k = edges.shape[0] - 1
    j = np.int64(p * k) if p < 1.0 else k - 1  # may round across an edge: so look, and step
    j = j if j > 0 else 0  # what is below 0 is no probability, but must not be looked up
    return j - (p < edges[j]) + (p >= edges[j + 1])


def intervals(
    probs: Array, column: int, edges: Floats
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Return the interval of each row along one column (n,), and which ones hold rows (k,)."""
    expect_edges(edges)
    _expect_columns(probs, (column, 1))
    cells = np.empty(probs.shape[0], np.int32)
    occupied = np.zeros(edges.size - 1, np.bool_)
    blocks = threads.row_blocks((probs.shape[0], 16))
    threads.run(lambda *span: _intervals(probs, column, edges, span, cells, occupied), blocks)
    return cells, occupied


@kernel(real["n m"], i8, f8["k+1"], SPAN, out(i4["n"]), out(b1["k"]))
def _intervals(probs, column, edges, span, cells, occupied):
    for i in range(span[0], span[1]):
        c = interval(np.float64(probs[i, column]), edges)
        cells[i] = c
        occupied[c] = True


def box_keys(probs: Array, columns: Span, edges: Floats) -> Keys:
    """Return keys (n, words) of boxes: intervals along columns, of which the first and how many."""
    expect_edges(edges)
    _expect_columns(probs, columns)
    digits = Digits.of(columns[1], edges.size - 1)
    keys = np.empty((probs.shape[0], digits.words), np.uint64)
    _box_keys(probs, columns, edges, digits.per_word, keys)
    return keys


@kernel(real["n m"], SPAN, f8["k+1"], i8, out(u8["n words"]))
def _box_keys(probs, columns, edges, per_word, keys):
    first, count = columns
    k = np.uint64(edges.shape[0] - 1)
    for i in range(probs.shape[0]):
        for word in range(keys.shape[1]):
            start = word * per_word
            key = np.uint64(0)
            for c in range(start, count if count - start < per_word else start + per_word):
                j = interval(np.float64(probs[i, first + c]), edges)
                key = key * k + np.uint64(j)
            keys[i, word] = key


def simplex_keys(probs: Array, columns: Span, edges: Floats, digits: Digits) -> Keys:
    """Return the keys of simplices: integer parts of c, then the ranks of its fractional parts.

    c_i = k (p_1 + … + p_i) over some columns; equal fractions rank by their index.
    """
    expect_edges(edges)
    _expect_columns(probs, columns)
    if digits.length < 2 * columns[1] or digits.per_word < 1:
        raise IndexError(f"`digits` must be two for each of {columns[1]} columns; found {digits}.")
    keys = np.zeros((probs.shape[0], digits.words), np.uint64)
    parts = np.empty(columns[1], np.int64), np.empty(columns[1])
    _simplex_keys(probs, columns, edges, (digits.base, digits.per_word), parts, keys)
    return keys


@kernel(
    real["n m"], SPAN, f8["k+1"], (i8, i8), (out(i8["count"]), out(f8["count"])), out(u8["n words"])
)
def _simplex_keys(probs, columns, edges, packing, parts, keys):
    first, count = columns
    base, per_word = packing
    whole, fraction = parts
    k = edges.shape[0] - 1
    for i in range(probs.shape[0]):
        total = 0.0
        for c in range(count):
            total += probs[i, first + c]
            whole[c] = interval(total, edges)
            fraction[c] = total * k - whole[c]
            word = c // per_word
            keys[i, word] = keys[i, word] * np.uint64(base) + np.uint64(whole[c])
        for c in range(count):
            rank = 0
            for d in range(count):
                rank += fraction[d] < fraction[c] or (fraction[d] == fraction[c] and d < c)
            word = (count + c) // per_word
            keys[i, word] = keys[i, word] * np.uint64(base) + np.uint64(rank)


def _expect_columns(probs: Array, columns: Span) -> None:
    """Refuse columns, the first and how many, that are not there."""
    first, count = columns
    if first < 0 or count < 1 or first + count > probs.shape[1]:
        raise IndexError(f"`columns` must be among those of `probs`; found {columns}.")
