"""The number of events among rows, a Poisson binomial: its distribution, or sums that give it.

With v = p (1 - p) and w = 1 - 2p, the cumulants of a Bernoulli variable are polynomials in v, those
of odd orders times w. So sums of powers give those of a cell's count, to order 12. Where its
variance is small that is not enough: then rows of moderate p are needed themselves, and of the
others, which are nearly impossible or nearly certain, the sums of powers of p or of 1 - p.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.engine import threads
from calibrant.engine.arrays import Floats, Ints, within
from calibrant.engine.kernel import SPAN, f8, helper, i4, i8, kernel, out
from calibrant.engine.sums import EXACT, add_limbs, add_limbs_at, whole

POWERS = 6  # of v; one less times w
ENDS = 7  # powers of p, and of 1 - p, of rows near the ends
MODERATE = 2.0**-10  # v from which a row is not near an end
RARE = 2 * POWERS  # where the sums of p^k begin, after p, v … v^6 and w v … w v^5
SURE = RARE + ENDS
COLUMNS = SURE + ENDS

RARE_IN_BLOCK, RARE_ON_PATH = 1e-30, 1e-305  # chances below are dropped from the ends


class PowerSums(NamedTuple):
    """Sums over the rows of every cell."""

    rows: Ints  # (cells, 2) how many there are, and how many that are nearly certain
    limbs: Ints  # (3, cells, COLUMNS), as those of `engine.sums`


def power_sums(p: Floats, cells: NDArray[np.int32], n_cells: int) -> PowerSums:
    """Add up powers over rows with probabilities p (n,) in these cells (n,)."""
    within("cells", cells, n_cells)

    def work(*span: int) -> PowerSums:
        rows = np.zeros((n_cells, 2), np.int64)
        sums = np.zeros((n_cells, COLUMNS, 3))
        _power_sums(p, cells, span, rows, sums)
        return PowerSums(rows, whole(np.moveaxis(sums, 2, 0)))

    none = PowerSums(np.zeros((n_cells, 2), np.int64), np.zeros((3, n_cells, COLUMNS), np.int64))
    found = [none, *threads.run(work, threads.even_blocks(p.size, EXACT))]
    return PowerSums(*(np.sum(parts, axis=0) for parts in zip(*found, strict=True)))


@kernel(f8["n"], i4["n"], SPAN, out(i8["cells 2"]), out(f8["cells _ 3"]))
def _power_sums(p, cells, span, rows, sums):
    for i in range(span[0], span[1]):
        a = p[i]
        b = 1.0 - a
        v = a * b
        w = b - a
        c = cells[i]
        table = sums[c]
        rows[c, 0] += 1
        add_limbs(table[0], a)
        x = v
        for j in range(1, POWERS + 1):
            add_limbs(table[j], x)
            if j < POWERS:
                add_limbs(table[POWERS + j], w * x)
            x *= v
        if v < MODERATE:
            sure = a > 0.5
            rows[c, 1] += sure
            first = SURE if sure else RARE
            end = b if sure else a
            x = end
            for k in range(ENDS):
                add_limbs(table[first + k], x)
                x *= end


def add_values(values: Floats, cells: NDArray[np.int32], n_cells: int) -> Ints:
    """Add up numbers (n,) between -1 and 1 in cells (n,): limbs (3, cells)."""
    within("cells", cells, n_cells)
    out = np.zeros((3, n_cells), np.int64)
    for span in threads.blocks(values.size, EXACT):
        limbs = np.zeros((3, n_cells))
        _add_values(values, cells, span, limbs)
        out += whole(limbs)
    return out


@kernel(f8["n"], i4["n"], SPAN, out(f8["3 cells"]))
def _add_values(values, cells, span, limbs):
    for i in range(span[0], span[1]):
        add_limbs_at(limbs, cells[i], values[i])


class BlockCounts(NamedTuple):
    """Distributions of the number of events in blocks of rows, end to end."""

    pmf: Floats
    spans: Ints  # (blocks, 2) where each begins and ends
    lows: Ints  # (blocks,) the number of events that its first entry stands for


def block_counts(p: Floats, length: int) -> BlockCounts:
    """Return the distribution of the number of events in blocks of p (n,), less what underflows."""
    n_blocks = -(-p.size // length)
    pmf = np.empty(n_blocks * (length + 1))
    spans = np.empty((n_blocks, 2), np.int64)
    _block_counts(p, length, pmf, spans)
    return BlockCounts(pmf, spans, spans[:, 0] - np.arange(n_blocks) * (length + 1))


@kernel(f8["n"], i8, out(f8["_"]), out(i8["_ 2"]))
def _block_counts(p, length, pmf, spans):
    for b in range(spans.shape[0]):
        start = b * length
        low = start + b
        high = low + 1
        pmf[low] = 1.0
        for i in range(start, min(start + length, p.shape[0])):
            low, high = add_row(p[i], pmf, low, high, RARE_IN_BLOCK)
        spans[b, 0], spans[b, 1] = low, high


def reach(values: Floats, sizes: Ints, predicted: Floats, level: float) -> float:
    """Return the chance that a path of `line` is `level` or more from 0 at the end of some value.

    values, sizes : (cells,) the different predictions, and how many rows have each
    predicted : (cells,) number of events that were predicted up to each value
    """
    within("sizes", sizes, int(np.iinfo(np.int64).max))
    pmf = np.zeros(int(sizes.sum()) + 2)
    return float(_reach(values, sizes, predicted, level, pmf))


@kernel(f8["cells"], i8["cells"], f8["cells"], f8, out(f8["_"]), returns=f8)
def _reach(values, sizes, predicted, level, pmf):
    """Let pmf[k] be the chance of k events and of not having reached the level, low <= k < high."""
    pmf[0] = 1.0
    low, high = 0, 1
    reached = 0.0
    for c in range(values.shape[0]):
        for _ in range(sizes[c]):
            low, high = add_row(values[c], pmf, low, high, RARE_ON_PATH)
        while high > low and high - 1 - predicted[c] >= level:
            high -= 1
            reached += pmf[high]
        while high > low and predicted[c] - low >= level:
            reached += pmf[low]
            low += 1
    return reached


@helper
def add_row(p, pmf, low, high, rare):
    """Let one more row have an event with chance p; return where pmf is not `rare` at its ends."""
    before = 0.0
    for k in range(low, high):
        here = pmf[k]
        pmf[k] = here * (1.0 - p) + before * p
        before = here
    pmf[high] = before * p
    high += 1
    while high > low and pmf[high - 1] < rare:
        high -= 1
    while high > low and pmf[low] < rare:
        low += 1
    return low, high
