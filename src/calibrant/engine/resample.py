"""Rows drawn again: each stands in a replicate as often as a Poisson number of mean 1 says.

That number is an exact function of (key, replicate, row), as labels are: how many of the
thresholds of the Poisson distribution the hash reaches. So blocks of rows can be drawn apart.
"""

from collections.abc import Callable, Iterator
from functools import partial
from math import exp, factorial
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.engine.arrays import expect_order, expect_rows, within, zeros
from calibrant.engine.draws import (
    ONE,
    checked,
    number,
    replicate_keys,
    row_key,
    thresholds,
    thresholds_room,
    uniform,
)
from calibrant.engine.kernel import SPAN, f8, helper, i4, i8, kernel, optional, out, u8
from calibrant.engine.norms import norms
from calibrant.engine.null import Cells
from calibrant.engine.sums import cut, unit_of
from calibrant.engine.totals import Totals, add_cells
from calibrant.engine.tuples import Array, Floats, Ints, Keys, Order, Replicates, Rows, Source, Span

SIDE = 8  # replicates that are added up beside one another
ENTRIES = 1 << 15  # sums that are laid out at a time
CUTS = np.rint(ONE * exp(-1) * np.cumsum([1 / factorial(k) for k in range(18)])).astype(np.int64)
ONCE = np.zeros(1, np.int64)  # thresholds of a row that stands once, whatever is drawn


@helper
def times_drawn(u, cuts):
    """Return how many of the thresholds are reached."""
    k = 0
    while k < cuts.shape[0] and u >= cuts[k]:
        k += 1
    return k


def poisson_times(n: int, first: int, key: np.uint64, replicate: int) -> NDArray[np.int32]:
    """Return how often each of n rows stands in a replicate: (n,)."""
    out = np.empty(n, np.int32)
    keys = replicate_keys(key, Replicates(replicate, replicate + 1))
    _poisson_times(first, key, keys[0], CUTS, out)
    return out


@kernel(i8, u8, u8, i8["_"], out(i4["n"]))
def _poisson_times(first, key, replicate, cuts, out):
    for i in range(out.shape[0]):
        out[i] = times_drawn(uniform(row_key(key, first + i), replicate), cuts)


class Sums(NamedTuple):
    """Sums over the rows of some cells, in several replicates beside one another."""

    mass: Annotated[Floats, out(f8["some size"])]
    observed: Annotated[Floats, out(f8["some m size"])]
    limbs: Annotated[Floats, out(f8["3 some m size"])]  # of the predictions

    @classmethod
    def zeros(cls, n_cells: int, m: int, size: int) -> "Sums":
        """Return the sums of no rows."""
        shape = n_cells, m, size
        return cls(np.zeros((n_cells, size)), np.zeros(shape), np.zeros((3, *shape)))

    def norms(self, event: int, scale: float) -> tuple[Floats, Floats]:
        """Return the 1-norm and the squared 2-norm of each cell's deviation: (cells, size)."""
        high, middle, low = self.limbs
        off = self.observed - (high + (middle + low)) / scale
        if event >= 0:  # both of two outcomes are off by the same
            off = np.repeat(off[:, event : event + 1], 2, axis=1)
        off *= (1.0 / np.where(self.mass > 0, self.mass, 1.0))[:, None]
        return norms(off)

    def add_to(self, totals: Totals, event: int, scale: float, total: float | Floats) -> None:
        """Add these cells to the totals, with their shares of the weight of all rows."""
        one, two = self.norms(event, scale)
        for norm, values in enumerate((one, np.sqrt(two), two)):
            add_cells(totals, norm, values, self.mass / total)


