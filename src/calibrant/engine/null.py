"""Replicates of the cell statistics under redrawn labels, without laying anything out.

There are six built-in statistics: expected total variation, Euclidean and squared Euclidean
distance, then the worst of each. They follow from the norms of a cell's deviation, (3, size)
for a block of replicates: the 1-norm, the 2-norm, the squared 2-norm. Those of kinds
range(first, last) are wanted, and computed from the same draws.

Blocks add to sums (9, size), zero before: the six statistics, then the small parts of the
first three. Each term, below 4, is split into a multiple of 2^-50 and the rest. Sums of the
first are exact, and those of the rest are too small for their rounding to be seen: so two
replicates with the same labels, and the statistic itself, are equal to the last digits however
many cells there are. Sums of total variation are twice too large; `finish` mends that.
"""

import numpy as np

from calibrant.engine.aligned import zeros
from calibrant.engine.draws import (
    FEW,
    accumulate,
    draw_few,
    draw_many,
    draw_one,
    row_key,
)
from calibrant.engine.jit import helper, kernel

SPLIT = 4.0  # adding it rounds a smaller number to a multiple of 2^-50


@helper
def collect(norm, share, first, last, sums):
    """Add a cell with this share of the weight to the statistics; norm[1] is written here."""
    if first < 2 and last > 1:
        for t in range(norm.shape[1]):
            norm[1, t] = np.sqrt(norm[2, t])
    for s in range(first, last):
        for t in range(norm.shape[1]):
            d = norm[s, t]
            x = share * d
            high = (x + SPLIT) - SPLIT
            sums[s, t] += high
            sums[s + 6, t] += x - high
            worst = sums[s + 3, t]
            sums[s + 3, t] = d if d > worst else worst


def collect_cells(norms, shares, s, sums):
    """Do what `collect` does for norms of kind s of many cells (cells, size). Plain Python."""
    np.maximum(sums[s + 3], norms.max(axis=0), out=sums[s + 3])
    terms = shares[:, None] * norms
    highs = terms + SPLIT
    highs -= SPLIT
    terms -= highs
    for high, low in zip(highs, terms, strict=True):  # one order, whatever the size of the block
        sums[s] += high
        sums[s + 6] += low


