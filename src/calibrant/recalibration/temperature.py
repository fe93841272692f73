"""Temperature scaling: one number for all classes."""

from dataclasses import dataclass, field
from typing import Any, Self, final

import numpy as np

from calibrant.checks.parameters import positive
from calibrant.engine import threads
from calibrant.predictions import Predictions
from calibrant.recalibration.likelihood import over_classes
from calibrant.recalibration.map import (
    RIDGE,
    Array,
    Fields,
    Floats,
    Map,
    check_prior,
    present_rows,
)

LEAST, MOST = 1e-9, 1e9  # the inverse temperatures that are looked at
CLOSE = 1e-4  # a step of the third order that is relatively shorter needs no other after it
SAMPLE = 1 << 21  # numbers from which a larger array gets its start
PASSES = 100  # never reached


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TemperatureMap(Map):
    """Every probability to the power 1/T, divided by the sum of the row; zeros stay zeros.

    Parameters
    ----------
    classes : tuple of str
        Names of the m classes.
    temperature : float
        T; above 1 the predictions become less sure, below 1 more so.

    Examples
    --------
    >>> TemperatureMap(("no", "yes"), 0.5)([[0.25, 0.75]]).round(6).tolist()
    [[0.1, 0.9]]
    """

    kind = "temperature"

    classes: tuple[str, ...]
    temperature: float

    def __post_init__(self) -> None:
        Map.__post_init__(self)
        object.__setattr__(self, "temperature", float(positive("temperature", self.temperature)))

    def rows(self, probs: Array) -> Floats:
        with np.errstate(divide="ignore", over="ignore"):
            powers = np.log(probs, dtype=np.float64)
            powers -= over_classes(np.maximum, powers)[:, None]
            powers /= self.temperature
        np.exp(powers, out=powers)
        powers /= over_classes(np.add, powers)[:, None]
        return np.asarray(powers)

    def fields(self) -> dict[str, Any]:
        return {"temperature": self.temperature}

    @classmethod
    def from_fields(cls, classes: tuple[str, ...], fields: Fields) -> Self:
        return cls(classes, fields.number("temperature"))

    def __str__(self) -> str:
        return f"temperature {self.temperature:.4g}"


@final
@dataclass(frozen=True, slots=True)
class Temperature:
    r"""Temperature scaling: the best single power for all predictions (Guo et al. 2017).

    .. math:: g(x) \mapsto \operatorname{softmax}(\log g(x) / T), \qquad T > 0

    with the T of least mean log loss. For predictions that came from logits z this is
    softmax(z / T). The order of the classes in a row stays, so the accuracy does too.

    Parameters
    ----------
    prior : float, optional
        How much a prediction counts beside its outcome (`Method`).

    Notes
    -----
    Zeros stay zeros. A row whose outcome was given probability 0 has an infinite loss whatever T
    is, so it is left out; the log loss of the data then stays infinite. Other methods raise zeros.
    To the mean log loss 1e-20 (1/T - 1)²/2 is added, which makes T finite if the most probable
    class always occurs. If all predictions point the wrong way, T is 1e9 and they become uniform.

    The loss is convex in 1/T. It is minimised by Halley's method, on three exact derivatives and
    within a bracket. A large array is read two or three times, a block of rows at a time.

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger, "On calibration of modern neural networks",
    ICML 2017.

    Examples
    --------
    >>> sure = Predictions([0.9] * 4 + [0.1] * 4, [1, 1, 1, 0] + [0, 0, 0, 1])
    >>> fitted = Temperature().fit(sure)
    >>> round(fitted.temperature, 6), fitted([0.9, 0.1])[:, 1].round(6).tolist()
    (2.0, [0.75, 0.25])
    """

    prior: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_prior(self)

    def fit(self, data: Predictions) -> TemperatureMap:
        """Find the temperature of least log loss."""
        beta = inverse_temperature(present_rows(data), self.prior or 0.0)
        if beta is None:
            raise ValueError(
                "`data` must have an outcome that was given a probability above 0: Temperature()"
                " leaves zeros as they are. Use Vector() or Isotonic()."
            )
        return TemperatureMap(data.classes, 1.0 / beta)

    def __str__(self) -> str:
        return "temperature"


