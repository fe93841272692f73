"""Histogram regression: the outcome frequencies of a cell."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant.calibration import calibration_function
from calibrant.partitions import FittedPartition, Partition
from calibrant.predictions import Predictions
from calibrant.recalibration import cells
from calibrant.recalibration.document import Fields, distributions
from calibrant.recalibration.map import Map, checked_classes
from calibrant.recalibration.method import present_rows
from calibrant.spelling import as_partition

Array = NDArray[Any]
Floats = NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class HistogramMap(Map):
    """The outcome frequencies of the cell that a prediction is in.

    Parameters
    ----------
    classes : tuple of str
        Names of the m classes.
    partition : Partition
        What the cells were made by.
    fitted : FittedPartition
        The cells.
    observed : array of shape (cells, m)
        Outcome frequencies of each cell, r-hat. Where no row was, the prediction itself is
        returned, divided by its sum.
    """

    kind = "histogram"

    classes: tuple[str, ...]
    partition: Partition
    fitted: FittedPartition
    observed: Floats

    def __post_init__(self) -> None:
        object.__setattr__(self, "classes", checked_classes(self.classes))
        shape = (self.fitted.n_cells, self.m)
        object.__setattr__(self, "observed", distributions("observed", self.observed, shape))

    def rows(self, probs: Array) -> Floats:
        """Return the frequencies of the cells of rows (k, m)."""
        found = self.fitted.assign(probs)
        out = self.observed[found]
        outside = found < 0
        if outside.any():
            kept = probs[outside].astype(np.float64)
            out[outside] = kept / kept.sum(axis=1, keepdims=True)
        return out

    def fields(self) -> dict[str, Any]:
        """Return the cells and their frequencies."""
        written = cells.to_fields(self.partition, self.fitted)
        return {"cells": written, "observed": self.observed.tolist()}

    @classmethod
    def from_fields(cls, classes: tuple[str, ...], fields: Fields) -> "HistogramMap":
        """Return the map of cells and their frequencies."""
        partition, fitted = cells.from_fields(fields.inside("cells"), len(classes))
        return cls(classes, partition, fitted, fields["observed"])

    def __str__(self) -> str:
        return f"histogram on {self.partition}"


@final
@dataclass(frozen=True, slots=True)
class Histogram:
    r"""Histogram regression, the paper's r-hat: the outcome frequencies of a cell (§4.1).

    .. math:: g(x) \mapsto \hat r^{(c)} \quad \text{for } g(x) \in \Phi^{(c)}

    and g(x) itself where a cell held no row.

    Parameters
    ----------
    partition : Partition
        The cells.

    Notes
    -----
    A map of a user's own partition or of `FromFunction` cannot be saved. A frequency can be 0, so
    a new row may have an infinite log score.

    References
    ----------
    B. Zadrozny, C. Elkan, "Obtaining calibrated probability estimates from decision trees and
    naive Bayesian classifiers", ICML 2001.

    Examples
    --------
    >>> from calibrant.partitions import EqualWidth
    >>> data = Predictions([0.1, 0.3, 0.6, 0.7], [0, 1, 1, 1])
    >>> Histogram(EqualWidth(4)).fit(data)([0.2, 0.4, 0.6, 0.9])[:, 1].tolist()
    [0.0, 1.0, 1.0, 0.9]
    """

    partition: Partition

    def __post_init__(self) -> None:
        object.__setattr__(self, "partition", as_partition(self.partition))

    def fit(self, data: Predictions) -> HistogramMap:
        """Find the outcome frequencies of every cell.

        Parameters
        ----------
        data : Predictions
            Predictions and outcomes.

        Returns
        -------
        HistogramMap
        """
        found = calibration_function(present_rows(data), self.partition)
        return HistogramMap(data.classes, self.partition, found.fitted, found.observed)

    def __str__(self) -> str:
        return f"histogram on {self.partition}"
