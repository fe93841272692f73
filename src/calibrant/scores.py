"""Scores of predictions, §2.1: how good they are, of which calibration is one part.

All are means over the rows, weighted if there are weights.
"""

import numpy as np
from numpy.typing import NDArray

from calibrant.engine import threads
from calibrant.predictions import Predictions


def log_score(data: Predictions) -> float:
    """Mean of -log g(x)_y, the negative log-likelihood of a row; smaller is better.

    Infinite if an outcome was given probability 0.

    Examples
    --------
    >>> round(log_score(Predictions([0.5, 0.75], [0, 1])), 6)
    0.490415
    """
    return _means(data)[0]


def brier_score(data: Predictions) -> float:
    """Mean of ‖g(x) - e_y‖₂² over all classes, from 0 to 2; smaller is better.

    Examples
    --------
    >>> brier_score(Predictions([0.5, 0.75], [0, 1]))
    0.3125
    """
    return _means(data)[1]


def spherical_score(data: Predictions) -> float:
    """Mean of g(x)_y / ‖g(x)‖₂, from 0 to 1; larger is better.

    Examples
    --------
    >>> round(spherical_score(Predictions([0.5, 1.0], [0, 1])), 6)
    0.853553
    """
    return _means(data)[2]


def accuracy(data: Predictions) -> float:
    """Share of rows whose most probable class is the outcome; ties go to the lower index.

    Examples
    --------
    >>> accuracy(Predictions([0.5, 0.75], [1, 1]))
    0.5
    """
    return _means(data)[3]


def all_scores(data: Predictions) -> dict[str, float]:
    """Return every score under its name, from one pass over the rows.

    Examples
    --------
    >>> all_scores(Predictions([0.5, 0.75], [1, 1]))["accuracy"]
    0.5
    """
    log, brier, spherical, hits = _means(data)
    return {
        "accuracy": hits,
        "log_score": log,
        "brier_score": brier,
        "spherical_score": spherical,
    }


def _means(data: Predictions) -> list[float]:
    """Return the log, Brier and spherical score and the accuracy."""
    spans = threads.row_blocks(data.probs.shape)
    sums = np.empty((len(spans), 5))

    def work(start: int, stop: int) -> None:
        sums[start // spans[0][1]] = _sums(data, slice(start, stop))

    threads.run(work, spans)
    total = sums.sum(axis=0)
    return [float(score) for score in total[1:] / total[0]]


def _sums(data: Predictions, rows: slice) -> NDArray[np.float64]:
    """Return the weight of some rows and the sums of their scores (5,)."""
    probs = data.probs[rows].astype(np.float64, copy=False)
    labels = data.labels[rows]
    p = np.take_along_axis(probs, labels[:, None], axis=1)[:, 0]
    square = np.einsum("ij,ij->i", probs, probs)
    with np.errstate(divide="ignore"):
        log = -np.log(p)
    hits = probs.argmax(axis=1) == labels
    scores = np.stack((np.ones_like(p), log, square - 2 * p + 1, p / np.sqrt(square), hits))
    if data.weighted:
        weights = data.weights[rows]
        held = weights > 0  # an infinite score of a row without weight does not count
        # Contiguous as without weights, so that sums are rounded alike.
        scores = scores.compress(held, axis=1) * weights[held]
    return np.asarray(scores.sum(axis=1))
