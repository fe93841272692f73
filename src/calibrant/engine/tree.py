"""The recursive partition of Appendix B.

A node is cut where its predictions vary most. Sums over its rows are exact, so neither the order
of the rows nor copies in place of weights move a threshold.
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.engine import threads
from calibrant.engine.arrays import Array, Floats, Ints, Rows, Span, expect_rows, expect_weights
from calibrant.engine.kernel import SPAN, f8, helper, i4, i8, index, kernel, out, real
from calibrant.engine.sums import EXACT, cut, unit_of, whole

HALVES = 2.0**27 + 1.0  # multiplying by it cuts 53 bits in halves
CLOSE = 1e-12  # variances that differ by less than this share of the larger one tie


class Coordinates(NamedTuple):
    """The coordinates that may be cut, and the weights of the rows."""

    probs: Annotated[Array, real["n columns"]]
    weights: Annotated[Floats, f8["_"]]
    step: int
    scale: float  # inverse of the unit of weights

    @classmethod
    def of(cls, rows: Rows, columns: Span, unit: float) -> "Coordinates":
        """Take some columns: the first one, and how many."""
        first, count = columns
        probs = np.ascontiguousarray(rows.probs[:, first : first + count])
        if first < 0 or probs.shape[1] != count:
            raise IndexError(f"`columns` must be among those of `probs`; found {columns}.")
        expect_weights(rows)
        return cls(probs, rows.weights, rows.step, 1.0 / unit)


@helper
def add_product(sums, c, w, x):
    """Add w x, both of at most 1, to the limbs sums[1:4, c], without rounding the product.

    What the product loses is found by cutting both factors in halves (Dekker). So a weight of 3
    adds what three copies of a row do.
    """
    product = w * x
    lost = 0.0
    if w != 1.0:
        a = HALVES * w
        a -= a - w
        b = HALVES * x
        b -= b - x
        lost = ((a * b - product) + a * (x - b) + (w - a) * b) + (w - a) * (x - b)
    high, middle, low = cut(product)
    sums[1, c] += high
    sums[2, c] += middle
    sums[3, c] += low
    if lost != 0.0:
        high, middle, low = cut(lost)
        sums[2, c] += middle
        sums[3, c] += low


@helper
def power_of(p, mean, power):
    """Return p (power 1), or p - mean to the power 2, 3 or 4."""
    if power == 1:
        return np.float64(p)
    d = p - mean
    square = d * d
    if power == 2:
        return square
    return square * (d if power == 3 else square)


@helper
def add_moments(points, rows, span, power, moments):
    """Write sums of powers about the means in moments[0] to moments[1]; the next two hold limbs."""
    for c in range(moments.shape[1]):
        moments[1, c] = moments[2, c] = moments[3, c] = 0.0
    for k in range(span[0], span[1]):
        r = rows[k]
        w = points.weights[r * points.step] * points.scale
        if power == 1:  # each case has a loop of its own, which is compiled for it
            for c in range(moments.shape[1]):
                add_product(moments, c, w, np.float64(points.probs[r, c]))
        elif power == 2:
            for c in range(moments.shape[1]):
                d = points.probs[r, c] - moments[0, c]
                add_product(moments, c, w, d * d)
        else:
            for c in range(moments.shape[1]):
                add_product(moments, c, w, power_of(points.probs[r, c], moments[0, c], power))
    for c in range(moments.shape[1]):
        moments[1, c] += moments[2, c] + moments[3, c]


@helper
def widest(points, rows, span, size, moments):
    """Write the means of some rows to moments[0]; return the coordinate of largest variance.

    size : the weight of these rows
    moments : (5, coordinates); the last has which may be chosen
    Of variances that tie up to rounding, that of the largest third moment; of those that tie
    too, of the largest fourth one; then of the largest mean, and the lowest. So the order of
    classes matters only if their predictions are alike in all of this.
    """
    add_moments(points, rows, span, 1, moments)
    for c in range(moments.shape[1]):
        moments[0, c] = moments[1, c] / (size * points.scale)
        moments[4, c] = 1.0
    if moments.shape[1] > 1:
        add_moments(points, rows, span, 2, moments)
        if keep_largest(moments, 1, CLOSE) > 1:
            for power in range(3, 5):
                add_moments(points, rows, span, power, moments)
                keep_largest(moments, 1, 0.0)
            keep_largest(moments, 0, 0.0)
    c = 0
    while moments[4, c] == 0.0:
        c += 1
    return c


@helper
def keep_largest(moments, row, close):
    """Let only coordinates be chosen that are as large as the largest; return how many."""
    largest = -np.inf
    for c in range(moments.shape[1]):
        if moments[4, c] > 0.0 and moments[row, c] > largest:
            largest = moments[row, c]
    tied = 0
    for c in range(moments.shape[1]):
        if moments[4, c] > 0.0:
            if moments[row, c] < largest * (1.0 - close):
                moments[4, c] = 0.0
            else:
                tied += 1
    return tied


class Tree(NamedTuple):
    """A grown tree. A node is followed by its left child.

    `nodes` has the coordinate and the right child of each node; of a leaf, -1 and where its rows
    end in `rows`. The third column links nodes that wait for their right child while it grows.
    """

    nodes: Annotated[Array, out(index["_ 3"])]
    thresholds: Annotated[Floats, out(f8["_"])]  # left is below it; of a leaf, anything
    rows: Annotated[Array, out(index["n"])]  # row numbers; those of a leaf stand together


def grow(rows: Rows, columns: Span, min_size: float, *, medians: bool) -> Tree:
    """Split nodes of weight `min_size` or more at the mean or the median, again and again."""
    n, count = rows.probs.shape[0], columns[1]
    points = Coordinates.of(rows, columns, unit_of(rows))
    members: Array = np.arange(n, dtype=np.int32 if n < 2**31 else np.int64)
    tree = Tree(np.empty((2 * n, 3), members.dtype), np.empty(2 * n), members)
    scratch = np.empty((5, count)), np.empty_like(members)
    values = np.empty((2, n if medians else 0))
    size = _grow(points, min_size, values, scratch, tree)
    return Tree(tree.nodes[:size], tree.thresholds[:size], members)


@helper
def extreme(v, start, stop, sign):
    """Return the largest (sign 1) or smallest (sign -1) of v[start:stop]."""
    best = v[start]
    for k in range(start + 1, stop):
        if sign * v[k] > sign * best:
            best = v[k]
    return best


@helper
def part(v, w, low, high, pivot):
    """Order v[low:high], and w along with it: first what is less than the pivot, last what is more.

    Return where equal values begin and end, and the weight of what is less and of what is equal.
    """
    less, more, at = low, high, low
    left = equal = 0.0
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
    return less, more, left, equal


@helper
def middle_value(points, rows, span, j, values):
    """Weighted median: half the weight on either side, the mean of two where it falls between.

    Selects by three-way partition, on rows of positive weight. Weights count as equal if they
    differ by less than a billionth of the total, so their unit does not move the median.
    values : (2, n), to work in
    """
    v, w = values[0], values[1]
    high = 0
    mass = 0.0
    for k in range(span[0], span[1]):
        r = rows[k]
        if points.weights[r * points.step] > 0.0:
            v[high] = points.probs[r, j]
            w[high] = points.weights[r * points.step]
            mass += w[high]
            high += 1
    half = 0.5 * mass
    close = 1e-9 * mass
    low = 0
    below = 0.0
    while True:
        pivot = v[(low + high) // 2]
        less, more, left, equal = part(v, w, low, high, pivot)
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
def split(points, rows, span, cut_at, buffer):
    """Move rows below a threshold to the front; return where others begin, -1 if one is empty."""
    j, threshold = cut_at
    below = span[0]
    above = 0
    weight_below = weight_above = 0.0
    for k in range(span[0], span[1]):
        r = rows[k]
        if points.probs[r, j] < threshold:
            rows[below] = r
            below += 1
            weight_below += points.weights[r * points.step]
        else:
            buffer[above] = r
            above += 1
            weight_above += points.weights[r * points.step]
    for k in range(above):
        rows[below + k] = buffer[k]
    return below if weight_below > 0.0 and weight_above > 0.0 else -1


@kernel(Coordinates, f8, out(f8["2 _"]), (out(f8["5 columns"]), out(index["n"])), Tree, returns=i8)
def _grow(points, min_size, values, scratch, tree):
    moments, buffer = scratch
    nodes, thresholds, rows = tree
    start = np.int64(0)  # a plain 0 has a type of its own, for which all would be compiled again
    stop = rows.shape[0]
    node = 0
    waiting = -1  # top of a stack of nodes without their right child, linked through column 2
    while True:
        size = 1.0 * (stop - start)
        if points.step:
            size = 0.0
            for k in range(start, stop):
                size += points.weights[rows[k]]
        at = -1
        if size >= min_size and size > 0.0:
            j = widest(points, rows, (start, stop), size, moments)
            t = moments[0, j]
            if values.shape[1] > 0:
                t = middle_value(points, rows, (start, stop), j, values)
            at = split(points, rows, (start, stop), (j, t), buffer)
        nodes[node, 1] = stop  # of a leaf; of another node until its right child is known
        if at >= 0:
            nodes[node, 0] = j
            nodes[node, 2] = waiting
            thresholds[node] = t
            waiting = node
            stop = at
        else:
            nodes[node, 0] = -1
            if waiting < 0:
                return node + 1
            start = stop
            stop = nodes[waiting, 1]
            nodes[waiting, 1] = node + 1
            waiting = nodes[waiting, 2]
        node += 1


def walk(probs: Array, nodes: NDArray[np.int32], thresholds: Floats) -> NDArray[np.int32]:
    """Return the cell of each row: where it ends up in a tree.

    nodes : (nodes, 3) the coordinate that is cut and both children; of a leaf, -1, its cell, -1
    """
    if nodes[:, 0].max() >= probs.shape[1]:
        raise IndexError("`nodes` must cut coordinates that `probs` has.")
    inner = nodes[nodes[:, 0] >= 0, 1:]
    if inner.size and not 0 <= inner.min() <= inner.max() < thresholds.size:
        raise IndexError("`nodes` must have children that are there.")
    cells = np.empty(probs.shape[0], np.int32)
    blocks = threads.row_blocks(probs.shape)
    threads.run(lambda *span: _walk(probs, span, nodes, thresholds, cells), blocks)
    return cells


@kernel(real["n m"], SPAN, index["nodes 3"], f8["nodes"], out(i4["n"]))
def _walk(probs, span, nodes, thresholds, cells):
    for i in range(span[0], span[1]):
        node = 0
        while nodes[node, 0] >= 0:
            below = probs[i, nodes[node, 0]] < thresholds[node]
            node = nodes[node, 1 if below else 2]
        cells[i] = nodes[node, 1]


class About(NamedTuple):
    """What is added up: predictions (power 1), or powers of their deviations from means."""

    power: int
    means: Floats  # (nodes, columns); anything for predictions


def node_sums(
    rows: Rows, columns: Span, nodes: NDArray[np.int32], about: About, unit: float
) -> tuple[Floats, Ints]:
    """Return the weight of nodes (k,), and limbs (3, k, columns) of sums over their rows.

    nodes : (n,) the node of each row; rows of other nodes, from k on, are left out
    unit : the smallest power of 2 that no weight of all rows exceeds
    """
    expect_rows(rows)
    n, count = rows.probs.shape[0], columns[1]
    if n > EXACT:
        raise ValueError(f"`rows` must be at most {EXACT:,}; found {n:,}.")
    means = about.means
    mass, limbs = np.zeros(len(means)), np.zeros((len(means), 4, count))
    _add_nodes(Coordinates.of(rows, columns, unit), nodes, about.power, means, mass, limbs)
    return mass, whole(limbs[:, 1:].transpose(1, 0, 2))


@kernel(Coordinates, i4["n"], i8, f8["nodes columns"], out(f8["nodes"]), out(f8["nodes 4 columns"]))
def _add_nodes(points, nodes, power, means, mass, limbs):
    for i in range(nodes.shape[0]):
        c = nodes[i]
        if 0 <= c < mass.shape[0]:
            w = points.weights[i * points.step]
            mass[c] += w
            w *= points.scale
            for j in range(means.shape[1]):
                add_product(limbs[c], j, w, power_of(points.probs[i, j], means[c, j], power))
