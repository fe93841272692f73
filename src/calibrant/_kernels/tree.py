"""The recursive partition of Appendix B."""

import numpy as np

from calibrant._kernels.jit import kernel


@kernel
def widest(probs, weights, step, rows, first, count, mean, square):
    """Return the coordinate of largest variance; ties up to rounding go to the lower one."""
    mean[:] = 0.0
    square[:] = 0.0
    total = 0.0
    for r in rows:
        w = weights[r * step]
        total += w
        for c in range(count):
            mean[c] += w * probs[r, first + c]
    mean /= total
    for r in rows:
        w = weights[r * step]
        for c in range(count):
            d = probs[r, first + c] - mean[c]
            square[c] += w * d * d
    limit = square.max() * (1.0 - 1e-12)
    for c in range(count):
        if square[c] >= limit:
            return first + c
    return first


@kernel
def centre(probs, weights, step, rows, j):
    """Weighted mean with compensated sums, so that the order of rows does not move it."""
    high = low = mass = mass_low = 0.0
    for r in rows:
        w = weights[r * step]
        x = w * np.float64(probs[r, j])
        s = high + x
        low += (high - s) + x if high >= x else (x - s) + high
        high = s
        s = mass + w
        mass_low += (mass - s) + w if mass >= w else (w - s) + mass
        mass = s
    return (high + low) / (mass + mass_low)


@kernel
def middle(probs, weights, step, rows, j):
    """Weighted median: half the weight on either side, the mean of two where it falls between."""
    values = np.empty(rows.shape[0])
    mass = 0.0
    for r in range(rows.shape[0]):
        values[r] = probs[rows[r], j]
        mass += weights[rows[r] * step]
    order = np.argsort(values)
    below = 0.0
    for o in range(order.shape[0]):
        below += weights[rows[order[o]] * step]
        if 2.0 * below == mass and mass > 0.0:
            after = o + 1
            while weights[rows[order[after]] * step] == 0.0:
                after += 1
            return 0.5 * (values[order[o]] + values[order[after]])
        if 2.0 * below > mass:
            return values[order[o]]
    return values[order[-1]]


@kernel
def fit(probs, weights, step, first, count, min_size, median, rows, cells):
    """Split rows of weight `min_size` or more; leaves are numbered from left to right.

    rows : (n,) the row numbers, reordered so that those of a leaf stand together
    cells : (n,) the leaf of each row
    Returns the coordinate (-1: a leaf), threshold and children of each node; of a leaf, the
    left child is its number.
    """
    capacity = 64
    axis = np.empty(capacity, np.int32)
    threshold = np.empty(capacity)
    left = np.empty(capacity, np.int32)
    right = np.empty(capacity, np.int32)
    stack = [(0, rows.shape[0], -1)]
    mean = np.empty(count)
    square = np.empty(count)
    buffer = np.empty_like(rows)
    nodes = leaves = 0
    while len(stack) > 0:
        start, stop, parent = stack.pop()
        if nodes == capacity:
            capacity *= 2
            axis = np.concatenate((axis, np.empty_like(axis)))
            threshold = np.concatenate((threshold, np.empty_like(threshold)))
            left = np.concatenate((left, np.empty_like(left)))
            right = np.concatenate((right, np.empty_like(right)))
        node = nodes
        nodes += 1
        if parent >= 0:
            right[parent] = node
        axis[node] = -1
        mine = rows[start:stop]
        size = 0.0
        for r in mine:
            size += weights[r * step]
        if size >= min_size and size > 0.0:
            j = widest(probs, weights, step, mine, first, count, mean, square)
            if median:
                t = middle(probs, weights, step, mine, j)
            else:
                t = centre(probs, weights, step, mine, j)
            below = 0
            above = 0
            some_below = False
            some_above = False
            for r in mine:
                if probs[r, j] < t:
                    some_below = some_below or weights[r * step] > 0.0
                    rows[start + below] = r
                    below += 1
                else:
                    some_above = some_above or weights[r * step] > 0.0
                    buffer[above] = r
                    above += 1
            rows[start + below : stop] = buffer[:above]
            if some_below and some_above:
                axis[node] = j
                threshold[node] = t
                left[node] = node + 1
                stack.append((start + below, stop, node))
                stack.append((start, start + below, -1))
                continue
        for r in rows[start:stop]:
            cells[r] = leaves
        left[node] = leaves
        right[node] = -1
        threshold[node] = 0.0
        leaves += 1
    return axis[:nodes].copy(), threshold[:nodes].copy(), left[:nodes].copy(), right[:nodes].copy()


@kernel
def assign(probs, start, stop, axis, threshold, left, right, cells):
    """Walk every row down the tree."""
    for i in range(start, stop):
        node = 0
        while axis[node] >= 0:
            node = left[node] if probs[i, axis[node]] < threshold[node] else right[node]
        cells[i] = left[node]
