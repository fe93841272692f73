"""Beta calibration of two classes, whose logit is linear in log-probabilities."""

from dataclasses import dataclass
from functools import partial
from typing import final

import numpy as np
from numpy.typing import NDArray

from calibrant.predictions import Predictions
from calibrant.recalibration.likelihood import Block, Blocks
from calibrant.recalibration.map import RIDGE, present_rows
from calibrant.recalibration.newton import Expansion, minimise, solve_dense
from calibrant.recalibration.scaling import LogLinearMap

Floats = NDArray[np.float64]

SIGNS = (-1.0, 1.0)  # of the logarithms of the two probabilities in the logit of the second
FEWER = ((0,), (1,), ())  # the slopes that are left if one or both of them are 0


@final
@dataclass(frozen=True, slots=True)
class Beta:
    r"""Beta calibration: an increasing function of two slopes and an intercept (Kull et al. 2017).

    .. math:: \operatorname{logit} q = a \log p - b \log(1 - p) + c, \qquad a, b \ge 0

    with the a, b, c of least mean log loss. For two classes.

    Notes
    -----
    This is `Vector` for two classes with slopes that are not negative. The map holds a as the
    weight of the class that p is of, b as that of the other, and c is the difference of their
    biases. log(1 - p) is taken from the other column, which has more digits where p is near 1.
    Zeros are raised as `Vector` says; then ones have a finite logit too.

    The loss is convex: if the best slopes are not negative they are the answer, otherwise it is
    the best with one or both at 0.

    References
    ----------
    M. Kull, T. Silva Filho, P. Flach, "Beta calibration: a well-founded and easily implemented
    improvement on logistic calibration for binary classifiers", AISTATS 2017.

    Examples
    --------
    >>> data = Predictions([0.9] * 4 + [0.5] * 4 + [0.1] * 4, [1, 1, 1, 0] * 2 + [0, 0, 0, 1])
    >>> Beta().fit(data)([0.9, 0.5, 0.1])[:, 1].round(4).tolist()
    [0.8013, 0.68, 0.2687]
    """

    def fit(self, data: Predictions) -> LogLinearMap:
        """Find the slopes and the intercept of least log loss."""
        rows = present_rows(data)
        if rows.m != 2:
            raise ValueError(
                f"`Beta()` needs a problem with two classes; found {rows.m}. Look through a lens"
                " such as `Marginal(…)`, or use `Dirichlet()`."
            )
        blocks = Blocks.of(rows, (3, 3))
        slopes, intercept, _ = Sigmoid(blocks, (0, 1)).best()
        if slopes.min() < 0:
            others = [Sigmoid(blocks, steep).best() for steep in FEWER]
            allowed = [found for found in others if found[0].min() >= 0]
            slopes, intercept, _ = min(allowed, key=lambda found: found[2])
        bias = np.array([-intercept, intercept]) / 2
        return LogLinearMap(rows.classes, slopes, bias, blocks.floor)

    def __str__(self) -> str:
        return "beta"


@final
@dataclass(frozen=True, slots=True, eq=False)
class Sigmoid:
    r"""Mean log loss of two classes, with a penalty that keeps it unique.

    .. math:: \operatorname{logit} q = a \log p_1 - b \log p_0 + c

    `Likelihood` of two classes is the same function with one more parameter. This one takes a
    logarithm and an exponential of a row instead of two each.
    """

    blocks: Blocks
    steep: tuple[int, ...]  # classes of the slopes, others are 0; theta holds these, then c

    @property
    def start(self) -> Floats:
        """The parameters with which the logit stays what it is, if both slopes are free."""
        return np.array([1.0] * len(self.steep) + [0.0])

    def best(self) -> tuple[Floats, float, float]:
        """Return the best slopes (2,) of the two classes and intercept, and their mean log loss."""
        theta = minimise(self, self.start)
        slopes = np.zeros(2)
        slopes[list(self.steep)] = theta[:-1]
        return slopes, float(theta[-1]), self.value(theta)

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