def resampled_totals(rows: Rows, cells: Cells, key: np.uint64, replicates: Replicates) -> Totals:
    """Return the totals of all norms over fixed cells, in which rows stand so many times.

    A replicate that happens to have no rows at all is replaced by the data.
    """
    expect_rows(rows)
    expect_order(cells.order, rows.probs.shape[0], (0, cells.mass.size))
    out = Totals.zeros(replicates.size)
    scale = 1.0 / unit_of(rows)
    for span, keys in _groups(key, replicates):

        def fill(cuts: Ints, some: Span, sums: Sums, keys: Any = keys) -> None:
            _resample(rows, cells.order, some, (key, keys, cuts, scale), np.empty(SIDE), sums)

        found, weight = _beside(rows, cells, partial(fill, CUTS), cells.total)
        if (weight == 0).any():
            data, _ = _beside(rows, cells, partial(fill, ONCE), cells.total)
            replace_empty(found, weight, data)
        _keep(out, span, rescaled(found, weight, cells.total))
    return out


class Redrawn(NamedTuple):
    """Rows that stand several times, each copy with a label of its own."""

    source: Source
    event: Array | None  # (n,) or (1,): of two outcomes, 0 is this class, and 1 another one
    times: NDArray[np.int32]  # (replicates, n)
    replicates: Replicates


def redrawn_totals(rows: Rows, cells: Cells, drawn: Redrawn) -> Totals:
    """Return the totals of all norms over fixed cells, of rows whose copies draw labels.

    The copy number c of row i of n draws as if it were row i + c n, as in `draws.draw_copies`.
    """
    source, event = _checked(rows, cells, drawn)
    out, scale = Totals.zeros(drawn.replicates.size), 1.0 / unit_of(rows)
    room = thresholds_room(drawn.source.probs.shape[1])
    for span, keys in _groups(drawn.source.key, drawn.replicates):
        times = np.zeros((rows.probs.shape[0], SIDE), np.int32)
        times[:, : span.stop - span.start] = drawn.times[span].T
        draws = event, times, keys, scale

        def fill(some: Span, sums: Sums, draws: Any = draws) -> None:
            _redraw(rows, cells.order, some, source, draws, room, sums)

        weight = rows.weights @ times if rows.step else rows.weights[0] * times.sum(axis=0)
        found, _ = _beside(rows, cells, fill, np.where(weight > 0, weight, 1.0))
        _keep(out, span, found)
    return out


def _checked(rows: Rows, cells: Cells, drawn: Redrawn) -> tuple[Source, Array | None]:
    """Refuse what a kernel cannot use; return the source and the event as it takes them."""
    (n, m), event = rows.probs.shape, drawn.event
    expect_rows(rows)
    expect_order(cells.order, n, (0, cells.mass.size))
    within("times", drawn.times, 1 << 31)
    if drawn.times.shape != (drawn.replicates.size, n):
        raise IndexError(f"`times` must be of {drawn.replicates.size} replicates of {n} rows.")
    if event is None:
        return checked(drawn.source, m), None
    if m != 2 or event.size not in (1, n):
        raise IndexError("`event` must be one of two outcomes: of each row, or one for all.")
    return checked(drawn.source), event.astype(np.int64, copy=False)


def _keep(out: Totals, span: slice, found: Totals) -> None:
    """Put the totals of a group of replicates in their place."""
    for whole, part in zip(out, found, strict=True):
        whole[:, span] = part[:, : span.stop - span.start]


def resampled_sums(
    rows: Rows, order: Order, key: np.uint64, replicates: Replicates, unit: float
) -> Sums:
    """Return the sums of all cells of some rows, which stand so many times in each replicate."""
    n_cells, m = order.starts.size - 1, rows.probs.shape[1]
    expect_rows(rows)
    expect_order(order, rows.probs.shape[0])
    out = Sums.zeros(n_cells, m, replicates.size)
    for span, keys in _groups(key, replicates):
        sums = Sums.zeros(n_cells, m, SIDE)
        _resample(rows, order, (0, n_cells), (key, keys, CUTS, 1.0 / unit), np.empty(SIDE), sums)
        for whole, part in zip(out, sums, strict=True):
            whole[..., span] = part[..., : span.stop - span.start]
    return out


