"""Maps linear in log-probabilities, and what fits them: vector, matrix, Dirichlet and beta."""

from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self, final

import numpy as np

from calibrant.checks.parameters import finite, positive
from calibrant.predictions import Predictions
from calibrant.recalibration.likelihood import (
    AllClasses,
    Blocks,
    Design,
    FitBlock,
    Likelihood,
    OwnClass,
    Penalty,
    log_probabilities,
    softmax,
)
from calibrant.recalibration.map import (
    RIDGE,
    Array,
    Fields,
    Floats,
    Map,
    check_prior,
    numbers,
    present_rows,
)
from calibrant.recalibration.newton import Expansion, minimise, solve_dense
from calibrant.recalibration.temperature import inverse_temperature

SIGNS = (-1.0, 1.0)  # of the logarithms of the two probabilities in the logit of the second
FURTHEST = 1e300  # from 0 that a logit may be, so that differences of two are finite
FEWER = ((0,), (1,), ())  # the slopes that are left if one or both of them are 0


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LogLinearMap(Map):
    r"""The softmax of a linear function of the log-probabilities.

    .. math:: g(x) \mapsto \operatorname{softmax}(W \log \max(g(x), \text{floor}) + b)

    Parameters
    ----------
    classes : tuple of str
        Names of the m classes.
    weights : array of shape (m, m) or (m,)
        W; one dimension is its diagonal, and what is beside that is 0.
    bias : array of shape (m,)
        b.
    floor : float
        Smaller probabilities count as this one, so that zeros have a logarithm.

    Examples
    --------
    >>> half = LogLinearMap(("no", "yes"), [1.0, 1.0], [0.0, np.log(3.0)], 1e-3)
    >>> half([[0.5, 0.5]]).round(6).tolist()
    [[0.25, 0.75]]
    """

    kind = "log_linear"

    classes: tuple[str, ...]
    weights: Floats
    bias: Floats
    floor: float

    def __post_init__(self) -> None:
        Map.__post_init__(self)
        set_field = object.__setattr__
        weights = numbers("weights", self.weights, (self.m,), (self.m, self.m))
        set_field(self, "weights", weights)
        set_field(self, "bias", numbers("bias", self.bias, (self.m,)))
        set_field(self, "floor", float(positive("floor", self.floor)))
        if not self._reach() < FURTHEST:
            raise ValueError(
                "`weights` and `bias` must be small enough for logits that can be computed; they"
                f" reach {self._reach():.3g}."
            )

    def _reach(self) -> float:
        """Return how far from 0 a logit can be, whatever the prediction."""
        with np.errstate(over="ignore"):
            slopes = np.abs(self.weights)
            total = slopes if slopes.ndim == 1 else slopes.sum(axis=1)
            return float((total * abs(np.log(self.floor)) + np.abs(self.bias)).max())

    def rows(self, probs: Array) -> Floats:
        logs = log_probabilities(probs, self.floor)
        logits = logs * self.weights if self.weights.ndim == 1 else logs @ self.weights.T
        logits += self.bias
        return softmax(logits)

    def fields(self) -> dict[str, Any]:
        weights, bias = self.weights.tolist(), self.bias.tolist()
        return {"weights": weights, "bias": bias, "floor": self.floor}

    @classmethod
    def from_fields(cls, classes: tuple[str, ...], fields: Fields) -> Self:
        return cls(classes, fields["weights"], fields["bias"], fields.number("floor"))

    def __str__(self) -> str:
        each = "each class" if self.weights.ndim == 1 else "all classes"
        return f"softmax, linear in the log-probabilities of {each}"


