"""The median distance between predictions, exactly, without laying out all pairs.

The bits of numbers from 0 up, read as whole numbers, are in the order of the numbers. Each sweep
over the pairs counts those whose bits are in each of many intervals, and the next one looks into
the interval that holds the median; when few pairs are left, they are laid out and sorted.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from calibrant.engine.arrays import Floats, Ints, Span, zeros
from calibrant.engine.kernel import SPAN, f8, helper, i8, kernel, out
from calibrant.engine.pairs import (
    EUCLIDEAN,
    EXPONENTIAL,
    KernelSum,
    Pairs,
    Points,
    distances,
    sweep,
)

LOG_INTERVALS = 12
INTERVALS = 1 << LOG_INTERVALS
FEW = 1 << 12  # pairs that are laid out
TOP = 0x4000000000000000  # the bits of 2.0, which no distance reaches


def median_distance(points: Points, distance: int) -> float:
    """Return the median of the distances of all ordered pairs of rows, i = j too.

    A pair counts w_i w_j times. If half of the mass is at most d and the other half at least e,
    it is (d + e) / 2.
    """
    half = float(points.weights.sum()) ** 2 / 2
    alike = float((points.weights**2).sum())  # the pairs i = j, of distance 0
    least = 2 * float(points.weights.min()) ** 2  # mass of two rows
    low, below, shift, here = 0, 0.0, TOP.bit_length() - 1, 2 * half
    while shift > 0 and here > FEW * least:
        shift = max(0, shift - LOG_INTERVALS)
        mass = _count(points, distance, low, shift)
        mass[0] += alike if low == 0 else 0.0
        at = min(int(np.searchsorted(below + np.cumsum(mass), half)), INTERVALS - 1)
        below += float(mass[:at].sum())
        low += at << shift
        here = float(mass[at])
    bits, mass = _collect(points, distance, (low, low + (1 << shift)))
    if low == 0:
        bits, mass = np.append(bits, 0), np.append(mass, alike)
    return _middle(bits, mass, half - below, lambda last: _next(points, distance, last))


def _middle(bits: Ints, mass: Floats, half: float, following: Callable[[int], int]) -> float:
    """Return the number up to which lies this mass, or the middle between it and the next."""
    order = np.argsort(bits, kind="stable")
    bits, mass = bits[order], np.cumsum(mass[order])
    at = min(int(np.searchsorted(mass, half)), bits.size - 1)
    found = int(bits[at])
    later = bits[bits > found]
    if mass[np.searchsorted(bits, found, side="right") - 1] > half:
        after = found
    else:
        after = int(later[0]) if later.size else following(found)
    low, high = np.array([found, after]).view(np.float64)
    return float((low + high) / 2)


def _sweep(points: Points, distance: int, work: Callable[[Pairs], Any]) -> list[Any]:
    """Do what `sweep` does, where distances are wanted and no kernel."""
    return sweep(points, KernelSum(EXPONENTIAL, distance, np.empty(0)), work)


def _count(points: Points, distance: int, low: int, shift: int) -> Floats:
    """Return the mass of the pairs in intervals of 2^shift from `low` up: (INTERVALS,)."""

    def work(pairs: Pairs) -> Floats:
        mass = zeros((2, INTERVALS + 1))
        _count_pairs(pairs, (low, shift), zeros(pairs.bits.size, np.int64), mass)
        return np.asarray(mass.sum(axis=0))

    return np.asarray(np.sum(_sweep(points, distance, work), axis=0)[:-1])


def _collect(points: Points, distance: int, span: Span) -> tuple[Ints, Floats]:
    """Return bits and mass of the pairs whose bits are in a span: at most `FEW`, or all alike."""

    def work(pairs: Pairs) -> tuple[Ints, Floats]:
        bits, mass = zeros(FEW, np.int64), zeros(FEW)
        count = _collect_pairs(pairs, span, bits, mass)
        return bits[:count], mass[:count]

    bits, mass = zip(*_sweep(points, distance, work), strict=True)
    return np.concatenate(bits), np.concatenate(mass)


def _next(points: Points, distance: int, bits: int) -> int:
    """Return the least bits of a pair above these."""
    return int(min(_sweep(points, distance, lambda pairs: _least_above(pairs, bits))))


@helper
def measure(pairs, j):
    """Write the distances of row j to pairs.power; return how many columns are before the row."""
    far = pairs.power
    distances(pairs.points.probs[j], pairs.columns, pairs.distance, far)
    if pairs.distance == EUCLIDEAN:
        for i in range(far.shape[0]):
            far[i] = np.sqrt(far[i])
    return min(far.shape[0], j - pairs.first)


@kernel(Pairs, SPAN, out(i8["width"]), out(f8["2 _"]))
def _count_pairs(pairs, span, at, mass):
    """Add to two tables in turn, since often one interval follows itself; the last is elsewhere."""
    low, shift = span
    weights = pairs.points.weights
    bits = pairs.bits
    for j in range(pairs.first + 1, weights.shape[0]):
        width = measure(pairs, j)
        for i in range(at.shape[0]):
            above = bits[i] - low
            interval = above >> shift
            at[i] = interval if 0 <= interval < INTERVALS else INTERVALS
        w = 2.0 * weights[j]
        for i in range(width):
            mass[i & 1, at[i]] += w * weights[pairs.first + i]


@kernel(Pairs, SPAN, out(i8["capacity"]), out(f8["capacity"]), returns=i8)
def _collect_pairs(pairs, span, bits, mass):
    weights = pairs.points.weights
    count = 0
    for j in range(pairs.first + 1, weights.shape[0]):
        for i in range(measure(pairs, j)):
            if span[0] <= pairs.bits[i] < span[1]:
                w = 2.0 * weights[j] * weights[pairs.first + i]
                if count == bits.shape[0]:  # the span is a single number
                    mass[0] += w
                else:
                    bits[count] = pairs.bits[i]
                    mass[count] = w
                    count += 1
    return count


@kernel(Pairs, i8, returns=i8)
def _least_above(pairs, bits):
    least = np.int64(TOP)
    for j in range(pairs.first + 1, pairs.points.weights.shape[0]):
        for i in range(measure(pairs, j)):
            if pairs.bits[i] > bits:
                least = min(least, pairs.bits[i])
    return least
