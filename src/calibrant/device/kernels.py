"""Kernels in Triton; `fused` has the functions that start them.

Integers that are hashed have no sign here. Sums are of whole numbers, or of floats whose sums never
round, so that no order shows.
"""
# mypy: ignore-errors

import triton
import triton.language as tl

# Draws


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
def digits(part, stride, limits, out, keys, count, k, WIDTH: tl.constexpr):
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
    salt = (at * k + j + 1).to(tl.uint64) * tl.full((), 0x9E3779B97F4A7C15, tl.uint64)
    hashed = tl.where(here, mix(salt).to(tl.int64, bitcast=True), 0)
    tl.store(keys + i, tl.sum(hashed, 0))


@triton.jit
def thresholds_of(p):
    """Return the thresholds of rows: (rows, m)."""
    parts = ((p * 4503599627370496.0 + 4503599627370496.0) - 4503599627370496.0).to(tl.int64)
    sums = tl.cumsum(parts, 1)
    total = tl.sum(parts, 1)[:, None]
    scale = 4503599627370496.0 / total.to(tl.float64)
    cuts = (sums.to(tl.float64) * scale + 4503599627370496.0) - 4503599627370496.0
    return tl.where(sums == total, tl.full((), 1 << 62, tl.int64), cuts.to(tl.int64))


