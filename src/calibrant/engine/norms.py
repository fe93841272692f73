"""Norms of the cells' deviations, and what they add up to in a block of replicates.

A cell's deviation is the mean of its outcomes minus the mean of its predictions. Its 1-norm and its
squared 2-norm are sums of one term for each outcome. Up to `IN_ORDER` outcomes, terms are added
one after the other. Of more outcomes, each term is cut into three limbs: multiples of 2^-50, 2^-80
and 2^-110, sums of which never round. So no order of adding shows, and a sum can be made from
another one: take away the terms of the outcomes that occur, and add their new ones. What is below
2^-111 is lost.

Of the 1-norms, the 2-norms and the squared 2-norms, the sum over the cells, weighted by their
shares, and the largest are wanted. These sums are exact, too, with the first two limbs: they do
not depend on the order of the cells, and data sets with the same labels tie.
"""

from typing import Annotated, NamedTuple

import numpy as np

from calibrant.engine.arrays import Floats
from calibrant.engine.kernel import f8, helper, out

ONE, TWO, SQUARED = range(3)  # norms
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


def event_norm(off: Floats, norm: int) -> Floats:
    """Return a norm of the deviation of two outcomes that are both `off` by so much (…)."""
    if norm == ONE:
        return 2 * off
    squares = 2 * (off * off)
    return np.sqrt(squares) if norm == TWO else squares


class Totals(NamedTuple):
    """Sums in two parts and maxima over the cells, of each norm and replicate: (3, size)."""

    high: Annotated[Floats, out(f8["3 size"])]
    low: Annotated[Floats, out(f8["3 size"])]
    worst: Annotated[Floats, out(f8["3 size"])]

    @classmethod
    def zeros(cls, size: int) -> "Totals":
        """Return the totals of no cells."""
        return cls(*np.zeros((3, 3, size)))

    @property
    def expected(self) -> Floats:
        """The sums (3, size)."""
        return self.high + self.low


def merged(a: Totals, b: Totals) -> Totals:
    """Return the totals of the cells of both."""
    return Totals(a.high + b.high, a.low + b.low, np.maximum(a.worst, b.worst))


def add_cells(totals: Totals, norm: int, norms: Floats, shares: Floats) -> None:
    """Add cells with norms (cells, size), and shares (cells, 1) or (cells, size)."""
    np.maximum(totals.worst[norm], norms.max(axis=0), out=totals.worst[norm])
    high, low, _ = limbs(norms * shares)
    totals.high[norm] += high.sum(axis=0)
    totals.low[norm] += low.sum(axis=0)


def weighted_sum(values: Floats, shares: Floats) -> Floats:
    """Return the sum of values (cells, size) weighted by shares (cells,), as exact: (size,).

    A column with large values is scaled down first, by a power of 2 that no sum of so many
    exceeds; one with an infinite value has an infinite sum.
    """
    terms = values * shares[:, None]
    largest = terms.max(axis=0, initial=0.0)
    endless = ~np.isfinite(largest)
    bound = np.where(endless, 1.0, largest * terms.shape[0])
    scale = np.where(bound >= 4.0, 2.0 ** np.ceil(np.log2(np.maximum(bound, 4.0))), 1.0)
    high, low, _ = limbs(np.where(endless, 0.0, terms / scale))
    return np.where(endless, np.inf, (high.sum(axis=0) + low.sum(axis=0)) * scale)


@helper
def collect(norm, share, wanted, totals):
    """Add a cell with norms (3, size); norm[1] is written here. wanted : a span of norms."""
    if wanted[0] < 2 and wanted[1] > 1:
        for t in range(norm.shape[1]):
            norm[1, t] = np.sqrt(norm[2, t])
    for s in range(wanted[0], wanted[1]):
        for t in range(norm.shape[1]):
            d = norm[s, t]
            x = share * d
            high = (x + HIGH) - HIGH
            totals.high[s, t] += high
            totals.low[s, t] += ((x - high) + MIDDLE) - MIDDLE
            worst = totals.worst[s, t]
            totals.worst[s, t] = d if d > worst else worst


# Norms inside kernels: of a cell with counts and predicted sums, times the inverse of its weight


@helper
def term(count, g, scale, squared):
    """Return what an outcome adds that is counted so often and predicted g times."""
    d = (count - g) * scale
    return d * d if squared else abs(d)


@helper
def fold(x):
    """Return the sum of numbers (k,) that never round, written over: half is added to half."""
    k = x.shape[0]
    while k > 1:
        half = k // 2
        for j in range(half):
            x[j] += x[k - half + j]
        k -= half
    return x[0]


