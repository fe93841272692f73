"""The curve of one model: isotonic, smooth or cumulative."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from calibrant.calibration import isotonic
from calibrant.diagrams.bands import band_of
from calibrant.diagrams.confidence import confidence_band, group_ends
from calibrant.diagrams.curve import CurveSeries
from calibrant.inference.replicates.plan import Plan
from calibrant.inference.replicates.problem import Problem
from calibrant.partitions import FromFunction
from calibrant.statistics import Block
from calibrant.statistics.smooth import expected_width, smoothed_mass, smoothed_residuals
from calibrant.statistics.ties import BY_EVENT, Ties

Floats = NDArray[np.float64]

POINTS = 256  # of a curve, about
BINS = 50  # of the histogram of predictions
WIDER, NARROWEST = 2.0, 0.03  # width of the kernel: a picture shows no finer detail
FEWEST_ROWS = 1.0  # within the kernel, for a point to be drawn


def _ties(problem: Problem) -> Ties:
    event = problem.seen.event
    assert event is not None
    return Ties(problem.view.cells(BY_EVENT[event]), event)


def isotonic_series(name: str, problem: Problem, plan: Plan, level: float) -> CurveSeries:
    """Return the isotonic regression, at no more than POINTS predictions."""
    ties = _ties(problem)
    losses = np.zeros((2, ties.values.size))
    held = np.flatnonzero(ties.mass > 0)
    at = held[_spread_out(ties.values[held])]

    def evaluate(block: Block) -> Floats:
        found: Floats = ties.pools(block, losses).values(at)
        return found

    y, band = band_of(evaluate, problem, plan, level)
    x = ties.values[at]
    nearest = np.searchsorted((x[1:] + x[:-1]) / 2, ties.values)
    confidence = None
    if problem.lens.rowwise:
        squares = np.bincount(ties.cells.of_rows, problem.seen.weights**2, ties.values.size)
        found = isotonic(problem.seen, ties.event)
        confidence = confidence_band(found, np.asarray(squares[held], np.float64), level, x)
    return CurveSeries(
        name=name,
        x=x,
        y=y,
        predictions=x,
        shares=np.bincount(nearest, ties.mass, x.size) / ties.total,
        band=band,
        density=_histogram(ties),
        confidence=confidence,
    )


def _spread_out(values: Floats) -> NDArray[np.int64]:
    """Choose at most POINTS of sorted values: evenly by their rank, and over the line."""
    if values.size <= POINTS:
        return np.arange(values.size)
    ranks = np.linspace(0, values.size - 1, POINTS // 2).round().astype(np.int64)
    places = np.linspace(values[0], values[-1], POINTS // 2)
    return np.unique(np.concatenate((ranks, np.searchsorted(values, places))))


def _histogram(ties: Ties) -> Floats:
    counts = np.histogram(ties.values, BINS, (0.0, 1.0), weights=ties.mass)[0]
    return np.asarray(counts / ties.total)


def smooth_series(
    name: str, problem: Problem, plan: Plan, level: float, width: float | None
) -> CurveSeries:
    """Return the frequency smoothed by a kernel, where there are predictions."""
    ties = _ties(problem)
    width = max(WIDER * expected_width(ties), NARROWEST) if width is None else width
    t = np.arange(POINTS + 1) / POINTS
    density = smoothed_mass(ties, width, POINTS)
    shares = density * (2 * np.sqrt(np.pi) * width)
    shown = shares * problem.seen.n >= FEWEST_ROWS

    def evaluate(block: Block) -> Floats:
        off = smoothed_residuals(ties, block, width, POINTS)[:, shown]
        return np.asarray(t[shown] + off / density[shown])

    y, band = band_of(evaluate, problem, plan, level)
    x = t[shown]
    return CurveSeries(
        name=name,
        x=x,
        y=y,
        predictions=x,
        shares=np.minimum(shares[shown], 1.0),
        band=band,
        density=(density[1:] + density[:-1]) / (2 * POINTS),
        step=1 / POINTS,
    )


def cumulative_series(name: str, problem: Problem, plan: Plan, level: float) -> CurveSeries:
    """Return the sums of residuals, after no more than POINTS groups of predictions."""
    ties = _ties(problem)
    ends = group_ends(ties.mass, POINTS)
    last = ties.values[ends]
    cells = problem.view.cells(FromFunction(_group(last, ties.event)))
    predicted = np.cumsum(np.add.reduceat(ties.predicted, np.concatenate(([0], ends[:-1] + 1))))

    def evaluate(block: Block) -> Floats:
        events = block.events(cells, 0, cells.n_cells).T
        off = (np.cumsum(events, axis=1) - predicted) / ties.total
        return np.concatenate((np.zeros((block.size, 1)), off), axis=1)

    y, band = band_of(evaluate, problem, plan, level, even=True)
    x = np.concatenate(([0.0], np.cumsum(cells.mass) / ties.total))
    return CurveSeries(
        name=name,
        x=x,
        y=y,
        predictions=np.concatenate((ties.values[:1], last)),
        shares=np.diff(x, prepend=0.0),
        band=band,
    )


def _group(last: Floats, event: int) -> Callable[[Floats], NDArray[np.int64]]:
    """Return a function of predictions that gives the number of the group of each."""

    def group(probs: Floats) -> NDArray[np.int64]:
        return np.searchsorted(last, probs[:, event].astype(np.float64))

    return group
