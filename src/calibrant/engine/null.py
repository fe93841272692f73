"""Cells under redrawn labels, in a block of replicates, without laying anything out."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.engine import draws
from calibrant.engine.arrays import expect, expect_order, expect_rows, within, zeros
from calibrant.engine.draws import FEW, Drawing, draw_row
from calibrant.engine.kernel import SPAN, f8, helper, i8, kernel, out, u8
from calibrant.engine.sums import add_predictions, unit_of
from calibrant.engine.totals import Totals, collect
from calibrant.engine.tuples import Order, Replicates, Rows, Source

Floats = NDArray[np.float64]


class Cells(NamedTuple):
    """Rows sorted by cell, the weight of each cell, and that of all."""

    order: Order
    mass: Annotated[Floats, f8["cells"]]  # (cells,)
    total: float


class Room(NamedTuple):
    """What kernels work in: they allocate nothing."""

    cuts: Annotated[NDArray[np.int64], out(i8["_"])]  # thresholds of a row
    u: Annotated[NDArray[np.int64], out(i8["size"])]  # (size,)
    labels: Annotated[
        NDArray[np.int64], out(i8["_ size"])
    ]  # (1, size); (m // 2, size) for many outcomes
    limbs: Annotated[Floats, out(f8["3 m"])]  # (3, m)
    predicted: Annotated[Floats, out(f8["m"])]  # (m,)
    table: Annotated[Floats, out(f8["2 m"])]  # (2, m) norms of a cell of one row, for each outcome
    counts: Annotated[Floats, out(f8["m size"])]  # (m, size)
    norm: Annotated[Floats, out(f8["3 size"])]  # (3, size)

    @classmethod
    def of(cls, n_classes: int, m: int, size: int) -> "Room":
        """Return room for m outcomes of rows that draw from so many classes."""
        return cls(
            draws.thresholds_room(n_classes),
            zeros(size, np.int64),
            zeros((1 if m <= FEW else m // 2, size), np.int64),
            zeros((3, m)),
            zeros(m),
            zeros((2, m)),
            zeros((m, size)),
            zeros((3, size)),
        )


def expect_outcomes(source: Source, m: int) -> None:
    """Refuse a source that may draw an outcome that is not there."""
    if source.table is not None:
        within("table", source.table, m)
    elif source.probs.shape[1] > m:
        raise IndexError(f"`probs` must have no more than {m} classes.")


def null_totals(
    rows: Rows, cells: Cells, source: Source, replicates: Replicates, wanted: tuple[int, int]
) -> Totals:
    """Return the totals of all cells, a draw for each row and replicate.

    wanted : the norms that are needed, as in ``range(*wanted)``; others are left at 0
    """
    n, m = rows.probs.shape
    drawing, n_classes = draws.checked(source), source.probs.shape[1]
    expect("probs", source.probs, (n, None), "f")
    expect_rows(rows)
    expect_order(cells.order, n, cells.mass.size)
    expect_outcomes(source, m)
    if not 0 <= wanted[0] <= wanted[1] <= 3:
        raise IndexError(f"`wanted` must be a span of three norms; found {wanted}.")
    totals = Totals.zeros(replicates.size)
    room = Room.of(n_classes, m, replicates.size)
    keys = draws.replicate_keys(source.key, replicates)
    kernel = _few_outcomes if m <= FEW else _many_outcomes
    kernel(rows, cells, drawing, (keys, 1.0 / unit_of(rows)), wanted, room, totals)
    return totals


@helper
def dense_norms(counts, predicted, scale, squares, norm):
    """Write the norms of (counts - predicted) * scale; counts (m, size) become 0.

    squares : whether the squared 2-norm is needed
    """
    size = counts.shape[1]
    for t in range(size):
        norm[0, t] = norm[2, t] = 0.0
    for j in range(counts.shape[0]):
        g = predicted[j]
        if squares:
            for t in range(size):
                d = (counts[j, t] - g) * scale
                norm[2, t] += d * d
        for t in range(size):
            norm[0, t] += abs((counts[j, t] - g) * scale)
            counts[j, t] = 0.0


@helper
def look_up(table, labels, squares, norm):
    """Write the norms of a cell of one row from those of each label, table (2, m)."""
    for t in range(labels.shape[0]):
        norm[0, t] = table[0, labels[t]]
    if squares:
        for t in range(labels.shape[0]):
            norm[2, t] = table[1, labels[t]]


@helper
def single_norms(predicted, w, table):
    """Write the norms of a cell of one row, of weight w, for each label: table (2, m)."""
    m = predicted.shape[0]
    scale = 1.0 / w
    for y in range(m):
        one = two = 0.0
        for j in range(m):
            d = ((w if j == y else 0.0) - predicted[j]) * scale
            one += abs(d)
            two += d * d
        table[0, y] = one
        table[1, y] = two


@kernel(Rows, Cells, Drawing, (u8["size"], f8), SPAN, Room, Totals)
def _few_outcomes(rows, cells, source, block, wanted, room, totals):
    keys, scale = block
    labels = room.labels[0]
    starts = cells.order.starts
    for c in range(cells.mass.shape[0]):
        mass = cells.mass[c]
        if mass <= 0.0:
            continue
        single = starts[c + 1] - starts[c] == 1
        add_predictions(rows, cells.order, c, (scale, mass), room.limbs, room.predicted)
        for s in range(starts[c], starts[c + 1]):
            i = np.int64(cells.order.rows[s])
            draw_row(source, i, keys, room.cuts, room.u, labels)
            if not single:
                w = rows.weights[i * rows.step]
                for t in range(labels.shape[0]):
                    room.counts[labels[t], t] += w
        if single:
            single_norms(room.predicted, mass, room.table)
            look_up(room.table, labels, wanted[1] > 1, room.norm)
        else:
            dense_norms(room.counts, room.predicted, 1.0 / mass, wanted[1] > 1, room.norm)
        collect(room.norm, mass / cells.total, wanted, totals)


@helper
def single_norms_of_many(predicted, w, table):
    """Do what `single_norms` does in one sweep over many outcomes.

    All outcomes but the drawn one add what they are predicted. The one of largest prediction
    is kept apart, so that nothing cancels where nearly all probability is on it.
    """
    top = 0
    for j in range(predicted.shape[0]):
        if predicted[j] > predicted[top]:
            top = j
    g = predicted[top]
    one = two = 0.0
    for j in range(predicted.shape[0]):
        if j != top:
            one += predicted[j]
            two += predicted[j] * predicted[j]
    scale = 1.0 / w
    for j in range(predicted.shape[0]):
        h = predicted[j]
        table[0, j] = (g + (one + (abs(w - h) - h))) * scale
        table[1, j] = (g * g + (two + w * (w - 2.0 * h))) * scale * scale
    table[0, top] = (one + abs(w - g)) * scale
    table[1, top] = (two + (w - g) * (w - g)) * scale * scale


@helper
def seen_norms(seen, counts, predicted, least, scale, norm):
    """Write norms through the outcomes seen (rows, size); the others add a constant.

    least : half the smallest weight of a row
    Outcomes that are predicted at least this much are kept out of the constant. A count of
    any other is more than twice its prediction, so it only adds: nothing cancels, and the
    last digits are right even where nearly all probability is on the outcomes that occur.
    Counts become 0.
    """
    size = counts.shape[1]
    one = two = 0.0
    for j in range(predicted.shape[0]):
        if predicted[j] < least:
            one += predicted[j]
            two += predicted[j] * predicted[j]
    for t in range(size):
        norm[0, t] = one
        norm[2, t] = two
    for j in range(predicted.shape[0]):
        if predicted[j] >= least:
            for t in range(size):
                d = counts[j, t] - predicted[j]
                norm[0, t] += abs(d)
                norm[2, t] += d * d
                counts[j, t] = 0.0
    for s in range(seen.shape[0]):
        for t in range(size):
            j = seen[s, t]
            count = counts[j, t]
            if count != 0.0:
                extra = count - 2.0 * predicted[j]
                norm[0, t] += extra
                norm[2, t] += count * extra
                counts[j, t] = 0.0
    for t in range(size):
        norm[0, t] *= scale
        norm[2, t] *= scale * scale


@kernel(Rows, Cells, Drawing, (u8["size"], f8), SPAN, Room, Totals)
def _many_outcomes(rows, cells, source, block, wanted, room, totals):
    """Do what `_few_outcomes` does, in cells of few rows through the outcomes that occur."""
    keys, scale = block
    few = room.labels.shape[0]
    starts = cells.order.starts
    for c in range(cells.mass.shape[0]):
        mass = cells.mass[c]
        if mass <= 0.0:
            continue
        used = starts[c + 1] - starts[c]
        least = np.inf
        add_predictions(rows, cells.order, c, (scale, mass), room.limbs, room.predicted)
        for s in range(used):
            i = np.int64(cells.order.rows[starts[c] + s])
            w = rows.weights[i * rows.step]
            if w > 0.0:
                least = min(least, 0.5 * w)
            labels = room.labels[s if used < few else 0]
            draw_row(source, i, keys, room.cuts, room.u, labels)
            if used > 1:
                for t in range(labels.shape[0]):
                    room.counts[labels[t], t] += w
        if used == 1:
            single_norms_of_many(room.predicted, mass, room.table)
            look_up(room.table, room.labels[0], wanted[1] > 1, room.norm)
        elif used < few:
            seen = room.labels[:used]
            seen_norms(seen, room.counts, room.predicted, least, 1.0 / mass, room.norm)
        else:
            dense_norms(room.counts, room.predicted, 1.0 / mass, wanted[1] > 1, room.norm)
        collect(room.norm, mass / cells.total, wanted, totals)
