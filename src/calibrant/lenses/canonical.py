"""The canonical lens."""

from dataclasses import dataclass
from typing import final

from calibrant.lenses.lens import Lens, Outcomes
from calibrant.predictions import Predictions


@final
@dataclass(frozen=True, slots=True)
class Canonical(Lens):
    """The problem itself: psi(y, mu) = y, Example 2 (i).

    Examples
    --------
    >>> from calibrant import Predictions
    >>> data = Predictions([[0.2, 0.3, 0.5]], [1])
    >>> Canonical()(data) is data
    True
    """

    def __call__(self, data: Predictions) -> Predictions:
        """Return the same problem."""
        return data

    def outcomes(self, data: Predictions) -> Outcomes:  # noqa: ARG002
        """Return every class as it is."""
        return Outcomes()

    def __str__(self) -> str:
        return "canonical"
