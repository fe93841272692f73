"""What every method of recalibration is, and what it asks of data."""

from typing import Any, Protocol

import numpy as np

from calibrant.predictions import Predictions
from calibrant.recalibration.map import Map
from calibrant.verbs import check_data

RIDGE = 1e-20
"""Times half the squared distance to the map that changes nothing: added to every mean log loss.

Where data are separable the loss alone has no smallest value. With this it has one, at finite
parameters whose predictions are nearly 0 and 1. Elsewhere the loss stays the same to many digits.
"""


class Method(Protocol):
    """A way to estimate the calibration function r by a map.

    Law: a row of weight 2 counts as the row twice, a row of weight 0 is absent, and the order of
    rows does not matter, up to rounding.
    """

    def fit(self, data: Predictions) -> Map:
        """Find the map that suits these predictions and outcomes."""
        ...


def present_rows(data: Any) -> Predictions:
    """Return the rows that have weight, or refuse data in which a single class occurs."""
    check_data(data)
    rows: Predictions = data
    if data.weighted and not data.weights.all():
        rows = data.take(np.flatnonzero(data.weights))
    occurring = np.unique(rows.labels)
    if occurring.size < 2:
        raise ValueError(
            "`data` must have outcomes of at least two classes; all of them are"
            f" {rows.classes[occurring[0]]!r}."
        )
    return rows