def _groups(key: np.uint64, replicates: Replicates) -> Iterator[tuple[slice, Keys]]:
    """Yield groups of SIDE replicates: where they stand, and their keys, the last padded."""
    keys = zeros(-(-replicates.size // SIDE) * SIDE, np.uint64)
    keys[: replicates.size] = replicate_keys(key, replicates)
    for start in range(0, replicates.size, SIDE):
        yield slice(start, min(start + SIDE, replicates.size)), keys[start : start + SIDE]


def _beside(
    rows: Rows,
    cells: Cells,
    fill: Callable[[Span, Sums], None],
    total: float | Floats,
) -> tuple[Totals, Floats]:
    """Return the totals of SIDE replicates, and the weight of their rows.

    fill : adds up a span of cells
    total : the weight that shares are of, of all replicates or of each
    """
    totals = Totals.zeros(SIDE)
    weight = np.zeros(SIDE)
    m, scale = rows.probs.shape[1], 1.0 / unit_of(rows)
    step = max(1, ENTRIES // (m * SIDE))
    for first in range(0, cells.mass.size, step):
        last = min(first + step, cells.mass.size)
        sums = Sums.zeros(last - first, m, SIDE)
        fill((first, last), sums)
        sums.add_to(totals, rows.event, scale, total)
        weight += sums.mass.sum(axis=0)
    return totals, weight


def replace_empty(totals: Totals, weight: Floats, data: Totals) -> None:
    """Put the totals of the data in place of those of replicates without rows."""
    empty = weight == 0
    for mine, theirs in zip(totals, data, strict=True):
        mine[:, empty] = np.broadcast_to(theirs, mine.shape)[:, empty]


def rescaled(totals: Totals, weight: Floats, total: float) -> Totals:
    """Return totals whose shares are those of the weight of each replicate, where it has any."""
    ratio = np.where(weight == 0, 1.0, total / np.where(weight == 0, 1.0, weight))
    return Totals(totals.high * ratio, totals.low * ratio, totals.worst)


@kernel(Rows, Order, SPAN, (u8, u8["size"], i8["_"], f8), out(f8["size"]), Sums)
def _resample(rows, order, span, draws, times, sums):
    key, replicates, cuts, scale = draws
    for c in range(span[1] - span[0]):
        for s in range(order.starts[span[0] + c], order.starts[span[0] + c + 1]):
            i = np.int64(order.rows[s])
            row = row_key(key, number(rows.numbers, rows.first, i))
            w = rows.weights[i * rows.step]
            y = rows.labels[i]
            for t in range(SIDE):
                times[t] = times_drawn(uniform(row, replicates[t]), cuts)
                sums.mass[c, t] += times[t] * w
                sums.observed[c, y, t] += times[t] * w
            for j in range(rows.probs.shape[1]):
                parts = cut(w * scale * rows.probs[i, j])
                for limb in range(3):
                    for t in range(SIDE):
                        sums.limbs[limb, c, j, t] += times[t] * parts[limb]


@kernel(
    Rows,
    Order,
    SPAN,
    Source,
    (optional(i8["_"]), i4["n size"], u8["size"], f8),
    out(i8["_"]),
    Sums,
)
def _redraw(rows, order, span, source, draws, cuts, sums):
    event, times, replicates, scale = draws
    n = rows.probs.shape[0]
    for c in range(span[1] - span[0]):
        for s in range(order.starts[span[0] + c], order.starts[span[0] + c + 1]):
            i = np.int64(order.rows[s])
            w = rows.weights[i * rows.step]
            thresholds(source.probs, i, cuts)
            for t in range(SIDE):
                sums.mass[c, t] += times[i, t] * w
                for copy in range(times[i, t]):
                    u = uniform(row_key(source.key, source.first + i + copy * n), replicates[t])
                    y = 0
                    while u >= cuts[y]:
                        y += 1
                    sums.observed[c, outcome(source.table, event, i, y), t] += w
            for j in range(rows.probs.shape[1]):
                parts = cut(w * scale * rows.probs[i, j])
                for limb in range(3):
                    for t in range(SIDE):
                        sums.limbs[limb, c, j, t] += times[i, t] * parts[limb]


@helper
def outcome(table, event, i, y):
    """Return what a lens sees of class y of row i."""
    if event.shape[0] > 0:
        return np.int64(event[i if event.shape[0] > 1 else 0] != y)
    if table.shape[0] > 0:
        return np.int64(table[i if table.shape[0] > 1 else 0, y])
    return np.int64(y)
