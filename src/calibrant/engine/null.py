"""Cells under redrawn labels, in a block of replicates: totals of their norms, counts, squares.

Totals are measured cell by cell, without laying anything out; counts are tables of weights; squares
are sums over pairs of rows of one cell.
"""

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.engine import arrays, draws, norms
from calibrant.engine.arrays import Floats, Ints, Keys, Order, Replicates, Rows, Source, Span, zeros
from calibrant.engine.draws import FEW, add_draws, add_left, draw_row, number, row_key, uniform
from calibrant.engine.kernel import (
    SPAN,
    code,
    count,
    f8,
    helper,
    i4,
    i8,
    kernel,
    optional,
    out,
    u1,
    u8,
)
from calibrant.engine.norms import MIDDLE, Totals, collect, dense_norms, seen_norms, single_norms
from calibrant.engine.sums import add_predictions, unit_of

SIGNED = 12.0  # adding and subtracting it rounds numbers from -4 to 4 to a multiple of 2^-49
WEIGHED = f8["_"], i8, i8, optional(i8["n"])  # weights, step, first and numbers of `Rows`


class SortedCells(NamedTuple):
    """Rows sorted by cell, the weight of each cell, and that of all."""

    order: Order
    mass: Annotated[Floats, f8["cells"]]
    total: float


class Scratch(NamedTuple):
    """What kernels work in: they allocate nothing."""

    cuts: Annotated[Ints, out(i8["cuts"])]  # thresholds of a row
    u: Annotated[Ints, out(i8["size"])]
    labels: Annotated[Ints, out(i8["few size"])]  # of fewer rows; of others, one at a time
    limbs: Annotated[Floats, out(f8["3 m"])]
    predicted: Annotated[Floats, out(f8["m"])]
    table: Annotated[Floats, out(f8["2 m"])]  # norms of a cell of one row, for each outcome
    counts: Annotated[Floats, out(f8["m size"])]
    sums: Annotated[Floats, out(f8["8 size"])]  # limbs of norms, and what is put in their place
    norm: Annotated[Floats, out(f8["3 size"])]

    @classmethod
    def of(cls, n_classes: int, m: int, size: int) -> "Scratch":
        """Return what is needed for m outcomes of rows that draw from so many classes."""
        few = 1 if m <= norms.IN_ORDER else m // 2
        scratch = arrays.blank(cls, cuts=0, few=few, m=m, size=size)
        return scratch._replace(cuts=draws.thresholds_scratch(n_classes))


def null_totals(
    rows: Rows, cells: SortedCells, source: Source, replicates: Replicates, wanted: Span
) -> Totals:
    """Return the totals of all cells, a draw for each row and replicate: norms range(*wanted)."""
    n, m = rows.probs.shape
    source = draws.checked(source, m)
    arrays.expect_rows(rows)
    arrays.expect_order(cells.order, n)
    arrays.expect_span(wanted, 3, "norms")
    totals = Totals.zeros(replicates.size)
    scratch = Scratch.of(source.probs.shape[1], m, replicates.size)
    keys = draws.replicate_keys(source.key, replicates)
    _null_totals(rows, cells, source, (keys, 1.0 / unit_of(rows)), wanted, scratch, totals)
    return totals


@kernel(Rows, SortedCells, Source, (u8["size"], f8), SPAN, Scratch, Totals)
def _null_totals(rows, cells, source, block, wanted, scratch, totals):
    keys, scale = block
    few = scratch.labels.shape[0]
    starts = cells.order.starts
    for c in range(cells.mass.shape[0]):
        mass = cells.mass[c]
        if mass <= 0.0:
            continue
        used = starts[c + 1] - starts[c]
        add_predictions(rows, cells.order, c, (scale, mass), scratch.limbs, scratch.predicted)
        for s in range(used):
            i = np.int64(cells.order.rows[starts[c] + s])
            labels = scratch.labels[s if used < few else 0]
            draw_row(source, i, keys, scratch.cuts, scratch.u, labels)
            if used > 1:
                w = rows.weights[i * rows.step]
                for t in range(labels.shape[0]):
                    scratch.counts[labels[t], t] += w
        if used == 1:
            single_norms(scratch.labels[0], scratch, mass, wanted)
        elif used < few:
            seen_norms(scratch.labels[:used], scratch, 1.0 / mass, wanted)
        else:
            dense_norms(
                scratch.counts, scratch.predicted, 1.0 / mass, wanted, scratch.sums, scratch.norm
            )
        collect(scratch.norm, mass / cells.total, wanted, totals)


