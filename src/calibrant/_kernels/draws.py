"""Draws of labels and rows as a pure function of (key, replicate, row).

Every random number is a hash of these three; nothing has a state. A block of replicates
b0 … b0 + size - 1 is drawn row by row, so a row's probabilities are read once for all of it.
"""

import numpy as np

from calibrant._kernels.jit import kernel

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
ROWS = np.uint64(0xD1B54A32D192ED03)  # sets the hash of rows apart from that of replicates
FEW = 16  # classes up to which comparing with all of them beats a binary search


@kernel
def mix(x):
    """Scramble 64 bits: the finalizer of splitmix64."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@kernel
def row_key(key, i):
    """Hash of a row (or a cell) under a key."""
    return mix((key ^ ROWS) + np.uint64(i + 1) * GOLDEN)


@kernel
def replicate_keys(key, b0, size):
    """Hashes of the replicates of a block."""
    keys = np.empty(size, np.uint64)
    for t in range(size):
        keys[t] = mix(key + np.uint64(b0 + t + 1) * GOLDEN)
    return keys


@kernel
def unit(row, replicate):
    """Uniform number in [0, 1) with 53 bits."""
    return np.float64(mix(row + replicate) >> np.uint64(11)) * 2.0**-53


@kernel
def room(m):
    """Return room for the cumulative sums of m classes: a power of two, filled with infinity."""
    size = 4
    while size < m:
        size *= 2
    return np.full(size, np.inf)


@kernel
def accumulate(p, cdf):
    """Write cumulative sums of p, infinite from the last class that can occur; return their total.

    A number below the total is then smaller than the entry of exactly the classes from the
    drawn one on, and a class of probability 0 is never drawn.
    """
    last = 0
    total = 0.0
    for j in range(p.shape[0]):
        total += p[j]
        cdf[j] = total
        if p[j] > 0:
            last = j
    for j in range(last, p.shape[0]):
        cdf[j] = np.inf
    return total


@kernel
def draw(cdf, total, row, replicates, u, labels):
    """Draw the label of one row in every replicate of the block: labels (size,)."""
    size = replicates.shape[0]
    for t in range(size):
        u[t] = unit(row, replicates[t]) * total
        labels[t] = 0
    if cdf.shape[0] <= FEW:
        j = 0
        while j < cdf.shape[0] and cdf[j] < np.inf:  # four classes in a sweep
            a, b, c, d = cdf[j], cdf[j + 1], cdf[j + 2], cdf[j + 3]
            for t in range(size):
                labels[t] += (u[t] >= a) + (u[t] >= b) + (u[t] >= c) + (u[t] >= d)
            j += 4
        return
    half = cdf.shape[0] // 2
    while half > 0:  # all replicates take a step of the binary search together
        for t in range(size):
            labels[t] += half * (u[t] >= cdf[labels[t] + half - 1])
        half //= 2


@kernel
def label_block(probs, start, stop, key, b0, out):
    """Write the labels of rows start … stop - 1: out (size, n)."""
    size = out.shape[0]
    replicates = replicate_keys(key, b0, size)
    cdf = room(probs.shape[1])
    u = np.empty(size)
    labels = np.empty(size, np.int64)
    for i in range(start, stop):
        total = accumulate(probs[i], cdf)
        draw(cdf, total, row_key(key, i), replicates, u, labels)
        for t in range(size):
            out[t, i] = labels[t]


@kernel
def draw_times(n, key, b, times):
    """Count how often each row is drawn when n rows are drawn with replacement: times (n,)."""
    replicate = replicate_keys(key, b, 1)[0]
    times[:] = 0
    for i in range(n):
        times[min(int(unit(row_key(key, i), replicate) * n), n - 1)] += 1


@kernel
def copy_labels(probs, times, key, b, out):
    """Draw a label for each copy of a row; the copies of a row stand together in out (n,)."""
    n = probs.shape[0]
    replicate = replicate_keys(key, b, 1)
    cdf = room(probs.shape[1])
    u = np.empty(1)
    label = np.empty(1, np.int64)
    place = 0
    for i in range(n):
        if times[i] > 0:
            total = accumulate(probs[i], cdf)
            for copy in range(times[i]):
                draw(cdf, total, row_key(key, i + copy * n), replicate, u, label)
                out[place] = label[0]
                place += 1


@kernel
def count_block(probs, weights, step, rows, starts, first, last_cell, key, b0, counts):
    """Add the weight of drawn outcomes: counts (size, last_cell - first, m), zero before."""
    size = counts.shape[0]
    replicates = replicate_keys(key, b0, size)
    cdf = room(probs.shape[1])
    u = np.empty(size)
    labels = np.empty(size, np.int64)
    for c in range(first, last_cell):
        for i in rows[starts[c] : starts[c + 1]]:
            total = accumulate(probs[i], cdf)
            draw(cdf, total, row_key(key, i), replicates, u, labels)
            w = weights[i * step]
            for t in range(size):
                counts[t, c - first, labels[t]] += w
