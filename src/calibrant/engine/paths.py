"""The path of the cumulative residual along sorted predictions, and sums of residuals.

Predictions are the different values v of the event, in increasing order. The path after value c is
the weight of the events up to there, minus what was predicted.
"""

from typing import Annotated, NamedTuple

import numpy as np

from calibrant.engine.arrays import within
from calibrant.engine.kernel import f8, helper, i8, kernel, out
from calibrant.engine.sums import cut
from calibrant.engine.tuples import Floats, Ints

NOTHING = 1e-305  # chances below it are dropped from the ends of a distribution


class Paths(NamedTuple):
    """How far the path of each replicate has got: (size,) each. All paths begin at 0."""

    events: Annotated[Floats, out(f8["size"])]  # their weight so far
    largest: Annotated[Floats, out(f8["size"])]
    smallest: Annotated[Floats, out(f8["size"])]
    area: Annotated[Floats, out(f8["size"])]  # integral of the path over the predictions
    square: Annotated[Floats, out(f8["size"])]  # and of its square

    @classmethod
    def start(cls, size: int) -> "Paths":
        """Return paths that have not left 0."""
        return cls(*np.zeros((5, size)))


def running_totals(terms: Floats) -> Floats:
    """Return the sums of the first, the first two, … of terms (cells,) that are not negative.

    Each is the exact sum, rounded: off by at most an ulp of the last, however many there are.
    """
    largest = float(terms.sum())
    unit = 2.0 ** np.ceil(np.log2(largest)) if largest > 0 else 1.0
    out = np.empty(terms.size)
    _running_totals(terms, unit, out)
    return out


@kernel(f8["cells"], f8, out(f8["cells"]))
def _running_totals(terms, unit, out):
    high = middle = low = 0.0
    for c in range(terms.shape[0]):
        a, b, rest = cut(terms[c] / unit)
        high += a
        middle += b
        low += rest
        out[c] = (high + (middle + low)) * unit


def walk(events: Floats, first: int, predicted: Floats, values: Floats, paths: Paths) -> None:
    """Take the paths on over some values, from this one on.

    events : (some, size) their weight at each
    predicted : (cells,) weight of the events that were predicted up to each value
    values : (cells,) the predictions; the path ends at 1
    """
    if not 0 <= first <= values.size - events.shape[0]:
        raise IndexError(f"`first` must leave {events.shape[0]} values; found {first}.")
    _walk(events, first, predicted, values, paths)


@kernel(f8["_ size"], i8, f8["cells"], f8["cells"], Paths)
def _walk(events, first, predicted, values, paths):
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


def add_residuals(events: Floats, predicted: Floats, factors: Floats, sums: Floats) -> None:
    """Add (events - predicted) times factors to sums (k, size), one value after the other.

    events : (cells, size) their weight at each value
    predicted : (cells,) weight of the events that were predicted at each value
    factors : (k, cells)
    """
    _add_residuals(events, predicted, factors, sums)


@kernel(f8["cells size"], f8["cells"], f8["k cells"], out(f8["k size"]))
def _add_residuals(events, predicted, factors, sums):
    for c in range(events.shape[0]):
        here, g = events[c], predicted[c]
        for k in range(sums.shape[0]):
            total, factor = sums[k], factors[k, c]
            for t in range(here.shape[0]):
                total[t] += (here[t] - g) * factor


def reach(values: Floats, sizes: Ints, predicted: Floats, level: float) -> float:
    """Return the chance that a path is `level` or more from 0 at the end of some value.

    values, sizes : (cells,) the different predictions, and how many rows have each
    predicted : (cells,) number of events that were predicted up to each value
    """
    within("sizes", sizes, int(np.iinfo(np.int64).max))
    room = np.zeros(int(sizes.sum()) + 2)
    return float(_reach(values, sizes, predicted, level, room))


@kernel(f8["cells"], i8["cells"], f8["cells"], f8, out(f8["_"]), returns=f8)
def _reach(values, sizes, predicted, level, pmf):
    """Let pmf[k] be the chance of k events and of not having reached the level, low <= k < high."""
    pmf[0] = 1.0
    low, high = 0, 1
    reached = 0.0
    for c in range(values.shape[0]):
        for _ in range(sizes[c]):
            low, high = add_row(values[c], pmf, low, high)
        while high > low and high - 1 - predicted[c] >= level:
            high -= 1
            reached += pmf[high]
        while high > low and predicted[c] - low >= level:
            reached += pmf[low]
            low += 1
    return reached


@helper
def add_row(p, pmf, low, high):
    """Let one more row have an event with chance p; return between what numbers pmf is not 0."""
    before = 0.0
    for k in range(low, high):
        here = pmf[k]
        pmf[k] = here * (1.0 - p) + before * p
        before = here
    pmf[high] = before * p
    high += 1
    while high > low and pmf[high - 1] < NOTHING:
        high -= 1
    while high > low and pmf[low] < NOTHING:
        low += 1
    return low, high