@helper
def sum_terms(counts, predicted, scale, squared, scratch):
    """Return the limbs of a norm; counts (m,), or None if no outcome occurred; scratch (3, m)."""
    for j in range(predicted.shape[0]):
        count = 0.0 if counts is None else counts[j]
        scratch[0, j], scratch[1, j], scratch[2, j] = limbs(
            term(count, predicted[j], scale, squared)
        )
    return fold(scratch[0]), fold(scratch[1]), fold(scratch[2])


@helper
def cell_norms(counts, predicted, scale, scratch):
    """Return both norms of one cell with counts (m,), of more than `IN_ORDER` outcomes."""
    a, b, c = sum_terms(counts, predicted, scale, False, scratch)
    d, e, f = sum_terms(counts, predicted, scale, True, scratch)
    return a + (b + c), d + (e + f)


@helper
def asked(wanted):
    """Return a span of the two sums that `wanted`, a span of the three norms, asks for."""
    return 0 if wanted[0] == 0 else 1, 2 if wanted[1] > 1 else 1


@helper
def dense_norms(counts, predicted, scale, wanted, sums, norm):
    """Write the norms of (counts - predicted) * scale to norm[0] and norm[2]; counts become 0.

    counts : (m, size); wanted : a span of the three norms; sums : (8, size) to work in
    """
    m, size = counts.shape
    if m <= IN_ORDER:
        for t in range(size):
            norm[0, t] = norm[2, t] = 0.0
        for j in range(m):
            g = predicted[j]
            if wanted[1] > 1:
                for t in range(size):
                    d = (counts[j, t] - g) * scale
                    norm[2, t] += d * d
            for t in range(size):
                norm[0, t] += abs((counts[j, t] - g) * scale)
                counts[j, t] = 0.0
        return
    first, last = asked(wanted)
    for s in range(first, last):
        start_sums(sums, s, 0.0, 0.0, 0.0)
        for j in range(m):
            g = predicted[j]
            for t in range(size):
                high, middle, low = limbs(term(counts[j, t], g, scale, s == 1))
                sums[3 * s, t] += high
                sums[3 * s + 1, t] += middle
                sums[3 * s + 2, t] += low
    for j in range(m):
        for t in range(size):
            counts[j, t] = 0.0
    write_norms(sums, wanted, norm)


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
def seen_norms(seen, scratch, scale, wanted):
    """Do what `dense_norms` does in a `null.Scratch`, for the outcomes seen (rows, size) alone."""
    counts, predicted, sums = scratch.counts, scratch.predicted, scratch.sums
    first, last = asked(wanted)
    for s in range(first, last):
        high, middle, low = sum_terms(None, predicted, scale, s == 1, scratch.limbs)
        start_sums(sums, s, high, middle, low)
    for row in range(seen.shape[0]):
        for t in range(counts.shape[1]):
            j = seen[row, t]
            sums[6, t] = counts[j, t]
            sums[7, t] = predicted[j]
            counts[j, t] = 0.0  # an outcome that is seen again changes nothing
        for s in range(first, last):
            replace_terms(sums, s, scale)
    write_norms(sums, wanted, scratch.norm)


@helper
def replace_terms(sums, s, scale):
    """Replace terms of outcomes that did not occur; sums[6:] have how often they do, and g."""
    for t in range(sums.shape[1]):
        count, g = sums[6, t], sums[7, t]
        a, b, c = limbs(term(0.0, g, scale, s == 1))
        x, y, z = limbs(term(count, g, scale, s == 1))
        sums[3 * s, t] += x - a
        sums[3 * s + 1, t] += y - b
        sums[3 * s + 2, t] += z - c


@helper
def single_norms(labels, scratch, w, wanted):
    """Do what `dense_norms` does in a `null.Scratch`, for one row of weight w and each outcome."""
    predicted, table, scale = scratch.predicted, scratch.table, 1.0 / w
    m = predicted.shape[0]
    first, last = asked(wanted)
    if m <= IN_ORDER:
        for y in range(m):
            one = two = 0.0
            for j in range(m):
                d = ((w if j == y else 0.0) - predicted[j]) * scale
                one += abs(d)
                two += d * d
            table[0, y] = one
            table[1, y] = two
    else:
        for s in range(first, last):
            high, middle, low = sum_terms(None, predicted, scale, s == 1, scratch.limbs)
            for j in range(m):
                a, b, c = limbs(term(0.0, predicted[j], scale, s == 1))
                d, e, f = limbs(term(w, predicted[j], scale, s == 1))
                table[s, j] = (high + (d - a)) + ((middle + (e - b)) + (low + (f - c)))
    for s in range(first, last):
        for t in range(labels.shape[0]):
            scratch.norm[2 * s, t] = table[s, labels[t]]