@triton.jit
def thresholds(probs, cuts, n, m, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    """Write the thresholds of some rows."""
    i = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    at = tl.arange(0, WIDTH)[None, :]
    here = (i < n) & (at < m)
    p = tl.load(probs + i * m + at, mask=here, other=0.0).to(tl.float64)
    tl.store(cuts + i * m + at, thresholds_of(p), mask=here)


@triton.jit
def event_cuts(probs, event, order, out, n, m, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    """Write the interval in which a class of each of some rows, taken in an order, is drawn."""
    place = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    i = tl.load(order + place, mask=place < n, other=0)
    chosen = tl.load(event + i)[:, None]
    at = tl.arange(0, WIDTH)[None, :]
    p = tl.load(probs + i[:, None] * m + at, mask=at < m, other=0.0).to(tl.float64)
    cuts = thresholds_of(p)
    low = tl.sum(tl.where(at == chosen - 1, cuts, 0), 1)
    high = tl.sum(tl.where(at == chosen, cuts, 0), 1)
    tl.store(out + place, low, mask=place < n)
    tl.store(out + n + place, high, mask=place < n)


@triton.jit
def labels(cuts, rows, replicates, out, m, size, BITS: tl.constexpr, SIDE: tl.constexpr):
    """Draw the label of a row in some replicates: how many thresholds u reaches."""
    i = tl.program_id(0).to(tl.int64)
    t = tl.program_id(1) * SIDE + tl.arange(0, SIDE)
    here = t < size
    u = uniform(tl.load(rows + i), tl.load(replicates + t, mask=here, other=0))
    tl.store(out + i * size + t, drawn_label(cuts + i * m, u, m, BITS), mask=here)


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


# Sums


@triton.jit
def limb(x, unit):
    """Round to a multiple of the last digit of a constant, and return what is left, too."""
    rounded = (x + unit) - unit
    return rounded, x - rounded


@triton.jit
def cell_sums(probs, weights, starts, out, m, WEIGHTED: tl.constexpr, SIDE: tl.constexpr):
    """Add up the predictions of some outcomes over the rows of a cell, as `engine.sums` does."""
    c = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * SIDE + tl.arange(0, SIDE)
    here = at < m
    high = tl.zeros((SIDE,), tl.float64)
    middle = tl.zeros((SIDE,), tl.float64)
    low = tl.zeros((SIDE,), tl.float64)
    for i in range(tl.load(starts + c), tl.load(starts + c + 1)):
        x = tl.load(probs + i * m + at, mask=here, other=0.0).to(tl.float64)
        if WEIGHTED:
            x = tl.load(weights + i) * x
        a, x = limb(x, 25165824.0)
        b, x = limb(x, 0.09375)
        d, x = limb(x, 3.4924596548080444e-10)
        high += a
        middle += b
        low += d
    tl.store(out + c * m + at, high + (middle + low), mask=here)


# Norms, as `engine.norms` and `engine.totals` add them up


@triton.jit
def add_term(high, middle, low, x):
    """Add a term to the limbs of a norm."""
    a, x = limb(x, 4.0)
    b, x = limb(x, 5.587935447692871e-09)
    d, x = limb(x, 5.204170427930421e-18)
    return high + a, middle + b, low + d


@triton.jit
def replace_term(high, middle, low, old, new):
    """Put a term in the place of another."""
    a, b, d = add_term(0.0, 0.0, 0.0, old)
    high, middle, low = add_term(high, middle, low, new)
    return high - a, middle - b, low - d


@triton.jit
def dense_norms(
    counts, predicted, scale, one, two, m, size, EXACT: tl.constexpr, SIDE: tl.constexpr
):
    """Measure one cell in some replicates; EXACT : whether terms are cut into limbs."""
    c = tl.program_id(0).to(tl.int64)
    t = tl.program_id(1) * SIDE + tl.arange(0, SIDE)
    here = t < size
    s = tl.load(scale + c)
    zero = tl.zeros((SIDE,), tl.float64)
    high0, middle0, low0 = zero, zero, zero
    high1, middle1, low1 = zero, zero, zero
    for j in tl.range(m, loop_unroll_factor=8):
        count = tl.load(counts + (c * m + j) * size + t, mask=here, other=0.0)
        d = (count - tl.load(predicted + c * m + j)) * s
        if EXACT:
            high0, middle0, low0 = add_term(high0, middle0, low0, tl.abs(d))
            high1, middle1, low1 = add_term(high1, middle1, low1, d * d)
        else:
            high0 += tl.abs(d)
            high1 += d * d
    tl.store(one + c * size + t, high0 + (middle0 + low0), mask=here)
    tl.store(two + c * size + t, high1 + (middle1 + low1), mask=here)


@triton.jit
def term_sums(
    counts, predicted, scale, out, n_cells, m, COUNTED: tl.constexpr, WIDTH: tl.constexpr
):
    """Add up the limbs of both norms of one cell in one data set: out (6, n_cells).

    COUNTED : whether there are counts; else no outcome occurred
    """
    c = tl.program_id(0).to(tl.int64)
    s = tl.load(scale + c)
    zero = tl.zeros((WIDTH,), tl.float64)
    high0, middle0, low0 = zero, zero, zero
    high1, middle1, low1 = zero, zero, zero
    for first in range(0, m, WIDTH):
        at = first + tl.arange(0, WIDTH)
        here = at < m
        d = 0.0 - tl.load(predicted + c * m + at, mask=here, other=0.0)
        if COUNTED:
            d = tl.load(counts + c * m + at, mask=here, other=0.0) + d
        d = d * s
        high0, middle0, low0 = add_term(high0, middle0, low0, tl.abs(d))
        high1, middle1, low1 = add_term(high1, middle1, low1, d * d)
    tl.store(out + c, tl.sum(high0, 0))
    tl.store(out + n_cells + c, tl.sum(middle0, 0))
    tl.store(out + 2 * n_cells + c, tl.sum(low0, 0))
    tl.store(out + 3 * n_cells + c, tl.sum(high1, 0))
    tl.store(out + 4 * n_cells + c, tl.sum(middle1, 0))
    tl.store(out + 5 * n_cells + c, tl.sum(low1, 0))


@triton.jit
def count_label(
    label, drawn, weights, here, start, stop, place, size,
    WEIGHTED: tl.constexpr, SIDE: tl.constexpr,
):  # fmt: skip
    """Return the weight of the rows that drew a label; 0 if one of them stands before a place."""
    count = tl.zeros((SIDE,), tl.float64)
    before = tl.zeros((SIDE,), tl.int32)
    for i in range(start, stop):
        same = label == tl.load(drawn + i * size, mask=here, other=0)
        w = tl.load(weights + i) if WEIGHTED else 1.0
        count += tl.where(same, w, 0.0)
        before += (same & (i < place)).to(tl.int32)
    return tl.where(before == 0, count, 0.0)


@triton.jit
def seen_norms(
    drawn, weights, predicted, cells, c, start, stop, t, here, n_cells, m, size,
    WEIGHTED: tl.constexpr, FROM: tl.constexpr, BELOW: tl.constexpr, SIDE: tl.constexpr,
):  # fmt: skip
    """Return norms of a cell of few rows, those that are wanted, through the outcomes that occur.

    cells : (8, n_cells) limbs of both norms if none occurred, inverse of the weight, share
    """
    zero = tl.zeros((SIDE,), tl.float64)
    high0 = zero + tl.load(cells + c)
    middle0 = zero + tl.load(cells + n_cells + c)
    low0 = zero + tl.load(cells + 2 * n_cells + c)
    high1 = zero + tl.load(cells + 3 * n_cells + c)
    middle1 = zero + tl.load(cells + 4 * n_cells + c)
    low1 = zero + tl.load(cells + 5 * n_cells + c)
    s = tl.load(cells + 6 * n_cells + c)
    for i in range(start, stop):
        mine = tl.load(drawn + i * size + t, mask=here, other=0)
        g = tl.load(predicted + c * m + mine)
        count = count_label(mine, drawn + t, weights, here, start, stop, i, size, WEIGHTED, SIDE)
        old = g * s
        new = (count - g) * s
        if FROM == 0:
            high0, middle0, low0 = replace_term(high0, middle0, low0, old, tl.abs(new))
        if BELOW > 1:
            high1, middle1, low1 = replace_term(high1, middle1, low1, old * old, new * new)
    return high0 + (middle0 + low0), high1 + (middle1 + low1)


@triton.jit
def collect(d, share, high, low, most):
    """Add a cell with norms d to sums in two parts, and to the largest."""
    a, x = limb(d * share, 4.0)
    b, x = limb(x, 5.587935447692871e-09)
    return high + a, low + b, tl.maximum(most, d)


@triton.jit
def store(out, step, high, low, most, here):
    """Write the totals of a norm."""
    tl.store(out, high, mask=here)
    tl.store(out + 3 * step, low, mask=here)
    tl.store(out + 6 * step, most, mask=here)


@triton.jit
def seen_totals(
    drawn, starts, weights, predicted, cells, out, n_cells, m, size, WEIGHTED: tl.constexpr,
    FROM: tl.constexpr, BELOW: tl.constexpr, CELLS: tl.constexpr, SIDE: tl.constexpr,
):  # fmt: skip
    """Add up some cells of few rows in some replicates: out (parts and largest, norm, block, t)."""
    block = tl.program_id(0).to(tl.int64)
    t = tl.program_id(1) * SIDE + tl.arange(0, SIDE)
    here = t < size
    zero = tl.zeros((SIDE,), tl.float64)
    high0, low0, most0 = zero, zero, zero
    high1, low1, most1 = zero, zero, zero
    high2, low2, most2 = zero, zero, zero
    for c in range(block * CELLS, tl.minimum(block * CELLS + CELLS, n_cells)):
        one, two = seen_norms(
            drawn, weights, predicted, cells, c, tl.load(starts + c), tl.load(starts + c + 1),
            t, here, n_cells, m, size, WEIGHTED, FROM, BELOW, SIDE,
        )  # fmt: skip
        share = tl.load(cells + 7 * n_cells + c)
        if FROM == 0:
            high0, low0, most0 = collect(one, share, high0, low0, most0)
        if FROM < 2 and BELOW > 1:
            high1, low1, most1 = collect(tl.sqrt(two), share, high1, low1, most1)
        if BELOW == 3:
            high2, low2, most2 = collect(two, share, high2, low2, most2)
    step = tl.num_programs(0).to(tl.int64) * size
    out += block * size + t
    store(out, step, high0, low0, most0, here)
    store(out + step, step, high1, low1, most1, here)
    store(out + 2 * step, step, high2, low2, most2, here)