@final
@dataclass(frozen=True, slots=True)
class Vector:
    r"""Vector scaling: a slope and an intercept for every class (Guo et al. 2017).

    .. math:: g(x) \mapsto \operatorname{softmax}(w \circ \log g(x) + b)

    with the w and b of least mean log loss; 2 m parameters.

    Parameters
    ----------
    prior : float, optional
        How much a prediction counts beside its outcome (`Method`).

    Notes
    -----
    Zeros, and what is below half the smallest probability above 0 of the data, are raised to
    that half, or to 0.001 if that is less. To the mean log loss ``1e-20 (|w - 1|² + |b|²)/2`` is
    added, and the search ends when a step promises to lower it by less than 1e-15; so the answer
    is finite where classes are separable or never occur. Of the b that give the same map, the one
    that sums to 0 is chosen.

    Newton's method, on exact second derivatives up to 500 classes, else with conjugate gradients.

    Examples
    --------
    >>> data = Predictions([0.9] * 4 + [0.5] * 4 + [0.1] * 4, [1, 1, 1, 0] * 2 + [0, 0, 1, 1])
    >>> Vector().fit(data)([0.9, 0.5, 0.1])[:, 1].round(4).tolist()
    [0.75, 0.75, 0.5]
    """

    prior: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_prior(self)

    def fit(self, data: Predictions) -> LogLinearMap:
        """Find the slopes and intercepts of least log loss."""
        rows = present_rows(data)
        theta, floor = regress(
            rows, OwnClass(), OwnClass().penalty(rows.m), prior=self.prior or 0.0
        )
        return LogLinearMap(rows.classes, theta[:, 0], theta[:, 1], floor)

    def __str__(self) -> str:
        return "vector"


@final
@dataclass(frozen=True, slots=True)
class Matrix:
    r"""Matrix scaling: logistic regression on all log-probabilities (Guo et al. 2017).

    .. math:: g(x) \mapsto \operatorname{softmax}(W \log g(x) + b)

    with the W and b of least mean log loss; m (m + 1) parameters. It needs many rows for each of
    them: with 10 classes thousands, with 100 use `Dirichlet` or `Vector`.

    Parameters
    ----------
    prior : float, optional
        How much a prediction counts beside its outcome (`Method`).

    Notes
    -----
    Zeros are raised as `Vector` says. To the mean log loss ``1e-20 (|W - I|² + |b|²)/2`` is added,
    and the answer is finite where classes are separable or never occur, as for `Vector`. Of the W
    and b that give the same map, those are chosen whose columns sum to 1, and to 0.

    Newton's method, on exact second derivatives up to 31 classes, else with conjugate gradients.

    Examples
    --------
    >>> probs = [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]] * 4
    >>> data = Predictions(probs, [0, 1, 2, 0, 1, 2, 1, 1, 2, 2, 2, 2])
    >>> Matrix().fit(data)(probs[:2]).round(4).tolist()
    [[0.5, 0.25, 0.25], [0.0, 0.75, 0.25]]
    """

    prior: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_prior(self)

    def fit(self, data: Predictions) -> LogLinearMap:
        """Find the matrix and the intercepts of least log loss."""
        return Dirichlet(0.0, 0.0, prior=self.prior).fit(data)

    def __str__(self) -> str:
        return "matrix"


@final
@dataclass(frozen=True, slots=True)
class Dirichlet:
    r"""Dirichlet calibration with off-diagonal and intercept regularisation (Kull et al. 2019).

    .. math:: g(x) \mapsto \operatorname{softmax}(W \log g(x) + b)

    with the W and b of the least

    .. math:: \text{mean log loss} + \frac{\lambda}{m (m - 1)} \sum_{j \ne k} W_{jk}^2
              + \frac{\mu}{m} \sum_j b_j^2 .

    Parameters
    ----------
    off_diagonal : float, default 0.01
        λ, at least 0.
    intercept : float, default 0.01
        μ, at least 0. With both 0 this is `Matrix`.
    prior : float, optional
        How much a prediction counts beside its outcome (`Method`).

    Notes
    -----
    If the predictions of each class have a Dirichlet distribution, r is such a function. Zeros
    are raised as `Vector` says, and ``1e-20 (|W - I|² + |b|²)/2`` is added as well, as for
    `Matrix`.

    References
    ----------
    M. Kull, M. Perelló Nieto, M. Kängsepp, T. Silva Filho, H. Song, P. Flach, "Beyond
    temperature scaling: Obtaining well-calibrated multiclass probabilities with Dirichlet
    calibration", NeurIPS 2019.

    Examples
    --------
    >>> probs = [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]] * 4
    >>> data = Predictions(probs, [0, 1, 2, 0, 1, 2, 1, 1, 2, 2, 2, 2])
    >>> Dirichlet(off_diagonal=0.1).fit(data)(probs[:2]).round(4).tolist()
    [[0.4948, 0.2149, 0.2902], [0.0021, 0.7771, 0.2208]]
    """

    off_diagonal: float = 0.01
    intercept: float = 0.01
    prior: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_prior(self)
        for name in ("off_diagonal", "intercept"):
            number = finite(name, getattr(self, name))
            if number < 0:
                raise ValueError(f"`{name}` must be at least 0; found {number}.")
            object.__setattr__(self, name, number)

    def fit(self, data: Predictions) -> LogLinearMap:
        """Find the matrix and the intercepts of least penalised log loss."""
        rows = present_rows(data)
        penalty = AllClasses().penalty(rows.m, self.off_diagonal, self.intercept)
        theta, floor = regress(rows, AllClasses(), penalty, prior=self.prior or 0.0)
        return LogLinearMap(rows.classes, theta[:, :-1], theta[:, -1], floor)

    def __str__(self) -> str:
        return "Dirichlet"


