r"""Evidence against regions: how far what occurred is from what was predicted, in units of chance.

.. math:: z_g = (N_g - \sum p) / \sqrt{\sum p (1 - p)}

Labels are drawn from predictions, and the whole search is repeated in every replicate. Rows in
clusters have the signs of their clusters' deviations :math:`T_c` flipped instead, and z is
:math:`\sum_c T_c` over the root of :math:`\sum_c T_c^2`, or of what the variance would be if all
rows of a cluster were equally correlated, if that is larger: squares say too little where rare
outcomes did not occur.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.engine import threads
from calibrant.engine.arrays import Array, Floats, Ints, Replicates
from calibrant.engine.regions import Family
from calibrant.inference.replicates.problem import Plan, Problem
from calibrant.inference.testing.families import rounding
from calibrant.regions.candidates import Candidates
from calibrant.cuts.columns import Codes

VARIANCE = 5.0  # the least sum of p (1 - p) of a region
CLUSTERS = 20  # the fewest clusters of a region
TABLE = 1 << 23  # numbers of the tables of a block of replicates
SIDE = 64  # replicates of a block, at most
ROWS = 1 << 16  # labels that are drawn at a time
BITS = 40  # of probabilities, which are added up as whole numbers

Draw = Callable[[tuple[int, int], Replicates], Array]


class Event(NamedTuple):
    """What may occur in a row: its probability, whether it did, and the outcome that it is."""

    name: str  # that sentences give its probability
    probs: Floats  # (n,)
    occurred: NDArray[np.bool_]  # (n,)
    outcome: int


class Rows(NamedTuple):
    """Rows with their codes, the events that are looked at, and their clusters."""

    codes: Codes  # (n, columns)
    events: Sequence[Event]
    clusters: NDArray[np.int32] | None


@final
@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What occurred in regions, each of one event, and what was expected.

    Parameters
    ----------
    candidates : Candidates
        The regions.
    event : array of shape (regions,)
        The event of each.
    n : array of shape (regions,)
        Their numbers of rows.
    expected, variance : array of shape (regions,)
        Sums of p, and of p (1 - p).
    residual : array of shape (regions,)
        How much more often the event occurred than expected.
    spread : array of shape (regions,)
        What the residual is compared with.
    """

    candidates: Candidates
    event: Ints
    n: Ints
    expected: Floats
    variance: Floats
    residual: Floats
    spread: Floats

    @classmethod
    def of(cls, candidates: Candidates, rows: Rows, min_rows: int) -> Self:
        """Look at all regions that have rows enough, and say more than one condition would."""
        unit = unit_of(len(rows.codes))
        sizes = candidates.sums(rows.codes, np.ones((len(rows.codes), 1), np.int64))[:, 0]
        enough = (sizes >= min_rows) & _differ(candidates, sizes, rows.codes)
        known = candidates.keep(enough)
        found = []
        for number, event in enumerate(rows.events):
            p = event.probs
            values = np.stack((p, p * (1.0 - p), event.occurred - p), axis=1)
            whole = np.rint(values / unit).astype(np.int64)
            expected, variance, residual = (known.sums(rows.codes, whole) * unit).T
            spread, tell = np.sqrt(variance), variance >= VARIANCE
            if rows.clusters is not None:
                spread, count = of_clusters(known, rows, event, variance)
                tell &= count >= CLUSTERS
            sums = np.stack((expected, variance, residual, spread))[:, tell]
            places = np.flatnonzero(tell)
            found.append((places, np.full(places.size, number), sums))
        places, events, sums = (np.concatenate(part, axis=-1) for part in zip(*found, strict=True))
        return cls(known.keep(places), events, sizes[enough][places], *sums)

    @property
    def z(self) -> Floats:
        """The standardised residuals (regions,)."""
        return np.divide(
            self.residual, self.spread, out=np.zeros(self.n.size), where=self.spread > 0
        )

    def keep(self, some: Any) -> "Evidence":
        """Return some of the regions."""
        parts = (self.event, self.n, self.expected, self.variance, self.residual, self.spread)
        return Evidence(self.candidates.keep(some), *(part[some] for part in parts))


def unit_of(n: int) -> float:
    """Return the power of two that probabilities of n rows are multiples of, to be added up."""
    return float(2.0 ** -min(BITS, 61 - n.bit_length()))


