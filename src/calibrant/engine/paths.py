"""The path of the cumulative residual along sorted predictions, and sums of residuals.

Predictions are the different values v of the event, in increasing order. The path after value c is
the weight of the events up to there, minus what was predicted.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.engine.arrays import expect, within
from calibrant.engine.compile import helper, kernel
from calibrant.engine.sums import cut

Floats = NDArray[np.float64]

NOTHING = 1e-305  # chances below it are dropped from the ends of a distribution


class Paths(NamedTuple):
    """How far the path of each replicate has got: (size,) each. All paths begin at 0."""

    events: Floats  # their weight so far
    largest: Floats
    smallest: Floats
    area: Floats  # integral of the path over the predictions
    square: Floats  # and of its square

    @classmethod
    def start(cls, size: int) -> "Paths":
        """Return paths that have not left 0."""
        return cls(*np.zeros((5, size)))


def running_totals(terms: Floats) -> Floats:
    """Return the sums of the first, the first two, … of terms (cells,) that are not negative.

    Each is the exact sum, rounded: off by at most an ulp of the last, however many there are.
    """
    expect("terms", terms, (None,), "f")
    largest = float(terms.sum())
    unit = 2.0 ** np.ceil(np.log2(largest)) if largest > 0 else 1.0
    high, middle, low = (np.cumsum(limb) for limb in cut(terms / unit))
    return np.asarray((high + (middle + low)) * unit)


def walk(counts: Floats, event: int, predicted: Floats, gaps: Floats, paths: Paths) -> None:
    """Take the paths on over some values.

    counts : (size, cells, 2) weight of both outcomes
    predicted : (cells,) weight of the events that were predicted up to each value
    gaps : (cells,) from each value to the next
    """
    size, cells = _check(counts, event, predicted)
    expect("gaps", gaps, (cells,), "f")
    expect("paths.events", paths.events, (size,), "f")
    _walk(np.ascontiguousarray(counts), event, predicted, gaps, paths)


@kernel
def _walk(counts, event, predicted, gaps, paths):
    for t in range(counts.shape[0]):
        events, area, square = paths.events[t], paths.area[t], paths.square[t]
        largest, smallest = paths.largest[t], paths.smallest[t]
        for c in range(counts.shape[1]):
            events += counts[t, c, event]
            off = events - predicted[c]
            largest = max(largest, off)
            smallest = min(smallest, off)
            area += gaps[c] * off
            square += gaps[c] * off * off
        paths.events[t], paths.area[t], paths.square[t] = events, area, square
        paths.largest[t], paths.smallest[t] = largest, smallest


def add_residuals(
    counts: Floats, event: int, predicted: Floats, factors: Floats, sums: Floats
) -> None:
    """Add (events - predicted) times factors to sums (k, size), one value after the other.

    counts : (size, cells, 2) weight of both outcomes
    predicted : (cells,) weight of the events that were predicted at each value
    factors : (k, cells)
    """
    size, cells = _check(counts, event, predicted)
    expect("factors", factors, (sums.shape[0], cells), "f")
    expect("sums", sums, (None, size), "f")
    counts, factors = np.ascontiguousarray(counts), np.ascontiguousarray(factors)
    _add_residuals(counts, event, predicted, factors, sums)


@kernel
def _add_residuals(counts, event, predicted, factors, sums):
    for t in range(counts.shape[0]):
        for k in range(factors.shape[0]):
            total = sums[k, t]
            for c in range(counts.shape[1]):
                total += (counts[t, c, event] - predicted[c]) * factors[k, c]
            sums[k, t] = total


def _check(counts: Floats, event: int, predicted: Floats) -> tuple[int, int]:
    """Refuse what a kernel cannot use; return the numbers of replicates and of values."""
    expect("counts", counts, (None, None, 2), "f")
    expect("predicted", predicted, counts.shape[1:2], "f")
    if event not in (0, 1):
        raise IndexError("`event` must be 0 or 1.")
    return counts.shape[0], counts.shape[1]


def reach(values: Floats, sizes: NDArray[np.int64], predicted: Floats, level: float) -> float:
    """Return the chance that a path is `level` or more from 0 at the end of some value.

    values, sizes : (cells,) the different predictions, and how many rows have each
    predicted : (cells,) number of events that were predicted up to each value
    """
    expect("values", values, (None,), "f")
    expect("sizes", sizes, values.shape, "i")
    expect("predicted", predicted, values.shape, "f")
    within("sizes", sizes, int(np.iinfo(np.int64).max))
    room = np.zeros(int(sizes.sum()) + 2)
    return float(_reach(values, sizes, predicted, level, room))


@kernel
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
