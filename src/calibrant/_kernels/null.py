"""Replicates of the cell statistics under redrawn labels, without laying anything out.

There are six built-in statistics: expected total variation, Euclidean and squared Euclidean
distance, then the worst of each. They follow from the 1-norm and the squared 2-norm of a
cell's deviation. Those that are wanted (6,) are computed from the same draws.
"""

import numpy as np

from calibrant._kernels.draws import accumulate, draw, replicate_keys, room, row_key, unit
from calibrant._kernels.jit import kernel


@kernel
def measure(one, two, which, value):
    """Turn norms into total variation, Euclidean or squared Euclidean distance (0, 1, 2)."""
    for t in range(one.shape[0]):
        value[t] = 0.5 * one[t] if which == 0 else (np.sqrt(two[t]) if which == 1 else two[t])


@kernel
def collect(one, two, share, wanted, value, sums, low):
    """Add a cell to the statistics of a block: sums (6, size), low (3, size) their small parts.

    value : (size,) room
    The sums are compensated, so that two replicates with the same labels, and the statistic
    itself, are equal to the last digits however many cells there are.
    """
    for s in range(3):
        if wanted[s] or wanted[s + 3]:
            measure(one, two, s, value)
        if wanted[s]:
            for t in range(value.shape[0]):
                x = share * value[t]
                high = sums[s, t]
                total = high + x
                part = total - high
                low[s, t] += (high - (total - part)) + (x - part)
                sums[s, t] = total
        if wanted[s + 3]:
            for t in range(value.shape[0]):
                sums[s + 3, t] = max(sums[s + 3, t], value[t])


@kernel
def collect_single(labels, one, two, share, wanted, value, sums, low):
    """Do the same for a cell of one row, from its labels (size,) and the norms of each (m,)."""
    for s in range(3):
        if wanted[s] or wanted[s + 3]:
            measure(one, two, s, value)
        if wanted[s]:
            for t in range(labels.shape[0]):
                x = share * value[labels[t]]
                high = sums[s, t]
                total = high + x
                part = total - high
                low[s, t] += (high - (total - part)) + (x - part)
                sums[s, t] = total
        if wanted[s + 3]:
            for t in range(labels.shape[0]):
                sums[s + 3, t] = max(sums[s + 3, t], value[labels[t]])


@kernel
def write(sums, low, out, b0):
    """Write the statistics of a block to out (6, B)."""
    for s in range(6):
        for t in range(sums.shape[1]):
            out[s, b0 + t] = sums[s, t] + low[s, t] if s < 3 else sums[s, t]


@kernel
def dense_norms(counts, predicted, scale, one, two):
    """Norms of (counts - predicted) * scale for each replicate; counts (m, size) become 0."""
    size = counts.shape[1]
    for t in range(size):
        one[t] = two[t] = 0.0
    for j in range(counts.shape[0]):
        g = predicted[j]
        for t in range(size):
            d = (counts[j, t] - g) * scale
            one[t] += abs(d)
            two[t] += d * d
            counts[j, t] = 0.0


@kernel
def rest_norms(predicted):
    """Return the class of largest prediction, and the two norms of all others."""
    top = 0
    for j in range(predicted.shape[0]):
        if predicted[j] > predicted[top]:
            top = j
    one = two = 0.0
    for j in range(predicted.shape[0]):
        if j != top:
            one += predicted[j]
            two += predicted[j] * predicted[j]
    return top, one, two


@kernel
def single_norms(predicted, w, one, two):
    """Norms for each class that the single row of a cell, of weight w, may draw: (m,)."""
    top, rest_one, rest_two = rest_norms(predicted)
    g = predicted[top]
    scale = 1.0 / w
    for j in range(predicted.shape[0]):
        h = predicted[j]
        one[j] = (g + (rest_one + (abs(w - h) - h))) * scale
        two[j] = (g * g + (rest_two + w * (w - 2.0 * h))) * scale * scale
    one[top] = (rest_one + abs(w - g)) * scale
    two[top] = (rest_two + (w - g) * (w - g)) * scale * scale


@kernel
def large_classes(predicted, least, large):
    """Write the classes predicted at least `least`; return how many, and the norms of the rest."""
    found = 0
    one = two = 0.0
    for j in range(predicted.shape[0]):
        g = predicted[j]
        if g >= least:
            large[found] = j
            found += 1
        else:
            one += g
            two += g * g
    return found, one, two


@kernel
def sparse_norms(seen, counts, predicted, least, large, scale, one, two):
    """Do the same through the classes seen (rows, size); the others add a constant.

    least : half the smallest weight of a row
    large : (m,) room
    Classes that are predicted at least this much are kept out of the constant. A count of
    any other is more than twice its prediction, so it only adds: nothing cancels, and the
    last digits are right even where nearly all probability is on the classes that occur.
    """
    size = counts.shape[1]
    found, rest_one, rest_two = large_classes(predicted, least, large)
    for t in range(size):
        one[t] = rest_one
        two[t] = rest_two
    for k in range(found):
        j = large[k]
        for t in range(size):
            d = counts[j, t] - predicted[j]
            one[t] += abs(d)
            two[t] += d * d
            counts[j, t] = 0.0
    for s in range(seen.shape[0]):
        for t in range(size):
            j = seen[s, t]
            count = counts[j, t]
            if count != 0.0:
                extra = count - 2.0 * predicted[j]
                one[t] += extra
                two[t] += count * extra
                counts[j, t] = 0.0
    for t in range(size):
        one[t] *= scale
        two[t] *= scale * scale


