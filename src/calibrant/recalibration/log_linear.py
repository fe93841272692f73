"""Maps that are linear in log-probabilities: what four of the methods fit."""

from dataclasses import dataclass
from functools import reduce
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant.checks.parameters import positive
from calibrant.engine import threads
from calibrant.predictions import Predictions
from calibrant.recalibration.document import Fields, numbers
from calibrant.recalibration.map import Map, checked_classes

Array = NDArray[Any]
Floats = NDArray[np.float64]

HIGHEST_FLOOR = 1e-3
FEW = 16  # columns up to which adding one after the other is faster than adding along rows


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
        set_field = object.__setattr__
        set_field(self, "classes", checked_classes(self.classes))
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
        return {
            "weights": self.weights.tolist(),
            "bias": self.bias.tolist(),
            "floor": self.floor,
        }

    @classmethod
    def from_fields(cls, classes: tuple[str, ...], fields: Fields) -> "LogLinearMap":
        """Return the map of weights, bias and floor."""
        return cls(classes, fields["weights"], fields["bias"], fields.number("floor"))

    def __str__(self) -> str:
        each = "each class" if self.weights.ndim == 1 else "all classes"
        return f"softmax, linear in the log-probabilities of {each}"


def log_probabilities(probs: Array, floor: float) -> Floats:
    """Return the logarithms of probabilities (k, m); of `floor` where they are smaller."""
    raised = np.maximum(probs, floor, dtype=np.float64)
    return np.asarray(np.log(raised, out=raised))


def floor_of(data: Predictions) -> float:
    """Return half the smallest probability above 0 of any class, or 0.001 if that is less.

    So a zero counts as less than everything that was predicted, and not as much less.
    """
    spans = threads.row_blocks(data.probs.shape)
    least = np.empty(len(spans))

    def work(start: int, stop: int) -> None:
        probs = data.probs[start:stop]
        smallest = probs.min()
        if smallest == 0:
            smallest = probs[probs > 0].min()
        least[start // spans[0][1]] = smallest

    threads.run(work, spans)
    lowest = float(np.finfo(np.float64).tiny)
    return max(min(float(least.min()) / 2, HIGHEST_FLOOR), lowest)


def softmax(logits: Floats) -> Floats:
    """Replace logits (rows, m) by probabilities, in place, and return them."""
    logits -= over_classes(np.maximum, logits)[:, None]
    np.exp(logits, out=logits)
    logits /= over_classes(np.add, logits)[:, None]
    return logits


def over_classes(function: np.ufunc, table: Floats) -> Floats:
    """Return the sum (np.add) or maximum (np.maximum) of each row of a table (rows, m)."""
    if table.shape[1] <= FEW:
        return np.asarray(reduce(function, table.T))
    return np.asarray(function.reduce(table, axis=1))
