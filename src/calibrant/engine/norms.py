"""Norms of a cell's deviation, the mean of its outcomes minus the mean of its predictions.

The 1-norm and the squared 2-norm are sums of one term for each outcome. Up to `IN_ORDER` outcomes,
terms are added one after the other. Of more outcomes, each term is cut into three limbs: multiples
of 2^-50, 2^-80 and 2^-110, sums of which never round. So no order of adding shows, and a sum can
be made from another one: take away the terms of the outcomes that occur, and add their new ones.
What is below 2^-111 is lost.
"""

import numpy as np
from numpy.typing import NDArray

from calibrant.engine.kernel import helper

Floats = NDArray[np.float64]

IN_ORDER = 32  # outcomes up to which terms are added one after the other
HIGH = 4.0  # adding and subtracting it rounds a number from 0 to 4 to a multiple of 2^-50
MIDDLE = 1.5 * 2.0**-28  # of 2^-80
LOW = 1.5 * 2.0**-58  # of 2^-110


@helper
def limbs(x):
    """Return the three limbs of a term."""
    high = (x + HIGH) - HIGH
    rest = x - high
    middle = (rest + MIDDLE) - MIDDLE
    rest = rest - middle
    return high, middle, (rest + LOW) - LOW


def norms(off: Floats) -> tuple[Floats, Floats]:
    """Return the 1-norms and the squared 2-norms of deviations (cells, m, …): (cells, …)."""
    if off.shape[1] > IN_ORDER:
        return _sum(np.abs(off)), _sum(off * off)
    one, two = np.zeros((2, off.shape[0], *off.shape[2:]))
    for j in range(off.shape[1]):
        one += np.abs(off[:, j])
        two += off[:, j] * off[:, j]
    return one, two


def _sum(terms: Floats) -> Floats:
    high, middle, low = (limb.sum(axis=1) for limb in limbs(terms))
    return np.asarray(high + (middle + low))


@helper
def term(count, g, scale, squared):
    """Return what an outcome adds that is counted so often and predicted g times."""
    d = (count - g) * scale
    return d * d if squared else abs(d)


@helper
def fold(x):
    """Return the sum of numbers (k,) whose sums never round; they are written over.

    The second half is added to the first, side by side, until one number is left.
    """
    k = x.shape[0]
    while k > 1:
        half = k // 2
        for j in range(half):
            x[j] += x[k - half + j]
        k -= half
    return x[0]


@helper
def sum_terms(counts, predicted, scale, squared, room):
    """Return the limbs of a norm of (counts - predicted) * scale; room (3, m) to work in.

    counts : (m,); None if no outcome occurred
    """
    for j in range(predicted.shape[0]):
        count = 0.0 if counts is None else counts[j]
        high, middle, low = limbs(term(count, predicted[j], scale, squared))
        room[0, j] = high
        room[1, j] = middle
        room[2, j] = low
    return fold(room[0]), fold(room[1]), fold(room[2])


@helper
def cell_norms(counts, predicted, scale, room):
    """Return both norms of one cell with counts (m,), of more than `IN_ORDER` outcomes."""
    a, b, c = sum_terms(counts, predicted, scale, False, room)
    d, e, f = sum_terms(counts, predicted, scale, True, room)
    return a + (b + c), d + (e + f)


@helper
def asked(wanted):
    """Return a span of the two sums that `wanted`, a span of the three norms, asks for."""
    return 0 if wanted[0] == 0 else 1, 2 if wanted[1] > 1 else 1


@helper
def dense_norms(counts, predicted, scale, wanted, sums, norm):
    """Write the norms of (counts - predicted) * scale to norm[0] and norm[2]; counts become 0.

    counts : (m, size)
    wanted : a span of the three norms
    sums : (8, size) to work in
    """
    if counts.shape[0] <= IN_ORDER:
        norms_in_order(counts, predicted, scale, wanted, norm)
        return
    first, last = asked(wanted)
    for s in range(first, last):
        start_sums(sums, s, 0.0, 0.0, 0.0)
        for j in range(counts.shape[0]):
            g = predicted[j]
            for t in range(counts.shape[1]):
                high, middle, low = limbs(term(counts[j, t], g, scale, s == 1))
                sums[3 * s, t] += high
                sums[3 * s + 1, t] += middle
                sums[3 * s + 2, t] += low
    for j in range(counts.shape[0]):
        for t in range(counts.shape[1]):
            counts[j, t] = 0.0
    write_norms(sums, wanted, norm)


