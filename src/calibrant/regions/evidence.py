r"""Evidence against regions: how far what occurred is from what was predicted, in units of chance.

.. math:: z_g = (N_g - \sum p) / \sqrt{\sum p (1 - p)}

Labels are drawn from predictions, and the whole search is repeated in every replicate. Rows in
clusters have the signs of their clusters' deviations :math:`T_c` flipped instead, and z is
:math:`\sum_c T_c` over the root of :math:`\sum_c T_c^2`, or of what the variance would be if all
rows of a cluster were equally correlated, if that is larger: squares say too little where rare
outcomes did not occur.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self, final

import numpy as np
from numpy.typing import NDArray

from calibrant.engine import threads
from calibrant.engine.arrays import Array, Floats, Ints, Replicates, zeros
from calibrant.engine.regions import Family, Layout, add, rectangles, step_down, tables
from calibrant.inference.replicates.problem import Plan, part
from calibrant.inference.testing.families import rounding
from calibrant.regions.candidates import Candidates
from calibrant.regions.measures import STEPS, Bias, Measure, Measurements
from calibrant.regions.rows import CodedRows, Event, ScannedRows

CLUSTERS = 20  # the fewest clusters of a region
TABLE = 1 << 23  # numbers of the tables of a block of replicates
AWAY = 1 << 25  # the same, where each block is a pass over rows elsewhere
SIDE = 64  # replicates of a block, at most
FINER = 1024.0  # parts of a step of log-odds that mixed tables are rounded to
ROWS = 1 << 16  # labels that are drawn at a time

Searchable = CodedRows | ScannedRows


@final
@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What occurred in regions, each of one event, and what was expected.

    Parameters
    ----------
    candidates : Candidates
        The regions.
    measure : Bias or Slope
        What is measured.
    event : array of shape (regions,)
        The event of each.
    n : array of shape (regions,)
        Their numbers of rows.
    found : Found
        What is known of them.
    """

    candidates: Candidates
    measure: Measure
    event: Ints
    n: Ints
    found: Measurements

    @classmethod
    def of(cls, candidates: Candidates, rows: Searchable, measure: Measure, min_rows: int) -> Self:
        """Look at all regions that have rows enough, and say more than one condition would."""
        unit, layout = measure.unit(rows.n), candidates.layout
        ones, *events = rows.add_up(PairSums(layout, measure, unit))
        for table in (ones, *events):
            candidates.accumulated(table)
        sizes = candidates.read(ones)[:, 0]
        enough = (sizes >= min_rows) & _differ(candidates, sizes, ones)
        known, n = candidates.keep(enough), sizes[enough]
        parts = []
        for number, table in enumerate(events):
            found, tell = measure.found((known.read(table) * unit).T, n)
            if isinstance(rows, CodedRows) and rows.clusters is not None:
                spread, count = of_clusters(known, rows, rows.events[number], found.variance)
                found, tell = found._replace(spread=spread), tell & (count >= CLUSTERS)
            places = np.flatnonzero(tell)
            parts.append((places, np.full(places.size, number), *found.keep(places)))
        places, event, *sums = (np.concatenate(part) for part in zip(*parts, strict=True))
        return cls(known.keep(places), measure, event, n[places], Measurements(*sums))

    @property
    def z(self) -> Floats:
        """The standardised residuals (regions,)."""
        residual, spread = self.found.residual, self.found.spread
        return np.divide(residual, spread, out=np.zeros(self.n.size), where=spread > 0)

    def keep(self, some: Any) -> "Evidence":
        """Return some of the regions."""
        kept = self.candidates.keep(some), self.measure, self.event[some], self.n[some]
        return Evidence(*kept, self.found.keep(some))


