"""From tests through one lens to what they mean."""

from collections.abc import Sequence
from math import sqrt
from typing import Protocol

import numpy as np

from calibrant.inference.replicates.problem import Problem
from calibrant.inference.testing.families import default_tree
from calibrant.inference.verdicts.directions import CELLS_OF_VERDICTS, direction_of
from calibrant.inference.verdicts.verdict import LEVEL, Verdict
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


def judge(problem: Problem, rows: Sequence[Tested], n_tests: int, n_resamples: int) -> Verdict:
    """Say what tests through one lens mean."""
    p = min(row.adjusted_pvalue for row in rows)
    bias = _bias(problem)
    direction = direction_of(problem, bias) if bias is not None and p <= ALPHA else None
    size = interval = None
    weights_tell = False
    if problem.rows.held:
        size, interval = _size(problem)
        weights_tell = balanced(problem.view.batch.given)
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
        scanned=not problem.rows.held,
        n_clusters=_clusters(problem),
    )


def _clusters(problem: Problem) -> int | None:
    """Return the number of clusters; None if rows are independent."""
    clusters = problem.view.clusters
    return None if clusters is None else int(np.unique(clusters).size)


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


def subject_of(problem: Problem) -> str:
    """Return what the problem is about, as a sentence names it."""
    seen = problem.view
    of_all = problem.lens == Canonical()
    if of_all and problem.rows.held and problem.seen.of_confidences:
        return "the confidences"
    if seen.event is not None:
        about = problem.lens.subject or f"“{seen.classes[seen.event]}”"
        return f"the probabilities of {about}"
    if of_all:
        return f"the full distributions over all {seen.m:,} classes"
    return f"the probabilities of {problem.lens}"


def _bias(problem: Problem) -> float | None:
    """Return mean prediction minus rate; None if there are more than two outcomes."""
    event = problem.view.event
    if event is None:
        return None
    if not problem.rows.held:
        _, (predicted,), (observed,) = problem.view.cells(CELLS_OF_VERDICTS[1]).means()
        return float(predicted[event] - observed[event])
    seen = problem.seen
    predicted = seen.probs[:, event].astype(np.float64)
    gaps = predicted - (seen.labels == event)
    return float(seen.weights @ gaps / seen.weights.sum())


def _size(problem: Problem) -> tuple[float | None, tuple[float, float] | None]:
    """Return the root mean square deviation on cells, and its interval; None if they are sparse."""
    tree = default_tree(problem.seen)
    cells = problem.view.cells(tree)
    if problem.resampler.flips_signs:
        return _root(problem.draws.sums(cells).unbiased), None  # type: ignore[attr-defined]
    pieces = pieces_of(cells, SquaredMiscalibration(tree)(problem.seen))
    if pieces.share < ENOUGH:
        return None, None
    low, high = covering_interval(pieces, LEVEL)
    return _root(pieces.unbiased), (_root(low), _root(high))


def _root(squared: float) -> float:
    """Return a squared Euclidean distance in units of the total variation."""
    return sqrt(max(squared, 0.0) / 2)
