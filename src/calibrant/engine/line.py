"""Exponential kernels of two outcomes: sums over all pairs in one sweep over sorted predictions.

With values v_1 < v_2 < … and s_g = sum_{h < g} x_h exp(-(v_g - v_h) / scale), the next one is
s_{g+1} = (s_g + x_g) exp(-(v_{g+1} - v_g) / scale).
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.engine.arrays import zeros
from calibrant.engine.kernel import b1, f8, helper, i4, i8, kernel, out
from calibrant.engine.tuples import Floats, Ints, Span


class Line(NamedTuple):
    """Rows sorted by the prediction of the event; groups of rows with the same one.

    `decays` are what each scale leaves of a sum on the way from a group to the next.
    """

    weights: Annotated[Floats, f8["n"]]  # of the sorted rows
    ends: Annotated[Ints, i8["groups"]]  # the row after the last one of each group
    values: Annotated[Floats, f8["groups"]]  # the prediction
    mass: Annotated[Floats, f8["groups"]]  # the weight
    decays: Annotated[Floats, f8["scales groups"]]


class Walk(NamedTuple):
    """What is known of a batch of replicates after the rows so far."""

    high: Annotated[
        Floats, out(f8["size"])
    ]  # (size,) sum over the pairs, and what was lost in rounding it
    low: Annotated[Floats, out(f8["size"])]
    events: Annotated[Floats, out(f8["size"])]  # of the group that is being added up
    own: Annotated[Floats, out(f8["size"])]  # what its rows and themselves amount to
    behind: Annotated[Floats, out(f8["scales size"])]  # sums over the groups before

    @classmethod
    def zeros(cls, scales: int, size: int) -> "Walk":
        """Return what is known before any row."""
        return cls(zeros(size), zeros(size), zeros(size), zeros(size), zeros((scales, size)))


def walk_rows(
    line: Line, span: Span, outcomes: NDArray[np.int32], how: tuple[int, bool], walk: Walk
) -> None:
    """Add rows span[0] … span[1] - 1 of the sorted ones; outcomes (span[1] - span[0], size).

    how : the outcome that is the event, and whether no row is paired with itself
    """
    if len(outcomes) != span[1] - span[0] or line.ends[-1] != line.weights.size:
        raise IndexError(f"`outcomes` must be of rows {span}, and `line` of all rows.")
    if not 0 <= span[0] <= span[1] <= line.weights.size:
        raise IndexError(f"`span` must be within {line.weights.size} rows; found {span}.")
    first = int(np.searchsorted(line.ends, span[0], side="right"))
    _walk_rows(line, (first, *span), outcomes, how, walk)


@helper
def add_group(line, g, unbiased, walk):
    """Add the pairs of a group, whose events are known, with itself and with those before."""
    events, own, high, low = walk.events, walk.own, walk.high, walk.low
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


@kernel(Line, (i8, i8, i8), i4["_ size"], (i8, b1), Walk)
def _walk_rows(line, span, outcomes, how, walk):
    g, start, stop = span
    event, unbiased = how
    events = walk.events
    for s in range(start, stop):
        w = line.weights[s]
        drawn = outcomes[s - start]
        for t in range(drawn.shape[0]):
            events[t] += w * (drawn[t] == event)
        if s + 1 == line.ends[g]:
            add_group(line, g, unbiased, walk)
            g += 1


def pair_sum(values: Floats, decays: Floats) -> float:
    """Return the sum of values[g] values[h] over g < h, times all decays on the way: (groups,)."""
    return float(_pair_sum(values, decays))


@kernel(f8["groups"], f8["groups"], returns=f8)
def _pair_sum(values, decays):
    total = behind = 0.0
    for g in range(values.shape[0]):
        total += values[g] * behind
        behind = (behind + values[g]) * decays[g]
    return total


def middle(values: Floats, mass: Floats) -> float:
    """Return the median of |v - v'| over all ordered pairs, (v, v) too: values (groups,) sorted.

    mass : (groups,) how often each value stands
    """
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
