"""Sums over the rows of a cell that do not depend on the order in which they are added.

A number x of at most 1 is cut into three limbs: the nearest multiple of 2^-28, what remains to
the nearest multiple of 2^-56, and then of 2^-84. Sums of limbs are integers in these units. They
are kept as floats while there are at most 2^24 rows, and then never round; so sums of blocks of
rows, added in any order, have the same bits. What is below 2^-85 is lost.
"""

from collections.abc import Callable
from functools import partial, reduce
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.engine import arrays, threads
from calibrant.engine.arrays import Array, Floats, Ints, Order, Rows, Span
from calibrant.engine.grid import interval
from calibrant.engine.kernel import SPAN, f8, helper, i4, i8, index, kernel, out
from calibrant.engine.norms import IN_ORDER, cell_norms
from calibrant.engine.rows import Ranked

C1 = 1.5 * 2.0**24  # adding and subtracting it rounds to a multiple of 2^-28
C2 = 1.5 * 2.0**-4  # of 2^-56
C3 = 1.5 * 2.0**-32  # of 2^-84
LIMBS = (28, 56, 84)
EXACT = 1 << 24  # rows whose limbs can be added up as floats


class Sums(NamedTuple):
    """Sums over the rows of every cell.

    `limbs` are those of the predictions, in units of 2^-28, 2^-56 and 2^-84 of `unit_of` the
    rows. Of two outcomes only the event is added up: what it lacks the other has.
    """

    mass: Floats  # (cells,) number of rows, or their weight
    observed: Floats  # (cells, m) of those in which each outcome occurred
    limbs: Ints  # (3, cells, m), or (3, cells, 1) of two outcomes


class FloatSums(NamedTuple):
    """What `_add_rows` adds to: as `Sums`, with limbs in float64."""

    mass: Annotated[Floats, out(f8["cells"])]
    observed: Annotated[Floats, out(f8["cells m"])]
    limbs: Annotated[Floats, out(f8["3 cells columns"])]


def unit_of(rows: Rows) -> float:
    """Return the smallest power of 2 that no weight exceeds."""
    return float(2.0 ** np.ceil(np.log2(rows.weights.max())))


