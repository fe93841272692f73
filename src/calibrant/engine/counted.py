"""Outcomes of cells under redrawn labels, counted in tables that parts of the data add to."""

import numpy as np
from numpy.typing import NDArray

from calibrant.engine import draws
from calibrant.engine.arrays import (
    expect,
    expect_order,
    expect_span,
    expect_weights,
    within,
    zeros,
)
from calibrant.engine.draws import Drawing, draw_row
from calibrant.engine.kernel import SPAN, f8, i8, kernel, out, u8
from calibrant.engine.norms import dense_norms
from calibrant.engine.null import Room, expect_outcomes
from calibrant.engine.totals import Totals, collect
from calibrant.engine.tuples import Order, Replicates, Rows, Source

Floats = NDArray[np.float64]


def cell_counts(
    rows: Rows, order: Order, source: Source, replicates: Replicates, span: tuple[int, int]
) -> Floats:
    """Return the weight of each outcome in cells span[0] … span[1] - 1: (replicates, cells, m)."""
    expect_span(span, order.starts.size - 1)
    some = Order(order.rows, order.starts[span[0] : span[1] + 1])
    out = np.zeros((span[1] - span[0], rows.probs.shape[1], replicates.size))
    add_counts(rows, some, source, replicates, (np.arange(out.shape[0]), out))
    return out.transpose(2, 0, 1)


def add_counts(
    rows: Rows,
    order: Order,
    source: Source,
    replicates: Replicates,
    tables: tuple[NDArray[np.int64], Floats],
) -> None:
    """Add the weight of each outcome of some cells to tables of these and other cells.

    tables : the place of each cell of `order`, and the tables (places, m, replicates)
    """
    n, m = rows.probs.shape
    at, out = tables
    drawing, n_classes = draws.checked(source), source.probs.shape[1]
    expect("probs", rows.probs, (n, m), "f")
    expect_weights(rows)
    expect("probs", source.probs, (n, None), "f")
    expect_outcomes(source, m)
    expect("places", at, (None,), "i")
    expect_order(order, n, at.size)
    expect("tables", out, (None, m, replicates.size), "f")
    within("places", at, out.shape[0])
    keys = draws.replicate_keys(source.key, replicates)
    room = Room.of(n_classes, m, replicates.size)
    _add_counts(rows, order, drawing, keys, room, at, out)


@kernel(Rows, Order, Drawing, u8["size"], Room, i8["cells"], out(f8["_ m size"]))
def _add_counts(rows, order, source, keys, room, at, out):
    labels = room.labels[0]
    for c in range(at.shape[0]):
        table = out[at[c]]
        for s in range(order.starts[c], order.starts[c + 1]):
            i = np.int64(order.rows[s])
            draw_row(source, i, keys, room.cuts, room.u, labels)
            w = rows.weights[i * rows.step]
            for t in range(labels.shape[0]):
                table[labels[t], t] += w


def table_totals(
    counts: Floats,
    predicted: Floats,
    mass: Floats,
    wanted: tuple[int, int],
    whole: float | None = None,
) -> Totals:
    """Return the totals of cells whose outcomes were counted: what `null_totals` gives.

    counts : (cells, m, size), predicted : (cells, m) sums, mass : (cells,)
    whole : the weight of all cells, if these are some of them
    """
    n_cells, m, size = counts.shape
    expect("predicted", predicted, (n_cells, m), "f")
    expect("mass", mass, (n_cells,), "f")
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
