"""Maps linear in log-probabilities, and vector, matrix and Dirichlet scaling, which fit them."""

from dataclasses import dataclass
from typing import Any, Self, final

from calibrant.checks.parameters import finite, positive
from calibrant.predictions import Predictions
from calibrant.recalibration.likelihood import (
    AllClasses,
    Blocks,
    Design,
    Likelihood,
    OwnClass,
    Penalty,
    log_probabilities,
    softmax,
)
from calibrant.recalibration.map import Array, Fields, Floats, Map, numbers, present_rows
from calibrant.recalibration.newton import minimise
from calibrant.recalibration.temperature import inverse_temperature


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
    >>> import numpy as np
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

    def rows(self, probs: Array) -> Floats:
        """Return the softmax of rows (k, m)."""
        logs = log_probabilities(probs, self.floor)
        logits = logs * self.weights if self.weights.ndim == 1 else logs @ self.weights.T
        logits += self.bias
        return softmax(logits)

    def fields(self) -> dict[str, Any]:
        """Return weights, bias and floor."""
        weights, bias = self.weights.tolist(), self.bias.tolist()
        return {"weights": weights, "bias": bias, "floor": self.floor}

    @classmethod
    def from_fields(cls, classes: tuple[str, ...], fields: Fields) -> Self:
        """Return the map of weights, bias and floor."""
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

    Notes
    -----
    Zeros, and what is below half the smallest probability above 0 of the data, are raised to
    that half, or to 0.001 if that is less. To the mean log loss 1e-20 (|w - 1|² + |b|²)/2 is added,
    and the search ends when a step promises to lower it by less than 1e-15; so the answer is finite
    where classes are separable or never occur. Of the b that give the same map, the one that sums
    to 0 is chosen.

    Newton's method, on exact second derivatives up to 500 classes and with conjugate gradients
    beyond.

    Examples
    --------
    >>> data = Predictions([0.9] * 4 + [0.5] * 4 + [0.1] * 4, [1, 1, 1, 0] * 2 + [0, 0, 1, 1])
    >>> Vector().fit(data)([0.9, 0.5, 0.1])[:, 1].round(4).tolist()
    [0.75, 0.75, 0.5]
    """

    def fit(self, data: Predictions) -> LogLinearMap:
        """Find the slopes and intercepts of least log loss."""
        rows = present_rows(data)
        theta, floor = regress(rows, OwnClass(), OwnClass().penalty(rows.m))
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

    Notes
    -----
    Zeros are raised as `Vector` says. To the mean log loss 1e-20 (|W - I|² + |b|²)/2 is added,
    and the answer is finite where classes are separable or never occur, as for `Vector`. Of the W
    and b that give the same map, those are chosen whose columns sum to 1, and to 0.

    Newton's method, on exact second derivatives up to 31 classes and with conjugate gradients
    beyond.

    Examples
    --------
    >>> probs = [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]] * 4
    >>> data = Predictions(probs, [0, 1, 2, 0, 1, 2, 1, 1, 2, 2, 2, 2])
    >>> Matrix().fit(data)(probs[:2]).round(4).tolist()
    [[0.5, 0.25, 0.25], [0.0, 0.75, 0.25]]
    """

    def fit(self, data: Predictions) -> LogLinearMap:
        """Find the matrix and the intercepts of least log loss."""
        return fit_matrix(present_rows(data), 0.0, 0.0)

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

    Notes
    -----
    If the predictions of each class have a Dirichlet distribution, r is such a function. Zeros
    are raised as `Vector` says, and 1e-20 (|W - I|² + |b|²)/2 is added as well, as for `Matrix`.

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

    def __post_init__(self) -> None:
        for name in ("off_diagonal", "intercept"):
            number = finite(name, getattr(self, name))
            if number < 0:
                raise ValueError(f"`{name}` must be at least 0; found {number}.")
            object.__setattr__(self, name, number)

    def fit(self, data: Predictions) -> LogLinearMap:
        """Find the matrix and the intercepts of least penalised log loss."""
        return fit_matrix(present_rows(data), self.off_diagonal, self.intercept)

    def __str__(self) -> str:
        return "Dirichlet"


def fit_matrix(rows: Predictions, off_diagonal: float, intercept: float) -> LogLinearMap:
    """Find the matrix and the intercepts of least log loss with an ODIR penalty."""
    penalty = AllClasses().penalty(rows.m, off_diagonal, intercept)
    theta, floor = regress(rows, AllClasses(), penalty)
    return LogLinearMap(rows.classes, theta[:, :-1], theta[:, -1], floor)


def regress(
    data: Predictions, design: Design, penalty: Penalty, start: Floats | None = None
) -> tuple[Floats, float]:
    """Return the parameters (m, k) of the least penalised log loss, and the smallest probability.

    The start (m, k) does not change what is found. Default: temperature scaling.
    """
    shape = penalty.centre.shape
    likelihood = Likelihood(Blocks.of(data, shape), design, penalty)
    if start is None:
        start = (inverse_temperature(data) or 1.0) * penalty.centre
    theta = minimise(likelihood, start.ravel())
    return theta.reshape(shape), likelihood.blocks.floor
