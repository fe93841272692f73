"""Ways in which a model may be off: what labels could be drawn from instead of the predictions."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from calibrant.checks.parameters import finite, positive
from calibrant.resampling.resampler import Array

Floats = NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True)
class Tempered:
    r"""Labels come from the predictions at another temperature, as temperature scaling has it.

    .. math:: \rho(g)_j = g_j^{1/T} / \sum_k g_k^{1/T}

    A temperature above 1 says that the model is overconfident, one below 1 underconfident.

    Parameters
    ----------
    temperature : float
        T, positive.

    Examples
    --------
    >>> Tempered(2.0)(np.array([[0.9, 0.1]])).round(6).tolist()
    [[0.75, 0.25]]
    """

    temperature: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "temperature", positive("temperature", self.temperature))

    def __call__(self, probs: Array) -> Floats:
        """Return what labels are drawn from (n, m)."""
        with np.errstate(divide="ignore"):
            logits = np.log(probs, dtype=np.float64) / self.temperature
        return _normalised(logits)

    def __str__(self) -> str:
        return f"temperature {self.temperature:.3g}"


@final
@dataclass(frozen=True, slots=True)
class Shifted:
    r"""The log-odds of one class are higher than predicted: a shift of the prior.

    .. math:: \rho(g) \propto g \cdot \exp(\delta e_j)

    A positive shift says that the model's predictions of the class are too low, a negative one that
    they are too high.

    Parameters
    ----------
    label : int
        Place of the class, j.
    shift : float
        Of its log-odds, delta.

    Examples
    --------
    >>> Shifted(0, np.log(3.0))(np.array([[0.5, 0.5]])).round(6).tolist()
    [[0.75, 0.25]]
    """

    label: int
    shift: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "shift", finite("shift", self.shift))

    def __call__(self, probs: Array) -> Floats:
        """Return what labels are drawn from (n, m)."""
        with np.errstate(divide="ignore"):
            logits = np.log(probs, dtype=np.float64)
        logits[:, self.label] += self.shift
        return _normalised(logits)

    def __str__(self) -> str:
        return f"log-odds {self.shift:+.3g}"


def _normalised(logits: Floats) -> Floats:
    """Return the softmax of logits (n, m), in place."""
    logits -= logits.max(axis=1, keepdims=True)
    np.exp(logits, out=logits)
    logits /= logits.sum(axis=1, keepdims=True)
    return logits
