"""From tests through one lens to what they mean."""

from collections.abc import Sequence
from math import sqrt
from typing import Any, Protocol

import numpy as np

from calibrant.inference.clusters import sums_of
from calibrant.inference.directions import CELLS_OF_VERDICTS, direction_of
from calibrant.inference.families import default_tree
from calibrant.inference.problem import Problem
from calibrant.inference.scanned import AnyProblem, ScannedProblem
from calibrant.inference.verdicts import LEVEL, Verdict
from calibrant.lenses import Canonical
from calibrant.predictions import Predictions
from calibrant.statistics import SquaredMiscalibration
from calibrant.statistics.squared import covering_interval, pieces_of
from calibrant.words import ALPHA

ENOUGH = 0.5  # share of the rows that must be in cells of two or more for a size to be told


class Tested(Protocol):
    """A test that was made."""

    @property
    def adjusted_pvalue(self) -> float:
        """P-value, adjusted for all tests."""
        ...


def judge(problem: AnyProblem, rows: Sequence[Tested], n_tests: int, n_resamples: int) -> Verdict:
    """Say what tests through one lens mean."""
    p = min(row.adjusted_pvalue for row in rows)
    bias = _bias(problem)
    direction = direction_of(problem, bias) if bias is not None and p <= ALPHA else None
    size = interval = None
    weights_tell = False
    if isinstance(problem, Problem):
        size, interval = _size(problem)
        weights_tell = balanced(problem.data)
    return Verdict(
        problem.lens,
        subject_of(problem),
        p,
        n_tests,
        n_resamples,
        direction,
        bias,
        size,
        interval,
        weights_tell,
        scanned=isinstance(problem, ScannedProblem),
        n_clusters=_clusters(problem),
    )


def _clusters(problem: AnyProblem) -> int | None:
    """Return the number of clusters; None if rows are independent."""
    if not isinstance(problem, Problem) or problem.seen.clusters is None:
        return None
    return int(np.unique(problem.seen.clusters).size)


def balanced(data: Predictions) -> bool:
    """Whether weights are the same within each class, and differ between classes."""
    if not data.weighted:
        return False
    held = data.weights > 0
    labels, weights = data.labels[held], data.weights[held]
    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
    low = np.minimum.reduceat(weights[order], starts)
    high = np.maximum.reduceat(weights[order], starts)
    enough = labels.size >= 3 * starts.size and starts.size > 1
    return bool(enough and np.allclose(low, high) and not np.allclose(low, low[0]))


def subject_of(problem: AnyProblem) -> str:
    """Return what the problem is about, as a sentence names it."""
    seen = problem.seen
    of_all = problem.lens == Canonical()
    if of_all and isinstance(problem, Problem) and problem.seen.of_confidences:
        return "the confidences"
    if seen.event is not None:
        about = problem.lens.subject or f"“{seen.classes[seen.event]}”"
        return f"the probabilities of {about}"
    if of_all:
        return f"the full distributions over all {seen.m:,} classes"
    return f"the probabilities of {problem.lens}"


def _bias(problem: AnyProblem) -> float | None:
    """Return mean prediction minus rate; None if there are more than two outcomes."""
    seen = problem.seen
    if seen.event is None:
        return None
    if isinstance(problem, ScannedProblem):
        cells: Any = [problem.shared.cells(cut) for cut in CELLS_OF_VERDICTS]
        _, (predicted,), (observed,) = cells[1].means()
        return float(predicted[seen.event] - observed[seen.event])
    predicted = seen.probs[:, seen.event].astype(np.float64)
    gaps = predicted - (seen.labels == seen.event)
    return float(seen.weights @ gaps / seen.weights.sum())


def _size(problem: Problem) -> tuple[float | None, tuple[float, float] | None]:
    """Return the root mean square deviation on cells, and its interval; None if they are sparse."""
    tree = default_tree(problem.seen)
    cells = problem.shared.cells(tree)
    if problem.resampler.flips_signs:
        return _root(sums_of(problem, cells).unbiased), None
    pieces = pieces_of(cells, SquaredMiscalibration(tree)(problem.seen))
    if pieces.share < ENOUGH:
        return None, None
    low, high = covering_interval(pieces, LEVEL)
    return _root(pieces.unbiased), (_root(low), _root(high))


def _root(squared: float) -> float:
    """Return a squared Euclidean distance in units of the total variation."""
    return sqrt(max(squared, 0.0) / 2)
