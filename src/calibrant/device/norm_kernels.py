"""Kernels in Triton that add up predictions and measure cells; `fused` has what starts them."""
# mypy: ignore-errors

import triton
import triton.language as tl

from calibrant.device.draw_kernels import drawn_label, uniform


@triton.jit
def cut(x):
    """Return the three limbs of numbers of at most 1."""
    high = (x + 25165824.0) - 25165824.0
    rest = x - high
    middle = (rest + 0.09375) - 0.09375
    rest = rest - middle
    low = (rest + 3.4924596548080444e-10) - 3.4924596548080444e-10
    return high, middle, low


@triton.jit
def cell_sums(probs, weights, starts, out, m, WEIGHTED: tl.constexpr, SIDE: tl.constexpr):
    """Add up the predictions of some outcomes over the rows of a cell."""
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
        a, b, d = cut(x)
        high += a
        middle += b
        low += d
    tl.store(out + c * m + at, high + (middle + low), mask=here)


@triton.jit
def limbs(x):
    """Return the three limbs of terms of norms."""
    high = (x + 4.0) - 4.0
    rest = x - high
    middle = (rest + 5.587935447692871e-09) - 5.587935447692871e-09
    rest = rest - middle
    low = (rest + 5.204170427930421e-18) - 5.204170427930421e-18
    return high, middle, low


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
            high, middle, low = limbs(tl.abs(d))
            high0 += high
            middle0 += middle
            low0 += low
            high, middle, low = limbs(d * d)
            high1 += high
            middle1 += middle
            low1 += low
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
        high, middle, low = limbs(tl.abs(d))
        high0 += high
        middle0 += middle
        low0 += low
        high, middle, low = limbs(d * d)
        high1 += high
        middle1 += middle
        low1 += low
    tl.store(out + c, tl.sum(high0, 0))
    tl.store(out + n_cells + c, tl.sum(middle0, 0))
    tl.store(out + 2 * n_cells + c, tl.sum(low0, 0))
    tl.store(out + 3 * n_cells + c, tl.sum(high1, 0))
    tl.store(out + 4 * n_cells + c, tl.sum(middle1, 0))
    tl.store(out + 5 * n_cells + c, tl.sum(low1, 0))


@triton.jit
def replaced(high, middle, low, old, new):
    """Return the limbs of sums after a term of each became another."""
    a, b, d = limbs(old)
    x, y, z = limbs(new)
    return high + (x - a), middle + (y - b), low + (z - d)


@triton.jit
def collect(d, share, high, low, most):
    """Add cells with norms d to sums in two parts, and to the largest."""
    x = d * share
    rounded = (x + 4.0) - 4.0
    low += ((x - rounded) + 5.587935447692871e-09) - 5.587935447692871e-09
    return high + rounded, low, tl.maximum(most, d)


@triton.jit
def store(out, step, high, low, most, here):
    """Write the totals of a norm."""
    tl.store(out, high, mask=here)
    tl.store(out + 3 * step, low, mask=here)
    tl.store(out + 6 * step, most, mask=here)


@triton.jit
def known_norm(cells, n_cells, old, new):
    """Return a norm whose limbs are known (3, n_cells) but for one term."""
    high = tl.load(cells)
    middle = tl.load(cells + n_cells)
    low = tl.load(cells + 2 * n_cells)
    high, middle, low = replaced(high, middle, low, old, new)
    return high + (middle + low)


@triton.jit
def single_totals(
    cuts, rows, replicates, predicted, cells, out, n_cells, m, size,
    FROM: tl.constexpr, BELOW: tl.constexpr,
    BITS: tl.constexpr, CELLS: tl.constexpr, SIDE: tl.constexpr,
):  # fmt: skip
    """Add up cells of one row: labels are drawn, and norms follow from them.

    cells : (9, n_cells) limbs of both norms if no outcome occurred, weight, inverse, share
    out : (3, 3, blocks, size) parts and largest, norms
    """
    block = tl.program_id(0).to(tl.int64)
    t = tl.program_id(1) * SIDE + tl.arange(0, SIDE)
    here = t < size
    keys = tl.load(replicates + t, mask=here, other=0)
    zero = tl.zeros((SIDE,), tl.float64)
    high0, low0, most0 = zero, zero, zero
    high1, low1, most1 = zero, zero, zero
    high2, low2, most2 = zero, zero, zero
    for c in range(block * CELLS, tl.minimum(block * CELLS + CELLS, n_cells)):
        label = drawn_label(cuts + c * m, uniform(tl.load(rows + c), keys), m, BITS)
        h = tl.load(predicted + c * m + label)
        w = tl.load(cells + 6 * n_cells + c)
        s = tl.load(cells + 7 * n_cells + c)
        share = tl.load(cells + 8 * n_cells + c)
        old = h * s
        new = (w - h) * s
        if FROM == 0:
            first = known_norm(cells + c, n_cells, old, tl.abs(new))
            high0, low0, most0 = collect(first, share, high0, low0, most0)
        if BELOW > 1:
            second = known_norm(cells + 3 * n_cells + c, n_cells, old * old, new * new)
        if FROM < 2 and BELOW > 1:
            high1, low1, most1 = collect(tl.sqrt(second), share, high1, low1, most1)
        if BELOW == 3:
            high2, low2, most2 = collect(second, share, high2, low2, most2)
    step = tl.num_programs(0).to(tl.int64) * size
    out += block * size + t
    store(out, step, high0, low0, most0, here)
    store(out + step, step, high1, low1, most1, here)
    store(out + 2 * step, step, high2, low2, most2, here)


@triton.jit
def count_label(
    label, drawn, weights, here, start, stop, place, size,
    WEIGHTED: tl.constexpr, SIDE: tl.constexpr,
):  # fmt: skip
    """Return the weight of the rows that drew a label, and how many stand before a place."""
    count = tl.zeros((SIDE,), tl.float64)
    before = tl.zeros((SIDE,), tl.int32)
    for i in range(start, stop):
        same = label == tl.load(drawn + i * size, mask=here, other=0)
        w = tl.load(weights + i) if WEIGHTED else 1.0
        count += tl.where(same, w, 0.0)
        before += (same & (i < place)).to(tl.int32)
    return count, before


@triton.jit
def seen_norms(
    drawn, starts, weights, predicted, cells, one, two, n_cells, m, size,
    WEIGHTED: tl.constexpr, SIDE: tl.constexpr,
):  # fmt: skip
    """Measure a cell of few rows through the outcomes that occur.

    cells : (7, n_cells) limbs of both norms if no outcome occurred, inverse of the weight
    """
    c = tl.program_id(0).to(tl.int64)
    t = tl.program_id(1) * SIDE + tl.arange(0, SIDE)
    here = t < size
    start = tl.load(starts + c)
    stop = tl.load(starts + c + 1)
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
        count, before = count_label(
            mine, drawn + t, weights, here, start, stop, i, size, WEIGHTED, SIDE
        )
        old = g * s
        new = (tl.where(before == 0, count, 0.0) - g) * s  # of each outcome once
        high0, middle0, low0 = replaced(high0, middle0, low0, old, tl.abs(new))
        high1, middle1, low1 = replaced(high1, middle1, low1, old * old, new * new)
    tl.store(one + c * size + t, high0 + (middle0 + low0), mask=here)
    tl.store(two + c * size + t, high1 + (middle1 + low1), mask=here)
