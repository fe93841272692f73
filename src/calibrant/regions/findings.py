"""From many rejected regions to few findings, each with an interval that pays for the search."""

from math import sqrt
from typing import NamedTuple

import numpy as np

from calibrant.engine.arrays import Floats, Ints
from calibrant.regions.evidence import Evidence, Rows, Searched
from calibrant.words import ALPHA

ALIKE = 0.9  # Jaccard index of regions that are told by the simpler description
MOST = 50  # findings


class Finding(NamedTuple):
    """A region, and how many rejected regions say the same."""

    place: int  # among all regions
    same: int


def critical(largest: Floats) -> float:
    """Return what the largest of all regions reaches in 5 % of the replicates."""
    rank = int(np.ceil((1 - ALPHA) * (largest.size + 1) * (1 - 1e-12)))
    return float(np.sort(largest)[rank - 1])


def findings(found: Searched, rows: Rows) -> list[Finding]:
    """Merge rejected regions: the strongest first, whose mean residual is taken off its rows.

    A rejected region of which too little is left says the same.
    """
    evidence, limit = found.evidence, critical(found.largest)
    some = evidence.keep(found.pvalues <= ALPHA)
    places = np.flatnonzero(found.pvalues <= ALPHA)
    residual, signs = some.residual.copy(), np.sign(some.residual)
    left = np.ones(places.size, np.bool_)
    told: list[Finding] = []
    while left.any() and len(told) < MOST:
        strength = np.where(left, signs * residual / some.spread, -1.0)
        picked, shared = _simplest(some, rows, strength, limit)
        residual -= residual[picked] / some.n[picked] * shared
        after = left & (signs * residual / some.spread >= limit)
        after[picked] = False
        told.append(Finding(int(places[picked]), int(left.sum() - after.sum() - 1)))
        left = after
    return told


def _simplest(some: Evidence, rows: Rows, strength: Floats, limit: float) -> tuple[int, Ints]:
    """Return the strongest region, or a simpler one of nearly the same rows, and rows shared."""
    strongest = int(np.argmax(strength))
    shared = _shared(some, rows, strongest)
    either = some.n + some.n[strongest] - shared
    depths = some.candidates.depths
    simpler = (shared >= ALIKE * either) & (depths < depths[strongest]) & (strength >= limit)
    if not simpler.any():
        return strongest, shared
    simplest = simpler & (depths == depths[simpler].min())
    chosen = int(np.argmax(np.where(simplest, strength, -1.0)))
    return chosen, _shared(some, rows, chosen)


def _shared(some: Evidence, rows: Rows, picked: int) -> Ints:
    """Return how many rows of one region each region of the same event has: (regions,)."""
    mask = some.candidates.mask(picked, rows.codes).astype(np.int64)[:, None]
    shared = some.candidates.sums(rows.codes, mask)[:, 0]
    return np.where(some.event == some.event[picked], shared, 0)


def interval(evidence: Evidence, g: int, limit: float, clustered: bool) -> tuple[float, float]:
    r"""Return the biases d, mean prediction minus rate, that a region's count allows.

    All d with :math:`|R + n d| \leq c \sqrt{V(d)}`, R the residual, c what the largest of all
    regions reaches in 5 % of the replicates, and V(d) the variance if all probabilities were off
    by d: :math:`\sum (p - d)(1 - p + d)`, or :math:`\sum p (1 - p)` times
    :math:`\bar q (1 - \bar q) / \bar p (1 - \bar p)` with :math:`\bar q = \bar p - d`,
    whichever allows more. In clusters V is the sum of the squares of the clusters' residuals.
    """
    n, rate = float(evidence.n[g]), float(evidence.expected[g] / evidence.n[g])
    residual, variance = float(evidence.residual[g]), float(evidence.variance[g])
    if clustered:
        reach = limit * float(evidence.spread[g]) / n
        return -residual / n - reach, -residual / n + reach
    share = variance / (n * rate * (1.0 - rate))
    ends = [*_wilson(n, rate, residual, (variance, limit, 1.0))]
    ends += _wilson(n, rate, residual, (variance, limit, share))
    return max(rate - 1.0, -max(ends)), min(rate, -min(ends))


def _wilson(
    n: float, rate: float, residual: float, chance: tuple[float, float, float]
) -> list[float]:
    """Return the ends of (R - n d)² ≤ c² (V + κ n (1 - 2 p̄) d - κ n d²); nothing if none do."""
    variance, limit, share = chance
    square = limit**2
    a = n**2 + square * share * n
    b = residual * n + square * share * n * (1.0 - 2.0 * rate) / 2.0
    inside = b**2 - a * (residual**2 - square * variance)
    if inside < 0:
        return []
    return [(b - sqrt(inside)) / a, (b + sqrt(inside)) / a]
