"""Sums over the rows of a cell.

Rows are sorted by cell: those of cell c are rows[starts[c]:starts[c + 1]], in their original
order. Weights have one entry a row, or one for all of them and step 0.
"""

import numpy as np

from calibrant._kernels.jit import helper, kernel

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


@helper
def add_rows(probs, labels, weights, step, rows, start, stop, predicted, observed):
    """Add the weighted predictions and outcomes of rows[start:stop]; return their weight.

    predicted, observed : (m,)
    """
    total = 0.0
    for s in range(start, stop):
        r = rows[s]
        w = weights[r * step]
        if w == 0.0:
            continue
        total += w
        for j in range(probs.shape[1]):
            predicted[j] += w * probs[r, j]
        observed[labels[r]] += w
    return total


@kernel
def means(probs, labels, weights, step, rows, starts, first, last, mass, predicted, observed):
    """Write mean prediction and outcome frequencies of cells first … last - 1, from row 0 on.

    predicted, observed : (last - first, m), zero at the start
    """
    for c in range(first, last):
        if mass[c] > 0.0:
            p = predicted[c - first]
            o = observed[c - first]
            add_rows(probs, labels, weights, step, rows, starts[c], starts[c + 1], p, o)
            for j in range(p.shape[0]):
                p[j] /= mass[c]
                o[j] /= mass[c]


@kernel
def norms(probs, labels, weights, step, rows, starts, first, last, predicted, observed, mass, norm):
    """Write weight, 1-norm and squared 2-norm of the deviation of cells first … last - 1.

    predicted, observed : (m,) room, zero before and after
    mass, norm : (cells,) and (2, cells)
    """
    for c in range(first, last):
        total = add_rows(
            probs, labels, weights, step, rows, starts[c], starts[c + 1], predicted, observed
        )
        mass[c] = total
        one = two = 0.0
        if total > 0.0:
            for j in range(probs.shape[1]):
                d = (observed[j] - predicted[j]) / total
                one += abs(d)
                two += d * d
                predicted[j] = observed[j] = 0.0
        norm[0, c] = one
        norm[1, c] = two


@kernel
def add_copies(probs, labels, times, weights, step, cells, deviation, mass):
    """Add outcome minus prediction of every copy of every row to its cell.

    times : (n, SIDE) how often each row stands in each of a few replicates
    cells : (n,) the cell of each row
    deviation, mass : (cells, m, SIDE) and (cells, SIDE), zero before
    Rows are read in their order, once for all these replicates.
    """
    w = np.empty(SIDE)
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
def event_sums(probs, event, rows, starts, sums):
    """Add up the predictions of each cell: sums (cells, 2), zero before, the event first."""
    for c in range(sums.shape[0]):
        for s in range(starts[c], starts[c + 1]):
            sums[c, 0] += probs[rows[s], event]
            sums[c, 1] += probs[rows[s], 1 - event]


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