@helper
def norms_in_order(counts, predicted, scale, wanted, norm):
    """Do what `dense_norms` does, adding one outcome after the other."""
    size = counts.shape[1]
    for t in range(size):
        norm[0, t] = norm[2, t] = 0.0
    for j in range(counts.shape[0]):
        g = predicted[j]
        if wanted[1] > 1:
            for t in range(size):
                d = (counts[j, t] - g) * scale
                norm[2, t] += d * d
        for t in range(size):
            norm[0, t] += abs((counts[j, t] - g) * scale)
            counts[j, t] = 0.0


@helper
def start_sums(sums, s, high, middle, low):
    """Write the same limbs of one of the two sums for all replicates."""
    for t in range(sums.shape[1]):
        sums[3 * s, t] = high
        sums[3 * s + 1, t] = middle
        sums[3 * s + 2, t] = low


@helper
def write_norms(sums, wanted, norm):
    """Put the limbs of norms together."""
    first, last = asked(wanted)
    for s in range(first, last):
        for t in range(norm.shape[1]):
            norm[2 * s, t] = sums[3 * s, t] + (sums[3 * s + 1, t] + sums[3 * s + 2, t])


@helper
def seen_norms(seen, room, scale, wanted):
    """Do what `dense_norms` does, through the outcomes seen (rows, size): the others are known.

    room : `null.Room` with the counts and predictions, whose norms are written
    """
    counts, predicted, sums = room.counts, room.predicted, room.sums
    first, last = asked(wanted)
    for s in range(first, last):
        high, middle, low = sum_terms(None, predicted, scale, s == 1, room.limbs)
        start_sums(sums, s, high, middle, low)
    for row in range(seen.shape[0]):
        for t in range(counts.shape[1]):
            j = seen[row, t]
            sums[6, t] = counts[j, t]
            sums[7, t] = predicted[j]
            counts[j, t] = 0.0  # an outcome that is seen again changes nothing
        for s in range(first, last):
            replace_terms(sums, s, scale)
    write_norms(sums, wanted, room.norm)


@helper
def replace_terms(sums, s, scale):
    """Replace the term of an outcome that did not occur: one of the two sums, (8, size).

    The last two lines have how often it is counted and predicted in each replicate.
    """
    for t in range(sums.shape[1]):
        count, g = sums[6, t], sums[7, t]
        a, b, c = limbs(term(0.0, g, scale, s == 1))
        x, y, z = limbs(term(count, g, scale, s == 1))
        sums[3 * s, t] += x - a
        sums[3 * s + 1, t] += y - b
        sums[3 * s + 2, t] += z - c


@helper
def single_norms(predicted, w, wanted, room, table):
    """Write the norms of a cell of one row, of weight w, for each label: table (2, m).

    room : (3, m) to work in
    """
    if predicted.shape[0] <= IN_ORDER:
        single_norms_in_order(predicted, w, table)
        return
    scale = 1.0 / w
    first, last = asked(wanted)
    for s in range(first, last):
        high, middle, low = sum_terms(None, predicted, scale, s == 1, room)
        for j in range(predicted.shape[0]):
            g = predicted[j]
            a, b, c = limbs(term(0.0, g, scale, s == 1))
            x, y, z = limbs(term(w, g, scale, s == 1))
            table[s, j] = (high + (x - a)) + ((middle + (y - b)) + (low + (z - c)))


@helper
def single_norms_in_order(predicted, w, table):
    """Do what `single_norms` does, adding one outcome after the other."""
    m = predicted.shape[0]
    scale = 1.0 / w
    for y in range(m):
        one = two = 0.0
        for j in range(m):
            d = ((w if j == y else 0.0) - predicted[j]) * scale
            one += abs(d)
            two += d * d
        table[0, y] = one
        table[1, y] = two


@helper
def look_up(table, labels, wanted, norm):
    """Write the norms of a cell of one row from those of each label, table (2, m)."""
    first, last = asked(wanted)
    for s in range(first, last):
        for t in range(labels.shape[0]):
            norm[2 * s, t] = table[s, labels[t]]
