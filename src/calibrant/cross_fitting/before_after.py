"""Recalibration, judged on rows that the maps have not seen: those of a fold, left out in turn."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.arguments import check_data, takes_arrays
from calibrant.checks.parameters import Rng, brief, derive, generator, is_list, whole
from calibrant.cross_fitting.by_region import ByRegion, beside
from calibrant.cross_fitting.change import Change, Floats, foreseen
from calibrant.cross_fitting.result import (
    AS_IT_IS,
    Folds,
    Recalibration,
    RecalibrationRow,
    apply_to_folds,
    refuted,
)
from calibrant.inference import CalibrationTest, calibration_test
from calibrant.inference.replicates.problem import Plan, Progress, part
from calibrant.inference.testing.families import default_tree
from calibrant.predictions import Predictions
from calibrant.recalibration import (
    Beta,
    Dirichlet,
    Isotonic,
    Map,
    Method,
    Temperature,
    TemperatureMap,
    Vector,
)
from calibrant.recalibration.map import present_rows
from calibrant.regions import search
from calibrant.resampling import Exact
from calibrant.scores import all_scores, row_scores
from calibrant.statistics import SquaredMiscalibration

ROWS_EACH = 10  # rows for each number that a method fits
ROWS_EACH_CLASS = 100  # for isotonic calibrators, which fit a number for each step
MOST_CLASSES = 20  # for which m (m + 1) numbers are fitted by default
MOST_NUMBERS = 1 << 22  # probabilities that tell a size without bias: of more, of some rows
FEWEST_ROWS = 2000  # of these
PRIOR_ROWS = 60  # worth of the model's own word, see docs/recalibration.md
SURER = 1.0  # standard errors by which a calibrator must beat a simpler one


@takes_arrays
def recalibrate(
    data: Predictions,
    methods: Sequence[Method] | None = None,
    *,
    by: Any = None,
    folds: int = 5,
    n_resamples: int = 999,
    rng: Rng = None,
    progress: Progress | None = None,
) -> Recalibration:
    """Find the calibrator that helps, judged on rows it has not seen, or leave the model alone.

    ``print(found.recommendation)`` says what to use; ``found.map()`` is the calibrator, and
    ``found.table()`` compares the model before and after each method: log loss and Brier score
    with intervals of their change, miscalibration without bias, refinement (the rest of the Brier
    score), and a test. Each method is fitted to all folds but one and applied to that one.

    The model is left alone unless its exact test rejects calibration at 5 %. Then the simplest
    method is chosen if it improves the log loss, and each further method replaces the choice so
    far if it improves on it by more than one standard error, on the same rows.

    Parameters
    ----------
    data : Predictions
        Or probabilities, with labels after them; or a data frame, with ``label="y"``.
    methods : sequence of Method, optional
        The simplest first. Default: `Temperature`, `Beta` and `Isotonic` for two classes;
        `Temperature`, `Vector`, `Dirichlet` and `Isotonic` for more, the second and the third only
        if there are ten rows for each number that they fit, and `Dirichlet` up to 20 classes.
        `Isotonic` needs 100 rows for each class. Those whose `prior` is None get one that is worth
        60 rows.
    by : mapping of str to sequence of length n, data frame, or names, optional
        Columns that are known before the outcome, as in `search`. Then `ByRegion` is tried last: it
        searches for regions outside each fold, and shifts the log-odds in those it finds.
        Calibration must then be rejected at 2.5 %, by the test or by the search.
    folds : int, default 5
        Number of folds, at least 2.
    n_resamples : int, default 999
        Number of data sets drawn for each test. With fewer than 99, statistics that are tested
        together may be unable to reject at 5 %, and then nothing is recommended.
    rng : int, Generator or None
        The same seed gives the same folds and draws.
    progress : callable, optional
        Function of (done, total), called now and then.

    Notes
    -----
    The p-value of the model as it is is exact. After recalibration, the hypothesis is that the
    outcome of each row is drawn from its cross-fitted prediction. That p-value is not exact, since
    the calibrator of one fold was fitted to the outcomes of the others: a large one says little, a
    small one that the calibrator is not right yet. docs/recalibration.md has measured both. For a
    p-value that is exact, fit to some rows and call `calibration_test` on others.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(0.5, 0.5, 1000)
    >>> too_sure = p**2 / (p**2 + (1 - p) ** 2)
    >>> found = recalibrate(Predictions(too_sure, rng.random(1000) < p), rng=0)
    >>> found.recommended, found.map()
    ('temperature', <temperature 2.167>)
    """
    check_data(data)
    plan = Plan.of(data, Exact(), n_resamples, rng, progress)
    if by is None:
        return recalibrated(data, methods, folds, plan)
    data = beside(data, by)
    regional = ByRegion(plan.n_resamples, plan.seed)
    searched = search(data, n_resamples=plan.n_resamples, rng=plan.seed).pvalue
    chosen = default_methods(data) if methods is None else methods
    tried = [*chosen, regional] if is_list(chosen) else chosen
    return recalibrated(data, tried, folds, plan, searched=searched)


def recalibrated(
    data: Predictions,
    methods: Sequence[Method] | None,
    folds: int,
    plan: Plan,
    test: CalibrationTest | None = None,
    *,
    searched: float | None = None,
) -> Recalibration:
    """Do what `recalibrate` does; the test of the model as it is, and a search, may be known."""
    chosen = _named(default_methods(data) if methods is None else methods)
    prior = PRIOR_ROWS / effective_rows(data)
    chosen = {name: with_prior(method, prior) for name, method in chosen.items()}
    progress = plan.progress
    dealt = make_folds(data, folds, int(derive(plan.key, 4)))
    parts = 2 * len(chosen) + 1
    rows = [as_it_is(data, replace(plan, progress=part(progress, 0, parts)), test)]
    logs = [row_scores(data)[0]]
    for number, (name, method) in enumerate(chosen.items()):
        fit, judge = (part(progress, 2 * number + half, parts) for half in (1, 2))
        maps = _fit(data, method, dealt, fit)
        after = apply_to_folds(data, maps[:-1], dealt)
        changes = _changes(data, after, len(chosen))
        rows.append(_row(name, after, changes, replace(plan, progress=judge), method, maps))
        logs.append(row_scores(after)[0])
    by = None if searched is None else list(data.columns)
    made_with = plan.settings(methods=list(chosen), folds=int(dealt.max()) + 1, by=by)
    off = refuted(rows[0], searched)
    best = _recommended(np.stack(logs), data.weights, data.clusters) if off else 0
    return Recalibration(data, tuple(rows), rows[best].name, dealt, made_with, searched)


def default_methods(data: Predictions) -> tuple[Method, ...]:
    """Return the methods that are compared by default, the simplest first.

    Those that fit many numbers are left out if there are fewer than ten rows for each of them.
    """
    rows = int(np.count_nonzero(data.weights))
    enough = rows // ROWS_EACH
    chosen: list[Method] = [Temperature()]
    if data.m == 2:
        chosen.append(Beta())
    elif 2 * data.m <= enough:
        chosen.append(Vector())
    if 2 < data.m <= MOST_CLASSES and data.m * (data.m + 1) <= enough:
        chosen.append(Dirichlet())
    if ROWS_EACH_CLASS * data.m <= rows:
        chosen.append(Isotonic())
    return tuple(chosen)


def with_prior(method: Any, prior: float) -> Method:
    """Return a method with this prior, if it can have one and none was chosen."""
    open_to_one = is_dataclass(method) and getattr(method, "prior", 0.0) is None
    chosen: Method = replace(method, prior=prior) if open_to_one else method
    return chosen


def effective_rows(data: Predictions) -> float:
    """Return (Σ w)² / Σ w², over rows or over clusters: the unit of weights is no matter."""
    weights = data.weights
    if data.clusters is not None:
        weights = np.asarray(np.bincount(data.clusters, weights), np.float64)
    return float(weights.sum() ** 2 / (weights**2).sum())


def in_effective_rows(data: Predictions) -> Predictions:
    """Return rows whose weights add up to their effective number, (Σ w)² / Σ w²."""
    if not data.weighted:
        return data
    weights = data.weights
    return data.weighted_by(np.full(data.n, weights.sum() / (weights**2).sum()))


def some_rows(data: Predictions, seed: int, numbers: int = MOST_NUMBERS) -> Predictions:
    """Return rows of so many probabilities, the same ones before and after."""
    most = max(FEWEST_ROWS, numbers // data.m)
    if data.n <= most:
        return data
    return data.take(np.sort(generator(seed).permutation(data.n)[:most]))


def _check_method(method: Any) -> None:
    if isinstance(method, type) or not callable(getattr(method, "fit", None)):
        raise TypeError(
            "`methods` must be methods of recalibration such as Temperature(); found"
            f" {brief(method)}."
        )


def _named(methods: Any) -> Mapping[str, Method]:
    """Return methods by their names: in words, or as they are written if words are the same."""
    if not is_list(methods):
        raise TypeError(f"`methods` must be a list of methods; found {brief(methods)}.")
    found = list(methods)
    for method in found:
        _check_method(method)
    times = Counter(map(str, found))
    named = {str(m) if times[str(m)] == 1 else repr(m): m for m in found}
    if not found or len(named) < len(found):
        raise ValueError(f"`methods` must be at least one, and differ; found {brief(found)}.")
    return named


def _fit(
    data: Predictions, method: Method, folds: Folds, progress: Progress | None
) -> tuple[Map, ...]:
    """Return the map of each fold, fitted to the rows of the others, and at last that of all."""
    count = int(folds.max()) + 1
    maps = []
    for fold in range(count + 1):
        rows = data.take(np.flatnonzero(folds != fold)) if fold < count else data
        maps.append(method.fit(rows))
        if progress is not None:
            progress(fold + 1, count + 1)
    return tuple(maps)


def make_folds(data: Predictions, count: Any, seed: int) -> Folds:
    """Deal the rows of each class out to folds, in random order: the fold (n,) of each row.

    Folds differ by at most one row, and by at most one row of any class. Rows of weight 0 are
    dealt out by themselves. Clusters stay together: then the largest go first, each to the fold
    that has the fewest rows.
    """
    count = whole("folds", count, least=2)
    rows = present_rows(data)
    _check_rows(rows, count)
    if data.clusters is not None:
        folds = _deal_clusters(data.clusters, count, seed)
    else:
        order = generator(seed).permutation(data.n)
        absent = data.weights[order] == 0
        order = order[np.lexsort((data.labels[order], absent))]
        folds = np.empty(data.n, np.int32)
        folds[order] = np.arange(data.n) % count
    folds.flags.writeable = False
    return folds


def _deal_clusters(clusters: NDArray[np.int32], count: int, seed: int) -> Folds:
    """Deal out whole clusters: the fold (n,) of each row."""
    sizes = np.bincount(clusters)
    if sizes.size < count:
        raise ValueError(
            f"`folds` must be at most the number of clusters, {sizes.size:,}; found {count}."
        )
    order = generator(seed).permutation(sizes.size)
    order = order[np.argsort(-sizes[order], kind="stable")]
    fold_of, held = np.empty(sizes.size, np.int32), np.zeros(count, np.int64)
    for cluster in order:
        fold_of[cluster] = held.argmin()
        held[fold_of[cluster]] += sizes[cluster]
    return np.asarray(fold_of[clusters])


def _check_rows(rows: Predictions, count: int) -> None:
    """Refuse rows of which a fold could not be left out."""
    if rows.n < count:
        raise ValueError(
            f"`folds` must be at most the number of rows, {rows.n:,}; found {count}. Use fewer"
            " folds, or more rows."
        )
    often = np.bincount(rows.labels) >= 2
    if often.sum() < 2:
        raise ValueError(
            "`data` must have at least two classes that occur twice, so that a class is left when"
            f" a row is held out; only {rows.classes[int(often.argmax())]!r} does."
        )


def as_it_is(
    data: Predictions, plan: Plan, test: CalibrationTest | None = None
) -> RecalibrationRow:
    """Return the scores and the test of the model as it is; the test may be known."""
    none = Change.of(np.zeros(data.n), data.weights)
    return _row(AS_IT_IS, data, (none, none), plan, test=test)


def _changes(before: Predictions, after: Predictions, choices: int) -> tuple[Change, Change]:
    """Return the changes of log loss and Brier score by one of some methods."""
    with np.errstate(invalid="ignore"):  # infinite before and after: nothing is known
        differences = row_scores(after) - row_scores(before)
    log, brier = (
        Change.of(d, before.weights, before.clusters, least, choices)
        for d, least in zip(differences, foreseen(before, after).tolist(), strict=True)
    )
    return log, brier


def _row(
    name: str,
    after: Predictions,
    changes: tuple[Change, Change],
    plan: Plan,
    method: Method | None = None,
    maps: tuple[Map, ...] = (),
    test: CalibrationTest | None = None,
) -> RecalibrationRow:
    """Describe predictions after a method, whose last map is of all rows."""
    scores, rows = all_scores(after), in_effective_rows(some_rows(after, plan.seed))
    if test is None:
        draws: Any = {"n_resamples": plan.n_resamples, "rng": plan.seed}
        test = calibration_test(after, **draws, progress=plan.progress)
    return RecalibrationRow(
        name=name,
        method=method,
        log_score=scores["log_score"],
        brier_score=scores["brier_score"],
        log_change=changes[0],
        brier_change=changes[1],
        miscalibration=SquaredMiscalibration(default_tree(rows))(rows),
        test=test,
        fold_maps=maps[:-1],
        map=maps[-1] if maps else TemperatureMap(after.classes, 1.0),
    )


def _recommended(logs: Floats, weights: Floats, clusters: NDArray[np.int32] | None = None) -> int:
    """Return which of the log losses (1 + methods, n) to take; the first is of the model as it is.

    The simplest method must improve the mean; each further one must improve it by `SURER` standard
    errors on what was chosen so far, unless that is infinite.
    """
    chosen = 0
    for method in range(1, len(logs)):
        with np.errstate(invalid="ignore"):  # an infinite loss from an infinite one: not a number
            change = Change.of(logs[method] - logs[chosen], weights, clusters)
        beyond = method > 1 and np.isfinite(change.value)
        if change.value < (-SURER * change.standard_error if beyond else 0.0):
            chosen = method
    return chosen
