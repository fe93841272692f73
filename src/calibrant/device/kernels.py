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
def thresholds(probs, cuts, n, m, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    """Write the thresholds of some rows."""
    i = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    at = tl.arange(0, WIDTH)[None, :]
    here = (i < n) & (at < m)
    p = tl.load(probs + i * m + at, mask=here, other=0.0).to(tl.float64)
    parts = ((p * 4503599627370496.0 + 4503599627370496.0) - 4503599627370496.0).to(tl.int64)
    sums = tl.cumsum(parts, 1)
    total = tl.sum(parts, 1)[:, None]
    scale = 4503599627370496.0 / total.to(tl.float64)
    found = (sums.to(tl.float64) * scale + 4503599627370496.0) - 4503599627370496.0
    never = tl.full((), 1 << 62, tl.int64)
    tl.store(cuts + i * m + at, tl.where(sums == total, never, found.to(tl.int64)), mask=here)


@triton.jit
def labels(
    cuts, rows, replicates, cells, weights, out, m, size,
    COUNTED: tl.constexpr, BITS: tl.constexpr, SIDE: tl.constexpr,
):  # fmt: skip
    """Draw the label of a row in some replicates: how many thresholds it reaches.

    COUNTED : whether its weight is added to out (cells, m, size); else out (k, size) has the label
    """
    i = tl.program_id(0).to(tl.int64)
    t = tl.program_id(1) * SIDE + tl.arange(0, SIDE)
    here = t < size
    u = uniform(tl.load(rows + i), tl.load(replicates + t, mask=here, other=0))
    label = tl.zeros((SIDE,), tl.int32)
    for bit in tl.static_range(BITS):  # a binary search
        half = 1 << (BITS - 1 - bit)
        at = label + (half - 1)
        reached = (at < m) & (u >= tl.load(cuts + i * m + at, mask=at < m, other=0))
        label += tl.where(reached, half, 0)
    if COUNTED:
        place = (tl.load(cells + i) * m + label) * size + t
        tl.atomic_add(out + place, tl.load(weights + i), mask=here)
    else:
        tl.store(out + i * size + t, label, mask=here)


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


# Norms, as `engine.norms` adds them up, in two lines: the 1-norm and the squared 2-norm


@triton.jit
def terms(d):
    """Return what deviations (1, lanes) add to both norms: (2, lanes)."""
    return tl.where(tl.arange(0, 2)[:, None] == 0, tl.abs(d), d * d)


@triton.jit
def add_terms(high, middle, low, x):
    """Add terms to the limbs of norms."""
    a, x = limb(x, 4.0)
    b, x = limb(x, 5.587935447692871e-09)
    d, x = limb(x, 5.204170427930421e-18)
    return high + a, middle + b, low + d


@triton.jit
def dense_norms(
    counts, predicted, scale, out, n_cells, m, size, EXACT: tl.constexpr, SIDE: tl.constexpr
):
    """Measure a cell in some replicates: out (2, n_cells, size).

    EXACT : whether terms are cut into limbs
    """
    c = tl.program_id(0).to(tl.int64)
    t = (tl.program_id(1) * SIDE + tl.arange(0, SIDE))[None, :]
    s = tl.load(scale + c)
    zero = tl.zeros((2, SIDE), tl.float64)
    high, middle, low = zero, zero, zero
    for j in tl.range(m, loop_unroll_factor=8):
        count = tl.load(counts + (c * m + j) * size + t, mask=t < size, other=0.0)
        d = (count - tl.load(predicted + c * m + j)) * s
        if EXACT:
            high, middle, low = add_terms(high, middle, low, terms(d))
        else:
            high += terms(d)
    line = tl.arange(0, 2)[:, None].to(tl.int64) * n_cells + c
    tl.store(out + line * size + t, high + (middle + low), mask=t < size)


@triton.jit
def term_sums(
    counts, predicted, scale, out, n_cells, m, COUNTED: tl.constexpr, WIDTH: tl.constexpr
):
    """Add up the limbs of the norms of a cell in one data set: out (3, 2, n_cells).

    COUNTED : whether there are counts; else no outcome occurred
    """
    c = tl.program_id(0).to(tl.int64)
    s = tl.load(scale + c)
    zero = tl.zeros((2, WIDTH), tl.float64)
    high, middle, low = zero, zero, zero
    for first in range(0, m, WIDTH):
        at = (first + tl.arange(0, WIDTH))[None, :]
        d = 0.0 - tl.load(predicted + c * m + at, mask=at < m, other=0.0)
        if COUNTED:
            d = tl.load(counts + c * m + at, mask=at < m, other=0.0) + d
        high, middle, low = add_terms(high, middle, low, terms(d * s))
    line = tl.arange(0, 2).to(tl.int64) * n_cells + c
    tl.store(out + line, tl.sum(high, 1))
    tl.store(out + 2 * n_cells + line, tl.sum(middle, 1))
    tl.store(out + 4 * n_cells + line, tl.sum(low, 1))


@triton.jit
def seen_norms(
    drawn, starts, weights, predicted, cells, c, t, n_cells, m, size,
    WEIGHTED: tl.constexpr, SIDE: tl.constexpr,
):  # fmt: skip
    """Return the norms of a cell of few rows, through the outcomes that occur: (2, SIDE).

    cells : (8, n_cells) limbs of the norms if none occurred, inverse of the weight, share
    """
    here = t < size
    start = tl.load(starts + c)
    stop = tl.load(starts + c + 1)
    line = cells + tl.arange(0, 2)[:, None].to(tl.int64) * n_cells + c
    high = tl.load(line) + tl.zeros((2, SIDE), tl.float64)
    middle = tl.load(line + 2 * n_cells) + tl.zeros((2, SIDE), tl.float64)
    low = tl.load(line + 4 * n_cells) + tl.zeros((2, SIDE), tl.float64)
    s = tl.load(cells + 6 * n_cells + c)
    for i in range(start, stop):
        mine = tl.load(drawn + i * size + t, mask=here, other=0)
        count = tl.zeros((1, SIDE), tl.float64)
        before = tl.zeros((1, SIDE), tl.int32)
        for other in range(start, stop):
            same = mine == tl.load(drawn + other * size + t, mask=here, other=0)
            w = tl.load(weights + other) if WEIGHTED else 1.0
            count += tl.where(same, w, 0.0)
            before += (same & (other < i)).to(tl.int32)
        count = tl.where(before == 0, count, 0.0)  # each outcome once
        g = tl.load(predicted + c * m + mine)
        a, b, d = add_terms(0.0, 0.0, 0.0, terms(g * s))  # what it adds if it does not occur
        high, middle, low = add_terms(high - a, middle - b, low - d, terms((count - g) * s))
    return high + (middle + low)


@triton.jit
def collect(norms, share, high, low, most):
    """Add a cell to sums in two parts, and to the largest."""
    a, x = limb(norms * share, 4.0)
    b, x = limb(x, 5.587935447692871e-09)
    return high + a, low + b, tl.maximum(most, norms)


@triton.jit
def store(out, step, high, low, most, here):
    """Write the totals of norms."""
    tl.store(out, high, mask=here)
    tl.store(out + step, low, mask=here)
    tl.store(out + 2 * step, most, mask=here)


@triton.jit
def seen_totals(
    drawn, starts, weights, predicted, cells, out, n_cells, m, size, WEIGHTED: tl.constexpr,
    ROOTS: tl.constexpr, CELLS: tl.constexpr, SIDE: tl.constexpr,
):  # fmt: skip
    """Add up some cells of few rows in some replicates: out (parts and largest, norm, block, t).

    ROOTS : whether the 2-norm is needed
    """
    block = tl.program_id(0).to(tl.int64)
    t = (tl.program_id(1) * SIDE + tl.arange(0, SIDE))[None, :]
    zero = tl.zeros((2, SIDE), tl.float64)
    high, low, most = zero, zero, zero
    high_root, low_root, most_root = zero, zero, zero
    for c in range(block * CELLS, tl.minimum(block * CELLS + CELLS, n_cells)):
        norms = seen_norms(
            drawn, starts, weights, predicted, cells, c, t, n_cells, m, size, WEIGHTED, SIDE
        )
        share = tl.load(cells + 7 * n_cells + c)
        high, low, most = collect(norms, share, high, low, most)
        if ROOTS:
            high_root, low_root, most_root = collect(
                tl.sqrt(norms), share, high_root, low_root, most_root
            )
    line = tl.arange(0, 2)[:, None]
    step = tl.num_programs(0).to(tl.int64) * size
    out += block * size + t
    store(out + 2 * line * step, 3 * step, high, low, most, t < size)
    here = (t < size) & (line == 1)  # the root of the second line
    store(out + line * step, 3 * step, high_root, low_root, most_root, here)


# Checks and bins: one pass over the rows


@triton.jit
def look(probs, bad, most, top, n, m, limit, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    """Count rows with a number below 0 or none, or a sum that is not 1 to a limit.

    Of each row, write the largest probability, and the first class that has it.
    """
    at = tl.arange(0, WIDTH)[None, :]
    count = tl.zeros((), tl.int32)
    for block in range(tl.program_id(0), tl.cdiv(n, ROWS), tl.num_programs(0)):
        i = block.to(tl.int64) * ROWS + tl.arange(0, ROWS)
        here = (i[:, None] < n) & (at < m)
        p = tl.load(probs + i[:, None] * m + at, mask=here, other=0.0)
        tl.store(most + i, tl.max(p, 1), mask=i < n)
        tl.store(top + i, tl.argmax(p, 1, tie_break_left=True), mask=i < n)
        below = tl.sum((p >= 0.0).to(tl.int32), 1) < WIDTH
        even = tl.abs(tl.sum(p.to(tl.float64), 1) - 1.0) <= limit
        count += tl.sum(((i < n) & (below | (even == 0))).to(tl.int32), 0)
    if count > 0:
        tl.atomic_add(bad, count)


@triton.jit
def outside(labels, bad, n, m, SIDE: tl.constexpr):
    """Count labels that are not from 0 and below m."""
    i = tl.program_id(0).to(tl.int64) * SIDE + tl.arange(0, SIDE)
    label = tl.load(labels + i, mask=i < n, other=0).to(tl.int64)
    count = tl.sum(((label < 0) | (label >= m)).to(tl.int32), 0)
    if count > 0:
        tl.atomic_add(bad, count)


@triton.jit
def whole(x, scale):
    """Return a limb in its units, as a column."""
    return (x * scale).to(tl.int64)[:, None]


@triton.jit
def top_bins(most, top, labels, limits, out, n, k, ROWS: tl.constexpr, BINS: tl.constexpr):
    """Add up rows by the interval of their largest probability: out (5, BINS) int64.

    Their number, how often the class occurred, and three limbs of the probability.
    """
    bins = tl.arange(0, BINS)
    zero = tl.zeros((BINS,), tl.int64)
    rows, hits, high, middle, low = zero, zero, zero, zero, zero
    for block in range(tl.program_id(0), tl.cdiv(n, ROWS), tl.num_programs(0)):
        i = block.to(tl.int64) * ROWS + tl.arange(0, ROWS)
        here = i < n
        x = tl.load(most + i, mask=here, other=0.0).to(tl.float64)
        j = tl.maximum(tl.where(x < 1.0, (x * k).to(tl.int32), k - 1), 0)
        below = x < tl.load(limits + j)
        above = x >= tl.load(limits + j + 1)
        j = j - below.to(tl.int32) + above.to(tl.int32)
        mine = here[:, None] & (j[:, None] == bins[None, :])
        hit = tl.load(labels + i, mask=here, other=-1) == tl.load(top + i, mask=here, other=0)
        a, x = limb(x, 25165824.0)
        b, x = limb(x, 0.09375)
        d, x = limb(x, 3.4924596548080444e-10)
        rows += tl.sum(mine.to(tl.int64), 0)
        hits += tl.sum((mine & hit[:, None]).to(tl.int64), 0)
        high += tl.sum(tl.where(mine, whole(a, 268435456.0), 0), 0)
        middle += tl.sum(tl.where(mine, whole(b, 72057594037927936.0), 0), 0)
        low += tl.sum(tl.where(mine, whole(d, 1.9342813113834067e25), 0), 0)
    tl.atomic_add(out + bins, rows)
    tl.atomic_add(out + BINS + bins, hits)
    tl.atomic_add(out + 2 * BINS + bins, high)
    tl.atomic_add(out + 3 * BINS + bins, middle)
    tl.atomic_add(out + 4 * BINS + bins, low)
