"""One class against the rest."""

from dataclasses import dataclass
from typing import final

import numpy as np

from calibrant import engine
from calibrant.lenses.lens import Lens, Outcomes
from calibrant.predictions import Predictions


@final
@dataclass(frozen=True, slots=True)
class Marginal(Lens):
    """One class against the rest, Eq. (3): psi(y, mu) = 1 if y is the class, else 0.

    Parameters
    ----------
    label : str or int
        Name or index of the class.

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
        names = (data.classes[j], f"not {data.classes[j]}")
        if data.there is not None and data.there.origin is None:
            return data.induced_there(data.there.one_class(j), names)
        probs, labels = engine.rows.against_rest(data.rows, np.array([j]))
        return data.induced(probs, labels, names)

    def outcomes(self, data: Predictions) -> Outcomes:
        """Return the class as the event."""
        return Outcomes(event=np.array([data.index(self.label)]))

    def __str__(self) -> str:
        return f"class {self.label}"
