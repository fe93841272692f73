"""Scores of rows, and their sums over batches of rows."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from calibrant.predictions import Predictions
from calibrant.scanning import Batch

Floats = NDArray[np.float64]
Whole = NDArray[Any]  # of Python's integers, which have no end

HIGH, LOW = 2.0**20, 2.0**52  # units: a score is cut into multiples of 1 / HIGH and of 1 / LOW


def of_rows(data: Predictions, rows: slice) -> Floats:
    """Return ones and the log, Brier and spherical scores and the hits of some rows (5, k)."""
    probs = data.probs[rows].astype(np.float64, copy=False)
    labels = data.labels[rows]
    p = np.take_along_axis(probs, labels[:, None], axis=1)[:, 0]
    square = np.einsum("ij,ij->i", probs, probs)
    with np.errstate(divide="ignore"):
        log = -np.log(p)
    hits = probs.argmax(axis=1) == labels
    return np.stack((np.ones_like(p), log, square - 2 * p + 1, p / np.sqrt(square), hits))


class ScoreSums(NamedTuple):
    """Weighted sums of scores, as whole numbers of small units, and how many were infinite."""

    high: Whole  # (5,)
    low: Whole  # (5,)
    infinite: int

    def means(self) -> list[float]:
        """Return the log, Brier and spherical score and the accuracy."""
        sums = [
            Fraction(high, int(HIGH)) + Fraction(low, int(LOW))
            for high, low in zip(self.high, self.low, strict=True)
        ]
        log, *others = (float(score / sums[0]) for score in sums[1:])
        return [float("inf") if self.infinite else log, *others]


@final
@dataclass(frozen=True, slots=True)
class ScoreTally:
    """Scores of rows, added up exactly once each was rounded to a multiple of 2^-52.

    Parameters
    ----------
    unit : float
        That of weights, which none exceeds.
    """

    unit: float

    def zero(self) -> ScoreSums:
        """Return the sums of no rows."""
        nothing = np.zeros(5, np.int64).astype(object)
        return ScoreSums(nothing, nothing, 0)

    def update(self, state: ScoreSums, batch: Batch) -> ScoreSums:
        """Add the rows of a batch; an infinite score of a row without weight does not count."""
        scores = of_rows(batch.data, slice(None))
        if batch.data.weighted:
            weights = batch.data.weights / self.unit
            scores = scores.compress(weights > 0, axis=1) * weights[weights > 0]
        infinite = np.isinf(scores)
        scores[infinite] = 0.0
        high = np.rint(scores * HIGH)
        low = np.rint((scores - high / HIGH) * LOW)
        sums = [part.astype(np.int64).sum(axis=1).astype(object) for part in (high, low)]
        return self.merge(state, ScoreSums(sums[0], sums[1], int(infinite.sum())))

    def merge(self, a: ScoreSums, b: ScoreSums) -> ScoreSums:
        """Return the sums of the rows of both."""
        return ScoreSums(a.high + b.high, a.low + b.low, a.infinite + b.infinite)