def event_counts(
    rows: Rows, order: Order, cuts: Ints, keys: tuple[np.uint64, Keys], span: Span
) -> Floats:
    """Return the weight of the event in cells span[0] … span[1] - 1: (cells, replicates).

    cuts : (n, 2) as `draws.event_cuts` returns them; keys : of the rows, and of the replicates
    """
    arrays.expect_weights(rows)
    arrays.expect_order(order, min(rows.probs.shape[0], len(cuts)), span)
    shape = span[1] - span[0], keys[1].size
    found = zeros(shape, np.int64 if rows.step == 0 else np.float64)
    weighed = rows.weights, rows.step, rows.first, rows.numbers
    _event_counts(cuts, weighed, order, keys, span, found)
    return found.astype(np.float64, copy=False)


@helper
def count_events(cuts, rows, order, keys, c, out):
    """Add the weight of the event in cell c to out (size,)."""
    weights, step, first, numbers = rows
    key, replicates = keys
    for s in range(order.starts[c], order.starts[c + 1]):
        i = np.int64(order.rows[s])
        row = row_key(key, number(numbers, first, i))
        low, high = cuts[i, 0], cuts[i, 1]
        if step == 0:
            for t in range(replicates.shape[0]):
                u = uniform(row, replicates[t])
                out[t] += (u >= low) & (u < high)
        else:
            w = weights[i]
            for t in range(replicates.shape[0]):
                u = uniform(row, replicates[t])
                out[t] += w * ((u >= low) & (u < high))


@kernel(i8["n 2"], WEIGHED, Order, (u8, u8["size"]), SPAN, out(count["_ size"]))
def _event_counts(cuts, rows, order, keys, span, out):
    for c in range(span[0], span[1]):
        count_events(cuts, rows, order, keys, c, out[c - span[0]])


def event_residuals(
    rows: Rows,
    order: Order,
    cuts: Ints,
    keys: tuple[np.uint64, Keys],
    terms: tuple[Floats, Floats],
) -> Floats:
    """Return sums over cells of (events - predicted) times factors: (k, replicates).

    terms : what was predicted (cells,), and factors (k, cells)
    """
    arrays.expect_weights(rows)
    arrays.expect_order(order, min(rows.probs.shape[0], len(cuts)))
    sums = zeros((len(terms[1]), keys[1].size))
    weighed = rows.weights, rows.step, rows.first, rows.numbers
    _event_residuals(cuts, weighed, order, keys, terms, zeros(keys[1].size), sums)
    return sums


@kernel(
    i8["n 2"],
    WEIGHED,
    Order,
    (u8, u8["size"]),
    (f8["cells"], f8["k cells"]),
    out(f8["size"]),
    out(f8["k size"]),
)
def _event_residuals(cuts, rows, order, keys, terms, events, sums):
    predicted, factors = terms
    for c in range(predicted.shape[0]):
        for t in range(events.shape[0]):
            events[t] = 0.0
        count_events(cuts, rows, order, keys, c, events)
        g = predicted[c]
        for k in range(sums.shape[0]):
            total, factor = sums[k], factors[k, c]
            for t in range(events.shape[0]):
                total[t] += (events[t] - g) * factor


def cell_counts(
    rows: Rows, order: Order, source: Source, replicates: Replicates, span: Span
) -> Floats:
    """Return the weight of each outcome in cells span[0] … span[1] - 1: (replicates, cells, m)."""
    arrays.expect_span(span, order.starts.size - 1)
    some = Order(order.rows, order.starts[span[0] : span[1] + 1])
    tables = np.zeros((span[1] - span[0], rows.probs.shape[1], replicates.size))
    add_counts(rows, some, source, replicates, (np.arange(len(tables)), tables))
    return tables.transpose(2, 0, 1)


