"""The event of a problem of two outcomes: how often it occurs in each cell."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.engine.arrays import expect, expect_order, expect_weights, zeros
from calibrant.engine.draws import Keys, number, row_key, uniform
from calibrant.engine.kernel import SPAN, count, f8, i8, kernel, optional, out, u8
from calibrant.engine.tuples import Order, Rows

Floats = NDArray[np.float64]


def event_counts(
    rows: Rows,
    order: Order,
    cuts: NDArray[np.int64],
    keys: tuple[np.uint64, Keys],
    span: tuple[int, int],
) -> Floats:
    """Return the weight of the event in cells span[0] … span[1] - 1: (cells, replicates).

    cuts : (n, 2) as `cuts.event_cuts` returns them
    keys : of the rows, and of the replicates
    """
    expect("cuts", cuts, (rows.probs.shape[0], 2), "i")
    expect_weights(rows)
    expect_order(order, rows.probs.shape[0], order.starts.size - 1, span)
    shape = span[1] - span[0], keys[1].size
    out = zeros(shape, np.int64 if rows.step == 0 else np.float64)
    weighed = rows.weights, rows.step, rows.first, rows.numbers
    _event_counts(cuts, weighed, order, keys, span, out)
    return out.astype(np.float64, copy=False)


WEIGHED = f8["_"], i8, i8, optional(i8["n"])  # weights, step, first and numbers of `Rows`


@kernel(i8["n 2"], WEIGHED, Order, (u8, u8["size"]), SPAN, out(count["_ size"]))
def _event_counts(cuts, rows, order, keys, span, out):
    weights, step, first, numbers = rows
    key, replicates = keys
    for c in range(span[0], span[1]):
        at = c - span[0]
        for s in range(order.starts[c], order.starts[c + 1]):
            i = np.int64(order.rows[s])
            row = row_key(key, number(numbers, first, i))
            low, high = cuts[i, 0], cuts[i, 1]
            if step == 0:
                for t in range(replicates.shape[0]):
                    u = uniform(row, replicates[t])
                    out[at, t] += (u >= low) & (u < high)
            else:
                w = weights[i]
                for t in range(replicates.shape[0]):
                    u = uniform(row, replicates[t])
                    out[at, t] += w * ((u >= low) & (u < high))


class BlockCounts(NamedTuple):
    """Distributions of the number of events in blocks of rows, end to end."""

    pmf: Floats
    spans: NDArray[np.int64]  # (blocks, 2) where each begins and ends
    lows: NDArray[np.int64]  # (blocks,) the number of events that its first entry stands for


def block_counts(p: Floats, length: int) -> BlockCounts:
    """Return the distribution of the number of events in each block of so many rows p (n,).

    Ends of the support whose probability underflows to zero are left out.
    """
    expect("p", p, (None,), "f")
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
