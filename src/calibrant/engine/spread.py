"""Which coordinate of some points varies most."""

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.engine.kernel import f8, helper, real
from calibrant.engine.sums import cut

Array = NDArray[Any]
Floats = NDArray[np.float64]

HALVES = 2.0**27 + 1.0  # multiplying by it cuts 53 bits in halves
CLOSE = 1e-12  # variances that differ by less than this share of the larger one tie


class Points(NamedTuple):
    """The coordinates that may be cut, and the weights of the rows."""

    probs: Annotated[Array, real["n columns"]]  # (n, coordinates)
    weights: Annotated[Floats, f8["_"]]
    step: int
    scale: float  # inverse of the unit of weights


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
def add_up(moments):
    """Add up the limbs in moments[1:4] to moments[1]."""
    for c in range(moments.shape[1]):
        moments[1, c] += moments[2, c] + moments[3, c]


@helper
def clear(moments):
    """Forget the limbs in moments[1:4]."""
    for c in range(moments.shape[1]):
        moments[1, c] = moments[2, c] = moments[3, c] = 0.0


@helper
def widest(points, rows, span, size, moments):
    """Write the means of some rows to moments[0]; return the coordinate of largest variance.

    size : the weight of these rows
    moments : (5, coordinates), the last four rows to work in
    Of variances that tie up to rounding, that of the largest third moment; of those that tie
    too, of the largest fourth one; then of the largest mean, and the lowest. So the order of
    classes matters only if their predictions are alike in all of this.
    """
    count = points.probs.shape[1]
    clear(moments)
    for k in range(span[0], span[1]):
        r = rows[k]
        w = points.weights[r * points.step] * points.scale
        for c in range(count):
            add_product(moments, c, w, np.float64(points.probs[r, c]))
    add_up(moments)
    for c in range(count):
        moments[0, c] = moments[1, c] / (size * points.scale)
        moments[4, c] = 1.0  # may be chosen
    if count > 1:
        clear(moments)
        for k in range(span[0], span[1]):
            r = rows[k]
            w = points.weights[r * points.step] * points.scale
            for c in range(count):
                d = points.probs[r, c] - moments[0, c]
                add_product(moments, c, w, d * d)
        add_up(moments)
        if keep_largest(moments, 1, CLOSE) > 1:
            break_tie(points, rows, span, moments)
    c = 0
    while moments[4, c] == 0.0:
        c += 1
    return c


@helper
def break_tie(points, rows, span, moments):
    """Keep the coordinates of the largest third moment, then fourth moment, then mean."""
    for power in range(3, 5):
        clear(moments)
        for k in range(span[0], span[1]):
            r = rows[k]
            w = points.weights[r * points.step] * points.scale
            for c in range(points.probs.shape[1]):
                x = power_of(points.probs[r, c], moments[0, c], power)
                add_product(moments, c, w, x)
        add_up(moments)
        keep_largest(moments, 1, 0.0)
    keep_largest(moments, 0, 0.0)


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
