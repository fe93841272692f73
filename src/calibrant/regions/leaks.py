"""Columns that know the outcome, and so must not be searched."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.cuts.columns import DistinctValues
from calibrant.regions.rows import Seen

Floats = NDArray[np.float64]

BINS = 64  # quantiles of numbers
STRATA = 4  # bins of predictions in which a column is looked at
FEWEST = 10  # rows of a cell that tells
VARIANCE = 10.0  # that must be left to be explained
RARER = 5  # rows of a rarer outcome, from which on it is no accident that values tell it
DETERMINED = 0.8  # share of the variance of outcomes that a column may explain beside predictions
SUSPECT = 0.3
BEFORE = "columns must be known before the outcome"


def check_columns(columns: Mapping[str, DistinctValues], seen: Seen) -> list[str]:
    """Refuse columns that the outcome determines; return those that half know it."""
    share = {name: known_share(distinct, seen) for name, distinct in columns.items()}
    knows = [name for name, found in share.items() if found >= DETERMINED]
    if knows:
        raise ValueError(
            f"`columns` must be known before the outcome; column {knows[0]!r} all but tells which"
            f" outcome occurred ({share[knows[0]]:.0%} of what the predictions leave open). Leave"
            " it out."
        )
    return [name for name, found in share.items() if found >= SUSPECT]


def known_share(distinct: DistinctValues, seen: Seen) -> float:
    """Return how much of the outcomes a column tells, alone or in bins of equal predictions."""
    n, labels = seen.confidence.size, seen.labels
    alone = _cells(distinct, max(1, min(BINS, n // (2 * FEWEST))))
    bins, strata = _predicted_cells(seen, BINS), _predicted_cells(seen, STRATA)
    if any(determined(alone, each) and not determined(bins, each) for each in labels):
        return 1.0
    if distinct.values.dtype.kind == "f" and _separates(distinct, seen):
        return 1.0
    several = _cells(distinct, max(1, min(BINS, n // (2 * FEWEST * STRATA))))
    within = np.unique(several * (int(strata.max()) + 1) + strata, return_inverse=True)[1]
    return max(explained(cells, bins, each) for each in labels for cells in (alone, within))


def determined(cells: NDArray[Any], labels: NDArray[Any]) -> bool:
    """Whether rows of a cell always have the same outcome, and this is no accident.

    Cells of one row are left aside; of the others, at least five rows have a rarer outcome.
    """
    shared = np.bincount(cells)[cells] > 1
    counts = np.bincount(labels[shared])
    pairs = np.unique(cells[shared] * (int(labels.max()) + 1) + labels[shared])
    pure = pairs.size == np.unique(cells[shared]).size
    return bool(pure and counts.sum() - counts.max(initial=0) >= RARER)


def _separates(distinct: DistinctValues, seen: Seen) -> bool:
    """Whether each outcome is an interval of a column of numbers, and not of confidences."""
    ranks = np.unique(seen.confidence, return_inverse=True)[1]
    return any(
        separated(distinct.of_rows, each) and not separated(ranks, each) for each in seen.labels
    )


def separated(ranks: NDArray[Any], labels: NDArray[Any]) -> bool:
    """Whether each outcome is an interval of ranks, and ten rows or more have a rarer one."""
    several = int(labels.max()) + 1
    pairs, counts = np.unique(ranks * several + labels), np.bincount(labels)
    runs = 1 + np.count_nonzero(np.diff(pairs % several))
    pure = pairs.size == np.unique(ranks).size
    return bool(pure and runs == np.count_nonzero(counts) and labels.size - counts.max() >= FEWEST)


def explained(cells: NDArray[Any], predicted: NDArray[Any], labels: NDArray[Any]) -> float:
    r"""Return the share of the outcomes' variance, given predictions, that cells explain.

    .. math:: 1 - \sum_c n_c s_c^2 / \sum_b n_b s_b^2

    with the variances :math:`s^2` of outcomes within the cells c of a column, and within bins b of
    predictions, over rows of cells that have 10 rows or more; 0 if these are less than half of the
    rows, or outcomes hardly vary. The variance of several outcomes is the sum of those of each.
    """
    tell = np.bincount(cells)[cells] >= FEWEST
    left = float(_variances(predicted, labels)[tell].sum())
    if left < VARIANCE or 2 * tell.sum() < labels.size:
        return 0.0
    return 1.0 - float(_variances(cells, labels)[tell].sum()) / left


def _variances(cells: NDArray[Any], labels: NDArray[Any]) -> Floats:
    """Return the variance of outcomes in the cell of each row (n,); of single rows that of all."""
    n = np.bincount(cells)
    keys, counts = np.unique(cells * (int(labels.max()) + 1) + labels, return_counts=True)
    squares = np.bincount(keys // (int(labels.max()) + 1), counts.astype(float) ** 2, n.size)
    found = np.divide(n - squares / np.maximum(n, 1), n - 1, out=np.zeros(n.size), where=n > 1)
    share = np.bincount(labels) / labels.size
    return np.asarray(np.where(n > 1, found, 1.0 - (share**2).sum())[cells])


def _predicted_cells(seen: Seen, most: int) -> NDArray[Any]:
    """Return bins of rows of about equal predictions: by confidence within the predicted class."""
    classes = seen.classes
    bins = max(1, min(most, classes.size // (2 * FEWEST * np.unique(classes).size)))
    return np.asarray(classes * bins + _quantiles(seen.confidence, bins))


def _cells(distinct: DistinctValues, bins: int) -> NDArray[Any]:
    """Return the cell of each row: its value, or of many numbers a quantile."""
    if distinct.values.dtype.kind != "f" or distinct.values.size <= bins:
        return distinct.of_rows
    values = distinct.values[distinct.of_rows]
    return np.where(np.isnan(values), bins, _quantiles(values, bins))


def _quantiles(values: Floats, bins: int) -> NDArray[Any]:
    """Return the quantile of each value; equal values are in one."""
    _, of_rows, counts = np.unique(values, return_inverse=True, return_counts=True)
    middles = (np.cumsum(counts) - counts / 2) / values.size
    return np.minimum((bins * middles).astype(np.int64), bins - 1)[of_rows]