@final
@dataclass(frozen=True, slots=True)
class PairSums:
    """The work of adding up what is measured, in every pair of columns."""

    layout: Layout
    measure: Measure
    unit: float

    def __call__(self, rows: CodedRows) -> list[Array]:
        """Return tables of rows (cells, 1), and of what is measured of each event (cells, k)."""
        found = [tables(rows.codes, self.layout, np.ones((rows.n, 1), np.int64))]
        for event in rows.events:
            whole = np.rint(self.measure.values(event) / self.unit).astype(np.int64)
            found.append(tables(rows.codes, self.layout, whole))
        return found


def _differ(candidates: Candidates, sizes: Ints, ones: Array) -> NDArray[np.bool_]:
    """Return which regions have fewer rows than with one condition less."""
    new = np.ones(len(candidates), np.bool_)
    for side in range(2):
        wider = candidates.wider(side)
        narrower = (wider.low != candidates.low).any(axis=1)
        narrower |= (wider.high != candidates.high).any(axis=1)
        new &= ~narrower | (wider.read(ones)[:, 0] != sizes)
    return new


def of_clusters(
    candidates: Candidates, rows: CodedRows, event: Event, variance: Floats
) -> tuple[Floats, Ints]:
    """Return the spread of the sums of regions over clusters, and how many clusters: (G,).

    variance : (G,) what it would be if rows were independent
    """
    assert rows.clusters is not None
    clusters, unit, p = rows.clusters, Bias().unit(rows.n), event.probs
    order = np.argsort(clusters, kind="stable")
    ranked = clusters[order]
    off, root = event.occurred - p, np.sqrt(p * (1.0 - p))
    residuals, scales = (np.rint(each / unit).astype(np.int64) for each in (off, root))

    def add(first: int, last: int) -> Ints:
        """Return squares of residuals and of scales, and how many clusters have rows: (3, G)."""
        here = order[np.searchsorted(ranked, first) : np.searchsorted(ranked, last)]
        values = np.zeros((3, here.size, last - first), np.int64)
        at = np.arange(here.size), clusters[here] - first
        values[0][at], values[1][at], values[2][at] = residuals[here], scales[here], 1
        sums, sizes, held = (candidates.sums(rows.codes[here], each) * unit for each in values)
        return np.stack(((sums**2).sum(axis=1), (sizes**2).sum(axis=1), (held > 0).sum(axis=1)))

    parts = threads.run(add, threads.blocks(int(ranked[-1]) + 1, SIDE))
    squares, pairs, count = np.sum(parts, axis=0)
    implied = variance + correlation(clusters, off, root) * (pairs - variance)
    return np.sqrt(np.maximum(squares, implied)), count


def correlation(clusters: NDArray[np.int32], residuals: Floats, scales: Floats) -> float:
    """Return the correlation of rows of a cluster, at least 0, if all are equally correlated."""
    together = [np.square(np.bincount(clusters, each)).sum() for each in (residuals, scales)]
    apart = [np.square(each).sum() for each in (residuals, scales)]
    pairs = together[1] - apart[1]
    return max(0.0, float((together[0] - apart[0]) / pairs)) if pairs > 0 else 0.0


class Searched(NamedTuple):
    """Regions, the strongest first, and what the replicates say of them."""

    evidence: Evidence
    pvalues: Floats  # (regions,) adjusted for all
    largest: Floats  # (n_resamples,) of all regions


