"""Bands of curves that hold exactly, for every number of rows.

`band_of` says where the curve of a calibrated model would be, `confidence_band` where the true
curve of this model is.

The observed curve and those of B replicates are exchangeable if the model is calibrated. So it is
below the k-th smallest of them, at a point, with probability k / (B + 1) at most. Its largest
standardised deviation is among the k largest with the same probability, as long as what
standardises comes from the predictions, or from replicates that are not counted: a `Standard`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import ceil, floor
from typing import Any, Protocol, Self, final

import numpy as np
from numpy.typing import NDArray

from calibrant.calibration import IsotonicFunction, observed
from calibrant.checks.parameters import fraction
from calibrant.diagrams.curve import Band, Limits
from calibrant.engine import threads
from calibrant.engine.arrays import Replicates
from calibrant.engine.line import Pools, pool
from calibrant.inference.replicates.problem import Plan, Problem
from calibrant.inference.testing.families import pvalue
from calibrant.partitions import FromFunction
from calibrant.statistics import Block
from calibrant.statistics.score_tests import bin_of, logit
from calibrant.statistics.statistic import BATCH, Ties

Floats = NDArray[np.float64]
Evaluate = Callable[[Block], Floats]  # (size, points)

FINEST = 1 << 16  # values up to which replicates tell all apart; of more, to such a share of 1
LOGITS = 32  # and of so much in log-odds
SHAPING = 199  # further replicates that say how wide the band of a whole curve is, and where
LEAST = 0.1  # of the largest scale: narrower parts of the band are widened
SIDE = 64  # replicates that are drawn together
SLACK = 1e-9  # for rounding in a product that is a whole number, and in sums of weights
MOST_GROUPS = 100  # of rows with neighbouring predictions; each two bound an interval
HALVINGS = 60  # of the interval in which a limit is sought


class Standard(Protocol):
    """What makes deviations at different points of a curve alike; labels have no say in it."""

    def far(self, curves: Floats) -> Floats:
        """Return how far curves (…, points) are off, at least 0."""
        ...

    def limits(self, reach: float) -> Limits:
        """Return the limits (points,) of curves that are nowhere further off than `reach`."""
        ...


@final
@dataclass(frozen=True, slots=True)
class Even:
    """Deviations from 0, the same everywhere."""

    points: int

    def far(self, curves: Floats) -> Floats:
        """See `Standard`."""
        return np.abs(curves)

    def limits(self, reach: float) -> Limits:
        """See `Standard`."""
        return np.full(self.points, -reach), np.full(self.points, reach)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Tails:
    """Deviations from a mean curve, in units of how far below and above it curves may be.

    Tails differ much between points, at the ends of an isotonic curve above all; so they and not
    standard deviations decide how wide the band is at one point beside another.
    """

    centre: Floats  # (points,)
    below: Floats  # (points,) how far the farthest curve is below the centre
    above: Floats  # (points,) and above it

    @classmethod
    def of(cls, curves: Floats) -> Self:
        """Return the tails of curves (size, points)."""
        centre = curves.mean(axis=0)
        below, above = centre - curves.min(axis=0), curves.max(axis=0) - centre
        least = max(LEAST * float(np.max((below, above))), 1e-12)
        return cls(centre, np.maximum(below, least), np.maximum(above, least))

    def far(self, curves: Floats) -> Floats:
        """See `Standard`."""
        off = curves - self.centre
        return np.asarray(np.maximum(-off / self.below, off / self.above))

    def limits(self, reach: float) -> Limits:
        """See `Standard`."""
        return self.centre - reach * self.below, self.centre + reach * self.above


@final
@dataclass(frozen=True, slots=True, eq=False)
class Binomial:
    r"""Frequencies f beside what was predicted, q, as if each came from N independent rows.

    .. math:: \sqrt{2N \Big(f \log\frac fq + (1 - f) \log\frac{1 - f}{1 - q}\Big)}

    is the root of the likelihood-ratio statistic. Unlike a deviation in units of its standard
    deviation it has nearly the same tails where events are rare, or nearly certain, as elsewhere.
    """

    predicted: Floats  # (points,) q, between 0 and 1
    rows: Floats  # (points,) N

    def far(self, curves: Floats) -> Floats:
        """See `Standard`."""
        from scipy.special import rel_entr  # noqa: PLC0415 (slow to import)

        q = self.predicted
        found = rel_entr(curves, q) + rel_entr(1 - curves, 1 - q)
        return np.asarray(np.sqrt(2 * self.rows * np.maximum(found, 0.0)))

    def limits(self, reach: float) -> Limits:
        """See `Standard`."""
        return self._limit(reach, 0.0), self._limit(reach, 1.0)

    def _limit(self, reach: float, end: float) -> Floats:
        """Return the last frequency on the way to an end that is not further off than `reach`."""
        inside, outside = self.predicted, np.full_like(self.predicted, end)
        outermost = self.far(outside) <= reach
        for _ in range(HALVINGS):
            middle = (inside + outside) / 2
            within = self.far(middle) <= reach
            inside, outside = np.where(within, middle, inside), np.where(within, outside, middle)
        return np.where(outermost, end, inside)


def check_level(level: float, n_resamples: int) -> None:
    """Refuse the level of a band that needs more replicates."""
    fraction("level", level)
    needed = ceil(2 / (1 - level) - SLACK) - 1
    if n_resamples < needed:
        raise ValueError(
            f"`level` of {level:g} needs at least {needed} resamples; found {n_resamples}."
        )


def band_of(
    evaluate: Evaluate,
    problem: Problem,
    plan: Plan,
    level: float,
    standard: Standard | None = None,
) -> tuple[Floats, Band]:
    """Return the curve of the data (points,), and limits of it.

    evaluate : gives the curve of each replicate of a block
    standard : of deviations from a calibrated model; the tails of further replicates, if None
    """
    curve = evaluate(observed(problem.seen))[0]
    further = SHAPING if standard is None else 0
    curves = _null_curves(evaluate, problem, plan, (further, curve.size))
    counted, shaping = curves[: plan.n_resamples], curves[plan.n_resamples :]
    standard = standard or Tails.of(shaping)
    largest = standard.far(counted).max(axis=1)
    rank = ceil(level * (largest.size + 1) - SLACK)
    reach = float(np.sort(largest)[rank - 1])
    off = standard.far(curve)
    # A point is below, or above, its limits with probability (1 - level) / 2 at most.
    side, size = floor((1 - level) / 2 * (largest.size + 1) + SLACK), largest.size
    ordered = np.partition(counted, [side - 1, size - side], axis=0)
    found = Band(
        pointwise=(ordered[side - 1].copy(), ordered[size - side].copy()),
        whole=standard.limits(reach),
        pvalues=np.asarray(pvalue(off, largest[None, :])),
        level=level,
        farthest=float(off.max()),
        largest=largest,
    )
    return curve, found


def _null_curves(
    evaluate: Evaluate, problem: Problem, plan: Plan, shape: tuple[int, int]
) -> Floats:
    """Return curves of replicates that count, then of further ones; so many, of so many points."""
    problem.draws.prepare(problem.view.asked)
    further, points = shape
    out = np.empty((further + plan.n_resamples, points))

    def work(start: int, stop: int) -> None:
        out[start:stop] = evaluate(Block(problem.draws, Replicates(start, stop)))

    threads.run(work, threads.even_blocks(out.shape[0], SIDE), plan.progress)
    return out


def of_groups(problem: Problem, ties: Ties, at: NDArray[np.int64]) -> Evaluate | None:
    """Return the isotonic curve at some values, with those together that are next to the same.

    None if values are few enough to be told apart.
    """
    if ties.values.size <= FINEST:
        return None
    inside = np.clip(ties.values, 1 / FINEST**2, 1 - 1 / FINEST**2)
    names = np.floor(ties.values * FINEST) + np.floor(logit(inside) * FINEST / LOGITS)
    starts = np.flatnonzero(np.diff(names, prepend=-np.inf))
    edges = ties.values[starts[1:]]
    cells: Any = problem.view.cells(FromFunction(partial(bin_of, ties.event, edges)))
    groups = np.searchsorted(starts, at, side="right") - 1
    losses = np.zeros((2, starts.size))

    def evaluate(block: Block) -> Floats:
        pools = Pools.start(block.size)
        for start, stop in threads.blocks(starts.size, max(1, BATCH // block.size)):
            events, part = block.events(cells, start, stop), slice(start, stop)
            pools = pool(events, cells.mass[part], losses[:, part], start, pools)
        found: Floats = pools.values(groups)
        return found

    return evaluate


def confidence_band(
    found: IsotonicFunction, squares: Floats, level: float, at: Floats
) -> tuple[Floats, Floats]:
    r"""Return limits of the true calibration curve r at predictions `at` (points,).

    If r increases, its mean over the rows of an interval is at most r at the upper end and at
    least r at the lower end. Limits of the mean of every interval of groups of rows, each at
    :math:`(1 - level) / (G (G + 1))` for G groups, therefore hold all at once and bound r
    everywhere.

    found : the different predictions, with the weights of rows and events
    squares : sums of the squared weights (predictions,); the mass if there are no weights
    level : of the band, all of it at once

    Notes
    -----
    Without weights the limits of a mean are those of Clopper and Pearson, which also hold for
    unequal probabilities (Hoeffding 1956); with weights those of Hoeffding (1963).

    References
    ----------
    Dimitriadis, Dümbgen, Henzi, Puke and Ziegel (2023), "Honest calibration assessment for binary
    outcome predictions", Biometrika.
    """
    ends = group_ends(found.mass, MOST_GROUPS)
    starts = np.concatenate(([0], ends[:-1] + 1))
    size = ends.size
    tail = (1 - level) / (size * (size + 1))
    mass, events, square = (
        np.add.reduceat(each, starts) for each in (found.mass, found.events, squares)
    )
    first, last = np.triu_indices(size)
    totals = (np.concatenate(([0.0], np.cumsum(each))) for each in (mass, events, square))
    n, k, n2 = (total[last + 1] - total[first] for total in totals)  # of each interval
    of_rows = squares / found.mass  # all rows weigh the same if it is the same everywhere
    if np.ptp(of_rows) <= SLACK * of_rows[0]:
        lower, upper = _counted(n / of_rows[0], k / of_rows[0], tail)
    else:
        lower, upper = _weighed(n, k, n2, tail)
    # The best limit that ends at each group, and then of all groups before it; likewise after.
    low, high = np.zeros(size), np.ones(size)
    np.maximum.at(low, last, lower)
    np.minimum.at(high, first, upper)
    low = np.concatenate(([0.0], np.maximum.accumulate(low)))
    high = np.concatenate((np.minimum.accumulate(high[::-1])[::-1], [1.0]))
    below = np.searchsorted(found.values[ends], at, side="right")
    above = np.searchsorted(found.values[starts], at, side="left")
    return low[below], high[above]


def group_ends(mass: Floats, most: int) -> NDArray[np.int64]:
    """Return the last point of each of at most so many groups of about equal mass."""
    if mass.size <= most:
        return np.arange(mass.size)
    total = np.cumsum(mass)
    ends = np.searchsorted(total, total[-1] * np.arange(1, most) / most * (1 - SLACK))
    return np.unique(np.append(ends, mass.size - 1))


def _counted(mass: Floats, events: Floats, tail: float) -> tuple[Floats, Floats]:
    """Return the limits of Clopper and Pearson."""
    from scipy.special import betaincinv  # noqa: PLC0415 (slow to import)

    others = mass - events
    some, more = np.maximum(events, 1.0), np.maximum(others, 1.0)
    lower = np.where(events > 0, betaincinv(some, others + 1.0, tail), 0.0)
    upper = np.where(others > 0, 1.0 - betaincinv(more, events + 1.0, tail), 1.0)
    return lower, upper


def _weighed(mass: Floats, events: Floats, squares: Floats, tail: float) -> tuple[Floats, Floats]:
    """Return the limits of Hoeffding's inequality."""
    reach = np.sqrt(-0.5 * np.log(tail) * squares) / mass
    return events / mass - reach, events / mass + reach