def add_counts(
    rows: Rows, order: Order, source: Source, replicates: Replicates, tables: tuple[Ints, Floats]
) -> None:
    """Add weights of outcomes to tables : places of the cells, and sums (places, m, replicates)."""
    n, m = rows.probs.shape
    arrays.expect_weights(rows)
    arrays.expect_order(order, n)
    arrays.within("places", tables[0], len(tables[1]))
    keys = draws.replicate_keys(source.key, replicates)
    scratch = draws.scratch(source.probs.shape[1], replicates.size)
    _add_counts(rows, order, draws.checked(source, m), keys, scratch, *tables)


@kernel(Rows, Order, Source, u8["size"], draws.SCRATCH, i8["cells"], out(f8["_ m size"]))
def _add_counts(rows, order, source, keys, scratch, places, out):
    for c in range(places.shape[0]):
        table, whole = out[places[c]], 0.0
        add_left(1.0, 0.0, table)
        for s in range(order.starts[c], order.starts[c + 1]):
            i = np.int64(order.rows[s])
            w = rows.weights[i * rows.step]
            add_draws(source, i, w, keys, scratch, table)
            whole += w
        add_left(-1.0, whole, table)


def count_outcomes(rows: Rows, span: Span, outcomes: NDArray[Any], table: Floats) -> None:
    """Add weights of rows span[0] … span[1] - 1 to a table (m, size), by outcomes (rows, size)."""
    arrays.expect_weights(rows)
    arrays.expect_outcomes(outcomes, span, rows.probs.shape[0])
    arrays.within("outcomes", outcomes, len(table))
    weights = rows.weights[slice(*span) if rows.step else slice(None)]
    _count_outcomes((weights, rows.step), outcomes, zeros(table.shape[1], np.uint8), table)


@kernel((f8["_"], i8), code["rows size"], out(u1["size"]), out(f8["m size"]))
def _count_outcomes(weights, outcomes, counts, table):
    each, step = weights
    if step == 1 or table.shape[0] > FEW:
        for s in range(outcomes.shape[0]):
            drawn, w = outcomes[s], each[s * step]
            for t in range(drawn.shape[0]):
                table[drawn[t], t] += w
        return
    for start in range(0, outcomes.shape[0], 255):  # what a byte can count
        stop = min(start + 255, outcomes.shape[0])
        for c in range(table.shape[0]):
            for t in range(counts.shape[0]):
                counts[t] = 0
            for s in range(start, stop):
                drawn = outcomes[s]
                for t in range(counts.shape[0]):
                    counts[t] += drawn[t] == c
            for t in range(counts.shape[0]):
                table[c, t] += each[0] * counts[t]


def table_totals(
    counts: Floats, predicted: Floats, mass: Floats, wanted: Span, whole: float | None = None
) -> Totals:
    """Return the totals of cells whose outcomes were counted: what `null_totals` gives.

    counts : (cells, m, size), predicted : (cells, m) sums, mass : (cells,)
    whole : the weight of all cells, if these are some of them
    """
    _, m, size = counts.shape
    totals = Totals.zeros(size)
    scratch = zeros((m, size)), zeros((8, size)), zeros((3, size))
    total = float(mass.sum()) if whole is None else whole
    _table_totals(counts, predicted, (mass, total), wanted, scratch, totals)
    return totals


@kernel(
    f8["cells m size"],
    f8["cells m"],
    (f8["cells"], f8),
    SPAN,
    (out(f8["m size"]), out(f8["8 size"]), out(f8["3 size"])),
    Totals,
)
def _table_totals(counts, predicted, weight, wanted, scratch, totals):
    mass, total = weight
    table, sums, norm = scratch
    for c in range(mass.shape[0]):
        if mass[c] > 0.0:
            for j in range(table.shape[0]):
                for t in range(table.shape[1]):
                    table[j, t] = counts[c, j, t]
            dense_norms(table, predicted[c], 1.0 / mass[c], wanted, sums, norm)
            collect(norm, mass[c] / total, wanted, totals)


class Squares(NamedTuple):
    """The unbiased squared deviation of cells in some replicates, after the rows so far.

    The inner products of all pairs of different rows of a cell add up to the squared length of its
    sum of residuals less the sum of their squared lengths. The latter are added up as whole numbers
    of very small units, so that the order of rows changes no bit. All is 0 before any row.
    """

    counts: Annotated[Floats, out(f8["m size"])]  # of the cell that is being added up
    lengths: Annotated[Ints, out(i8["size"])]  # its sum of squared residuals, in units
    high: Annotated[Floats, out(f8["size"])]  # the sum over the cells that are done, in two parts
    low: Annotated[Floats, out(f8["size"])]
    limbs: Annotated[Floats, out(f8["3 m"])]  # scratch
    predicted: Annotated[Floats, out(f8["m"])]  # scratch
    norm: Annotated[Floats, out(f8["size"])]  # scratch
    table: Annotated[Ints, out(i8["m"])]  # scratch: the squared residual of a row, for each outcome

    @property
    def value(self) -> Floats:
        """The sum over the cells (size,)."""
        return self.high + self.low


