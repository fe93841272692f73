"""Replicates of the cell statistics under redrawn labels, without laying anything out.

There are six built-in statistics: expected total variation, Euclidean and squared Euclidean
distance, then the worst of each. They follow from the 1-norm and the squared 2-norm of a
cell's deviation. Those that are wanted (6,) are computed from the same draws.

Blocks add to sums (9, size), zero before: the six statistics, then the small parts of the
first three. The sums are compensated, so that two replicates with the same labels, and the
statistic itself, are equal to the last digits however many cells there are. Those of total
variation are twice too large; `finish` mends that.
"""

import numpy as np

from calibrant._kernels.draws import accumulate, draw_few, draw_many, draw_one, row_key, unit
from calibrant._kernels.jit import helper, kernel


def finish(sums):
    """Return the six statistics (6, size). Plain Python: once for a block."""
    found = sums[:6].copy()
    found[:3] += sums[6:]
    found[::3] *= 0.5
    return found


@helper
def collect(norm, share, wanted, sums):
    """Add a cell to the statistics of a block.

    norm : (3, size) the 1-norm, room for the 2-norm, and the squared 2-norm
    """
    size = norm.shape[1]
    if wanted[1] or wanted[4]:
        for t in range(size):
            norm[1, t] = np.sqrt(norm[2, t])
    for s in range(3):
        if wanted[s]:
            for t in range(size):
                x = share * norm[s, t]
                high = sums[s, t]
                total = high + x
                part = total - high
                sums[s + 6, t] += (high - (total - part)) + (x - part)
                sums[s, t] = total
        if wanted[s + 3]:
            for t in range(size):
                sums[s + 3, t] = max(sums[s + 3, t], norm[s, t])


@helper
def dense_norms(counts, predicted, scale, squares, norm):
    """Norms of (counts - predicted) * scale for each replicate; counts (m, size) become 0.

    squares : whether the squared 2-norm is needed
    """
    size = counts.shape[1]
    for t in range(size):
        norm[0, t] = norm[2, t] = 0.0
    for j in range(counts.shape[0]):
        g = predicted[j]
        if squares:
            for t in range(size):
                d = (counts[j, t] - g) * scale
                norm[2, t] += d * d
        for t in range(size):
            norm[0, t] += abs((counts[j, t] - g) * scale)
            counts[j, t] = 0.0


@helper
def single_table(predicted, w, table):
    """Write both norms of a cell of one row, of weight w, for each label it may have: (2, m)."""
    m = predicted.shape[0]
    for y in range(m):
        one = two = 0.0
        for j in range(m):
            d = ((w if j == y else 0.0) - predicted[j]) / w
            one += abs(d)
            two += d * d
        table[0, y] = one
        table[1, y] = two


@helper
def look_up(table, labels, squares, norm):
    """Write the norms that belong to the labels (size,)."""
    for t in range(labels.shape[0]):
        norm[0, t] = table[0, labels[t]]
    if squares:
        for t in range(labels.shape[0]):
            norm[2, t] = table[1, labels[t]]


@kernel
def exact_block(
    law, probs, weights, step, rows, starts, mass, total, key, replicates, cdf, wanted, counts, sums
):
    """Statistics of a block of replicates, for few classes: sums (9, size).

    law : (n, m) what labels are drawn from
    counts : (m, size) zeros
    """
    m, size = counts.shape
    u = np.empty(size)
    labels = np.empty(size, np.int64)
    predicted = np.empty(m)
    norm = np.empty((3, size))
    table = np.empty((2, m))
    squares = wanted[1] or wanted[2] or wanted[4] or wanted[5]
    for c in range(mass.shape[0]):
        if mass[c] <= 0.0:
            continue
        single = starts[c + 1] - starts[c] == 1
        for j in range(m):
            predicted[j] = 0.0
        for s in range(starts[c], starts[c + 1]):
            i = rows[s]
            w = weights[i * step]
            for j in range(m):
                predicted[j] += w * probs[i, j]
            scale = accumulate(law, i, cdf)
            draw_few(cdf, scale, row_key(key, i), replicates, u, labels)
            if not single:
                for t in range(size):
                    counts[labels[t], t] += w
        if single:
            single_table(predicted, mass[c], table)
            look_up(table, labels, squares, norm)
        else:
            dense_norms(counts, predicted, 1.0 / mass[c], squares, norm)
        collect(norm, mass[c] / total, wanted, sums)


@helper
def long_table(predicted, w, table):
    """Do what `single_table` does in one sweep over many classes.

    All classes but the drawn one add what they are predicted. The class of largest prediction
    is kept apart, so that nothing cancels where nearly all probability is on it.
    """
    top = 0
    for j in range(predicted.shape[0]):
        if predicted[j] > predicted[top]:
            top = j
    g = predicted[top]
    one = two = 0.0
    for j in range(predicted.shape[0]):
        if j != top:
            one += predicted[j]
            two += predicted[j] * predicted[j]
    scale = 1.0 / w
    for j in range(predicted.shape[0]):
        h = predicted[j]
        table[0, j] = (g + (one + (abs(w - h) - h))) * scale
        table[1, j] = (g * g + (two + w * (w - 2.0 * h))) * scale * scale
    table[0, top] = (one + abs(w - g)) * scale
    table[1, top] = (two + (w - g) * (w - g)) * scale * scale


