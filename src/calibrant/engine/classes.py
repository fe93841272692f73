"""All classes at once: the cells and sums of every marginal in one sweep over the rows.

The cells of class j are offsets[j] … offsets[j + 1] - 1; tables have one entry for each.
"""

import numpy as np

from calibrant.engine.draws import accumulate, draw, row_key
from calibrant.engine.grid import interval
from calibrant.engine.jit import kernel


@kernel
def boxes(probs, weights, step, start, stop, edges, cells, low, mass, predicted):
    """Find the interval of every entry and add it up: cells (n, m), tables (m · k,).

    Most entries of many classes are below the first edge, so these are added without a
    branch, class by class side by side, to low (2, m), zero before.
    """
    m = probs.shape[1]
    k = edges.shape[0] - 1
    first = edges[1]
    for i in range(start, stop):
        w = weights[i * step]
        for j in range(m):
            p = np.float64(probs[i, j])
            inside = w if p < first else 0.0
            low[0, j] += inside
            low[1, j] += inside * p
            cells[i, j] = 0
        for j in range(m):
            p = np.float64(probs[i, j])
            if p >= first:
                c = interval(p, edges)
                cells[i, j] = c
                mass[j * k + c] += w
                predicted[j * k + c] += w * p
    for j in range(m):
        mass[j * k] += low[0, j]
        predicted[j * k] += low[1, j]


@kernel
def sums(probs, weights, step, start, stop, offsets, cells, mass, predicted):
    """Add up entries whose cells (n, m) are known: tables (all cells,)."""
    m = probs.shape[1]
    for i in range(start, stop):
        w = weights[i * step]
        for j in range(m):
            c = offsets[j] + cells[i, j]
            mass[c] += w
            predicted[c] += w * probs[i, j]


@kernel
def count_block(law, weights, step, offsets, cells, key, replicates, many, cdf, u, labels, counts):
    """Add the weight of drawn classes: counts (all cells, size), zero before."""
    size = counts.shape[1]
    for i in range(law.shape[0]):
        scale = accumulate(law, i, cdf)
        draw(many, cdf, scale, row_key(key, i), replicates, u, labels)
        w = weights[i * step]
        for t in range(size):
            y = labels[t]
            counts[offsets[y] + cells[i, y], t] += w
