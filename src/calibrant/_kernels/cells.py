"""Sums over the rows of a cell.

Rows are sorted by cell: those of cell c are rows[starts[c]:starts[c + 1]], in their original
order. Weights have one entry a row, or one for all of them and step 0.
"""

import numpy as np

from calibrant._kernels.jit import kernel


@kernel
def sort(cells, starts, rows):
    """Sort rows by cell, keeping their order within a cell; starts (cells + 1,) begins as 0."""
    for i in range(cells.shape[0]):
        starts[cells[i] + 1] += 1
    for c in range(1, starts.shape[0]):
        starts[c] += starts[c - 1]
    place = starts[:-1].copy()
    for i in range(cells.shape[0]):
        c = cells[i]
        rows[place[c]] = i
        place[c] += 1


@kernel
def masses(weights, step, rows, starts, first, last, mass):
    """Write the total weight of each cell."""
    for c in range(first, last):
        total = 0.0
        for r in rows[starts[c] : starts[c + 1]]:
            total += weights[r * step]
        mass[c] = total


@kernel
def add_rows(probs, labels, weights, step, rows, predicted, observed):
    """Add the weighted predictions and outcomes of `rows` to two vectors of m."""
    m = probs.shape[1]
    for r in rows:
        w = weights[r * step]
        for j in range(m):
            predicted[j] += w * probs[r, j]
        observed[labels[r]] += w


@kernel
def means(probs, labels, weights, step, rows, starts, first, last, mass, predicted, observed):
    """Write mean prediction and outcome frequencies of cells first … last - 1, from row 0 on.

    predicted, observed : (last - first, m), zero at the start
    """
    for c in range(first, last):
        mine = rows[starts[c] : starts[c + 1]]
        p = predicted[c - first]
        o = observed[c - first]
        if mass[c] > 0.0:
            add_rows(probs, labels, weights, step, mine, p, o)
            p /= mass[c]
            o /= mass[c]


@kernel
def norms(probs, labels, weights, step, rows, starts, first, last, mass, norm):
    """Write the 1-norm and the squared 2-norm of each cell's deviation: norm (2, cells)."""
    m = probs.shape[1]
    p = np.empty(m)
    o = np.empty(m)
    for c in range(first, last):
        norm[0, c] = norm[1, c] = 0.0
        if mass[c] > 0.0:
            p[:] = 0.0
            o[:] = 0.0
            add_rows(probs, labels, weights, step, rows[starts[c] : starts[c + 1]], p, o)
            for j in range(m):
                d = (o[j] - p[j]) / mass[c]
                norm[0, c] += abs(d)
                norm[1, c] += d * d


@kernel
def sums(probs, weights, step, rows, starts, predicted):
    """Add up the weighted predictions of each cell: predicted (cells, m), zero before."""
    for c in range(predicted.shape[0]):
        for r in rows[starts[c] : starts[c + 1]]:
            w = weights[r * step]
            for j in range(probs.shape[1]):
                predicted[c, j] += w * probs[r, j]


@kernel
def variances(law, weights, step, rows, starts, mean, variance):
    """Add up w p and w² p (1 - p) of the rows of each cell: (cells, m), zero before."""
    for c in range(mean.shape[0]):
        for r in rows[starts[c] : starts[c + 1]]:
            w = weights[r * step]
            for j in range(law.shape[1]):
                p = np.float64(law[r, j])
                mean[c, j] += w * p
                variance[c, j] += w * w * p * (1.0 - p)
