"""Pool adjacent violators: the increasing function nearest to frequencies, of many replicates.

Cells come in the order of their predictions. A pool is a run of cells that share a value. Cells are
added at the end; where the last pool is not above the one before it, the two become one. So each
replicate keeps a stack of pools with rising frequencies, and cells may come in parts.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.engine.arrays import expect
from calibrant.engine.compile import helper, kernel

Floats = NDArray[np.float64]

FIRST_ROOM = 64  # pools; a calibrated model has about the cube root of its number of cells


class Pools(NamedTuple):
    """The pools of each replicate so far: (size, room), of which the first `height` exist."""

    last: NDArray[np.int64]  # the last cell of each
    mass: Floats
    events: Floats
    loss: Floats  # of the predictions, added up over the rows
    height: NDArray[np.int64]  # (size,)

    @classmethod
    def start(cls, size: int) -> "Pools":
        """Return replicates without pools."""
        return cls.empty(np.zeros(size, np.int64), FIRST_ROOM)

    @classmethod
    def empty(cls, height: NDArray[np.int64], room: int) -> "Pools":
        """Return space for so many pools of each replicate."""
        shape = height.size, room
        mass, events, loss = np.empty((3, *shape))
        return cls(np.empty(shape, np.int64), mass, events, loss, height)

    @property
    def room(self) -> int:
        """Number of pools that each replicate can have."""
        return int(self.last.shape[1])

    def with_room(self, needed: int) -> "Pools":
        """Return pools that may become so many, in each replicate."""
        if needed <= self.room:
            return self
        grown = Pools.empty(self.height, max(needed, 2 * self.room))
        for old, new in zip(self[:-1], grown[:-1], strict=True):
            new[:, : self.room] = old
        return grown

    @property
    def exist(self) -> NDArray[np.bool_]:
        """Which pools exist, up to the largest number of any replicate: (size, most)."""
        return np.arange(self.height.max(initial=0)) < self.height[:, None]

    def values(self, cells: NDArray[np.int64]) -> Floats:
        """Return the frequency of the pool of each of some cells: (size, cells)."""
        out = np.empty((self.height.size, cells.size))
        for t, height in enumerate(self.height):
            pools = self.last[t, :height].searchsorted(cells)
            out[t] = self.events[t, pools] / self.mass[t, pools]
        return out


def pool(events: Floats, mass: Floats, losses: Floats, first: int, pools: Pools) -> Pools:
    """Add cells first, first + 1, … to the pools of each replicate.

    events : (cells, size) their weight in each cell
    mass : (cells,) weight of the rows
    losses : (2, cells) what a row adds to the loss if the event occurs, and if not
    """
    expect("events", events, (None, pools.height.size), "f")
    expect("mass", mass, events.shape[:1], "f")
    expect("losses", losses, (2, mass.size), "f")
    pools = pools.with_room(int(pools.height.max(initial=0)) + mass.size)
    _pool(np.ascontiguousarray(events), mass, losses, first, pools)
    return pools


@kernel
def _pool(events, mass, losses, first, pools):
    for t in range(events.shape[1]):
        all_events, all_mass, all_loss = pools.events[t], pools.mass[t], pools.loss[t]
        height = pools.height[t]
        for c in range(events.shape[0]):
            here, rows = events[c, t], mass[c]
            others, loss = rows - here, 0.0
            if here > 0.0:  # a loss may be infinite
                loss += here * losses[0, c]
            if others > 0.0:
                loss += others * losses[1, c]
            while height > 0 and all_events[height - 1] * rows >= here * all_mass[height - 1]:
                height -= 1
                here += all_events[height]
                rows += all_mass[height]
                loss += all_loss[height]
            all_events[height], all_mass[height], all_loss[height] = here, rows, loss
            pools.last[t, height] = first + c
            height += 1
        pools.height[t] = height


def tally(others: Floats, events: Floats) -> tuple[Floats, Floats]:
    """Count how often each value is in two sorted arrays: values (cells,) and counts (cells, 2)."""
    expect("others", others, (None,), "f")
    expect("events", events, (None,), "f")
    values = np.empty(others.size + events.size)
    counts = np.empty((values.size, 2))
    found = _tally(others, events, values, counts)
    return values[:found], counts[:found]


@kernel
def _tally(others, events, values, counts):
    i, j, found = 0, 0, 0
    while i < others.shape[0] or j < events.shape[0]:
        value = np.inf
        if i < others.shape[0]:
            value = others[i]
        if j < events.shape[0]:
            value = min(value, events[j])
        i_next, j_next = after(others, i, value), after(events, j, value)
        values[found], counts[found, 0], counts[found, 1] = value, i_next - i, j_next - j
        i, j, found = i_next, j_next, found + 1
    return found


@helper
def after(array, i, value):
    """Return the first place from i on where a sorted array does not have this value."""
    while i < array.shape[0] and array[i] == value:
        i += 1
    return i
