"""Rows drawn again: each stands in a replicate as often as a Poisson number of mean 1 says.

That number is an exact function of (key, replicate, row), as labels are: how many of the
thresholds of the Poisson distribution the hash reaches. So blocks of rows can be drawn apart.
"""

from collections.abc import Callable
from functools import partial
from math import exp, factorial
from typing import Annotated, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from calibrant.engine import arrays, draws, threads
from calibrant.engine.arrays import Array, Floats, Ints, Keys, Order, Replicates, Rows, Source, Span
from calibrant.engine.draws import ONE, number, reached, row_key, thresholds, uniform
from calibrant.engine.kernel import SPAN, f8, helper, i4, i8, kernel, optional, out, u8
from calibrant.engine.norms import Totals, add_cells, norms
from calibrant.engine.null import SortedCells
from calibrant.engine.sums import cut, unit_of

T = TypeVar("T")

SIDE = 8  # replicates that are added up beside one another
ENTRIES = 1 << 15  # sums that are laid out at a time
CUTS = np.rint(ONE * exp(-1) * np.cumsum([1 / factorial(k) for k in range(18)])).astype(np.int64)
ONCE = np.zeros(1, np.int64)  # thresholds of a row that stands once, whatever is drawn


def poisson_times(n: int, first: int, key: np.uint64, replicate: int) -> NDArray[np.int32]:
    """Return how often each of n rows stands in a replicate: (n,)."""
    out = np.empty(n, np.int32)
    keys = draws.replicate_keys(key, Replicates(replicate, replicate + 1))
    _poisson_times(first, key, keys[0], CUTS, out)
    return out


@kernel(i8, u8, u8, i8["_"], out(i4["n"]))
def _poisson_times(first, key, replicate, cuts, out):
    for i in range(out.shape[0]):
        out[i] = reached(uniform(row_key(key, first + i), replicate), cuts)


class ReplicateSums(NamedTuple):
    """Sums over the rows of some cells, in several replicates beside one another."""

    mass: Annotated[Floats, out(f8["some size"])]
    observed: Annotated[Floats, out(f8["some m size"])]
    limbs: Annotated[Floats, out(f8["3 some m size"])]  # of the predictions

    def add_to(self, totals: Totals, event: int, scale: float, total: float | Floats) -> None:
        """Add the norms of these cells to the totals, with their shares of the weight of all."""
        high, middle, low = self.limbs
        off = self.observed - (high + (middle + low)) / scale
        if event >= 0:  # both of two outcomes are off by the same
            off = np.repeat(off[:, event : event + 1], 2, axis=1)
        off *= (1.0 / np.where(self.mass > 0, self.mass, 1.0))[:, None]
        one, two = norms(off)
        for norm, values in enumerate((one, np.sqrt(two), two)):
            add_cells(totals, norm, values, self.mass / total)


def resampled_totals(
    rows: Rows, cells: SortedCells, key: np.uint64, replicates: Replicates
) -> Totals:
    """Return the totals over fixed cells of rows that stand so many times; of the data if none."""
    arrays.expect_rows(rows)
    arrays.expect_order(cells.order, rows.probs.shape[0], (0, cells.mass.size))
    scale = 1.0 / unit_of(rows)

    def totals(_: slice, keys: Keys) -> Totals:
        def fill(cuts: Ints, some: Span, sums: ReplicateSums) -> None:
            _resample(rows, cells.order, some, (key, keys, cuts, scale), np.empty(SIDE), sums)

        def added(cuts: Ints) -> tuple[Totals, Floats]:
            return _beside(rows, cells, partial(fill, cuts), cells.total)

        return settled(*added(CUTS), cells.total, lambda: added(ONCE)[0])

    return _in_groups(totals, key, replicates)


class Redrawn(NamedTuple):
    """Rows that stand several times, each copy with a label of its own."""

    source: Source
    event: Array | None  # (n,) or (1,): of two outcomes, 0 is this class, and 1 another one
    times: NDArray[np.int32]  # (replicates, n)
    replicates: Replicates


def redrawn_totals(rows: Rows, cells: SortedCells, drawn: Redrawn) -> Totals:
    """Return the totals over fixed cells of rows whose copies draw as in `draws.draw_copies`."""
    (n, m), event = rows.probs.shape, drawn.event
    arrays.expect_rows(rows)
    arrays.expect_order(cells.order, n, (0, cells.mass.size))
    arrays.within("times", drawn.times, 1 << 31)
    if drawn.times.shape != (drawn.replicates.size, n):
        raise IndexError(f"`times` must be of {drawn.replicates.size} replicates of {n} rows.")
    if event is not None and (m != 2 or event.size not in (1, n)):
        raise IndexError("`event` must be one of two outcomes: of each row, or one for all.")
    classes = None if event is None else event.astype(np.int64, copy=False)
    source = draws.checked(drawn.source, m if event is None else None)
    scratch, scale = draws.thresholds_scratch(source.probs.shape[1]), 1.0 / unit_of(rows)

    def totals(group: slice, keys: Keys) -> Totals:
        some = drawn.times[group]
        times = np.zeros((n, SIDE), np.int32)
        times[:, : len(some)] = some.T

        def fill(span: Span, sums: ReplicateSums) -> None:
            _redraw(rows, cells.order, span, source, (classes, times, keys, scale), scratch, sums)

        weight = rows.weights @ times if rows.step else rows.weights[0] * times.sum(axis=0)
        return _beside(rows, cells, fill, np.where(weight > 0, weight, 1.0))[0]

    return _in_groups(totals, source.key, drawn.replicates)


