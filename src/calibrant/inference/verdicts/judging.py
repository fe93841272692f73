"""How a verdict is reached: what tests, directions that were learned, biases and bins say."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.calibration import Talk, finish
from calibrant.checks.parameters import derive
from calibrant.inference.replicates.problem import Problem, Progress, find_moments, part, watched
from calibrant.inference.testing.binwise import standardise
from calibrant.inference.testing.families import holm
from calibrant.inference.verdicts.verdict import CONFIDENCES, Direction, Verdict
from calibrant.lenses import Canonical, Lens, TopLabel
from calibrant.partitions import EqualWidth, Partition
from calibrant.predictions import Predictions
from calibrant.scores import Impossible, impossible
from calibrant.sizes import (
    BiasEstimate,
    CrossFit,
    Grades,
    Size,
    bias_of,
    bias_of_event,
    fitting,
    size_of,
)
from calibrant.tables import visible
from calibrant.words import ALPHA

SIZES = 11  # sets the draws of sizes apart from others of the same key
CELLS, WHOLE = EqualWidth(10), EqualWidth(1)  # in which directions are looked for


class Fits(NamedTuple):
    """Directions of what a lens shows, from which its size follows."""

    own: Any  # a CrossFit or, of rows elsewhere, a Talk that finds what directions show
    top: Any  # of the predicted class; None of two outcomes


class Known(NamedTuple):
    """What is known of how far off predictions are, beside tests."""

    size: Size | None
    groups: Grades | None = None  # of rows elsewhere that have two outcomes


Sizes = Callable[[], Sequence[Known | None]]  # asked for when tests have read the rows


def fit_directions(
    problems: Sequence[Problem], progress: Progress | None = None
) -> tuple[Fits, ...]:
    """Learn the directions of rows as lenses show them, or ask for them in passes to come."""
    found: list[Fits] = []
    predicted: Any = None  # directions of the predicted class
    for problem in watched(problems, len(problems), progress):
        fit = cross_fit if problem.rows.held else partial(_ask, share=max(1, len(problems) // 4))
        own = predicted if problem.lens == TopLabel() else None
        top = None
        if problem.view.m > 2:
            of_all = problem.lens == Canonical()
            top = fit(problem, TopLabel() if of_all else problem.lens >> TopLabel())
            predicted = top if of_all else predicted
        found.append(Fits(own or fit(problem, problem.lens), top))
    return tuple(found)


def sizes_of(problems: Sequence[Problem], progress: Progress | None = None) -> Sizes:
    """Work out how far off rows at hand are; of others, ask what tests' passes can answer too.

    Rows elsewhere need numbers, and lenses that leave each row one.
    """
    rows: Any = problems[0].rows
    if rows.held:
        directions = fit_directions(problems, part(progress, 0, 2))
        counted = watched(directions, len(problems), part(progress, 1, 2))
        found = [Known(size_of(*fits)) for fits in counted]
        return lambda: found
    able = [one for one in problems if one.lens.rowwise and rows.has_numbers]
    asked = dict(zip(able, fit_directions(able), strict=True))
    return lambda: [_heard(asked.get(problem), rows) for problem in problems]


def _ask(problem: Problem, lens: Lens, *, share: int) -> Talk:
    """Ask for the directions of rows elsewhere, through a lens."""
    key, m = derive(problem.redraw.key, SIZES), lens(problem.view.sample.given).m
    talk = Talk(fitting(m, key, problem.rows.unit, share), problem.rows, lens)
    problem.view.talks.append(talk)
    return talk


def _heard(fits: Fits | None, rows: Any) -> Known | None:
    """Return what directions of rows elsewhere show; None if nobody asked."""
    if fits is None:
        return None
    talks = [talk for talk in fits if talk is not None]
    finish(talks, rows)
    found = [talk.found for talk in talks]
    return Known(size_of(*found), found[0].of_event)


def cross_fit(problem: Problem, lens: Lens, like: CrossFit | None = None) -> CrossFit:
    """Learn directions of the data of a problem, through a lens.

    like : of another model of the same rows, whose folds are taken
    """
    given, seed = problem.view.batch.given, int(derive(problem.redraw.key, SIZES))
    seen = problem.seen if lens is problem.lens else lens(given)
    return CrossFit(seen, seed, clusters_of(given, lens), like)


def judge(
    problem: Problem, known: Known | None, p: float, n_tests: int, n_resamples: int
) -> Verdict:
    """Say what tests through one lens mean, whose p-value together is adjusted for all.

    known : None if how far off predictions are is not worked out
    """
    held, groups = problem.rows.held, None if known is None else known.groups
    bias, bias_interval = shown = _bias(problem, groups)
    direction = _direction(problem, shown, groups) if p <= ALPHA else None
    size = None if known is None else _with_bias(known.size, bias, direction)
    return Verdict(
        lens=problem.lens,
        subject=subject_of(problem),
        pvalue=p,
        n_tests=n_tests,
        n_resamples=n_resamples,
        direction=direction,
        bias=bias,
        bias_interval=bias_interval,
        size=None if size is None else size.value,
        interval=None if size is None else (size.low, size.high),
        balanced=held and balanced(problem.view.batch.given),
        scanned=known is None,
        n_clusters=problem.n_clusters,
        clusters_worth=problem.clusters_worth,
        impossible=_impossible(problem) if held else None,
    )


def _with_bias(size: Size | None, bias: float | None, direction: Direction | None) -> Size | None:
    """Return how far predictions are off: by no less than their bias, where one is shown."""
    if size is None or bias is None or direction not in ("high", "low"):
        return size
    return size.at_least(abs(bias))


def _impossible(problem: Problem) -> Impossible | None:
    """Return outcomes that were given probability 0, by the number of the row as it was given."""
    found = impossible(problem.seen)
    if found is None:
        return None
    return found._replace(row=found.row * problem.view.batch.given.n // problem.seen.n)


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
        return CONFIDENCES
    if seen.event is not None:
        about = problem.lens.subject or f"“{visible(seen.classes[seen.event])}”"
        return f"the probabilities of {about}"
    if of_all:
        return f"the full distributions over all {seen.m:,} classes"
    return f"the probabilities of {problem.lens}"


BiasAndInterval = tuple[float | None, tuple[float, float] | None]  # a bias and its interval


def _bias(problem: Problem, groups: Grades | None) -> BiasAndInterval:
    """Return mean prediction minus rate, and its interval; None of more than two outcomes."""
    event = problem.view.event
    if event is None:
        return None, None
    if not problem.rows.held and groups is None:
        _, (predicted,), (observed,) = problem.view.cells(WHOLE).means()
        return float(predicted[event] - observed[event]), None
    if groups is not None:
        return _with_interval(bias_of_event(groups))
    return _with_interval(bias_of(problem.seen, _clusters(problem)))


def _with_interval(found: BiasEstimate) -> BiasAndInterval:
    return found.value, (found.low, found.high)


def clusters_of(data: Predictions, lens: Lens) -> NDArray[Any] | None:
    """Return the clusters of what a lens shows: rows that it makes of one row belong together."""
    if lens.rowwise:
        return data.clusters
    rows = np.arange(data.n) if data.clusters is None else data.clusters
    return np.repeat(rows, lens(data).n // data.n)


def _clusters(problem: Problem) -> NDArray[Any] | None:
    return clusters_of(problem.view.batch.given, problem.lens)


def _direction(problem: Problem, bias: BiasAndInterval, groups: Grades | None) -> Direction | None:
    """Return what bins show that are off in opposite ways, or the mean of all rows."""
    value, interval = bias
    if value is None:
        return None
    if interval is None:
        return _direction_of_tests(problem, value)
    if {"high", "low"} <= _directions_of_bins(problem, groups):
        return "both"
    if interval[0] > 0:
        return "high"
    return "low" if interval[1] < 0 else None


def _direction_of_tests(problem: Problem, bias: float) -> Direction | None:
    """Return the direction of rows elsewhere of which no more than tables is known."""
    if all(_off(problem, CELLS)):
        return "both"
    return ("high" if bias > 0 else "low") if any(_off(problem, WHOLE)) else None


def _directions_of_bins(problem: Problem, groups: Grades | None) -> set[str | None]:
    """Return which ways bins are off on average, all of them at once at 5 %."""
    if groups is not None:
        tenths = groups.tenths()
        return {bias_of_event(one, level=1 - ALPHA / len(tenths)).direction for one in tenths}
    cells, clusters = problem.view.cells(CELLS), _clusters(problem)
    level = 1 - ALPHA / cells.n_cells
    found = set()
    for c in range(cells.n_cells):
        rows = np.flatnonzero(cells.of_rows == c)
        some = problem.seen.take(rows)
        if some.weights.any():
            mine = None if clusters is None else clusters[rows]
            found.add(bias_of(some, mine, level).direction)
    return found


def find_moments_away(problems: Sequence[Problem], known: Sequence[Known | None]) -> None:
    """Find the moments that directions of rows elsewhere need if no more is known, in one pass."""
    asked = [
        (problem, problem.view.cells(partition))
        for problem, mine in zip(problems, known, strict=True)
        if mine is None and problem.view.event is not None and not _counted(problem)
        for partition in (CELLS, WHOLE)
    ]
    find_moments(asked)


def _counted(problem: Problem) -> bool:
    """Whether the distributions of counts say all, so that no moments are needed."""
    return problem.exact_counts and problem.calibrated


def _off(problem: Problem, partition: Partition) -> tuple[bool, bool]:
    """Return whether predictions are too high, and too low, in some cells, by Holm's procedure."""
    from scipy.special import ndtr  # noqa: PLC0415

    event = problem.view.event
    cells = problem.view.cells(partition)
    means = cells.means()
    if _counted(problem):
        centre: Any = 0.0
    else:
        centre, spread = problem.moments(cells)
    if problem.exact_counts:
        far = problem.event_distributions(cells).scores(means.observed[:, event] * cells.mass)
    else:
        far = standardise(means.observed - means.predicted, centre, spread)
    gaps = (means.observed - means.predicted - centre)[:, event]
    held = cells.mass > 0
    off = holm(2 * ndtr(-far[held])) <= ALPHA
    return bool((off & (gaps[held] < 0)).any()), bool((off & (gaps[held] > 0)).any())