@kernel
def exact_block(drawn, probs, weights, step, rows, starts, mass, total, key, b0, b1, wanted, out):
    """Statistics of replicates b0 … b1 - 1 with labels drawn from `drawn`: out (6, B).

    Cells with fewer rows than half the classes are handled through the classes that occur,
    if there are many classes.
    """
    size = b1 - b0
    m = probs.shape[1]
    replicates = replicate_keys(key, b0, size)
    few = m // 2 if m > 32 else 2
    seen = np.empty((few, size), np.int64)
    class_one = np.empty(m)
    class_two = np.empty(m)
    class_value = np.empty(m)
    large = np.empty(m, np.int64)
    counts = np.zeros((m, size))
    predicted = np.empty(m)
    cdf = room(m)
    u = np.empty(size)
    one = np.empty(size)
    two = np.empty(size)
    value = np.empty(size)
    sums = np.zeros((6, size))
    low = np.zeros((3, size))
    for c in range(mass.shape[0]):
        if mass[c] <= 0.0:
            continue
        mine = rows[starts[c] : starts[c + 1]]
        several = mine.shape[0] > 1
        sparse = mine.shape[0] < few
        least = np.inf
        for j in range(m):
            predicted[j] = 0.0
        for s in range(mine.shape[0]):
            i = mine[s]
            w = weights[i * step]
            if w > 0.0:
                least = min(least, 0.5 * w)
            for j in range(m):
                predicted[j] += w * probs[i, j]
            scale = accumulate(drawn[i], cdf)
            labels = seen[s if sparse else 0]
            draw(cdf, scale, row_key(key, i), replicates, u, labels)
            if several:
                for t in range(size):
                    counts[labels[t], t] += w
        if not several:
            single_norms(predicted, mass[c], class_one, class_two)
            share = mass[c] / total
            collect_single(seen[0], class_one, class_two, share, wanted, class_value, sums, low)
            continue
        if sparse:
            mine_seen = seen[: mine.shape[0]]
            sparse_norms(mine_seen, counts, predicted, least, large, 1.0 / mass[c], one, two)
        else:
            dense_norms(counts, predicted, 1.0 / mass[c], one, two)
        collect(one, two, mass[c] / total, wanted, value, sums, low)
    write(sums, low, out, b0)


@kernel
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
def event_counts(cdf, offsets, lows, first, last, key, b0, counts):
    """Draw the number of events in cells first … last - 1 from their laws: counts (size, cells)."""
    size = counts.shape[0]
    replicates = replicate_keys(key, b0, size)
    for c in range(first, last):
        row = row_key(key, c)
        for t in range(size):
            k = quantile(cdf, offsets[c], offsets[c + 1], unit(row, replicates[t]))
            counts[t, c - first] = lows[c] + (k - offsets[c])


@kernel
def binary_block(cdf, offsets, lows, predicted, mass, total, key, b0, b1, wanted, out):
    """Statistics of replicates of a binary problem, one draw a cell: out (6, B).

    predicted : (cells, 2) sums of the predicted probabilities of the event and of the other
    """
    size = b1 - b0
    one = np.empty(size)
    two = np.empty(size)
    value = np.empty(size)
    counts = np.empty((size, 1))
    sums = np.zeros((6, size))
    low = np.zeros((3, size))
    for c in range(mass.shape[0]):
        event_counts(cdf, offsets, lows, c, c + 1, key, b0, counts)
        for t in range(size):
            d = (counts[t, 0] - predicted[c, 0]) / mass[c]
            e = ((mass[c] - counts[t, 0]) - predicted[c, 1]) / mass[c]
            one[t] = abs(d) + abs(e)
            two[t] = d * d + e * e
        collect(one, two, mass[c] / total, wanted, value, sums, low)
    write(sums, low, out, b0)


@kernel
def resampled(probs, labels, times, drawn, weights, step, rows, starts, key, b, wanted, out):
    """Statistics of a data set in which row i stands times[i] times: out (6, B), column b.

    drawn : (n, m) what each copy draws a new label from; (0, m) if it keeps its own
    """
    n, m = probs.shape
    redraw = drawn.shape[0] > 0
    replicate = replicate_keys(key, b, 1)
    predicted = np.empty(m)
    counts = np.zeros((m, 1))
    cdf = room(m)
    u = np.empty(1)
    label = np.empty(1, np.int64)
    one = np.empty(1)
    two = np.empty(1)
    value = np.empty(1)
    sums = np.zeros((6, 1))
    low = np.zeros((3, 1))
    total = 0.0
    for i in range(n):
        total += times[i] * weights[i * step]
    for c in range(starts.shape[0] - 1):
        mass = 0.0
        for j in range(m):
            predicted[j] = 0.0
        for i in rows[starts[c] : starts[c + 1]]:
            w = times[i] * weights[i * step]
            if w == 0.0:
                continue
            mass += w
            for j in range(m):
                predicted[j] += w * probs[i, j]
            if redraw:
                scale = accumulate(drawn[i], cdf)
                for copy in range(times[i]):
                    draw(cdf, scale, row_key(key, i + copy * n), replicate, u, label)
                    counts[label[0], 0] += weights[i * step]
            else:
                counts[labels[i], 0] += w
        if mass > 0.0:
            dense_norms(counts, predicted, 1.0 / mass, one, two)
            collect(one, two, mass / total, wanted, value, sums, low)
    write(sums, low, out, b)