@helper
def sparse_norms(seen, used, counts, predicted, least, scale, norm):
    """Norms through the classes seen (used, size); the others add a constant. Counts become 0.

    least : half the smallest weight of a row
    Classes that are predicted at least this much are kept out of the constant. A count of
    any other is more than twice its prediction, so it only adds: nothing cancels, and the
    last digits are right even where nearly all probability is on the classes that occur.
    """
    size = counts.shape[1]
    one = two = 0.0
    for j in range(predicted.shape[0]):
        if predicted[j] < least:
            one += predicted[j]
            two += predicted[j] * predicted[j]
    for t in range(size):
        norm[0, t] = one
        norm[2, t] = two
    for j in range(predicted.shape[0]):
        if predicted[j] >= least:
            for t in range(size):
                d = counts[j, t] - predicted[j]
                norm[0, t] += abs(d)
                norm[2, t] += d * d
                counts[j, t] = 0.0
    for s in range(used):
        for t in range(size):
            j = seen[s, t]
            count = counts[j, t]
            if count != 0.0:
                extra = count - 2.0 * predicted[j]
                norm[0, t] += extra
                norm[2, t] += count * extra
                counts[j, t] = 0.0
    for t in range(size):
        norm[0, t] *= scale
        norm[2, t] *= scale * scale


@kernel
def sparse_block(
    law, probs, weights, step, rows, starts, mass, total, key, replicates, cdf, wanted, counts, sums
):
    """Do what `exact_block` does for many classes.

    Cells with fewer rows than half the classes are handled through the classes that occur.
    """
    m, size = counts.shape
    few = m // 2
    seen = np.empty((few, size), np.int64)
    u = np.empty(size)
    predicted = np.empty(m)
    norm = np.empty((3, size))
    table = np.empty((2, m))
    squares = wanted[1] or wanted[2] or wanted[4] or wanted[5]
    for c in range(mass.shape[0]):
        if mass[c] <= 0.0:
            continue
        used = starts[c + 1] - starts[c]
        least = np.inf
        for j in range(m):
            predicted[j] = 0.0
        for s in range(used):
            i = rows[starts[c] + s]
            w = weights[i * step]
            if w > 0.0:
                least = min(least, 0.5 * w)
            for j in range(m):
                predicted[j] += w * probs[i, j]
            scale = accumulate(law, i, cdf)
            labels = seen[s if used < few else 0]
            draw_many(cdf, scale, row_key(key, i), replicates, u, labels)
            if used > 1:
                for t in range(size):
                    counts[labels[t], t] += w
        if used == 1:
            long_table(predicted, mass[c], table)
            look_up(table, seen[0], squares, norm)
        elif used < few:
            sparse_norms(seen, used, counts, predicted, least, 1.0 / mass[c], norm)
        else:
            dense_norms(counts, predicted, 1.0 / mass[c], squares, norm)
        collect(norm, mass[c] / total, wanted, sums)


@helper
def quantile(cdf, start, stop, u):
    """Return the first index in start … stop - 1 with cdf > u; the last one if none."""
    low = start
    left = stop - 1 - start
    while left > 0:
        half = left >> 1
        if u >= cdf[low + half]:
            low += half + 1
            left -= half + 1
        else:
            left = half
    return low


@kernel
def event_counts(cdf, offsets, lows, first, last, key, replicates, counts):
    """Draw the number of events in cells first … last - 1 from their laws: counts (cells, size)."""
    for c in range(first, last):
        row = row_key(key, c)
        for t in range(replicates.shape[0]):
            k = quantile(cdf, offsets[c], offsets[c + 1], unit(row, replicates[t]))
            counts[c - first, t] = lows[c] + (k - offsets[c])


@kernel
def binary_block(
    cdf, offsets, lows, predicted, mass, total, key, replicates, wanted, counts, norm, sums
):
    """Statistics of a block of replicates of a binary problem, one draw a cell: sums (9, size).

    predicted : (cells, 2) sums of the predicted probabilities of the event and of the other
    counts, norm : (1, size) and (3, size) room
    """
    for c in range(mass.shape[0]):
        event_counts(cdf, offsets, lows, c, c + 1, key, replicates, counts)
        for t in range(replicates.shape[0]):
            d = (counts[0, t] - predicted[c, 0]) / mass[c]
            e = ((mass[c] - counts[0, t]) - predicted[c, 1]) / mass[c]
            norm[0, t] = abs(d) + abs(e)
            norm[2, t] = d * d + e * e
        collect(norm, mass[c] / total, wanted, sums)


@kernel
def redrawn_norms(probs, times, law, weights, step, rows, starts, mass, key, replicate, cdf, norms):
    """Norms of each cell's deviation where row i stands times[i] times, with new labels.

    law : (n, m) what each copy draws its label from
    mass : (cells,) the weight of all copies
    norms : (2, cells), zero before
    """
    n, m = probs.shape
    predicted = np.empty(m)
    counts = np.empty(m)
    for c in range(mass.shape[0]):
        if mass[c] <= 0.0:
            continue
        for j in range(m):
            predicted[j] = counts[j] = 0.0
        for s in range(starts[c], starts[c + 1]):
            i = rows[s]
            if times[i] == 0:
                continue
            w = weights[i * step]
            for j in range(m):
                predicted[j] += times[i] * w * probs[i, j]
            scale = accumulate(law, i, cdf)
            for copy in range(times[i]):
                counts[draw_one(cdf, scale, row_key(key, i + copy * n), replicate)] += w
        for j in range(m):
            d = (counts[j] - predicted[j]) / mass[c]
            norms[0, c] += abs(d)
            norms[1, c] += d * d
