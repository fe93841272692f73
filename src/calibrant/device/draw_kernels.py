"""Kernels in Triton that hash and draw; `fused` has the functions that start them.

Integers that are hashed have no sign here. Sums are of whole numbers, or of weights whose sums
never round, so that no order shows.
"""
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def mix(x):
    """Scramble 64 bits: the finalizer of splitmix64."""
    x = (x ^ (x >> 30)) * tl.full((), 0xBF58476D1CE4E5B9, tl.uint64)
    x = (x ^ (x >> 27)) * tl.full((), 0x94D049BB133111EB, tl.uint64)
    return x ^ (x >> 31)


@triton.jit
def uniform(row, replicates):
    """Return whole numbers below 2^52 from the hashes of a row and of replicates."""
    key = row.to(tl.uint64, bitcast=True) + replicates.to(tl.uint64, bitcast=True)
    return (mix(key) >> 12).to(tl.int64)


@triton.jit
def digits(part, stride, limits, out, keys, count, k, golden, WIDTH: tl.constexpr):
    """Write the interval of every entry of a row, and a hash of them all."""
    i = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, WIDTH)
    here = at < count
    p = tl.load(part + i * stride + at, mask=here, other=0.0).to(tl.float64)
    j = tl.where(p < 1.0, (p * k).to(tl.int32), k - 1)
    j = tl.maximum(j, 0)
    below = p < tl.load(limits + j)
    above = p >= tl.load(limits + j + 1)
    j = j - below.to(tl.int32) + above.to(tl.int32)
    tl.store(out + i * count + at, j, mask=here)
    salt = (at * k + j + 1).to(tl.uint64) * golden.to(tl.uint64, bitcast=True)
    hashed = tl.where(here, mix(salt).to(tl.int64, bitcast=True), 0)
    tl.store(keys + i, tl.sum(hashed, 0))


@triton.jit
def thresholds_of(p, never):
    """Return the thresholds of rows: (rows, m)."""
    parts = ((p * 4503599627370496.0 + 4503599627370496.0) - 4503599627370496.0).to(tl.int64)
    sums = tl.cumsum(parts, 1)
    total = tl.sum(parts, 1)[:, None]
    scale = 4503599627370496.0 / total.to(tl.float64)
    cuts = (sums.to(tl.float64) * scale + 4503599627370496.0) - 4503599627370496.0
    return tl.where(sums == total, never, cuts.to(tl.int64))


@triton.jit
def thresholds(probs, cuts, n, m, never, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    """Write the thresholds of some rows."""
    i = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    at = tl.arange(0, WIDTH)[None, :]
    here = (i < n) & (at < m)
    p = tl.load(probs + i * m + at, mask=here, other=0.0).to(tl.float64)
    tl.store(cuts + i * m + at, thresholds_of(p, never), mask=here)


@triton.jit
def event_cuts(probs, event, order, out, n, m, never, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    """Write the interval in which a class of each of some rows, taken in an order, is drawn."""
    place = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    i = tl.load(order + place, mask=place < n, other=0)
    chosen = tl.load(event + i)[:, None]
    at = tl.arange(0, WIDTH)[None, :]
    p = tl.load(probs + i[:, None] * m + at, mask=at < m, other=0.0).to(tl.float64)
    cuts = thresholds_of(p, never)
    low = tl.sum(tl.where(at == chosen - 1, cuts, 0), 1)
    high = tl.sum(tl.where(at == chosen, cuts, 0), 1)
    tl.store(out + place, low, mask=place < n)
    tl.store(out + n + place, high, mask=place < n)


@triton.jit
def drawn_label(cuts, u, m, BITS: tl.constexpr):
    """Return how many of a row's thresholds u reaches: a binary search."""
    label = tl.zeros_like(u).to(tl.int32)
    for bit in tl.static_range(BITS):
        half = 1 << (BITS - 1 - bit)
        at = label + (half - 1)
        reached = (at < m) & (u >= tl.load(cuts + at, mask=at < m, other=0))
        label += tl.where(reached, half, 0)
    return label


@triton.jit
def labels(cuts, rows, replicates, out, m, size, BITS: tl.constexpr, SIDE: tl.constexpr):
    """Draw the label of a row in some replicates."""
    i = tl.program_id(0).to(tl.int64)
    t = tl.program_id(1) * SIDE + tl.arange(0, SIDE)
    here = t < size
    u = uniform(tl.load(rows + i), tl.load(replicates + t, mask=here, other=0))
    tl.store(out + i * size + t, drawn_label(cuts + i * m, u, m, BITS), mask=here)


@triton.jit
def event_counts(
    cuts, rows, weights, cells, replicates, out, n, size,
    WEIGHTED: tl.constexpr, ROWS: tl.constexpr, SIDE: tl.constexpr,
):  # fmt: skip
    """Add up the events of some rows in some replicates, cell by cell."""
    first = tl.program_id(0).to(tl.int64) * ROWS
    last = tl.minimum(first + ROWS, n)
    t = tl.program_id(1) * SIDE + tl.arange(0, SIDE)
    here = t < size
    keys = tl.load(replicates + t, mask=here, other=0)
    cell = tl.load(cells + first)
    count = tl.zeros((SIDE,), tl.float64 if WEIGHTED else tl.int32)
    for i in range(first, last):
        mine = tl.load(cells + i)
        if mine != cell:
            tl.atomic_add(out + cell * size + t, count, mask=here)
            count = tl.zeros_like(count)
            cell = mine
        u = uniform(tl.load(rows + i), keys)
        hit = (u >= tl.load(cuts + i)) & (u < tl.load(cuts + n + i))
        if WEIGHTED:
            count += tl.where(hit, tl.load(weights + i), 0.0)
        else:
            count += hit.to(tl.int32)
    tl.atomic_add(out + cell * size + t, count, mask=here)


@triton.jit
def add_counts(drawn, cells, weights, counts, m, size, SIDE: tl.constexpr):
    """Count the labels of a row in some replicates."""
    i = tl.program_id(0).to(tl.int64)
    t = tl.program_id(1) * SIDE + tl.arange(0, SIDE)
    here = t < size
    label = tl.load(drawn + i * size + t, mask=here, other=0)
    cell = tl.load(cells + i)
    tl.atomic_add(counts + (cell * m + label) * size + t, tl.load(weights + i), mask=here)
