"""The miscalibration part of a proper score."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from calibrant.calibration import Block, View
from calibrant.scores import Score, brier_score, event_losses, least_loss
from calibrant.statistics.statistic import Evaluate, Statistic
from calibrant.statistics.ties import Ties

Floats = NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True)
class ScoreMiscalibration(Statistic):
    r"""What a proper score would gain from the best increasing function of the predictions.

    .. math:: MCB = S(p) - S(q)

    q is the isotonic regression of the outcomes on the predictions p of the event. It is the part
    of the score that `scores.decompose` calls miscalibration.

    Parameters
    ----------
    score : function, default brier_score
        `scores.brier_score`, which adds up both outcomes and so gives twice the value for the event
        alone, or `scores.log_score`.

    Notes
    -----
    Biased upwards: q also fits noise, and a calibrated model has a value of the order of n^(-2/3).
    So compare it with its distribution under calibration, not with 0. Nothing is to be chosen but
    the score. It does not see what no increasing function can repair. A replicate costs one sweep
    over the different predictions. A weight of 2 counts as the row twice.

    References
    ----------
    Dimitriadis, Gneiting and Jordan (2021), "Stable reliability diagrams for probabilistic
    classifiers", PNAS.

    Examples
    --------
    >>> from calibrant import Predictions
    >>> round(ScoreMiscalibration()(Predictions([0.1, 0.4, 0.5, 0.8], [0, 1, 0, 1])), 6)
    0.08
    """

    score: Score = brier_score

    def __post_init__(self) -> None:
        event_losses(self.score, np.array([0.5]))  # refuses another score

    def prepare(self, view: View) -> Evaluate:
        """Sort the rows by their predictions, and score each."""
        ties = Ties.of(self, view)
        losses = event_losses(self.score, ties.values)

        def evaluate(block: Block) -> Floats:
            pools = ties.pools(block, losses)
            exist = pools.exist
            some = slice(exist.shape[1])
            events = np.where(exist, pools.events[:, some], 0.0)
            mass = np.where(exist, pools.mass[:, some], 1.0)
            best = least_loss(self.score, events, mass)
            gains = np.where(exist, pools.loss[:, some], 0.0) - best
            # None is negative but for rounding; added in one order, however many others have.
            return np.cumsum(np.maximum(gains, 0.0), axis=1)[:, -1] / ties.total

        return evaluate

    def __str__(self) -> str:
        score = "Brier score" if self.score is brier_score else "log loss"
        return f"miscalibration of the {score}"