def add_squares(
    rows: Rows, cells: SortedCells, span: Span, outcomes: NDArray[np.int32], squares: Squares
) -> None:
    """Add rows of a span, sorted by cells of a weight of 2 or more, with outcomes (rows, size)."""
    arrays.expect_weights(rows)
    arrays.expect_outcomes(outcomes, span, min(cells.order.rows.size, int(cells.order.starts[-1])))
    arrays.within("order.rows", cells.order.rows, rows.probs.shape[0])
    arrays.within("outcomes", outcomes, len(squares.counts))
    first = int(np.searchsorted(cells.order.starts, span[0], side="right")) - 1
    unit = float(2.0 ** (np.ceil(np.log2(cells.total)) - 61))  # squared residuals are below 2
    _add_squares(rows, cells, (first, *span), outcomes, (1.0 / unit_of(rows), unit), squares)


@helper
def squared_residuals(rows, i, scale, table):
    """Write the squared length of e_y - p of row i for each outcome y, times `scale`: (m,)."""
    m = table.shape[0]
    if rows.event >= 0:
        p = np.float64(rows.probs[i, rows.event])
        table[rows.event] = np.int64(2.0 * (1.0 - p) * (1.0 - p) * scale)
        table[1 - rows.event] = np.int64(2.0 * p * p * scale)
        return
    total = 0.0
    for j in range(m):
        p = np.float64(rows.probs[i, j])
        total += p * p
    for j in range(m):
        p = np.float64(rows.probs[i, j])
        table[j] = np.int64((total + (1.0 - 2.0 * p)) * scale)


@helper
def finish(mass, total, event, unit, squares):
    """Add the cell, whose sums of predictions are in squares.predicted, and begin the next."""
    scale = 1.0 / ((mass - 1.0) * total)
    norm, lengths = squares.norm, squares.lengths
    for t in range(norm.shape[0]):
        norm[t] = -(lengths[t] * unit)
        lengths[t] = 0
    for k in range(squares.counts.shape[0] if event < 0 else 1):
        j = k if event < 0 else event  # both of two are off by the same
        counts, g = squares.counts[j], squares.predicted[j]
        times = 1.0 if event < 0 else 2.0
        for t in range(norm.shape[0]):
            d = counts[t] - g
            norm[t] += times * (d * d)
            counts[t] = 0.0
    for t in range(norm.shape[0]):
        x = norm[t] * scale
        high = (x + SIGNED) - SIGNED
        squares.high[t] += high
        squares.low[t] += ((x - high) + MIDDLE) - MIDDLE


@kernel(Rows, SortedCells, (i8, i8, i8), i4["_ size"], (f8, f8), Squares)
def _add_squares(rows, cells, span, outcomes, units, squares):
    c, start, stop = span
    scale, unit = units
    lengths = squares.lengths
    for s in range(start, stop):
        i = np.int64(cells.order.rows[s])
        w = rows.weights[i * rows.step]
        squared_residuals(rows, i, w / unit, squares.table)
        drawn = outcomes[s - start]
        if rows.event >= 0:
            counts, here = squares.counts[rows.event], squares.table[rows.event]
            there = squares.table[1 - rows.event]
            for t in range(drawn.shape[0]):
                counts[t] += w * (drawn[t] == rows.event)
            for t in range(drawn.shape[0]):
                lengths[t] += here if drawn[t] == rows.event else there
        else:
            for t in range(drawn.shape[0]):
                squares.counts[drawn[t], t] += w
                lengths[t] += squares.table[drawn[t]]
        if s + 1 == cells.order.starts[c + 1]:
            mass = cells.mass[c]
            add_predictions(rows, cells.order, c, (scale, mass), squares.limbs, squares.predicted)
            finish(mass, cells.total, rows.event, unit, squares)
            c += 1
