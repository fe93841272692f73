"""How often outcomes occur in each cell under redrawn labels: tables of weights."""

import numpy as np

from calibrant.engine import draws
from calibrant.engine.arrays import expect_order, expect_span, expect_weights, within, zeros
from calibrant.engine.draws import draw_row, number, row_key, uniform
from calibrant.engine.kernel import SPAN, count, f8, i8, kernel, optional, out, u8
from calibrant.engine.norms import dense_norms
from calibrant.engine.null import Room
from calibrant.engine.totals import Totals, collect
from calibrant.engine.tuples import Floats, Ints, Keys, Order, Replicates, Rows, Source, Span

WEIGHED = f8["_"], i8, i8, optional(i8["n"])  # weights, step, first and numbers of `Rows`


def event_counts(
    rows: Rows, order: Order, cuts: Ints, keys: tuple[np.uint64, Keys], span: Span
) -> Floats:
    """Return the weight of the event in cells span[0] … span[1] - 1: (cells, replicates).

    cuts : (n, 2) as `draws.event_cuts` returns them
    keys : of the rows, and of the replicates
    """
    expect_weights(rows)
    expect_order(order, min(rows.probs.shape[0], len(cuts)), span)
    shape = span[1] - span[0], keys[1].size
    found = zeros(shape, np.int64 if rows.step == 0 else np.float64)
    weighed = rows.weights, rows.step, rows.first, rows.numbers
    _event_counts(cuts, weighed, order, keys, span, found)
    return found.astype(np.float64, copy=False)


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


def cell_counts(
    rows: Rows, order: Order, source: Source, replicates: Replicates, span: Span
) -> Floats:
    """Return the weight of each outcome in cells span[0] … span[1] - 1: (replicates, cells, m)."""
    expect_span(span, order.starts.size - 1)
    some = Order(order.rows, order.starts[span[0] : span[1] + 1])
    tables = np.zeros((span[1] - span[0], rows.probs.shape[1], replicates.size))
    add_counts(rows, some, source, replicates, (np.arange(len(tables)), tables))
    return tables.transpose(2, 0, 1)


def add_counts(
    rows: Rows, order: Order, source: Source, replicates: Replicates, tables: tuple[Ints, Floats]
) -> None:
    """Add the weight of each outcome of some cells to tables of these and other cells.

    tables : the place of each cell of `order`, and the tables (places, m, replicates)
    """
    n, m = rows.probs.shape
    expect_weights(rows)
    expect_order(order, n)
    within("places", tables[0], len(tables[1]))
    keys = draws.replicate_keys(source.key, replicates)
    room = Room.of(source.probs.shape[1], m, replicates.size)
    _add_counts(rows, order, draws.checked(source, m), keys, room, *tables)


@kernel(Rows, Order, Source, u8["size"], Room, i8["cells"], out(f8["_ m size"]))
def _add_counts(rows, order, source, keys, room, places, out):
    labels = room.labels[0]
    for c in range(places.shape[0]):
        table = out[places[c]]
        for s in range(order.starts[c], order.starts[c + 1]):
            i = np.int64(order.rows[s])
            draw_row(source, i, keys, room.cuts, room.u, labels)
            w = rows.weights[i * rows.step]
            for t in range(labels.shape[0]):
                table[labels[t], t] += w


def table_totals(
    counts: Floats, predicted: Floats, mass: Floats, wanted: Span, whole: float | None = None
) -> Totals:
    """Return the totals of cells whose outcomes were counted: what `null_totals` gives.

    counts : (cells, m, size), predicted : (cells, m) sums, mass : (cells,)
    whole : the weight of all cells, if these are some of them
    """
    _, m, size = counts.shape
    totals = Totals.zeros(size)
    room = zeros((m, size)), zeros((8, size)), zeros((3, size))
    total = float(mass.sum()) if whole is None else whole
    _table_totals(counts, predicted, mass, total, wanted, room, totals)
    return totals


@kernel(
    f8["cells m size"],
    f8["cells m"],
    f8["cells"],
    f8,
    SPAN,
    (out(f8["m size"]), out(f8["8 size"]), out(f8["3 size"])),
    Totals,
)
def _table_totals(counts, predicted, mass, total, wanted, room, totals):
    table, sums, norm = room
    for c in range(mass.shape[0]):
        if mass[c] > 0.0:
            for j in range(table.shape[0]):
                for t in range(table.shape[1]):
                    table[j, t] = counts[c, j, t]
            dense_norms(table, predicted[c], 1.0 / mass[c], wanted, sums, norm)
            collect(norm, mass[c] / total, wanted, totals)
