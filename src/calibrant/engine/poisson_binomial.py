"""The number of events in a cell, a Poisson binomial: its distribution, or sums that give it.

With v = p (1 - p) and w = 1 - 2p, the cumulants of a Bernoulli variable are polynomials in v, those
of odd orders times w. So sums of powers give those of a cell's count, to order 12. Where its
variance is small that is not enough: then rows of moderate p are needed themselves, and of the
others, which are nearly impossible or nearly certain, the sums of powers of p or of 1 - p.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.engine import threads
from calibrant.engine.arrays import within
from calibrant.engine.kernel import SPAN, f8, i4, i8, kernel, out
from calibrant.engine.sums import EXACT, add_limbs, cut, whole
from calibrant.engine.tuples import Floats, Ints

POWERS = 6  # of v; one less times w
ENDS = 7  # powers of p, and of 1 - p, of rows near the ends
MODERATE = 2.0**-10  # v from which a row is not near an end
RARE = 2 * POWERS  # where the sums of p^k begin, after p, v … v^6 and w v … w v^5
SURE = RARE + ENDS
COLUMNS = SURE + ENDS


class PowerSums(NamedTuple):
    """Sums over the rows of every cell."""

    rows: Ints  # (cells, 2) how many there are, and how many that are nearly certain
    limbs: Ints  # (3, cells, COLUMNS), as those of `engine.sums`


def power_sums(p: Floats, cells: NDArray[np.int32], n_cells: int) -> PowerSums:
    """Add up powers over rows with probabilities p (n,) in these cells (n,)."""
    within("cells", cells, n_cells)
    size = max(min(EXACT, -(-p.size // threads.count())), 1)
    spans = threads.blocks(p.size, size)
    parts: list[PowerSums | None] = [None] * len(spans)

    def work(start: int, stop: int) -> None:
        rows = np.zeros((n_cells, 2), np.int64)
        sums = np.zeros((n_cells, COLUMNS, 3))
        _power_sums(p, cells, (start, stop), rows, sums)
        parts[start // size] = PowerSums(rows, whole(np.moveaxis(sums, 2, 0)))

    threads.run(work, spans)
    found = [part for part in parts if part is not None]
    rows = sum((part.rows for part in found), np.zeros((n_cells, 2), np.int64))
    limbs = sum((part.limbs for part in found), np.zeros((3, n_cells, COLUMNS), np.int64))
    return PowerSums(rows, limbs)


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
    for start, stop in threads.blocks(values.size, EXACT):
        limbs = np.zeros((3, n_cells))
        _add_values(values, cells, (start, stop), limbs)
        out += whole(limbs)
    return out


@kernel(f8["n"], i4["n"], SPAN, out(f8["3 cells"]))
def _add_values(values, cells, span, limbs):
    for i in range(span[0], span[1]):
        high, middle, low = cut(values[i])
        c = cells[i]
        limbs[0, c] += high
        limbs[1, c] += middle
        limbs[2, c] += low


class BlockCounts(NamedTuple):
    """Distributions of the number of events in blocks of rows, end to end."""

    pmf: Floats
    spans: Ints  # (blocks, 2) where each begins and ends
    lows: Ints  # (blocks,) the number of events that its first entry stands for


def block_counts(p: Floats, length: int) -> BlockCounts:
    """Return the distribution of the number of events in each block of so many rows p (n,).

    Ends of the support whose probability underflows to zero are left out.
    """
    n_blocks = -(-p.size // length)
    pmf = np.empty(n_blocks * (length + 1))
    spans = np.empty((n_blocks, 2), np.int64)
    _block_counts(p, length, pmf, spans)
    return BlockCounts(pmf, spans, spans[:, 0] - np.arange(n_blocks) * (length + 1))


@kernel(f8["n"], i8, out(f8["_"]), out(i8["_ 2"]))
def _block_counts(p, length, pmf, spans):
    n = p.shape[0]
    for b in range(spans.shape[0]):
        start = b * length
        low = start + b
        high = low + 1
        pmf[low] = 1.0
        for i in range(start, start + length if start + length < n else n):
            q = p[i]
            before = 0.0
            for k in range(low, high):
                here = pmf[k]
                pmf[k] = here * (1.0 - q) + before * q
                before = here
            pmf[high] = before * q
            high += 1
            while pmf[high - 1] < 1e-30:
                high -= 1
            while pmf[low] < 1e-30:
                low += 1
        spans[b, 0] = low
        spans[b, 1] = high
