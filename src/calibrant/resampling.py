"""Resampled data sets D*, §4.2.

A resampler is a source of data sets. Each one is a pure function of a key and the number of
the replicate.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.checks.parameters import function
from calibrant.checks.seeds import derive
from calibrant.engine import threads
from calibrant.predictions import Predictions

Array = NDArray[Any]
Rho = Callable[[Array], Array]


class Resampler(Protocol):
    """A source of data sets that might have been observed.

    Law: ``draw(data, key, b)`` depends on nothing but its arguments.
    """

    def draw(self, data: Predictions, key: np.uint64, b: int) -> Predictions:
        """Return replicate b."""
        ...


@final
@dataclass(frozen=True, slots=True)
class Exact:
    """Keep the predictions and redraw the labels, Y* ~ rho(g(x)).

    If the hypothesis holds, such a data set is exchangeable with the observed one, so a test
    that counts how many of them have a statistic at least as large is valid for every number
    of rows, lens, partition, distance and statistic.

    Parameters
    ----------
    rho : the hypothesised calibration function of the predictions (n, m) -> (n, m); default:
        the identity, which says that the model is calibrated

    Notes
    -----
    A row has one outcome whatever its weight: weights enter the statistic, not the draw.

    Examples
    --------
    >>> data = Predictions([0.0, 0.5, 1.0], [0, 0, 1])
    >>> Exact().draw(data, np.uint64(1), 0).labels[[0, 2]].tolist()
    [0, 1]
    """

    rho: Rho | None = None

    def __post_init__(self) -> None:
        if self.rho is not None:
            function("rho", self.rho)

    def law(self, data: Predictions) -> Array:
        """Return the probabilities (n, m) that labels are drawn from."""
        return hypothesis(self.rho, data)

    def labels(self, data: Predictions, key: np.uint64, b0: int, b1: int) -> NDArray[np.int32]:
        """Return the labels of replicates b0 … b1 - 1: (b1 - b0, n)."""
        return _draw_labels(self.law(data), key, b0, b1)

    def draw(self, data: Predictions, key: np.uint64, b: int) -> Predictions:
        """Return the predictions with new labels."""
        return data.with_labels(self.labels(data, key, b, b + 1)[0])


@final
@dataclass(frozen=True, slots=True)
class Consistency:
    """Resample the predictions with replacement and draw their labels from rho: §4.2.

    Parameters
    ----------
    rho : the hypothesised calibration function of the predictions (n, m) -> (n, m); default:
        the identity, which says that the model is calibrated

    Warnings
    --------
    This is the paper's procedure to the letter, there to reproduce the paper. Where cells
    hold few rows its test rejects calibrated models, in the worst case all of them: copies of
    a row fall into one cell and average out, so the resampled miscalibration is too small.
    Use `Exact`.

    Examples
    --------
    >>> data = Predictions([0.0, 0.5, 1.0], [0, 0, 1])
    >>> Consistency().draw(data, np.uint64(1), 0).n
    3
    """

    rho: Rho | None = None

    def __post_init__(self) -> None:
        if self.rho is not None:
            function("rho", self.rho)

    def law(self, data: Predictions) -> Array:
        """Return the probabilities (n, m) that labels are drawn from."""
        return hypothesis(self.rho, data)

    def draw(self, data: Predictions, key: np.uint64, b: int) -> Predictions:
        """Return rows drawn with replacement, with new labels."""
        times = draw_times(data, key, b)
        labels = np.empty(times.sum(), np.int32)
        draws = engine.draws
        drawn = label_key(key)
        replicate = draws.replicate_keys(drawn, b, b + 1)[0]
        draws.copy_labels(self.law(data), times, drawn, replicate, draws.room(data.m), labels)
        return data.take(np.repeat(np.arange(data.n), times)).with_labels(labels)


@final
@dataclass(frozen=True, slots=True)
class Bootstrap:
    """Resample rows, predictions with their labels, with replacement.

    For standard errors and intervals: the ± of Tables 3–5.

    Parameters
    ----------
    refit : whether a data-dependent partition is fitted again to each data set. Keeping the
        cells is much faster and leaves out only that part of the variability which comes
        from their moving edges, which is small where there are many rows. It has an effect
        for the built-in statistics, and for lenses that keep a row for a row

    Notes
    -----
    Rows are drawn with equal probability and keep their weights; a row of weight 0 is absent.
    A data set lists the copies of a row one after the other.

    Examples
    --------
    >>> data = Predictions([0.1, 0.5, 0.9], [0, 0, 1])
    >>> Bootstrap().draw(data, np.uint64(1), 0).n
    3
    """

    refit: bool = True

    def draw(self, data: Predictions, key: np.uint64, b: int) -> Predictions:
        """Return rows drawn with replacement."""
        return data.take(np.repeat(np.arange(data.n), draw_times(data, key, b)))


def hypothesis(rho: Rho | None, data: Predictions) -> Array:
    """Return rho of the predictions, checked: rows of probabilities (n, m)."""
    if rho is None:
        return data.probs
    returned = rho(data.probs)
    try:
        law = np.array(returned, np.float64, order="C")
    except (TypeError, ValueError):
        raise TypeError(
            f"`rho` must return an array of probabilities; it returned {type(returned).__name__}."
        ) from None
    if law.shape != data.probs.shape:
        raise ValueError(
            f"`rho` must turn predictions of shape {data.probs.shape} into the same shape; it"
            f" returned {law.shape}."
        )
    totals = law.sum(axis=1)
    bad = np.flatnonzero(~((law >= 0).all(axis=1) & (np.abs(totals - 1) < 1e-3)))
    if bad.size:
        raise ValueError(
            "`rho` must return probabilities that sum to 1; row"
            f" {bad[0]} is {law[bad[0]].tolist()}."
        )
    law /= totals[:, None]
    law.flags.writeable = False
    return law


def label_key(key: np.uint64) -> np.uint64:
    """Return the key of labels where `key` is that of rows."""
    return derive(key, 1)


def _draw_labels(law: Array, key: np.uint64, b0: int, b1: int) -> NDArray[np.int32]:
    draws = engine.draws
    labels = np.empty((b1 - b0, law.shape[0]), np.int32)
    replicates = draws.replicate_keys(key, b0, b1)
    threads.run(
        lambda start, stop: draws.label_block(
            law, start, stop, key, replicates, *draws.scratch(law.shape[1], b1 - b0), labels
        ),
        threads.row_blocks(law.shape),
    )
    return labels


def draw_times(data: Predictions, key: np.uint64, b: int) -> NDArray[np.int32]:
    """Return how often each row is drawn in replicate b: (n,); never if its weight is 0."""
    replicate = engine.draws.replicate_keys(key, b, b + 1)[0]
    times = np.zeros(data.n, np.int32)
    if data.weighted and not data.weights.all():
        present = np.flatnonzero(data.weights)
        drawn = np.zeros(present.size, np.int32)
        engine.draws.draw_times(present.size, key, replicate, drawn)
        times[present] = drawn
    else:
        engine.draws.draw_times(data.n, key, replicate, times)
    return times