def inverse_temperature(data: Predictions, prior: float = 0.0) -> float | None:
    """Return the best 1/T; None if every outcome was given probability 0."""
    start = 1.0
    if data.probs.size > 2 * SAMPLE:
        every = -(-data.probs.size // SAMPLE)
        start = search(data.take(np.arange(0, data.n, every)), 1.0, prior) or start
    return search(data, start, prior)


def search(data: Predictions, start: float, prior: float = 0.0) -> float | None:
    """Return the best 1/T, from a start that does not change what is found.

    The first derivative rises, so each point that is looked at is an end of a bracket.
    """
    low, high = LEAST, MOST
    beta = start
    for _ in range(PASSES):
        slopes = derivatives(data, beta, prior)
        if slopes is None:
            return None
        low, high = (low, beta) if slopes[0] > 0 else (beta, high)
        step = _step(*slopes)
        if abs(step) <= CLOSE * beta or high <= LEAST:
            break
        beta, step = _within(beta, step, low, high), 0.0
    return min(max(beta + step, LEAST), MOST)


def _step(first: float, second: float, third: float) -> float:
    """Return Halley's step to where the first derivative is 0, or Newton's if that is no use."""
    divisor = 2 * second * second - first * third
    if divisor > second * second:
        return -2 * first * second / divisor
    return -first / second


def _within(beta: float, step: float, low: float, high: float) -> float:
    """Return the next point: at most ten times further, and never out of the bracket."""
    reach = min(max(beta + step, beta / 10), beta * 10)
    if low < reach < high:
        return reach
    return low if low == LEAST else float(np.sqrt(low * high))


def derivatives(
    data: Predictions, beta: float, prior: float = 0.0
) -> tuple[float, float, float] | None:
    """Return three derivatives of the mean log loss by beta; None if no outcome was possible.

    With q = softmax(beta l), l = log g(x): the mean over rows of E_q l - l_y, Var_q l and the
    third central moment of l under q. With a prior l_y is (l_y + prior E_p l) / (1 + prior).
    """
    spans = threads.row_blocks(data.probs.shape)
    sums = np.empty((len(spans), 4))

    def work(start: int, stop: int) -> None:
        sums[start // spans[0][1]] = _sums(data, slice(start, stop), beta, prior)

    threads.run(work, spans)
    mass, first, second, third = sums.sum(axis=0).tolist()
    if mass == 0:
        return None
    return first / mass + RIDGE * (beta - 1), second / mass + RIDGE, third / mass


def _sums(data: Predictions, rows: slice, beta: float, prior: float) -> Floats:
    """Return the weight of some rows and the sums of their derivatives (4,)."""
    labels = data.labels[rows]
    with np.errstate(divide="ignore"):
        logs = np.log(data.probs[rows], dtype=np.float64)
    logs -= over_classes(np.maximum, logs)[:, None]
    own = logs[np.arange(labels.size), labels]
    q = np.exp(beta * logs)
    if np.isinf(logs.min()):
        logs[np.isinf(logs)] = 0.0  # where p and q are 0 too
    if prior:
        own = (own + prior * np.einsum("ij,ij->i", data.probs[rows], logs)) / (1 + prior)
    total = over_classes(np.add, q)
    moments = []
    for _ in range(3):
        q *= logs
        moments.append(over_classes(np.add, q) / total)
    mean, square, cube = moments
    variance = square - mean * mean
    skewness = cube - mean * (3 * square - 2 * mean * mean)
    weights = np.where(np.isfinite(own), data.weights[rows], 0.0)
    own = np.where(np.isfinite(own), own, 0.0)
    return np.array((weights.sum(), weights @ (mean - own), weights @ variance, weights @ skewness))
