"""Outcomes of some rows in every replicate of a block, for kernels that look at rows one by one."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.engine import draws
from calibrant.engine.arrays import expect, within, zeros
from calibrant.engine.draws import draw_row, row_key, uniform
from calibrant.engine.kernel import i4, i8, kernel, out, u8
from calibrant.engine.tuples import Replicates, Source

Array = NDArray[Any]


class Drawing(NamedTuple):
    """What the outcomes of a problem are drawn from.

    With `cuts`, as `cuts.event_cuts` returns them, a problem of two outcomes: row i shows the
    event where its number is from cuts[i, 0] and below cuts[i, 1]. Without, the source tells.
    """

    source: Source
    cuts: NDArray[np.int64] | None = None  # (n, 2)
    event: int = 0


def draw(drawing: Drawing, rows: Array, replicates: Replicates) -> NDArray[np.int32]:
    """Return the outcomes of the rows with these numbers (k,) in some replicates: (k, size)."""
    source = draws.checked(drawing.source)
    n, m = source.probs.shape
    expect("rows", rows, (None,), "i")
    within("rows", rows, n)
    keys = draws.replicate_keys(drawing.source.key, replicates)
    out = np.empty((rows.size, replicates.size), np.int32)
    if drawing.cuts is None:
        room = draws.thresholds_room(m), *(zeros(replicates.size, np.int64) for _ in range(2))
        _draw_rows(source, rows, keys, room, out)
        return out
    expect("cuts", drawing.cuts, (n, 2), "i")
    _draw_events(_event_keys(drawing), rows, keys, drawing.event, out)
    return out


def _event_keys(drawing: Drawing) -> tuple[np.uint64, int, NDArray[np.int64]]:
    """Return what a row's event depends on: the key, the number of row 0 and the cuts."""
    assert drawing.cuts is not None
    return drawing.source.key, drawing.source.first, drawing.cuts


@kernel(
    draws.Drawing,
    i8["k"],
    u8["size"],
    (out(i8["_"]), out(i8["size"]), out(i8["size"])),
    out(i4["k size"]),
)
def _draw_rows(source, rows, keys, room, out):
    cuts, u, labels = room
    for s in range(rows.shape[0]):
        draw_row(source, np.int64(rows[s]), keys, cuts, u, labels)
        drawn = out[s]
        for t in range(keys.shape[0]):
            drawn[t] = labels[t]


@kernel((u8, i8, i8["n 2"]), i8["k"], u8["size"], i8, out(i4["k size"]))
def _draw_events(source, rows, keys, event, out):
    key, first, cuts = source
    for s in range(rows.shape[0]):
        i = np.int64(rows[s])
        row = row_key(key, first + i)
        low, high = cuts[i, 0], cuts[i, 1]
        drawn = out[s]
        for t in range(keys.shape[0]):
            u = uniform(row, keys[t])
            drawn[t] = event ^ 1 ^ ((u >= low) & (u < high))
