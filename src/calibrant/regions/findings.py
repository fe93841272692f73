"""From many rejected regions to few findings, each with an interval that pays for the search."""

from dataclasses import dataclass
from math import sqrt
from typing import Any, NamedTuple, final

import numpy as np

from calibrant.engine.arrays import Array, Floats, Ints
from calibrant.engine.regions import tables
from calibrant.regions.candidates import Candidates
from calibrant.regions.evidence import Evidence, Searchable, Searched
from calibrant.regions.measures import Measure, Measurements, Slope
from calibrant.regions.rows import CodedRows
from calibrant.words import ALPHA

ALIKE = 0.9  # Jaccard index of regions that are told by the simpler description
MOST = 50  # findings
AHEAD = 32  # regions whose overlaps with others are looked at in a pass over rows elsewhere


class RegionFinding(NamedTuple):
    """A region, and how many rejected regions say the same."""

    place: int  # among all regions
    same: int


def critical(largest: Floats) -> float:
    """Return what the largest of all regions reaches in 5 % of the replicates."""
    rank = int(np.ceil((1 - ALPHA) * (largest.size + 1) * (1 - 1e-12)))
    return float(np.sort(largest)[rank - 1])


def findings(found: Searched, rows: Searchable) -> list[RegionFinding]:
    """Merge rejected regions: the strongest first, whose mean residual is taken off its rows.

    A rejected region of which too little is left says the same.
    """
    limit = critical(found.largest)
    places = np.flatnonzero(found.pvalues <= ALPHA)
    some = found.evidence.keep(places)
    overlaps = Overlaps(some, rows)
    residual, signs = some.found.residual.copy(), np.sign(some.found.residual)
    left = np.ones(places.size, np.bool_)
    chosen: list[RegionFinding] = []
    while left.any() and len(chosen) < MOST:
        strength = np.where(left, signs * residual / some.found.spread, -1.0)
        picked = _simplest(some, overlaps, strength, limit)
        common = overlaps.of(picked, strength).common
        residual -= residual[picked] / common[picked] * common
        after = left & (signs * residual / some.found.spread >= limit)
        after[picked] = False
        chosen.append(RegionFinding(int(places[picked]), int(left.sum() - after.sum() - 1)))
        left = after
    return chosen


def _simplest(some: Evidence, overlaps: "Overlaps", strength: Floats, limit: float) -> int:
    """Return the strongest region, or a simpler one of nearly the same rows."""
    strongest = int(np.argmax(strength))
    shared = overlaps.of(strongest, strength).rows
    either = some.n + some.n[strongest] - shared
    effort = some.candidates.effort
    simpler = (shared >= ALIKE * either) & (effort < effort[strongest]) & (strength >= limit)
    if not simpler.any():
        return strongest
    simplest = simpler & (effort == effort[simpler].min())
    return int(np.argmax(np.where(simplest, strength, -1.0)))


class Overlap(NamedTuple):
    """What each region shares with one of them, if it is of the same event: (regions,) each."""

    rows: Ints
    common: Any  # how much of a residual, in units of that region


class Overlaps:
    """What regions share, looked up when it is asked for: of rows elsewhere several at a time."""

    def __init__(self, some: Evidence, rows: Searchable) -> None:
        self._some, self._rows = some, rows
        self._known: dict[int, Overlap] = {}

    def of(self, picked: int, strength: Floats) -> Overlap:
        """Return what regions share with one; the strongest others may be asked for next."""
        if picked not in self._known:
            ahead = 1 if self._rows.held else AHEAD
            order = np.argsort(-strength, kind="stable").tolist()
            next_ones = [g for g in order if g not in self._known and g != picked]
            self._look([picked, *next_ones[: ahead - 1]])
        return self._known[picked]

    def _look(self, places: list[int]) -> None:
        some, unit = self._some, self._some.measure.unit(self._rows.n)
        picked = some.candidates.keep(places)
        work = Shared(picked, some.event[places].tolist(), some.measure, unit)
        tables = self._rows.add_up(work)
        for g, table in zip(places, tables, strict=True):
            sums = some.candidates.read(picked.accumulated(table))
            same, means = some.event == some.event[g], some.found.mean
            rows, *shares = np.where(same, sums.T, 0)
            common = some.measure.common(rows, np.array(shares) * unit, (means[g], means))
            self._known[g] = Overlap(rows, common)


@final
@dataclass(frozen=True, slots=True)
class Shared:
    """The work of adding up, in every pair of columns, rows of some regions."""

    picked: Candidates
    events: list[int]
    measure: Measure
    unit: float

    def __call__(self, rows: CodedRows) -> list[Array]:
        """Return a table for each region: of rows, and of what is shared of residuals."""
        found = []
        for g, e in enumerate(self.events):
            mask = self.picked.mask(g, rows.codes)[:, None]
            shares = np.rint(self.measure.shares(rows.events[e]) / self.unit).astype(np.int64)
            values = np.concatenate((mask.astype(np.int64), shares * mask), axis=1)
            found.append(tables(rows.codes, self.picked.layout, values))
        return found


def interval(evidence: Evidence, g: int, limit: float, clustered: bool) -> tuple[float, float]:
    r"""Return the biases d, mean prediction minus rate, that a region's count allows.

    All d with :math:`|R + n d| \leq c \sqrt{V(d)}`, R the residual, c what the largest of all
    regions reaches in 5 % of the replicates, and V(d) the variance if all probabilities were off
    by d: :math:`\sum (p - d)(1 - p + d)`, or :math:`\sum p (1 - p)` times
    :math:`\bar q (1 - \bar q) / \bar p (1 - \bar p)` with :math:`\bar q = \bar p - d`,
    whichever allows more. In clusters V is the sum of the squares of the clusters' residuals.
    """
    known = evidence.found.keep(g)
    n, rate = float(evidence.n[g]), float(known.expected / evidence.n[g])
    residual, variance = float(known.residual), float(known.variance)
    if isinstance(evidence.measure, Slope):
        return slope_interval(known, limit)
    if clustered:
        reach = limit * float(known.spread) / n
        return -residual / n - reach, -residual / n + reach
    share = variance / (n * rate * (1.0 - rate))
    ends = [*_wilson(n, rate, residual, (variance, limit, 1.0))]
    ends += _wilson(n, rate, residual, (variance, limit, share))
    return max(rate - 1.0, -max(ends)), min(rate, -min(ends))


def slope_interval(known: Measurements, limit: float) -> tuple[float, float]:
    r"""Return the amounts by which predictions may be too extreme.

    All D with :math:`(D + R)^2 \leq c^2 V(D)`, where V is the variance of a calibrated model at
    D = 0, and on the straight line from there to that by the outcomes at D = -R, if it is larger.
    """
    off, variance = -float(known.residual), float(known.variance)
    reach = limit * sqrt(variance)
    rise = max(float(known.scatter) - variance, 0.0) / max(abs(off), reach)
    shift = limit**2 * rise / 2.0
    beyond = sqrt(limit**2 * (variance + rise * abs(off)) + shift**2)
    sign = 1.0 if off > 0 else -1.0
    ends = off - reach, off + reach, off + sign * shift - beyond, off + sign * shift + beyond
    return min(ends) / float(known.norm), max(ends) / float(known.norm)


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
