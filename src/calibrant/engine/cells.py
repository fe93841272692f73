"""Sums over the rows of a cell.

Rows are sorted by cell: those of cell c are rows[starts[c]:starts[c + 1]], in their original
order. Weights have one entry a row, or one for all of them and step 0.
"""

import numpy as np

from calibrant.engine.jit import kernel

SIDE = 4  # replicates that are added up beside one another


@kernel
def sort(cells, starts, rows):
    """Sort rows by cell, keeping their order within a cell; starts (cells + 2,) begins as 0.

    While rows are placed, starts[c + 1] is where the next row of cell c goes.
    """
    for i in range(cells.shape[0]):
        starts[cells[i] + 2] += 1
    for c in range(2, starts.shape[0]):
        starts[c] += starts[c - 1]
    for i in range(cells.shape[0]):
        c = cells[i] + 1
        rows[starts[c]] = i
        starts[c] += 1


@kernel
def summaries(
    probs, labels, weights, step, rows, starts, first, last, predicted, observed, keep, cells
):
    """Add up cells first … last - 1.

    predicted, observed : (last - first, m) the sums; with keep 0, (1, m) room for one cell
        after the other
    cells : (3, cells) the weight, then 1-norm and squared 2-norm of the mean deviation
    """
    for c in range(first, last):
        at = (c - first) * keep
        for j in range(probs.shape[1]):
            predicted[at, j] = observed[at, j] = 0.0
        total = one = two = 0.0
        for s in range(starts[c], starts[c + 1]):
            r = rows[s]
            w = weights[r * step]
            if w == 0.0:
                continue
            total += w
            for j in range(probs.shape[1]):
                predicted[at, j] += w * probs[r, j]
            observed[at, labels[r]] += w
        if total > 0.0:
            for j in range(probs.shape[1]):
                d = (observed[at, j] - predicted[at, j]) / total
                one += abs(d)
                two += d * d
        cells[0, c] = total
        cells[1, c] = one
        cells[2, c] = two


@kernel
def add_copies(probs, labels, times, weights, step, cells, w, deviation, mass):
    """Add outcome minus prediction of every copy of every row to its cell.

    times : (n, SIDE) how often each row stands in each of a few replicates
    cells : (n,) the cell of each row
    w : (SIDE,) room
    deviation, mass : (cells, m, SIDE) and (cells, SIDE), zero before
    Rows are read in their order, once for all these replicates.
    """
    for i in range(probs.shape[0]):
        c = cells[i]
        for t in range(SIDE):
            w[t] = times[i, t] * weights[i * step]
            mass[c, t] += w[t]
        for j in range(probs.shape[1]):
            p = probs[i, j]
            for t in range(SIDE):
                deviation[c, j, t] -= w[t] * p
        y = labels[i]
        for t in range(SIDE):
            deviation[c, y, t] += w[t]


@kernel
def variances(law, weights, step, rows, starts, mean, variance):
    """Add up w p and w² p (1 - p) of the rows of each cell: (cells, m), zero before."""
    for c in range(mean.shape[0]):
        for s in range(starts[c], starts[c + 1]):
            r = rows[s]
            w = weights[r * step]
            for j in range(law.shape[1]):
                p = np.float64(law[r, j])
                mean[c, j] += w * p
                variance[c, j] += w * w * p * (1.0 - p)
