"""Folds: a part of the rows for each map, from which it is kept away."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.checks.parameters import generator, whole
from calibrant.predictions import Predictions
from calibrant.recalibration import Map, Method
from calibrant.recalibration.map import present_rows

Folds = NDArray[np.int32]


def make_folds(data: Predictions, count: Any, seed: int) -> Folds:
    """Deal the rows of each class out to folds, in random order: the fold (n,) of each row.

    Folds differ by at most one row, and by at most one row of any class. Rows of weight 0 are
    dealt out by themselves. Clusters stay together: then the largest go first, each to the fold
    that has the fewest rows.

    Examples
    --------
    >>> make_folds(Predictions([0.5] * 6, [0, 0, 0, 0, 1, 1]), 2, seed=0).tolist()
    [0, 1, 1, 0, 1, 0]
    """
    count = whole("folds", count, least=2)
    rows = present_rows(data)
    _check_rows(rows, count)
    if data.clusters is not None:
        return _deal_clusters(data.clusters, count, seed)
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
    folds = fold_of[clusters]
    folds.flags.writeable = False
    return folds


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


def fit_without(
    data: Predictions, method: Method, folds: Folds, report: Callable[[int], None]
) -> list[Map]:
    """Fit a map to all rows but those of a fold, for each fold; `report` is told which is done."""
    maps = []
    for fold in range(int(folds.max()) + 1):
        maps.append(method.fit(data.take(np.flatnonzero(folds != fold))))
        report(fold + 1)
    return maps


def apply_to_folds(data: Predictions, maps: tuple[Map, ...], folds: Folds) -> Predictions:
    """Recalibrate the rows of each fold by the map that has not seen them."""
    probs = np.empty(data.probs.shape)
    for fold, fitted in enumerate(maps):
        rows = np.flatnonzero(folds == fold)
        probs[rows] = fitted(data.take(rows)).probs
    return data.with_probs(probs)
