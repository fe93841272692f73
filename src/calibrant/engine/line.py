"""Sweeps over sorted predictions of two outcomes: sums over pairs, and cumulative residuals.

Values v_1 < v_2 < … are the different predictions of the event, each of a group of rows.

Pairs. With s_g = sum_{h < g} x_h exp(-(v_g - v_h) / scale), the next sum is
s_{g+1} = (s_g + x_g) exp(-(v_{g+1} - v_g) / scale): an exponential kernel needs no pairs.

Paths. The path after value c is the weight of the events up to there, minus what was predicted.
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.engine.arrays import Floats, Ints, Span, expect_outcomes
from calibrant.engine.kernel import b1, f8, i4, i8, kernel, out
from calibrant.engine.sums import cut

# Sums over pairs


class Line(NamedTuple):
    """Rows sorted by the prediction of the event; groups of rows with the same one."""

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


def walk_rows(
    line: Line, span: Span, outcomes: NDArray[np.int32], how: tuple[int, bool], walk: Walk
) -> None:
    """Add a span of sorted rows, outcomes (rows, size); how : the event, and whether unbiased."""
    expect_outcomes(outcomes, span, line.weights.size)
    if line.ends[-1] != line.weights.size:
        raise IndexError(f"`line.ends` must end with row {line.weights.size}.")
    first = int(np.searchsorted(line.ends, span[0], side="right"))
    _walk_rows(line, (first, *span), outcomes, how, walk)


@kernel(Line, (i8, i8, i8), i4["_ size"], (i8, b1), Walk)
def _walk_rows(line, span, outcomes, how, walk):
    g, start, stop = span
    event, unbiased = how
    events, own, high, low = walk.events, walk.own, walk.high, walk.low
    for s in range(start, stop):
        w = line.weights[s]
        drawn = outcomes[s - start]
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
