"""Kernels in Triton that add up predictions and measure cells; `fused` has what starts them.

Sums whose order would show run in a loop of their own in each lane, in the order of the engine.
"""
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
def dense_norms(counts, predicted, scale, one, two, m, size, SIDE: tl.constexpr):
    """Measure one cell in some replicates, outcome after outcome."""
    c = tl.program_id(0).to(tl.int64)
    t = tl.program_id(1) * SIDE + tl.arange(0, SIDE)
    here = t < size
    s = tl.load(scale + c)
    first = tl.zeros((SIDE,), tl.float64)
    second = tl.zeros((SIDE,), tl.float64)
    for j in tl.range(m, loop_unroll_factor=8):
        count = tl.load(counts + (c * m + j) * size + t, mask=here, other=0.0)
        d = (count - tl.load(predicted + c * m + j)) * s
        first += tl.abs(d)
        second += d * d
    tl.store(one + c * size + t, first, mask=here)
    tl.store(two + c * size + t, second, mask=here)


@triton.jit
def observed_norms(counts, predicted, scale, one, two, n_cells, m, SIDE: tl.constexpr):
    """Measure some cells in one data set, outcome after outcome."""
    c = tl.program_id(0).to(tl.int64) * SIDE + tl.arange(0, SIDE)
    here = c < n_cells
    s = tl.load(scale + c, mask=here, other=0.0)
    first = tl.zeros((SIDE,), tl.float64)
    second = tl.zeros((SIDE,), tl.float64)
    for j in tl.range(m, loop_unroll_factor=8):
        count = tl.load(counts + c * m + j, mask=here, other=0.0)
        d = (count - tl.load(predicted + c * m + j, mask=here, other=0.0)) * s
        first += tl.abs(d)
        second += d * d
    tl.store(one + c, first, mask=here)
    tl.store(two + c, second, mask=here)


@triton.jit
def sums_in_order(terms, one, two, n_cells, m, SIDE: tl.constexpr):
    """Add up the terms of some cells and their squares, outcome after outcome."""
    c = tl.program_id(0).to(tl.int64) * SIDE + tl.arange(0, SIDE)
    here = c < n_cells
    first = tl.zeros((SIDE,), tl.float64)
    second = tl.zeros((SIDE,), tl.float64)
    for j in tl.range(m, loop_unroll_factor=8):
        x = tl.load(terms + c * m + j, mask=here, other=0.0)
        first += x
        second += x * x
    tl.store(one + c, first, mask=here)
    tl.store(two + c, second, mask=here)


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
def norms_of_one(is_top, g, h, w, one, two, s):
    """Return the norms, scaled by s, of a row of weight w, its label predicted h, the top g."""
    first = tl.where(is_top, one + tl.abs(w - g), g + (one + (tl.abs(w - h) - h)))
    second = tl.where(is_top, two + (w - g) * (w - g), g * g + (two + w * (w - 2.0 * h)))
    return first * s, second * s * s


@triton.jit
def single_totals(
    cuts, rows, replicates, predicted, cells, out, n_cells, m, size,
    FROM: tl.constexpr, BELOW: tl.constexpr,
    BITS: tl.constexpr, CELLS: tl.constexpr, SIDE: tl.constexpr,
):  # fmt: skip
    """Add up cells of one row: labels are drawn, and norms follow from them.

    cells : (7, n_cells) top, its prediction, sums of the others and squares, weight, inverse, share
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
        is_top = label == tl.load(cells + c).to(tl.int32)
        g = tl.load(cells + n_cells + c)
        one = tl.load(cells + 2 * n_cells + c)
        two = tl.load(cells + 3 * n_cells + c)
        w = tl.load(cells + 4 * n_cells + c)
        s = tl.load(cells + 5 * n_cells + c)
        share = tl.load(cells + 6 * n_cells + c)
        first, second = norms_of_one(is_top, g, h, w, one, two, s)
        if FROM == 0:
            high0, low0, most0 = collect(first, share, high0, low0, most0)
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
    drawn, starts, weights, predicted, cells, kept_starts, kept, one, two, n_cells, m, size,
    WEIGHTED: tl.constexpr, SIDE: tl.constexpr,
):  # fmt: skip
    """Measure a cell of few rows through the outcomes that occur.

    cells : (4, n_cells) constant sums of the outcomes that are predicted little and of their
        squares, half the smallest weight, the inverse of the weight
    kept : other outcomes, those of cell c from kept_starts[c] on
    """
    c = tl.program_id(0).to(tl.int64)
    t = tl.program_id(1) * SIDE + tl.arange(0, SIDE)
    here = t < size
    start = tl.load(starts + c)
    stop = tl.load(starts + c + 1)
    first = tl.zeros((SIDE,), tl.float64) + tl.load(cells + c)
    second = tl.zeros((SIDE,), tl.float64) + tl.load(cells + n_cells + c)
    least = tl.load(cells + 2 * n_cells + c)
    for q in range(tl.load(kept_starts + c), tl.load(kept_starts + c + 1)):
        j = tl.load(kept + q).to(tl.int32)
        count, _ = count_label(
            j, drawn + t, weights, here, start, stop, start, size, WEIGHTED, SIDE
        )
        d = count - tl.load(predicted + c * m + j)
        first += tl.abs(d)
        second += d * d
    for i in range(start, stop):
        mine = tl.load(drawn + i * size + t, mask=here, other=0)
        g = tl.load(predicted + c * m + mine)
        count, before = count_label(
            mine, drawn + t, weights, here, start, stop, i, size, WEIGHTED, SIDE
        )
        extra = count - 2.0 * g
        new = (before == 0) & (g < least) & (count != 0.0)
        first += tl.where(new, extra, 0.0)
        second += tl.where(new, count * extra, 0.0)
    s = tl.load(cells + 3 * n_cells + c)
    tl.store(one + c * size + t, first * s, mask=here)
    tl.store(two + c * size + t, second * (s * s), mask=here)
