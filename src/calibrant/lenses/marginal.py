"""One class against the rest."""

from dataclasses import dataclass
from typing import final

import numpy as np

from calibrant.lenses.lens import Lens
from calibrant.predictions import Predictions


@final
@dataclass(frozen=True, slots=True)
class Marginal(Lens):
    """One class against the rest, Eq. (3): psi(y, mu) = 1 if y is the class, else 0.

    Parameters
    ----------
    label : name or index of the class

    Examples
    --------
    >>> from calibrant import Predictions
    >>> data = Predictions([[0.25, 0.75]], ["cat"], classes=["cat", "dog"])
    >>> dog = Marginal("dog")(data)
    >>> dog.classes, dog.probs.tolist(), dog.labels.tolist()
    (('dog', 'not dog'), [[0.75, 0.25]], [1])
    """

    label: int | str

    def __call__(self, data: Predictions) -> Predictions:
        """Return the binary problem of the class."""
        j = data.index(self.label)
        probs = np.empty((data.n, 2), data.probs.dtype)
        probs[:, 0] = data.probs[:, j]
        np.subtract(1, probs[:, 0], out=probs[:, 1])
        np.maximum(probs[:, 1], 0, out=probs[:, 1])
        labels = (data.labels != j).astype(np.int32)
        name = data.classes[j]
        return data.induced(probs, labels, (name, f"not {name}"))

    def __str__(self) -> str:
        return f"class {self.label}"