def resampled_sums(
    rows: Rows, order: Order, key: np.uint64, replicates: Replicates, unit: float
) -> ReplicateSums:
    """Return the sums of all cells of some rows, which stand so many times in each replicate."""
    n_cells, m = order.starts.size - 1, rows.probs.shape[1]
    arrays.expect_rows(rows)
    arrays.expect_order(order, rows.probs.shape[0])

    def group(_: slice, keys: Keys) -> ReplicateSums:
        sums = arrays.blank(ReplicateSums, some=n_cells, m=m, size=SIDE)
        _resample(rows, order, (0, n_cells), (key, keys, CUTS, 1.0 / unit), np.empty(SIDE), sums)
        return sums

    return _in_groups(group, key, replicates)


def _in_groups(work: Callable[[slice, Keys], T], key: np.uint64, replicates: Replicates) -> T:
    """Put together what work(which, keys) gives for SIDE replicates at a time, the last padded."""
    size = replicates.size
    keys = arrays.zeros(-(-size // SIDE) * SIDE, np.uint64)
    keys[:size] = draws.replicate_keys(key, replicates)
    groups = [slice(start, start + SIDE) for start in range(0, size, SIDE)]
    found: Any = [work(group, keys[group]) for group in groups]
    parts = (np.concatenate(part, axis=-1)[..., :size] for part in zip(*found, strict=True))
    whole: T = type(found[0])(*parts)
    return whole


def _beside(
    rows: Rows,
    cells: SortedCells,
    fill: Callable[[Span, ReplicateSums], None],
    total: float | Floats,
) -> tuple[Totals, Floats]:
    """Return the totals of SIDE replicates, of shares of `total`, and the weight of their rows."""
    totals, weight = Totals.zeros(SIDE), np.zeros(SIDE)
    m, scale = rows.probs.shape[1], 1.0 / unit_of(rows)
    for first, last in threads.blocks(cells.mass.size, max(1, ENTRIES // (m * SIDE))):
        sums = arrays.blank(ReplicateSums, some=last - first, m=m, size=SIDE)
        fill((first, last), sums)
        sums.add_to(totals, rows.event, scale, total)
        weight += sums.mass.sum(axis=0)
    return totals, weight


def settled(totals: Totals, weight: Floats, total: float, data: Callable[[], Totals]) -> Totals:
    """Return totals of shares of each replicate's weight; those of the data where it is 0."""
    empty = weight == 0
    if empty.any():
        for mine, theirs in zip(totals, data(), strict=True):
            mine[:, empty] = np.broadcast_to(theirs, mine.shape)[:, empty]
    ratio = np.where(empty, 1.0, total / np.where(empty, 1.0, weight))
    return Totals(totals.high * ratio, totals.low * ratio, totals.worst)


@kernel(Rows, Order, SPAN, (u8, u8["size"], i8["_"], f8), out(f8["size"]), ReplicateSums)
def _resample(rows, order, span, drawn, times, sums):
    key, replicates, cuts, scale = drawn
    for c in range(span[1] - span[0]):
        for s in range(order.starts[span[0] + c], order.starts[span[0] + c + 1]):
            i = np.int64(order.rows[s])
            row = row_key(key, number(rows.numbers, rows.first, i))
            w = rows.weights[i * rows.step]
            y = rows.labels[i]
            for t in range(SIDE):
                times[t] = reached(uniform(row, replicates[t]), cuts)
                sums.mass[c, t] += times[t] * w
                sums.observed[c, y, t] += times[t] * w
            add_copies(rows, i, c, times, scale, sums)


@kernel(
    Rows,
    Order,
    SPAN,
    Source,
    (optional(i8["_"]), i4["n size"], u8["size"], f8),
    out(i8["_"]),
    ReplicateSums,
)
def _redraw(rows, order, span, source, drawn, cuts, sums):
    event, times, replicates, scale = drawn
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
                    y = outcome(source.table, event, i, reached(u, cuts))
                    sums.observed[c, y, t] += w
            add_copies(rows, i, c, times[i], scale, sums)


@helper
def add_copies(rows, i, c, times, scale, sums):
    """Add the predictions of row i, which stands so many times (SIDE,), to those of cell c."""
    w = rows.weights[i * rows.step]
    for j in range(rows.probs.shape[1]):
        parts = cut(w * scale * rows.probs[i, j])
        for limb in range(3):
            for t in range(SIDE):
                sums.limbs[limb, c, j, t] += times[t] * parts[limb]


@helper
def outcome(table, event, i, y):
    """Return what a lens sees of class y of row i."""
    if event.shape[0] > 0:
        return np.int64(event[i if event.shape[0] > 1 else 0] != y)
    if table.shape[0] > 0:
        return np.int64(table[i if table.shape[0] > 1 else 0, y])
    return np.int64(y)
