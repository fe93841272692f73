"""Statistics of a block of replicates, from the norms of its cells.

A cell's deviation has three norms: the 1-norm, the 2-norm and the squared 2-norm. Of each, the
sum over the cells, weighted by their shares, and the largest are wanted. Sums are exact: a term,
below 4, is cut into a multiple of 2^-50 and one of 2^-80, and sums of those never round. So they
do not depend on the order of the cells, and data sets with the same labels tie.
"""

from typing import Annotated, NamedTuple

import numpy as np

from calibrant.engine.kernel import f8, helper, out
from calibrant.engine.tuples import Floats

ONE, TWO, SQUARED = range(3)  # norms
HIGH = 4.0  # adding and subtracting it rounds to a multiple of 2^-50
LOW = 1.5 * 2.0**-28  # of 2^-80


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


def parts(terms: Floats) -> tuple[Floats, Floats]:
    """Cut terms below 4 into multiples of 2^-50 and of 2^-80, sums of which never round."""
    high = (terms + HIGH) - HIGH
    return high, ((terms - high) + LOW) - LOW


def add_cells(totals: Totals, norm: int, norms: Floats, shares: Floats) -> None:
    """Add cells with norms (cells, size), and shares (cells, 1) or (cells, size)."""
    np.maximum(totals.worst[norm], norms.max(axis=0), out=totals.worst[norm])
    high, low = parts(norms * shares)
    totals.high[norm] += high.sum(axis=0)
    totals.low[norm] += low.sum(axis=0)


def event_norm(off: Floats, norm: int) -> Floats:
    """Return a norm of the deviation of two outcomes that are both `off` by so much (…)."""
    if norm == ONE:
        return 2 * off
    squares = 2 * (off * off)
    return np.sqrt(squares) if norm == TWO else squares


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
    high, low = parts(np.where(endless, 0.0, terms / scale))
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
            totals.low[s, t] += ((x - high) + LOW) - LOW
            worst = totals.worst[s, t]
            totals.worst[s, t] = d if d > worst else worst