def regress(
    data: Predictions,
    design: Design,
    penalty: Penalty,
    start: Floats | None = None,
    prior: float = 0.0,
) -> tuple[Floats, float]:
    """Return the parameters (m, k) of the least penalised log loss, and the smallest probability.

    The start (m, k) does not change what is found. Default: temperature scaling.
    """
    shape = penalty.centre.shape
    likelihood = Likelihood(Blocks.of(data, shape, prior), design, penalty)
    if start is None:
        start = (inverse_temperature(data, prior) or 1.0) * penalty.centre
    theta = minimise(likelihood, start.ravel())
    return theta.reshape(shape), likelihood.blocks.floor


@final
@dataclass(frozen=True, slots=True)
class Beta:
    r"""Beta calibration: an increasing function of two slopes and an intercept (Kull et al. 2017).

    .. math:: \operatorname{logit} q = a \log p - b \log(1 - p) + c, \qquad a, b \ge 0

    with the a, b, c of least mean log loss. For two classes.

    Parameters
    ----------
    prior : float, optional
        How much a prediction counts beside its outcome (`Method`).

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

    prior: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_prior(self)

    def fit(self, data: Predictions) -> LogLinearMap:
        """Find the slopes and the intercept of least log loss."""
        rows = present_rows(data)
        if rows.m != 2:
            raise ValueError(
                f"`Beta()` needs a problem with two classes; found {rows.m}. Look through a lens"
                " such as `Marginal(…)`, or use `Dirichlet()`."
            )
        blocks = Blocks.of(rows, (3, 3), self.prior or 0.0)
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
        return self.expand(theta).value

    def expand(self, theta: Floats) -> Expansion:
        loss, gradient, hessian = self.blocks.mean(partial(self._work, theta))
        away = theta - self.start
        hessian[np.diag_indices_from(hessian)] += RIDGE
        value = float(loss) + 0.5 * RIDGE * float(away @ away)
        return Expansion(value, gradient + RIDGE * away, partial(solve_dense, hessian))

    def _work(self, theta: Floats, block: FitBlock) -> tuple[Floats, Floats, Floats]:
        """Return loss, gradient and second derivatives of a block."""
        inputs = np.ones((theta.size, len(block.labels)))
        for row, j in enumerate(self.steep):
            np.multiply(SIGNS[j], block.x[:, j], out=inputs[row])
        towards = np.where(block.labels == 1, 1.0, -1.0)
        logit = towards * (theta @ inputs)  # of the class that occurred
        small = np.exp(-np.abs(logit))
        loss = np.log1p(small) - np.minimum(logit, 0.0)
        missed = np.where(logit >= 0, small, 1.0) / (1.0 + small)
        if block.share:
            other = block.share * block.probs[np.arange(len(logit)), 1 - block.labels]
            loss += other * logit
            missed -= other
        gradient = inputs @ (-block.weights * towards * missed)
        spread = block.weights * small / (1.0 + small) ** 2
        return block.weights @ loss, gradient, (inputs * spread) @ inputs.T
