"""Pool adjacent violators: the increasing function nearest to frequencies, of many replicates.

Cells come in the order of their predictions. A pool is a run of cells that share a value. Cells are
added at the end; where the last pool is not above the one before it, the two become one. So each
replicate keeps a stack of pools with rising frequencies, and cells may come in parts.
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.engine.arrays import Array, Floats, Ints, blank
from calibrant.engine.kernel import f8, i8, kernel, out

FIRST_ROOM = 64  # pools; a calibrated model has about the cube root of its number of cells


class Pools(NamedTuple):
    """The pools of each replicate so far: (size, room), of which the first `height` exist."""

    last: Annotated[Ints, out(i8["size room"])]  # the last cell of each
    mass: Annotated[Floats, out(f8["size room"])]
    events: Annotated[Floats, out(f8["size room"])]
    loss: Annotated[Floats, out(f8["size room"])]  # of the predictions, added up over the rows
    height: Annotated[Ints, out(i8["size"])]

    @classmethod
    def start(cls, size: int) -> "Pools":
        """Return replicates without pools."""
        return blank(cls, size=size, room=FIRST_ROOM)

    def with_room(self, needed: int) -> "Pools":
        """Return pools that may become so many, in each replicate."""
        size, room = self.last.shape
        if needed <= room:
            return self
        grown = blank(Pools, size=size, room=max(needed, 2 * room))
        for old, new in zip(self[:-1], grown[:-1], strict=True):
            new[:, :room] = old
        return grown._replace(height=self.height)

    @property
    def exist(self) -> NDArray[np.bool_]:
        """Which pools exist, up to the largest number of any replicate: (size, most)."""
        return np.arange(self.height.max(initial=0)) < self.height[:, None]

    def values(self, cells: Ints) -> Floats:
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
    pools = pools.with_room(int(pools.height.max(initial=0)) + mass.size)
    _pool(events, mass, losses, first, pools)
    return pools


@kernel(f8["cells size"], f8["cells"], f8["2 cells"], i8, Pools)
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


def tally(p: Array, occurred: NDArray[np.bool_]) -> tuple[Floats, Floats, Floats]:
    """Return the different values of p (n,), in order, and how many rows and events have each.

    The bits of a number that is not negative, read as an integer, are in the order of the numbers.
    With the outcome as one more bit they are sorted alone, in a third of the time of `argsort`.
    """
    if p.ndim != 1 or p.dtype.kind != "f" or occurred.dtype != bool:
        raise TypeError(
            f"`occurred` must be yes or no for each of p (n,), of floats; found {occurred.dtype}"
            f" for {p.dtype} {p.shape}."
        )
    keys = np.add(p, 0.0, dtype=np.float64).view(np.int64)  # 0.0 for -0.0
    keys <<= 1
    keys += occurred
    keys.sort()
    mass, events = np.empty(p.size), np.empty(p.size)
    found = _tally(keys, mass, events)
    return keys[:found].view(np.float64), mass[:found], events[:found]


@kernel(out(i8["n"]), out(f8["n"]), out(f8["n"]), returns=i8)
def _tally(keys, mass, events):
    """Replace sorted keys by the bits of the different values; count rows and events of each."""
    at, last = -1, -1
    rows = occurred = 0.0
    for i in range(keys.shape[0]):
        bits, event = keys[i] >> 1, keys[i] & 1
        same = bits == last
        at += not same
        rows = rows * same + 1.0
        occurred = occurred * same + event
        keys[at], mass[at], events[at] = bits, rows, occurred
        last = bits
    return at + 1
