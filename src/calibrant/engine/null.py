"""Cells under redrawn labels, in a block of replicates, without laying anything out."""

from typing import Annotated, NamedTuple

import numpy as np

from calibrant.engine import draws
from calibrant.engine.arrays import expect_order, expect_rows, zeros
from calibrant.engine.draws import draw_row
from calibrant.engine.kernel import SPAN, f8, i8, kernel, out, u8
from calibrant.engine.norms import IN_ORDER, dense_norms, look_up, seen_norms, single_norms
from calibrant.engine.sums import add_predictions, unit_of
from calibrant.engine.totals import Totals, collect
from calibrant.engine.tuples import Floats, Ints, Order, Replicates, Rows, Source, Span


class Cells(NamedTuple):
    """Rows sorted by cell, the weight of each cell, and that of all."""

    order: Order
    mass: Annotated[Floats, f8["cells"]]
    total: float


class Room(NamedTuple):
    """What kernels work in: they allocate nothing."""

    cuts: Annotated[Ints, out(i8["_"])]  # thresholds of a row
    u: Annotated[Ints, out(i8["size"])]
    # (rows, size) for cells of fewer rows; of others, one at a time
    labels: Annotated[Ints, out(i8["_ size"])]
    limbs: Annotated[Floats, out(f8["3 m"])]
    predicted: Annotated[Floats, out(f8["m"])]
    table: Annotated[Floats, out(f8["2 m"])]  # norms of a cell of one row, for each outcome
    counts: Annotated[Floats, out(f8["m size"])]
    sums: Annotated[Floats, out(f8["8 size"])]  # limbs of norms, and what is put in their place
    norm: Annotated[Floats, out(f8["3 size"])]

    @classmethod
    def of(cls, n_classes: int, m: int, size: int) -> "Room":
        """Return room for m outcomes of rows that draw from so many classes."""
        return cls(
            draws.thresholds_room(n_classes),
            zeros(size, np.int64),
            zeros((1 if m <= IN_ORDER else m // 2, size), np.int64),
            zeros((3, m)),
            zeros(m),
            zeros((2, m)),
            zeros((m, size)),
            zeros((8, size)),
            zeros((3, size)),
        )


def null_totals(
    rows: Rows, cells: Cells, source: Source, replicates: Replicates, wanted: Span
) -> Totals:
    """Return the totals of all cells, a draw for each row and replicate.

    wanted : the norms that are needed, as in ``range(*wanted)``; others are left at 0
    """
    n, m = rows.probs.shape
    source = draws.checked(source, m)
    expect_rows(rows)
    expect_order(cells.order, n)
    if not 0 <= wanted[0] <= wanted[1] <= 3:
        raise IndexError(f"`wanted` must be a span of three norms; found {wanted}.")
    totals = Totals.zeros(replicates.size)
    room = Room.of(source.probs.shape[1], m, replicates.size)
    keys = draws.replicate_keys(source.key, replicates)
    _null_totals(rows, cells, source, (keys, 1.0 / unit_of(rows)), wanted, room, totals)
    return totals


@kernel(Rows, Cells, Source, (u8["size"], f8), SPAN, Room, Totals)
def _null_totals(rows, cells, source, block, wanted, room, totals):
    keys, scale = block
    few = room.labels.shape[0]
    starts = cells.order.starts
    for c in range(cells.mass.shape[0]):
        mass = cells.mass[c]
        if mass <= 0.0:
            continue
        used = starts[c + 1] - starts[c]
        add_predictions(rows, cells.order, c, (scale, mass), room.limbs, room.predicted)
        for s in range(used):
            i = np.int64(cells.order.rows[starts[c] + s])
            labels = room.labels[s if used < few else 0]
            draw_row(source, i, keys, room.cuts, room.u, labels)
            if used > 1:
                w = rows.weights[i * rows.step]
                for t in range(labels.shape[0]):
                    room.counts[labels[t], t] += w
        if used == 1:
            single_norms(room.predicted, mass, wanted, room.limbs, room.table)
            look_up(room.table, room.labels[0], wanted, room.norm)
        elif used < few:
            seen_norms(room.labels[:used], room, 1.0 / mass, wanted)
        else:
            dense_norms(room.counts, room.predicted, 1.0 / mass, wanted, room.sums, room.norm)
        collect(room.norm, mass / cells.total, wanted, totals)