def scratch(m, size):
    """Return room for `exact_block` or `sparse_block`. Plain Python: once for a block."""
    labels = zeros(size if m <= FEW else (m // 2, size), np.int64)
    return zeros(m), zeros((2, m)), zeros(size), labels, zeros((m, size)), zeros((3, size))


def finish(sums):
    """Return the six statistics (6, size). Plain Python: once for a block."""
    found = sums[:6].copy()
    found[:3] += sums[6:]
    found[::3] *= 0.5
    return found


@helper
def dense_norms(counts, predicted, scale, squares, norm):
    """Write the norms of (counts - predicted) * scale; counts (m, size) become 0.

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
def single_norms(labels, predicted, w, squares, table, norm):
    """Write the norms of a cell of one row, of weight w and with the labels (size,).

    table : (2, m) room for both norms for each label
    """
    m = predicted.shape[0]
    for y in range(m):
        one = two = 0.0
        for j in range(m):
            d = ((w if j == y else 0.0) - predicted[j]) / w
            one += abs(d)
            two += d * d
        table[0, y] = one
        table[1, y] = two
    for t in range(labels.shape[0]):
        norm[0, t] = table[0, labels[t]]
    if squares:
        for t in range(labels.shape[0]):
            norm[2, t] = table[1, labels[t]]


@kernel
def exact_block(
    law,
    probs,
    weights,
    step,
    rows,
    starts,
    mass,
    total,
    key,
    replicates,
    first,
    last,
    cdf,
    predicted,
    table,
    u,
    labels,
    counts,
    norm,
    sums,
):
    """Statistics of a block of replicates, for few classes: sums (9, size).

    law : (n, m) what labels are drawn from
    cdf : room, as `draws.room` returns it
    predicted, table, u, labels, counts, norm : room, as `scratch` returns it
    """
    squares = last > 1
    for c in range(mass.shape[0]):
        if mass[c] <= 0.0:
            continue
        single = starts[c + 1] - starts[c] == 1
        for j in range(probs.shape[1]):
            predicted[j] = 0.0
        for s in range(starts[c], starts[c + 1]):
            i = np.int64(rows[s])
            w = weights[i * step]
            for j in range(probs.shape[1]):
                predicted[j] += w * probs[i, j]
            scale = accumulate(law, i, cdf)
            draw_few(cdf, scale, row_key(key, i), replicates, u, labels)
            if not single:
                for t in range(labels.shape[0]):
                    counts[labels[t], t] += w
        if single:
            single_norms(labels, predicted, mass[c], squares, table, norm)
        else:
            dense_norms(counts, predicted, 1.0 / mass[c], squares, norm)
        collect(norm, mass[c] / total, first, last, sums)


@helper
def single_norms_many(labels, predicted, w, squares, table, norm):
    """Do what `single_norms` does in one sweep over many classes.

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
    for t in range(labels.shape[0]):
        norm[0, t] = table[0, labels[t]]
    if squares:
        for t in range(labels.shape[0]):
            norm[2, t] = table[1, labels[t]]


@helper
def seen_norms(seen, used, counts, predicted, least, scale, norm):
    """Write norms through the classes seen (used, size); the others add a constant.

    least : half the smallest weight of a row
    Classes that are predicted at least this much are kept out of the constant. A count of
    any other is more than twice its prediction, so it only adds: nothing cancels, and the
    last digits are right even where nearly all probability is on the classes that occur.
    Counts become 0.
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
    law,
    probs,
    weights,
    step,
    rows,
    starts,
    mass,
    total,
    key,
    replicates,
    first,
    last,
    cdf,
    predicted,
    table,
    u,
    seen,
    counts,
    norm,
    sums,
):
    """Do what `exact_block` does for many classes; seen (m // 2, size) is room.

    Cells with fewer rows than half the classes are handled through the classes that occur.
    """
    squares = last > 1
    few = seen.shape[0]
    for c in range(mass.shape[0]):
        if mass[c] <= 0.0:
            continue
        used = starts[c + 1] - starts[c]
        least = np.inf
        for j in range(probs.shape[1]):
            predicted[j] = 0.0
        for s in range(used):
            i = np.int64(rows[starts[c] + s])
            w = weights[i * step]
            if w > 0.0:
                least = min(least, 0.5 * w)
            for j in range(probs.shape[1]):
                predicted[j] += w * probs[i, j]
            scale = accumulate(law, i, cdf)
            labels = seen[s if used < few else 0]
            draw_many(cdf, scale, row_key(key, i), replicates, u, labels)
            if used > 1:
                for t in range(labels.shape[0]):
                    counts[labels[t], t] += w
        if used == 1:
            single_norms_many(seen[0], predicted, mass[c], squares, table, norm)
        elif used < few:
            seen_norms(seen, used, counts, predicted, least, 1.0 / mass[c], norm)
        else:
            dense_norms(counts, predicted, 1.0 / mass[c], squares, norm)
        collect(norm, mass[c] / total, first, last, sums)


@kernel
def redrawn_norms(
    probs,
    times,
    law,
    weights,
    step,
    rows,
    starts,
    key,
    replicate,
    cdf,
    predicted,
    counts,
    mass,
    norms,
):
    """Norms of each cell's deviation where row i stands times[i] times, with new labels.

    law : (n, m) what each copy draws its label from
    predicted, counts : (m,) room
    mass, norms : (cells,) the weight of all copies, and (2, cells)
    """
    n, m = probs.shape
    for c in range(mass.shape[0]):
        total = one = two = 0.0
        for j in range(m):
            predicted[j] = counts[j] = 0.0
        for s in range(starts[c], starts[c + 1]):
            i = np.int64(rows[s])
            if times[i] == 0:
                continue
            w = weights[i * step]
            total += times[i] * w
            for j in range(m):
                predicted[j] += times[i] * w * probs[i, j]
            scale = accumulate(law, i, cdf)
            for copy in range(times[i]):
                counts[draw_one(cdf, scale, row_key(key, i + copy * n), replicate)] += w
        if total > 0.0:
            for j in range(m):
                d = (counts[j] - predicted[j]) / total
                one += abs(d)
                two += d * d
        mass[c] = total
        norms[0, c] = one
        norms[1, c] = two