def _differ(candidates: Candidates, sizes: Ints, codes: Codes) -> NDArray[np.bool_]:
    """Return which regions have fewer rows than with one condition less."""
    ones = np.ones((len(codes), 1), np.int64)
    new = np.ones(len(candidates), np.bool_)
    for side in range(2):
        wider = candidates.wider(side)
        narrower = (wider.low != candidates.low).any(axis=1)
        narrower |= (wider.high != candidates.high).any(axis=1)
        new &= ~narrower | (wider.sums(codes, ones)[:, 0] != sizes)
    return new


def of_clusters(
    candidates: Candidates, rows: Rows, event: Event, variance: Floats
) -> tuple[Floats, Ints]:
    """Return the spread of the sums of regions over clusters, and how many clusters: (G,).

    variance : (G,) what it would be if rows were independent
    """
    assert rows.clusters is not None
    clusters, unit, p = rows.clusters, unit_of(len(rows.codes)), event.probs
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


def search_replicates(evidence: Evidence, rows: Rows, problem: Problem, plan: Plan) -> Searched:
    """Repeat the search in every replicate: a step-down maximum over all regions."""
    order = np.argsort(-np.abs(evidence.z), kind="stable")
    ranked = evidence.keep(order)
    draw, whole = _draws(rows, problem)
    cells = ranked.candidates.layout.cells
    family, limits = _family(ranked, rows, cells)
    size = max(1, min(SIDE, TABLE // (cells * len(rows.events))))

    def work(start: int, stop: int) -> tuple[Ints, Floats]:
        table = _counted(ranked, rows, whole, lambda span: draw(span, Replicates(start, stop)))
        return engine.regions.step_down(family, limits, table)

    parts = threads.run(work, threads.blocks(plan.n_resamples, size), plan.progress)
    hits = sum(part[0] for part in parts)
    pvalues = np.maximum.accumulate((1 + hits) / (plan.n_resamples + 1))
    return Searched(ranked, pvalues, np.concatenate([part[1] for part in parts]))


def _family(ranked: Evidence, rows: Rows, cells: int) -> tuple[Family, Floats]:
    """Return what the engine takes of regions, and the evidence that each has."""
    unit = 1.0 if rows.clusters is None else unit_of(len(rows.codes))
    centre = ranked.expected if rows.clusters is None else ranked.residual / unit
    scale = np.divide(unit, ranked.spread, out=np.zeros(centre.size), where=ranked.spread > 0)
    corners = ranked.candidates.corners + ranked.event[:, None] * cells
    family = Family(corners, centre, scale)
    strength = np.abs(ranked.z)
    return family, strength - rounding(strength)


def _draws(rows: Rows, problem: Problem) -> tuple[Draw, Sequence[Ints] | None]:
    """Return what draws outcomes, and what rows count where they draw an event; None for once."""
    if rows.clusters is None:
        drawing = problem.draws.drawing
        return lambda span, some: engine.draws.draw_rows(drawing, np.arange(*span), some), None
    clusters, key = rows.clusters, problem.redraw.key
    unit = unit_of(len(rows.codes))

    of_rows = engine.draws.row_keys(key, (0, int(clusters.max()) + 1))[clusters]

    def draw(span: tuple[int, int], some: Replicates) -> Array:
        """Return whether each row keeps its sign: the highest bit of what its cluster draws."""
        replicates = engine.draws.replicate_keys(key, some)
        bits = engine.draws.mix(of_rows[slice(*span), None] + replicates)
        return np.asarray(bits >> np.uint64(63) == 1)

    doubled = [
        2 * np.rint((event.occurred - event.probs) / unit).astype(np.int64) for event in rows.events
    ]
    return draw, doubled


def _counted(
    ranked: Evidence,
    rows: Rows,
    whole: Sequence[Ints] | None,
    draw: Callable[[tuple[int, int]], Array],
) -> Array:
    """Return the accumulated tables of all events, one after the other: (cells, size)."""
    layout = ranked.candidates.layout
    tables: list[Array] = []
    for span in threads.blocks(len(rows.codes), max(1, ROWS // SIDE)):
        drawn, codes = draw(span), rows.codes[slice(*span)]
        for e, event in enumerate(rows.events):
            if whole is None:
                values = (drawn == event.outcome).astype(np.int32)
            else:
                values = np.where(drawn, whole[e][slice(*span), None], 0)
            if len(tables) <= e:
                shape = layout.cells, values.shape[1]
                tables.append(engine.arrays.zeros(shape, values.dtype))
            engine.regions.add(codes, layout, values, tables[e])
    table = tables[0] if len(tables) == 1 else np.concatenate(tables)
    engine.regions.accumulate(layout, table)
    return table
