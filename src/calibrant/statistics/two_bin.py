"""Two bins, averaged over where they meet."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from calibrant.calibration import Block, View
from calibrant.predictions import Predictions
from calibrant.statistics.statistic import Evaluate, Statistic
from calibrant.statistics.ties import Ties

Floats = NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True)
class AveragedTwoBin(Statistic):
    r"""The squared error of two bins, averaged over the point q at which they meet.

    .. math:: \frac1{n^2} \int_0^1 \Big(\sum_{p_i < q} r_i\Big)^2
        + \Big(\sum_{p_i \ge q} r_i\Big)^2 dq
        = \frac1{n^2} \sum_{i,j} r_i r_j (1 - |p_i - p_j|), \qquad r = y - p

    Notes
    -----
    Biased upwards by the variance of the labels: a calibrated model has a mean of `null_mean`,
    which does not vanish. But the bias does not depend on what is predicted in place of the true
    probabilities, so nobody gains in expectation by reporting others: the measure is *truthful*.
    It is half of the biased squared kernel calibration error of (p, 1 - p) with the kernel
    1 - |p - q|. Nothing is to be chosen. A replicate costs one sweep over the different
    predictions. A weight of 2 counts as the row twice.

    References
    ----------
    Hartline, Hu and Wu (2026), on truthful calibration measures.

    Examples
    --------
    >>> AveragedTwoBin()(Predictions([0.25, 0.75], [0, 0]))
    0.203125
    """

    def prepare(self, view: View) -> Evaluate:
        """Sort the rows by their predictions."""
        ties = Ties.of(self, view)
        everything = float(ties.predicted_so_far[-1])

        def evaluate(block: Block) -> Floats:
            # With C the path and R its end, the integral of C² + (R - C)²; below the first
            # prediction C is 0. None of the terms can be much larger than their sum.
            paths = ties.paths(block)
            end = paths.events - everything
            found = end * end - 2.0 * end * paths.area + 2.0 * paths.square
            return np.asarray(found / ties.total**2)

        return evaluate

    def null_mean(self, data: Predictions) -> float:
        r"""Return the mean if labels are drawn from the predictions, :math:`\sum p (1 - p) / n^2`.

        It takes a weight of 2 for two rows, each with an outcome of its own.

        Examples
        --------
        >>> AveragedTwoBin().null_mean(Predictions([0.25, 0.75], [0, 0]))
        0.09375
        """
        ties = Ties.of(self, View.of(data))
        return float(ties.variance.sum()) / ties.total**2

    def __str__(self) -> str:
        return "averaged two-bin miscalibration"
