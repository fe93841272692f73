"""From the curves of replicates to limits that hold exactly.

The observed curve and those of B replicates are exchangeable if the model is calibrated. So it is
below the k-th smallest of them, at a point, with probability k / (B + 1) at most. Its largest
standardised deviation is among the k largest with the same probability, as long as what
standardises comes from the predictions, or from replicates that are not counted.
"""

from collections.abc import Callable
from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

from calibrant.calibration import observed
from calibrant.checks.parameters import fraction
from calibrant.diagrams.curve import Band
from calibrant.engine import threads
from calibrant.engine.tuples import Replicates
from calibrant.inference.replicates.plan import Plan
from calibrant.inference.replicates.problem import Problem
from calibrant.inference.testing.pvalues import pvalue
from calibrant.statistics import Block

Floats = NDArray[np.float64]
Evaluate = Callable[[Block], Floats]  # (size, points)

SHAPING = 199  # further replicates that say how wide the band of a whole curve is, and where
LEAST = 0.1  # of the largest scale: narrower parts of the band are widened
SIDE = 64  # replicates that are drawn together
SLACK = 1e-9  # for rounding in a product that is a whole number


def check_level(level: float, n_resamples: int) -> float:
    """Return the level of a band, or say how many replicates it needs."""
    fraction("level", level)
    needed = ceil(2 / (1 - level) - SLACK) - 1
    if n_resamples < needed:
        raise ValueError(
            f"`level` of {level:g} needs at least {needed} resamples; found {n_resamples}."
        )
    return level


def band_of(
    evaluate: Evaluate, problem: Problem, plan: Plan, level: float, *, even: bool = False
) -> tuple[Floats, Band]:
    """Return the curve of the data (points,), and limits of it.

    evaluate : gives the curve of each replicate of a block
    even : whether the band of the whole curve is around 0 and as wide everywhere
    """
    curve = evaluate(observed(problem.seen))[0]
    curves = _null_curves(evaluate, problem, plan, (0 if even else SHAPING, curve.size))
    counted, shaping = curves[: plan.n_resamples], curves[plan.n_resamples :]
    centre = np.zeros(curve.size) if even else shaping.mean(axis=0)
    scales = (np.ones(curve.size),) * 2 if even else _scales(centre, shaping)
    largest = _standardised(counted, centre, scales).max(axis=1)
    rank = ceil(level * (largest.size + 1) - SLACK)
    reach = np.sort(largest)[rank - 1]
    off = _standardised(curve, centre, scales)
    found = Band(
        pointwise=_pointwise(counted, level),
        whole=(centre - reach * scales[0], centre + reach * scales[1]),
        pvalues=np.asarray(pvalue(off, largest[None, :])),
        level=level,
        farthest=float(off.max()),
        largest=largest,
    )
    return curve, found


def _scales(centre: Floats, shaping: Floats) -> tuple[Floats, Floats]:
    """Return how far the farthest curve is below the centre, and above it (points,).

    Tails differ much between points, at the ends of an isotonic curve above all; so they and not
    standard deviations decide how wide the band is at one point beside another.
    """
    both = centre - shaping.min(axis=0), shaping.max(axis=0) - centre
    least = max(LEAST * float(np.max(both)), 1e-12)
    return np.maximum(both[0], least), np.maximum(both[1], least)


def _standardised(curves: Floats, centre: Floats, scales: tuple[Floats, Floats]) -> Floats:
    """Return how far curves (…, points) are off, where 1 is one scale."""
    off = curves - centre
    return np.asarray(np.maximum(-off / scales[0], off / scales[1]))


def _null_curves(
    evaluate: Evaluate, problem: Problem, plan: Plan, shape: tuple[int, int]
) -> Floats:
    """Return the curves of the replicates that count, then of further ones.

    shape : number of further replicates, and of points
    """
    problem.draws.prepare(problem.view.asked)
    further, points = shape
    out = np.empty((further + plan.n_resamples, points))

    def work(start: int, stop: int) -> None:
        out[start:stop] = evaluate(Block(problem.draws, Replicates(start, stop)))

    threads.run(work, threads.even_blocks(out.shape[0], SIDE), plan.progress)
    return out


def _pointwise(curves: Floats, level: float) -> tuple[Floats, Floats]:
    """Return limits that a point is below, or above, with probability (1 - level) / 2 at most."""
    size = curves.shape[0]
    rank = floor((1 - level) / 2 * (size + 1) + SLACK)
    found = np.partition(curves, [rank - 1, size - rank], axis=0)
    return found[rank - 1].copy(), found[size - rank].copy()
