"""How far the log loss is from what the model expects."""

from dataclasses import dataclass
from math import inf
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.calibration import Block, View, observed
from calibrant.predictions import Predictions
from calibrant.statistics.outcomes import Outcomes, batches, spans, unit_for
from calibrant.statistics.statistic import Evaluate, Statistic

Floats = NDArray[np.float64]

MOST = 512  # replicates at a time
LARGEST = 746.0  # -log of the smallest number above 0


@final
@dataclass(frozen=True, slots=True)
class Surprise(Statistic):
    r"""How far the log loss is from what the model expects, in standard deviations.

    .. math:: \frac{|\sum_i (-\log p_{i, y_i} - H(p_i))|}
              {\sqrt{\sum_i \mathrm{Var}_{p_i}(\log p_i)}}, \qquad H(p) = -\sum_k p_k \log p_k

    Notes
    -----
    It is the score test of the temperature: large if predictions are over- or underconfident as a
    whole, for any number of classes, with one degree of freedom. It sees nothing else. An outcome
    that was given probability 0 makes it infinite. A weight of 2 counts as the row twice.

    Examples
    --------
    >>> unsure = Predictions([[0.6, 0.3, 0.1]] * 40, [0] * 34 + [1] * 5 + [2])
    >>> round(Surprise()(unsure), 3), round(Surprise().z(unsure), 3)
    (2.88, -2.88)
    """

    def prepare(self, view: View) -> Evaluate:
        """Add up what the model expects."""
        signed = self._signed(view)
        return lambda block: np.abs(signed(block))

    def z(self, data: Predictions) -> float:
        """Return it with its sign: above 0 if predictions are overconfident."""
        return float(self._signed(View.of(data))(observed(data))[0])

    def _signed(self, view: View) -> Evaluate:
        data = view.data
        expected, variance = view.remember("surprise", lambda: _expected(data))
        scale = float(np.sqrt(variance)) if variance > 0 else 1.0

        def evaluate(block: Block) -> Floats:
            found = [_surprise(data, some) for some in batches(block, MOST)]
            with np.errstate(invalid="ignore"):
                return np.asarray((np.concatenate(found) - expected) / scale)

        return evaluate

    def __str__(self) -> str:
        return "log loss against expectation"


def _expected(data: Predictions) -> tuple[float, float]:
    """Return mean and variance of the summed surprise, if calibrated."""
    means, squares = np.empty(data.n), np.empty(data.n)
    for first, last in spans(data.n, data.m):
        p, surprise, _ = _logs(data, slice(first, last))
        means[first:last] = (p * surprise).sum(axis=1)
        squares[first:last] = (p * surprise**2).sum(axis=1)
    mean = float((data.weights * means).sum())
    return mean, float((data.weights * (squares - means**2)).sum())


def _surprise(data: Predictions, outcomes: Outcomes) -> Floats:
    """Return the summed surprise of each replicate: (size,)."""
    unit = unit_for(LARGEST * max(1.0, float(data.weights.max())))
    words, impossible = (
        engine.arrays.blank(engine.pairs.Words, size=outcomes.size) for _ in range(2)
    )
    for start, stop in spans(data.n, data.m):
        _, surprise, never = _logs(data, slice(start, stop))
        table = np.rint(data.weights[start:stop, None] * surprise / unit).astype(np.int64)
        zeros = never.astype(np.int64) if never.any() else None
        for first, last in spans(stop - start, outcomes.size):
            drawn = outcomes.of(np.arange(start + first, start + last))
            engine.pairs.add_entries(table[first:last], drawn, words)
            if zeros is not None:
                engine.pairs.add_entries(zeros[first:last], drawn, impossible)
    return np.where(impossible.value > 0, inf, words.value * unit)


def _logs(data: Predictions, rows: slice) -> tuple[Floats, Floats, Any]:
    """Return probabilities of rows, -log of those above 0, and which are 0 in rows that count."""
    p = np.array(data.probs[rows], np.float64)
    if data.event is not None:
        p[:, 1 - data.event] = 1.0 - p[:, data.event]
    zero = p <= 0
    surprise = -np.log(np.where(zero, 1.0, p))
    return p, surprise, zero & (data.weights[rows, None] > 0)
