"""Draws of labels and rows as a pure function of (key, replicate, row).

Every random number is a hash of these three; nothing has a state. A block of replicates is
drawn row by row, so a row's probabilities are read once for all of it.
"""

import numpy as np
from numpy.typing import NDArray

from calibrant.engine.aligned import zeros
from calibrant.engine.jit import helper, kernel

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
ROWS = np.uint64(0xD1B54A32D192ED03)  # sets the hash of rows apart from that of replicates
FEW = 32  # classes up to which comparing with all of them is as fast as a binary search


@helper
def mix(x):
    """Scramble 64 bits: the finalizer of splitmix64."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def replicate_keys(key, b0, b1):
    """Return the hashes of replicates b0 … b1 - 1. Plain Python: once for a block."""
    return mix.py_func(key + np.arange(b0 + 1, b1 + 1, dtype=np.uint64) * GOLDEN)


def uniforms(key, first, last, replicates):
    """Return what `uniform` gives for rows (or cells) first … last - 1 below 1: (rows, size).

    Plain Python: for where a draw stands for many rows.
    """
    rows = mix.py_func((key ^ ROWS) + np.arange(first + 1, last + 1, dtype=np.uint64) * GOLDEN)
    return (mix.py_func(rows[:, None] + replicates) >> np.uint64(11)) * 2.0**-53


def room(m: int) -> NDArray[np.float64]:
    """Return room for the cumulative sums of m classes, filled with infinity.

    A multiple of three for `draw_few`, or a power of two for `draw_many`.
    """
    return np.full(-(-m // 3) * 3 if m <= FEW else 1 << (m - 1).bit_length(), np.inf)


def scratch(m, size):
    """Return whether there are many classes, and room for what `draw` works in.

    The first is None if there are few: another type, so the way of drawing that is not needed
    is not compiled. Room is for cumulative sums, uniform numbers and labels.
    """
    return None if m <= FEW else True, room(m), zeros(size), zeros(size, np.int64)


@helper
def row_key(key, i):
    """Hash of a row (or a cell) under a key."""
    return mix((key ^ ROWS) + np.uint64(i + 1) * GOLDEN)


@helper
def uniform(row, replicate, top):
    """Uniform number in [0, top), of 53 bits."""
    return np.float64(mix(row + replicate) >> np.uint64(11)) * (top * 2.0**-53)


@helper
def accumulate(probs, i, cdf):
    """Write cumulative sums of row i, infinite from the last class that can occur; return the sum.

    A number below the total is then smaller than the entry of exactly the classes from the
    drawn one on, and a class of probability 0 is never drawn.
    """
    total = 0.0
    for j in range(probs.shape[1]):
        total += probs[i, j]
        cdf[j] = total
    last = probs.shape[1] - 1
    cdf[last] = np.inf
    while last > 0 and probs[i, last] == 0.0:
        last -= 1
        cdf[last] = np.inf
    return total


@helper
def draw_few(cdf, total, row, replicates, u, labels):
    """Draw the label of one row of few classes in every replicate: labels (size,), u room."""
    for t in range(replicates.shape[0]):
        u[t] = uniform(row, replicates[t], total)
        labels[t] = 0
    j = 0
    while j < cdf.shape[0] and cdf[j] < np.inf:
        a, b, c = cdf[j], cdf[j + 1], cdf[j + 2]  # three classes in a sweep
        for t in range(replicates.shape[0]):
            labels[t] += (u[t] >= a) + (u[t] >= b) + (u[t] >= c)
        j += 3


@helper
def draw_many(cdf, total, row, replicates, u, labels):
    """Do the same for many classes: all replicates take a step of a binary search together."""
    for t in range(replicates.shape[0]):
        u[t] = uniform(row, replicates[t], total)
        labels[t] = 0
    half = cdf.shape[0] // 2
    while half > 0:
        for t in range(replicates.shape[0]):
            labels[t] += half * (u[t] >= cdf[labels[t] + half - 1])
        half //= 2


@helper
def draw(many, cdf, total, row, replicates, u, labels):
    """Draw the label of one row in every replicate of a block: labels (size,), u room."""
    if many is None:
        draw_few(cdf, total, row, replicates, u, labels)
    else:
        draw_many(cdf, total, row, replicates, u, labels)


@helper
def draw_one(cdf, total, row, replicate):
    """Return the same label in a single replicate."""
    u = uniform(row, replicate, total)
    j = 0
    while u >= cdf[j]:
        j += 1
    return j


@kernel
def label_block(probs, start, stop, key, replicates, many, cdf, u, labels, out):
    """Write the labels of rows start … stop - 1: out (size, n)."""
    size = out.shape[0]
    for i in range(start, stop):
        total = accumulate(probs, i, cdf)
        draw(many, cdf, total, row_key(key, i), replicates, u, labels)
        for t in range(size):
            out[t, i] = labels[t]


@kernel
def draw_times(n, key, replicate, times):
    """Count how often each row is drawn when n rows are drawn with replacement.

    times : (n,), zero before
    """
    for i in range(n):
        r = np.int64(uniform(row_key(key, i), replicate, np.float64(n)))
        times[r if r < n else n - 1] += 1


@kernel
def copy_labels(probs, times, key, replicate, cdf, out):
    """Draw a label for each copy of a row; the copies of a row stand together in out (n,)."""
    n = probs.shape[0]
    place = 0
    for i in range(n):
        if times[i] > 0:
            total = accumulate(probs, i, cdf)
            for copy in range(times[i]):
                out[place] = draw_one(cdf, total, row_key(key, i + copy * n), replicate)
                place += 1


@kernel
def count_block(
    probs, weights, step, rows, starts, first, last, key, replicates, many, cdf, u, labels, counts
):
    """Add the weight of drawn outcomes: counts (size, last - first, m), zero before."""
    size = counts.shape[0]
    for c in range(first, last):
        for s in range(starts[c], starts[c + 1]):
            i = np.int64(rows[s])
            total = accumulate(probs, i, cdf)
            draw(many, cdf, total, row_key(key, i), replicates, u, labels)
            w = weights[i * step]
            for t in range(size):
                counts[t, c - first, labels[t]] += w
