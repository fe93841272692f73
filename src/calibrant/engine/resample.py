"""Rows drawn again: each stands in a replicate as often as a Poisson number of mean 1 says.

That number is an exact function of (key, replicate, row), as labels are: how many of the
thresholds of the Poisson distribution the hash reaches. So blocks of rows can be drawn apart.
"""

from math import exp, factorial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.engine.arrays import expect, zeros
from calibrant.engine.compile import helper, kernel
from calibrant.engine.draws import ONE, replicate_keys, row_key, uniform
from calibrant.engine.null import Cells
from calibrant.engine.sums import cut, unit_of
from calibrant.engine.totals import HIGH, LOW, Totals
from calibrant.engine.tuples import Replicates, Rows

Floats = NDArray[np.float64]

SIDE = 8  # replicates that are added up beside one another
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


@kernel
def _poisson_times(first, key, replicate, cuts, out):
    for i in range(out.shape[0]):
        out[i] = times_drawn(uniform(row_key(key, first + i), replicate), cuts)


class Room(NamedTuple):
    """What the kernel works in, for a few replicates beside one another."""

    times: Floats  # (SIDE,) how often a row stands in each
    mass: Floats  # (SIDE,)
    observed: Floats  # (m, SIDE)
    limbs: Floats  # (3, m, SIDE)
    norm: Floats  # (3, SIDE)
    total: Floats  # (SIDE,) weight of all rows

    @classmethod
    def of(cls, m: int) -> "Room":
        """Return room for m outcomes."""
        shapes = (SIDE, SIDE, (m, SIDE), (3, m, SIDE), (3, SIDE), SIDE)
        return cls(*(zeros(shape) for shape in shapes))


def resampled_totals(rows: Rows, cells: Cells, key: np.uint64, replicates: Replicates) -> Totals:
    """Return the totals of all norms over fixed cells, in which rows stand so many times.

    A replicate that happens to have no rows at all is replaced by the data.
    """
    n = rows.probs.shape[0]
    expect("order.rows", cells.order.rows, (n,), "i")
    expect("order.starts", cells.order.starts, (cells.mass.size + 1,), "i")
    out = Totals.zeros(replicates.size)
    keys = zeros(-(-replicates.size // SIDE) * SIDE, np.uint64)
    keys[: replicates.size] = replicate_keys(key, replicates)
    for start in range(0, replicates.size, SIDE):
        found = _beside(rows, cells, (key, keys[start : start + SIDE]), CUTS)
        for whole, part in zip(out, found, strict=True):
            span = whole[:, start : start + SIDE]
            span[:] = part[:, : span.shape[1]]
    return out


def _beside(
    rows: Rows,
    cells: Cells,
    keys: tuple[np.uint64, NDArray[np.uint64]],
    cuts: NDArray[np.int64],
) -> Totals:
    """Return the totals of SIDE replicates."""
    totals = Totals.zeros(SIDE)
    room = Room.of(rows.probs.shape[1])
    _resample(rows, cells, keys, cuts, 1.0 / unit_of(rows), room, totals)
    empty = room.total == 0
    if empty.any():
        once = _beside(rows, cells, keys, ONCE)
        for mine, theirs in zip(totals, once, strict=True):
            mine[:, empty] = theirs[:, empty]
    scale = np.where(empty, 1.0, cells.total / np.where(empty, 1.0, room.total))
    return Totals(totals.high * scale, totals.low * scale, totals.worst)


@helper
def deviation_norms(rows, scale, room):
    """Write the norms of a cell's mean deviation; what was added up becomes 0."""
    m = room.observed.shape[0]
    for t in range(SIDE):
        room.norm[0, t] = room.norm[2, t] = 0.0
    for j in range(m):
        for t in range(SIDE):
            column = j if rows.event < 0 else rows.event  # both of two are off by the same
            limbs = room.limbs[1, column, t] + room.limbs[2, column, t]
            predicted = (room.limbs[0, column, t] + limbs) / scale
            d = 0.0
            if room.mass[t] > 0.0:
                d = (room.observed[column, t] - predicted) * (1.0 / room.mass[t])
            room.norm[0, t] += abs(d)
            room.norm[2, t] += d * d
    for t in range(SIDE):
        room.norm[1, t] = np.sqrt(room.norm[2, t])


@kernel
def _resample(rows, cells, keys, cuts, scale, room, totals):
    key, replicates = keys
    m = rows.probs.shape[1]
    starts = cells.order.starts
    for c in range(cells.mass.shape[0]):
        for t in range(SIDE):
            room.mass[t] = 0.0
            for j in range(m):
                room.observed[j, t] = 0.0
                room.limbs[0, j, t] = room.limbs[1, j, t] = room.limbs[2, j, t] = 0.0
        for s in range(starts[c], starts[c + 1]):
            i = np.int64(cells.order.rows[s])
            row = row_key(key, rows.first + i)
            w = rows.weights[i * rows.step]
            y = rows.labels[i]
            for t in range(SIDE):
                room.times[t] = times_drawn(uniform(row, replicates[t]), cuts)
                room.mass[t] += room.times[t] * w
                room.observed[y, t] += room.times[t] * w
            for j in range(m):
                high, middle, low = cut(w * scale * rows.probs[i, j])
                for t in range(SIDE):
                    room.limbs[0, j, t] += room.times[t] * high
                    room.limbs[1, j, t] += room.times[t] * middle
                    room.limbs[2, j, t] += room.times[t] * low
        deviation_norms(rows, scale, room)
        for t in range(SIDE):
            room.total[t] += room.mass[t]
            share = room.mass[t] / cells.total
            for k in range(3):
                d = room.norm[k, t]
                x = share * d
                high = (x + HIGH) - HIGH
                totals.high[k, t] += high
                totals.low[k, t] += ((x - high) + LOW) - LOW
                totals.worst[k, t] = max(totals.worst[k, t], d)
