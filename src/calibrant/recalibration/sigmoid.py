"""The log loss of a map of two classes, whose logit is linear in log-probabilities."""

from dataclasses import dataclass
from functools import partial
from typing import final

import numpy as np
from numpy.typing import NDArray

from calibrant.recalibration.blocks import Block, Blocks
from calibrant.recalibration.method import RIDGE
from calibrant.recalibration.newton import Expansion, solve_dense

Floats = NDArray[np.float64]

SIGNS = (-1.0, 1.0)  # of the logarithms of the two probabilities in the logit of the second


@final
@dataclass(frozen=True, slots=True, eq=False)
class Sigmoid:
    r"""Mean log loss of two classes, with a penalty that keeps it unique.

    .. math:: \operatorname{logit} q = a \log p_1 - b \log p_0 + c

    `Likelihood` of two classes is the same function with one more parameter. This one takes a
    logarithm and an exponential of a row instead of two each.

    Parameters
    ----------
    blocks : Blocks
        Log-probabilities and outcomes.
    steep : tuple of int
        The classes of the slopes; that of another is 0. theta holds these slopes, then c.
    """

    blocks: Blocks
    steep: tuple[int, ...]

    @property
    def start(self) -> Floats:
        """The parameters with which the logit stays what it is, if both slopes are free."""
        return np.array([1.0] * len(self.steep) + [0.0])

    def value(self, theta: Floats) -> float:
        """Return the function at theta (k,)."""
        return self.expand(theta).value

    def expand(self, theta: Floats) -> Expansion:
        """Return value, gradient and curvature at theta (k,)."""
        loss, gradient, hessian = self.blocks.mean(partial(self._work, theta))
        away = theta - self.start
        hessian[np.diag_indices_from(hessian)] += RIDGE
        value = float(loss) + 0.5 * RIDGE * float(away @ away)
        return Expansion(value, gradient + RIDGE * away, partial(solve_dense, hessian))

    def _work(self, theta: Floats, block: Block) -> tuple[Floats, Floats, Floats]:
        """Return loss, gradient and second derivatives of a block."""
        inputs = np.ones((theta.size, len(block.labels)))
        for row, j in enumerate(self.steep):
            np.multiply(SIGNS[j], block.x[:, j], out=inputs[row])
        towards = np.where(block.labels == 1, 1.0, -1.0)
        logit = towards * (theta @ inputs)  # of the class that occurred
        small = np.exp(-np.abs(logit))
        loss = np.log1p(small) - np.minimum(logit, 0.0)
        missed = np.where(logit >= 0, small, 1.0) / (1.0 + small)
        gradient = inputs @ (-block.weights * towards * missed)
        spread = block.weights * small / (1.0 + small) ** 2
        return block.weights @ loss, gradient, (inputs * spread) @ inputs.T
