"""All classes of all rows as one binary problem."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant.checks.arrays import rounded
from calibrant.lenses.lens import Lens
from calibrant.predictions import Predictions


@final
@dataclass(frozen=True, slots=True)
class Pooled(Lens):
    """All n·m pairs (predicted probability, did this class occur), Example 4.

    Notes
    -----
    The pairs of a row are not independent, since exactly one of its classes occurs. So this
    is the one lens that is applied after labels are redrawn or rows resampled.

    Examples
    --------
    >>> from calibrant import Predictions
    >>> pairs = Pooled()(Predictions([[0.25, 0.75]], [1]))
    >>> pairs.probs[:, 0].tolist(), pairs.labels.tolist()
    ([0.25, 0.75], [1, 0])
    """

    @property
    def rowwise(self) -> bool:
        """Whether each row stays one row: no, it becomes m of them."""
        return False

    @property
    def subject(self) -> str:
        """What the pairs are about."""
        return "each class"

    def __call__(self, data: Predictions) -> Predictions:
        """Return the n·m pairs as one binary problem."""
        n, m = data.probs.shape
        probs = np.empty((n * m, 2), data.probs.dtype)
        probs[:, 0] = data.probs.reshape(-1)
        np.subtract(1, probs[:, 0], out=probs[:, 1])
        np.maximum(probs[:, 1], 0, out=probs[:, 1])
        labels = self.relabel(data, data.labels)
        weights = rounded(np.repeat(data.weights, m)) if data.weighted else None
        beside = data.beside.take(np.repeat(np.arange(n), m))
        names = "occurs", "does not occur"
        return Predictions.trusted(probs, labels, names, weights, beside=beside)

    def relabel(self, data: Predictions, labels: NDArray[Any]) -> NDArray[np.int32]:
        """Return 0 for the class of each row that occurs and 1 for the others: (n·m,)."""
        out = np.ones(data.n * data.m, np.int32)
        out[np.arange(data.n) * data.m + labels] = 0
        return out

    def __str__(self) -> str:
        return "pooled"
