"""Sweeps over sorted predictions of two outcomes: values, pairs, cumulative residuals, pools.

Values v_1 < v_2 < … are the different predictions of the event, each of a group of rows.

Pairs. With s_g = sum_{h < g} x_h exp(-(v_g - v_h) / scale), the next sum is
s_{g+1} = (s_g + x_g) exp(-(v_{g+1} - v_g) / scale): an exponential kernel needs no pairs.

Paths. The path after value c is the weight of the events up to there, minus what was predicted.

Pools. The increasing function nearest to frequencies, by pooling adjacent violators. A pool is a
run of values that share a frequency. Values are added at the end; where the last pool is not above
the one before it, the two become one. So each replicate keeps a stack of pools with rising
frequencies, and values may come in parts.
"""

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.engine.arrays import Array, Floats, Ints, blank
from calibrant.engine.kernel import b1, code, f8, i8, kernel, out
from calibrant.engine.sums import cut

FIRST_CAPACITY = 64  # pools; a calibrated model has about the cube root of its number of cells

# The different values


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


# Sums over pairs


class Line(NamedTuple):
    """Rows sorted by the prediction of the event; groups of rows with the same one.

    Some of the rows come at a time; those of the last group may go on.
    """

    weights: Annotated[Floats, f8["n"]]  # of the sorted rows
    ends: Annotated[Ints, i8["groups"]]  # the row after the last one of each group
    values: Annotated[Floats, f8["groups"]]  # the prediction
    mass: Annotated[Floats, f8["groups"]]  # the weight
    decays: Annotated[Floats, f8["scales groups"]]  # what is left of a sum at the next group


class Walk(NamedTuple):
    """What is known of a batch of replicates after the rows so far; zeros before any."""

    high: Annotated[Floats, out(f8["size"])]  # sum over the pairs
    low: Annotated[Floats, out(f8["size"])]  # what was lost in rounding it
    events: Annotated[Floats, out(f8["size"])]  # of the group that is being added up
    own: Annotated[Floats, out(f8["size"])]  # what its rows and themselves amount to
    behind: Annotated[Floats, out(f8["scales size"])]  # sums over the groups before


def walk_rows(line: Line, outcomes: NDArray[Any], how: tuple[int, bool], walk: Walk) -> None:
    """Add the next rows, outcomes (rows, size); how : the event, and whether unbiased."""
    n = line.weights.size
    if len(outcomes) != n:
        raise IndexError(f"`outcomes` must be of {n} rows; found {len(outcomes)}.")
    if line.ends[-1] < n:
        raise IndexError(f"`line.ends` must reach row {n}; found {line.ends[-1]}.")
    _walk_rows(line, outcomes, how, walk)


@kernel(Line, code["n size"], (i8, b1), Walk)
def _walk_rows(line, outcomes, how, walk):
    g = 0
    event, unbiased = how
    events, own, high, low = walk.events, walk.own, walk.high, walk.low
    for s in range(outcomes.shape[0]):
        w = line.weights[s]
        drawn = outcomes[s]
        for t in range(drawn.shape[0]):
            events[t] += w * (drawn[t] == event)
        if s + 1 < line.ends[g]:
            continue
        # The pairs of the group, whose events are known, with itself and with those before.
        p, mass = line.values[g], line.mass[g]
        for t in range(events.shape[0]):
            own[t] = events[t] * ((1.0 - p) * (1.0 - p)) + (mass - events[t]) * (p * p)
            events[t] -= mass * p
            own[t] = events[t] * events[t] - (own[t] if unbiased else 0.0)
        for b in range(line.decays.shape[0]):
            behind, decay = walk.behind[b], line.decays[b, g]
            for t in range(events.shape[0]):
                d = events[t]
                x = own[t] + 2.0 * (d * behind[t])
                behind[t] = (behind[t] + d) * decay
                # The sum, and exactly what was lost in rounding it.
                total = high[t] + x
                part = total - high[t]
                low[t] += (high[t] - (total - part)) + (x - part)
                high[t] = total
        for t in range(events.shape[0]):
            events[t] = 0.0
        g += 1


@kernel(f8["groups"], f8["groups"], returns=f8)
def pair_sum(values, decays):
    """Return the sum of values[g] values[h] over g < h, times all decays on the way: (groups,)."""
    total = behind = 0.0
    for g in range(values.shape[0]):
        total += values[g] * behind
        behind = (behind + values[g]) * decays[g]
    return total


def middle(values: Floats, mass: Floats) -> float:
    """Return the median of |v - v'| over all pairs, (v, v) too; values sorted, each with mass."""
    ends = np.concatenate(([0.0], np.cumsum(mass)))
    half = ends[-1] * ends[-1] / 2
    low, high = -1, int(np.float64(values[-1] - values[0]).view(np.int64))
    while high - low > 1:  # the least distance within which half of the pairs lie
        at = (low + high) // 2
        if _within(values, mass, ends, np.int64(at).view(np.float64))[0] >= half:
            high = at
        else:
            low = at
    found = np.int64(high).view(np.float64)
    count, beyond = _within(values, mass, ends, found)
    return float(found if count > half else (found + beyond) / 2)