def add_up(rows: Rows, cells: NDArray[np.int32], n_cells: int, unit: float | None = None) -> Sums:
    """Add up rows whose cells (n,) are known; `unit` is that of all rows, if these are some."""
    arrays.expect_rows(rows)
    n, m = rows.probs.shape
    column, count = (rows.event, 1) if m == 2 else (0, m)
    arrays.within("cells", cells, n_cells)
    unit = unit_of(rows) if unit is None else unit

    def work(*span: int) -> Sums:
        limbs = np.zeros((3, n_cells, count))
        tables = FloatSums(np.zeros(n_cells), np.zeros((n_cells, m)), limbs)
        _add_rows(rows, cells, span, column, 1.0 / unit, tables)
        return Sums(tables.mass, tables.observed, whole(tables.limbs))

    return reduce(merged, threads.run(work, threads.even_blocks(n, EXACT, threads.FEW // m)))


def add_intervals(rows: Rows, edges: Floats) -> Sums:
    """Add up rows of two outcomes by the interval, between `grid.edges`, of the event."""
    arrays.expect_rows(rows)
    arrays.expect_edges(edges)
    if rows.event < 0:
        raise IndexError("`rows` must be of a problem of two outcomes.")
    scale = 1.0 / unit_of(rows)
    return _in_intervals(partial(_add_intervals, rows, scale), rows.probs.shape[0], edges)


def add_ranked_intervals(ranked: Ranked, edges: Floats) -> Sums:
    """Do the same for the most probable class, without weights, before its problem is made."""
    arrays.expect_edges(edges)
    return _in_intervals(partial(_add_ranked_intervals, ranked), ranked.labels.size, edges)


def _in_intervals(add: Callable[..., None], n: int, edges: Floats) -> Sums:
    """Add up n rows to tables (k, 5): weights of both outcomes, and limbs of the event's sum."""

    def work(*span: int) -> Sums:
        table = np.zeros((edges.size - 1, 5))
        add(span, edges, table)
        observed, limbs = table[:, :2], table[:, 2:].T[:, :, None]
        return Sums(observed.sum(axis=1), observed, whole(limbs))

    return reduce(merged, threads.run(work, threads.even_blocks(n, EXACT, threads.FEW // 2)))


@kernel(Rows, f8, SPAN, f8["k+1"], out(f8["k 5"]))
def _add_intervals(rows, scale, span, edges, table):
    for i in range(span[0], span[1]):
        p = np.float64(rows.probs[i, rows.event])
        c = interval(p, edges)
        w = rows.weights[i * rows.step]
        high, middle, low = cut(w * scale * p)
        table[c, rows.labels[i]] += w
        table[c, 2] += high
        if middle != 0.0:
            table[c, 3] += middle
        if low != 0.0:
            table[c, 4] += low


@kernel(Ranked, SPAN, f8["k+1"], out(f8["k 5"]))
def _add_ranked_intervals(ranked, span, edges, table):
    for i in range(span[0], span[1]):
        p = np.float64(ranked.top.probs[i])
        c = interval(p, edges)
        high, middle, low = cut(p)
        table[c, np.int64(ranked.labels[i] != ranked.top.classes[i])] += 1.0
        table[c, 2] += high
        if middle != 0.0:
            table[c, 3] += middle
            table[c, 4] += low


def merged(a: Sums, b: Sums) -> Sums:
    """Return the sums over the rows of both: the same bits whichever is first."""
    return Sums(a.mass + b.mass, a.observed + b.observed, a.limbs + b.limbs)


def whole(limbs: Floats) -> Ints:
    """Return sums of limbs (3, …) as the integers that they are, in their units."""
    units = np.array([2.0**bits for bits in LIMBS]).reshape(3, *[1] * (limbs.ndim - 1))
    return np.asarray((limbs * units).astype(np.int64))


def value(limbs: Ints) -> Floats:
    """Return what limbs (3, …) amount to: (…)."""
    high, middle, low = (limb * 2.0**-bits for limb, bits in zip(limbs, LIMBS, strict=True))
    return np.asarray(high + (middle + low))


@helper
def cut(x):
    """Return the three limbs of a number of at most 1."""
    high = (x + C1) - C1
    rest = x - high
    middle = (rest + C2) - C2
    rest -= middle
    return high, middle, (rest + C3) - C3


@helper
def add_limbs(sums, x):
    """Add the three limbs of a number of at most 1 to sums (3,)."""
    high, middle, low = cut(x)
    sums[0] += high
    sums[1] += middle
    sums[2] += low


@helper
def add_limbs_at(sums, at, x):
    """Add the three limbs of a number of at most 1 to sums[:, at]."""
    high, middle, low = cut(x)
    sums[0, at] += high
    sums[1, at] += middle
    sums[2, at] += low


@kernel(Rows, i4["n"], SPAN, i8, f8, FloatSums)
def _add_rows(rows, cells, span, column, scale, tables):
    count = tables.limbs.shape[2]
    for i in range(span[0], span[1]):
        w = rows.weights[i * rows.step]
        c = cells[i]
        tables.mass[c] += w
        tables.observed[c, rows.labels[i]] += w
        for j in range(count):
            high, middle, low = cut(w * scale * rows.probs[i, column + j])
            tables.limbs[0, c, j] += high
            tables.limbs[1, c, j] += middle
            tables.limbs[2, c, j] += low


def sort_rows(cells: NDArray[np.int32], n_cells: int) -> Order:
    """Sort rows by their cells (n,), keeping their order within a cell."""
    arrays.within("cells", cells, n_cells)
    starts = np.zeros(n_cells + 2, np.int64)
    rows: Array = np.empty(cells.size, np.int32 if cells.size < 2**31 else np.int64)
    _sort_rows(cells, starts, rows)
    return Order(rows, starts[:-1])


@kernel(i4["n"], out(i8["_"]), out(index["n"]))
def _sort_rows(cells, starts, rows):
    # While rows are placed, starts[c + 1] is where the next row of cell c goes.
    for i in range(cells.shape[0]):
        starts[cells[i] + 2] += 1
    for c in range(2, starts.shape[0]):
        starts[c] += starts[c - 1]
    for i in range(cells.shape[0]):
        c = cells[i] + 1
        rows[starts[c]] = i
        starts[c] += 1


class CellTables(NamedTuple):
    """Sums of some cells, each in a row; or in a single one that is used for all in turn."""

    predicted: Annotated[Floats, out(f8["some m"])]  # of predictions
    observed: Annotated[Floats, out(f8["some m"])]  # of outcomes
    step: int  # 1, or 0 if there is a single row


class CellNorms(NamedTuple):
    """Weight of every cell, and the 1-norm and squared 2-norm of its mean deviation."""

    mass: Annotated[Floats, out(f8["cells"])]
    one: Annotated[Floats, out(f8["cells"])]
    two: Annotated[Floats, out(f8["cells"])]


@helper
def add_predictions(rows, order, c, weight, limbs, out):
    """Write the sums of cell c to out (m,); weight : the inverse of the unit, and the cell's."""
    m = rows.probs.shape[1]
    scale, mass = weight
    for j in range(m):
        limbs[0, j] = limbs[1, j] = limbs[2, j] = 0.0
    for s in range(order.starts[c], order.starts[c + 1]):
        i = order.rows[s]
        w = rows.weights[i * rows.step] * scale
        for j in range(m):
            add_limbs_at(limbs, j, w * rows.probs[i, j])
    for j in range(m):
        out[j] = (limbs[0, j] + (limbs[1, j] + limbs[2, j])) / scale
    if rows.event >= 0:
        out[1 - rows.event] = mass - out[rows.event]


def by_cell(rows: Rows, order: Order, span: Span, tables: CellTables, norms: CellNorms) -> None:
    """Add up cells span[0] … span[1] - 1 of sorted rows, for where there are many cells."""
    arrays.expect_rows(rows)
    n, m = rows.probs.shape
    arrays.expect_order(order, n, span)
    if len(tables.observed) != (span[1] - span[0] if tables.step else 1):
        raise IndexError(f"`tables` must be of cells {span}; found {len(tables.observed)}.")
    _by_cell(rows, order, span, 1.0 / unit_of(rows), np.empty((3, m)), tables, norms)


@kernel(Rows, Order, SPAN, f8, out(f8["3 m"]), CellTables, CellNorms)
def _by_cell(rows, order, span, scale, limbs, tables, norms):
    m = rows.probs.shape[1]
    for c in range(span[0], span[1]):
        at = (c - span[0]) * tables.step
        predicted = tables.predicted[at]
        observed = tables.observed[at]
        for j in range(m):
            observed[j] = 0.0
        total = one = two = 0.0
        for s in range(order.starts[c], order.starts[c + 1]):
            i = order.rows[s]
            w = rows.weights[i * rows.step]
            total += w
            observed[rows.labels[i]] += w
        add_predictions(rows, order, c, (scale, total), limbs, predicted)
        if total > 0.0:
            inverse = 1.0 / total
            if m > IN_ORDER:
                one, two = cell_norms(observed, predicted, inverse, limbs)
            else:
                for k in range(m):
                    j = k if rows.event < 0 else rows.event  # both of two are off by the same
                    d = (observed[j] - predicted[j]) * inverse
                    one += abs(d)
                    two += d * d
        norms.mass[c] = total
        norms.one[c] = one
        norms.two[c] = two
