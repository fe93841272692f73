"""Outcome frequencies of cells under the hypothesis, and what is kept of them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from calibrant.calibration import Cells
from calibrant.calibration.cells import Known
from calibrant.engine import threads
from calibrant.inference.blocks import block_of
from calibrant.inference.moments import moments
from calibrant.inference.plans import Plan, part
from calibrant.inference.problem import Problem
from calibrant.inference.scanned import AnyProblem, ScannedProblem
from calibrant.inference.scanned_blocks import scanned_blocks
from calibrant.predictions import Predictions

Floats = NDArray[np.float64]

ROOM = 1 << 21  # numbers in a block of frequencies
SIDE = 256  # replicates that are drawn together
OUTLINE = 49  # points of an ellipse, the first again at the end


def frequencies(problem: AnyProblem, cells: Cells, plan: Plan) -> Iterator[tuple[int, int, Floats]]:
    """Yield the outcome frequencies (n_resamples, cells, m) of one span of cells after another."""
    if isinstance(problem, ScannedProblem):
        yield 0, cells.n_cells, _of_tables(problem, cells, plan)
        return
    signs = problem.resampler.flips_signs
    if problem.rows_change or not (problem.lens.rowwise or signs):
        yield 0, cells.n_cells, _of_data_sets(problem, cells, plan)
        return
    m, size = problem.seen.m, plan.n_resamples
    spans = threads.blocks(cells.n_cells, max(1, ROOM // (size * m)))
    if not signs:
        _ = cells.order, problem.source, problem.seen.m == 2 and problem.cuts
    for number, (first, last) in enumerate(spans):
        out = np.empty((size, last - first, m))
        mass = np.where(cells.mass > 0, cells.mass, 1.0)[first:last, None]

        def work(b0: int, b1: int, first: int = first, last: int = last) -> None:
            out[b0:b1] = block_of(problem, b0, b1).counts(cells, first, last)  # noqa: B023

        threads.run(work, threads.blocks(size, SIDE), part(plan.progress, number, len(spans)))
        out /= mass
        yield first, last, out


def _of_tables(problem: ScannedProblem, cells: Cells, plan: Plan) -> Floats:
    """Return the frequencies of scanned rows."""
    mass = np.where(cells.mass > 0, cells.mass, 1.0)[:, None]
    blocks = scanned_blocks([problem], [tuple(problem.asked)], plan)
    found = [block.counts(cells, 0, cells.n_cells) for (block,) in blocks]
    return np.concatenate(found) / mass


def _of_data_sets(problem: Problem, cells: Cells, plan: Plan) -> Floats:
    """Return the frequencies where a lens mixes rows, or predictions are drawn again.

    Where predictions stay, a replicate with the labels of the data has the frequencies of the
    data to the last digit.
    """
    out = np.empty((plan.n_resamples, cells.n_cells, problem.seen.m))
    predicted = cells.means().predicted
    for b in range(plan.n_resamples):
        (data,) = block_of(problem, b, b + 1).data_sets()
        if problem.rows_change:
            out[b] = predicted + _deviations(cells, data)
        else:
            out[b] = cells.means(data).observed
        if plan.progress is not None:
            plan.progress(b + 1, plan.n_resamples)
    return out


def _deviations(cells: Cells, drawn: Predictions) -> Floats:
    """Return the deviations of other rows in the same cells (cells, m), nan without rows."""
    known = Known(cells.fitted, cells.fitted.assign(drawn.probs))
    means = Cells(drawn, known).means()
    return np.where(means.mass[:, None] > 0, means.observed - means.predicted, np.nan)


def problem_moments(problem: AnyProblem, cells: Cells) -> tuple[Floats, Floats]:
    """Return mean and standard deviation (cells, m) of the deviations under the hypothesis."""
    if isinstance(problem, ScannedProblem):
        return problem.moments(cells)
    return moments(problem, cells)


def standardise(deviations: Floats, centre: Floats, spread: Floats) -> Floats:
    """Return the largest |deviation - centre| / spread over the outcomes (…, cells).

    Where the spread is zero, anything but rounding is infinitely far off.
    """
    gap = np.abs(deviations - centre)
    sure = spread <= 1e-12
    scaled = np.where(sure, np.where(gap > 1e-6, np.inf, 0.0), gap / np.where(sure, 1.0, spread))
    return np.asarray(scaled.max(axis=-1))


@final
@dataclass(frozen=True, slots=True, eq=False)
class Summary:
    """Limits, regions and the largest deviation, filled in block by block of cells."""

    predicted: Floats
    centre: Floats
    spread: Floats
    level: float
    limits: Floats
    largest: Floats
    regions: Floats | None

    @classmethod
    def empty(
        cls, predicted: Floats, centre: Floats, spread: Floats, n_resamples: int, level: float
    ) -> "Summary":
        """Return what is to be filled in."""
        n_cells, m = predicted.shape
        return cls(
            predicted,
            centre,
            spread,
            level,
            np.empty((2, n_cells, m)),
            np.zeros(n_resamples),
            np.empty((n_cells, OUTLINE, 3)) if m == 3 else None,
        )

    def add(self, first: int, last: int, frequencies: Floats, scores: Floats) -> None:
        """Take in frequencies (n_resamples, cells, m) of some cells, and how far they are off."""
        deviations = frequencies - self.predicted[first:last]
        np.fmax(self.largest, np.fmax.reduce(scores, axis=-1), out=self.largest)
        tails = [(1 - self.level) / 2, (1 + self.level) / 2]
        quantile = np.nanquantile if np.isnan(deviations).any() else np.quantile
        never = np.isnan(deviations).all(axis=0)  # no row in any replicate, so no limits
        deviations[:, never] = 0.0
        limits = quantile(deviations, tails, axis=0, method="inverted_cdf")
        limits[:, never] = np.nan
        self.limits[:, first:last] = limits
        if self.regions is not None:
            middle = self.predicted[first:last] + self.centre[first:last]
            self.regions[first:last] = _ellipses(frequencies - middle, middle, self.level)


def _ellipses(deviations: Floats, middle: Floats, level: float) -> Floats:
    """Return ellipses (cells, points, 3) that hold a share `level` of deviations (B, cells, 3)."""
    deviations = np.nan_to_num(deviations)
    covariance = np.einsum("bci,bcj->cij", deviations, deviations) / deviations.shape[0]
    values, vectors = np.linalg.eigh(covariance)
    axes = vectors[:, :, 1:] * np.sqrt(np.maximum(values[:, None, 1:], 0.0))  # (cells, 3, 2)
    inverse = np.linalg.pinv(axes, rcond=1e-9)
    radius = np.quantile(
        np.linalg.norm(np.einsum("cki,bci->bck", inverse, deviations), axis=-1), level, axis=0
    )
    turn = np.linspace(0, 2 * np.pi, OUTLINE)
    circle = np.stack((np.cos(turn), np.sin(turn)))  # (2, points)
    offset = np.einsum("cik,kp->cpi", axes, circle)
    return np.asarray(middle[:, None, :] + radius[:, None, None] * offset)