def search_replicates(evidence: Evidence, rows: Searchable, plan: Plan) -> Searched:
    """Repeat the search in every replicate: a step-down maximum over all regions."""
    order = np.argsort(-np.abs(evidence.z), kind="stable")
    ranked = evidence.keep(order)
    layout, measure, b = ranked.candidates.layout, ranked.measure, plan.n_resamples
    cells = layout.cells * len(rows.events) * measure.counts
    corners = ranked.candidates.corners + ranked.event[:, None] * layout.cells
    family, limits = _family(ranked, rows, corners)
    count = Counted(layout, measure, rows.n, Replicates(0, 0), max(1, min(SIDE, TABLE // cells)))

    def work(start: int, stop: int, progress: Any = None) -> tuple[Ints, Floats]:
        some = replace(count, some=Replicates(start, stop))
        table = ranked.candidates.accumulated(np.concatenate(rows.add_up(some, progress)))
        return step_down(family, limits, _mixed(ranked, table, corners))

    if rows.held:
        parts = threads.run(work, threads.blocks(b, count.step), plan.progress)
    else:
        passes = list(threads.blocks(b, max(1, AWAY // cells)))
        shown = [part(plan.progress, k, len(passes)) for k in range(len(passes))]
        parts = [work(*span, one) for span, one in zip(passes, shown, strict=True)]
    hits = sum(part[0] for part in parts)
    pvalues = np.maximum.accumulate((1 + hits) / (b + 1))
    return Searched(ranked, pvalues, np.concatenate([part[1] for part in parts]))


def _mixed(ranked: Evidence, table: Array, corners: Ints) -> Array:
    """Return the table that regions are read from; of two tables their difference, by region."""
    if ranked.measure.counts == 1:
        return table
    first, second = (rectangles(half, corners) for half in np.split(table, 2))
    counted = first - ranked.found.mean[:, None] * second
    found = zeros((len(counted) + 1, counted.shape[1]), np.dtype(np.int64))
    np.rint(FINER * counted, out=found[1:], casting="unsafe")
    return found


def _family(ranked: Evidence, rows: Searchable, corners: Ints) -> tuple[Family, Floats]:
    """Return what the engine takes of regions, and the evidence that each has."""
    found, measure = ranked.found, ranked.measure
    unit, centre = 1.0, found.centre
    if rows.clusters is not None:
        unit = measure.unit(rows.n)
        centre = found.residual / unit
    elif measure.counts == 2:  # tables are mixed: a row for each region, behind one of zeros
        unit, centre = 1.0 / (STEPS * FINER), FINER * centre
        corners = np.zeros_like(corners)
        corners[:, 0] = np.arange(1, len(corners) + 1)
    scale = np.divide(unit, found.spread, out=np.zeros(centre.size), where=found.spread > 0)
    strength = np.abs(ranked.z)
    return Family(corners, centre, scale), strength - rounding(strength)


@final
@dataclass(frozen=True, slots=True)
class Counted:
    """The work of drawing outcomes and counting them, in every pair of columns."""

    layout: Layout
    measure: Measure
    n: int  # of all rows
    some: Replicates
    step: int  # replicates at a time

    def __call__(self, rows: CodedRows) -> list[Array]:
        """Return tables of all events, those of one kind after the other: (cells, size)."""
        blocks = threads.blocks(self.some.size, self.step)
        first = self.some.start
        parts = [self._counted(rows, Replicates(first + a, first + b)) for a, b in blocks]
        if len(parts) == 1:
            return parts[0]
        return [np.concatenate(part, axis=1) for part in zip(*parts, strict=True)]

    def _counted(self, rows: CodedRows, some: Replicates) -> list[Array]:
        found: list[Array] = []
        for span in threads.blocks(rows.n, max(1, ROWS // SIDE)):
            drawn, codes = rows.draw(span, some), rows.codes[slice(*span)]
            each = [self._values(rows, e, span, drawn) for e in range(len(rows.events))]
            values = [one for kind in zip(*each, strict=True) for one in kind]
            if not found:
                found = [zeros((self.layout.cells, some.size), one.dtype) for one in values]
            for one, table in zip(values, found, strict=True):
                add(codes, self.layout, one, table)
        return found

    def _values(self, rows: CodedRows, e: int, span: tuple[int, int], drawn: Array) -> list[Array]:
        """Return what rows add to the tables of an event: (k, size) each."""
        event = rows.events[e]
        if rows.flips is not None:
            return [np.where(drawn, rows.flips.doubled[e][slice(*span), None], 0)]
        part = event._replace(probs=event.probs[slice(*span)])
        return self.measure.counted(part, drawn == event.outcome, self.n)
