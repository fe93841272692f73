"""Cells of a regular grid: every row gets a key.

A key is a vector of digits (which interval along which coordinate) packed into as few
64-bit words as they need, so two rows are in one cell exactly if their keys are equal.
"""

import numpy as np

from calibrant.engine.jit import helper, kernel


@helper
def interval(p, edges):
    """Return j with j / k <= p < (j + 1) / k; the last interval is closed. p is not negative.

    edges : (k + 1,) j / k inside, -inf and inf at the ends
    p * k may round across an edge: so look, and step if need be.
    """
    k = edges.shape[0] - 1
    j = np.int64(p * k) if p < 1.0 else k - 1
    return j - (p < edges[j]) + (p >= edges[j + 1])


@kernel
def box_keys(probs, first, count, edges, per_word, keys):
    """Write the intervals of coordinates first … first + count - 1 as digits of base k."""
    k = np.uint64(edges.shape[0] - 1)
    for i in range(probs.shape[0]):
        for word in range(keys.shape[1]):
            start = word * per_word
            key = np.uint64(0)
            for c in range(start, count if count - start < per_word else start + per_word):
                j = interval(np.float64(probs[i, first + c]), edges)
                key = key * k + np.uint64(j)
            keys[i, word] = key


@kernel
def simplex_keys(probs, first, count, edges, base, per_word, whole, fraction, keys):
    """Write integer parts of c, then the ranks of its fractional parts, as digits of `base`.

    c_i = k (p_1 + … + p_i); equal fractions rank by their index.
    whole, fraction : (count,) room for whole numbers and others
    keys : (n, words), zero before
    """
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
