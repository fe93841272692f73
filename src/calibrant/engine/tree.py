"""The recursive partition of Appendix B."""

import numpy as np

from calibrant.engine.jit import helper, kernel


@helper
def widest(probs, weights, step, rows, start, stop, size, moments):
    """Write the means of rows[start:stop] to moments[0]; return the coordinate to cut.

    size : the weight of these rows
    moments : (2, coordinates), the second row as room
    Sums are compensated, so that the order of the rows does not move a threshold. The
    coordinate is that of largest variance; of those that tie up to rounding, the lowest.
    """
    count = probs.shape[1]
    for c in range(count):
        moments[0, c] = moments[1, c] = 0.0
    for k in range(start, stop):
        r = rows[k]
        w = weights[r * step]
        for c in range(count):
            x = w * probs[r, c]
            old = moments[0, c]
            s = old + x
            part = s - old
            moments[1, c] += (old - (s - part)) + (x - part)
            moments[0, c] = s
    for c in range(count):
        moments[0, c] = (moments[0, c] + moments[1, c]) / size
        moments[1, c] = 0.0
    if count == 1:
        return 0
    for k in range(start, stop):
        r = rows[k]
        w = weights[r * step]
        for c in range(count):
            d = probs[r, c] - moments[0, c]
            moments[1, c] += w * d * d
    largest = 0.0
    for c in range(count):
        largest = moments[1, c] if moments[1, c] > largest else largest
    c = 0
    while moments[1, c] < largest * (1.0 - 1e-12):
        c += 1
    return c


@helper
def extreme(v, start, stop, sign):
    """Return the largest (sign 1) or smallest (sign -1) of v[start:stop]."""
    best = v[start]
    for k in range(start + 1, stop):
        if sign * v[k] > sign * best:
            best = v[k]
    return best


@helper
def middle(probs, weights, step, rows, start, stop, j, v, w):
    """Weighted median: half the weight on either side, the mean of two where it falls between.

    Selects by three-way partition, on rows of positive weight. Weights count as equal if they
    differ by less than a billionth of the total, so neither the order of the rows nor the unit
    of the weights moves the median. v, w : (n,) room.
    """
    high = 0
    mass = 0.0
    for k in range(start, stop):
        r = rows[k]
        if weights[r * step] > 0.0:
            v[high] = probs[r, j]
            w[high] = weights[r * step]
            mass += w[high]
            high += 1
    half = 0.5 * mass
    close = 1e-9 * mass
    low = 0
    below = 0.0
    while True:
        pivot = v[(low + high) // 2]
        less = low
        more = high
        at = low
        left = 0.0
        equal = 0.0
        while at < more:
            if v[at] < pivot:
                left += w[at]
                v[at], v[less] = v[less], v[at]
                w[at], w[less] = w[less], w[at]
                less += 1
                at += 1
            elif v[at] > pivot:
                more -= 1
                v[at], v[more] = v[more], v[at]
                w[at], w[more] = w[more], w[at]
            else:
                equal += w[at]
                at += 1
        if less > low and abs(below + left - half) < close:
            return 0.5 * (extreme(v, low, less, 1.0) + pivot)
        if below + left > half:
            high = less
        elif below + left + equal > half + close or more == high:
            return pivot
        elif below + left + equal > half - close:
            return 0.5 * (pivot + extreme(v, more, high, -1.0))
        else:
            below += left + equal
            low = more


@helper
def partition(probs, weights, step, rows, start, stop, j, threshold, buffer):
    """Move rows below the threshold to the front of rows[start:stop], keeping orders.

    Returns where the others begin; -1 if one side has no weight.
    """
    below = start
    above = 0
    weight_below = weight_above = 0.0
    for k in range(start, stop):
        r = rows[k]
        if probs[r, j] < threshold:
            rows[below] = r
            below += 1
            weight_below += weights[r * step]
        else:
            buffer[above] = r
            above += 1
            weight_above += weights[r * step]
    for k in range(above):
        rows[below + k] = buffer[k]
    return below if weight_below > 0.0 and weight_above > 0.0 else -1


@kernel
def fit(probs, weights, step, min_size, medians, rows, buffer, moments, nodes, thresholds):
    """Split rows of weight `min_size` or more, again and again; return the number of nodes.

    probs : (n, coordinates) those that may be cut
    medians : None to cut at means; to cut at medians, a pair (n,) of room
    rows : (n,) the row numbers, reordered so that those of a leaf stand together
    buffer : (n,), moments : (2, coordinates) room
    nodes : (2 n, 3) coordinate and right child of each node; of a leaf, -1 and where its rows
        end. A node is followed by its left child. The last column is room
    thresholds : (2 n,) of nodes that are no leaves
    """
    start = np.int64(0)  # a plain 0 has a type of its own, for which all would be compiled again
    stop = rows.shape[0]
    node = 0
    waiting = -1  # the last node without its right child; it knows where that ends, and the next
    while True:
        size = float(stop - start)
        if step:
            size = low = 0.0
            for k in range(start, stop):
                x = weights[rows[k]]
                old = size
                size = old + x
                part = size - old
                low += (old - (size - part)) + (x - part)
            size += low
        cut = -1
        if size >= min_size and size > 0.0:
            j = widest(probs, weights, step, rows, start, stop, size, moments)
            t = moments[0, j]
            if medians is not None:
                t = middle(probs, weights, step, rows, start, stop, j, medians[0], medians[1])
            cut = partition(probs, weights, step, rows, start, stop, j, t, buffer)
        nodes[node, 1] = stop
        if cut >= 0:
            nodes[node, 0] = j
            nodes[node, 2] = waiting
            thresholds[node] = t
            waiting = node
            stop = cut
        else:
            nodes[node, 0] = -1
            if waiting < 0:
                return node + 1
            start = stop
            stop = nodes[waiting, 1]
            nodes[waiting, 1] = node + 1
            waiting = nodes[waiting, 2]
        node += 1


@kernel
def assign(probs, start, stop, nodes, thresholds, cells):
    """Walk every row down the tree."""
    for i in range(start, stop):
        node = 0
        while nodes[node, 0] >= 0:
            node = nodes[node, 1 if probs[i, nodes[node, 0]] < thresholds[node] else 2]
        cells[i] = nodes[node, 1]