@kernel(f8["groups"], f8["groups"], f8["groups+1"], f8, returns=(f8, f8))
def _within(values, mass, ends, distance):
    """Return the mass of pairs within a distance, and the least distance beyond it."""
    count, beyond = 0.0, np.inf
    h = 0
    for g in range(values.shape[0]):
        while h < values.shape[0] and values[h] - values[g] <= distance:
            h += 1
        count += mass[g] * (2.0 * (ends[h] - ends[g]) - mass[g])
        if h < values.shape[0]:
            beyond = min(beyond, values[h] - values[g])
    return count, beyond


# Paths


class Paths(NamedTuple):
    """How far the path of each replicate has got: (size,) each. All paths begin at 0."""

    events: Annotated[Floats, out(f8["size"])]  # their weight so far
    largest: Annotated[Floats, out(f8["size"])]
    smallest: Annotated[Floats, out(f8["size"])]
    area: Annotated[Floats, out(f8["size"])]  # integral of the path over the predictions
    square: Annotated[Floats, out(f8["size"])]  # and of its square


def running_totals(terms: Floats) -> Floats:
    """Replace terms (cells,) that are not negative by the sums of the first, the first two, ….

    Each is the exact sum, rounded: off by at most an ulp of the last, however many there are.
    """
    largest = float(terms.sum())
    _running_totals(terms, 2.0 ** np.ceil(np.log2(largest)) if largest > 0 else 1.0)
    return terms


@kernel(out(f8["cells"]), f8)
def _running_totals(terms, unit):
    high = middle = low = 0.0
    for c in range(terms.shape[0]):
        a, b, rest = cut(terms[c] / unit)
        high += a
        middle += b
        low += rest
        terms[c] = (high + (middle + low)) * unit


def extend(events: Floats, first: int, predicted: Floats, values: Floats, paths: Paths) -> None:
    """Take the paths on over some values, from this one on.

    events : (some, size) their weight at each
    predicted : (cells,) weight of the events that were predicted up to each value
    values : (cells,) the predictions; the path ends at 1
    """
    if not 0 <= first <= values.size - events.shape[0]:
        raise IndexError(f"`first` must leave {events.shape[0]} values; found {first}.")
    _extend(events, first, predicted, values, paths)


@kernel(f8["_ size"], i8, f8["cells"], f8["cells"], Paths)
def _extend(events, first, predicted, values, paths):
    for c in range(events.shape[0]):
        at = first + c
        here, g = events[c], predicted[at]
        gap = (values[at + 1] if at + 1 < values.shape[0] else 1.0) - values[at]
        for t in range(here.shape[0]):
            so_far = paths.events[t] + here[t]
            off = so_far - g
            paths.events[t] = so_far
            paths.largest[t] = max(paths.largest[t], off)
            paths.smallest[t] = min(paths.smallest[t], off)
            paths.area[t] += gap * off
            paths.square[t] += gap * off * off


@kernel(f8["cells size"], f8["cells"], f8["k cells"], out(f8["k size"]))
def add_residuals(events, predicted, factors, sums):
    """Add (events - predicted) times factors (k, cells) to sums (k, size), cell after cell."""
    for c in range(events.shape[0]):
        here, g = events[c], predicted[c]
        for k in range(sums.shape[0]):
            total, factor = sums[k], factors[k, c]
            for t in range(here.shape[0]):
                total[t] += (here[t] - g) * factor


# Pools


class Pools(NamedTuple):
    """The pools of each replicate so far: (size, capacity), of which the first `height` exist."""

    last: Annotated[Ints, out(i8["size capacity"])]  # the last cell of each
    mass: Annotated[Floats, out(f8["size capacity"])]
    events: Annotated[Floats, out(f8["size capacity"])]
    loss: Annotated[Floats, out(f8["size capacity"])]  # of the predictions, added up over the rows
    height: Annotated[Ints, out(i8["size"])]

    @classmethod
    def start(cls, size: int) -> "Pools":
        """Return replicates without pools."""
        return blank(cls, size=size, capacity=FIRST_CAPACITY)

    def with_capacity(self, needed: int) -> "Pools":
        """Return pools that may become so many, in each replicate."""
        size, capacity = self.last.shape
        if needed <= capacity:
            return self
        grown = blank(Pools, size=size, capacity=max(needed, 2 * capacity))
        for old, new in zip(self[:-1], grown[:-1], strict=True):
            new[:, :capacity] = old
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
    pools = pools.with_capacity(int(pools.height.max(initial=0)) + mass.size)
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
