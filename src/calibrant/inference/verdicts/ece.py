"""The expected calibration error beside the tests: a number that people know."""

from dataclasses import dataclass
from typing import Any, final

from calibrant.engine.arrays import Floats
from calibrant.inference.replicates.problem import fields
from calibrant.inference.testing.families import summary_of
from calibrant.statistics.calibration_errors import CalibrationError


@final
@dataclass(frozen=True, slots=True, eq=False)
class Ece:
    """The expected calibration error, and what it would be if the model were calibrated.

    Parameters
    ----------
    statistic : CalibrationError
        On how many bins.
    value : float
        Of the data.
    null : array of shape (n_resamples,)
        The same for data sets drawn from the predictions.
    """

    statistic: CalibrationError
    value: float
    null: Floats

    @property
    def expected(self) -> float:
        """What a calibrated model would show, on average."""
        return float(self.null.mean())

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        return fields(self, "statistic", "value") | summary_of(self.null)

    def __str__(self) -> str:
        return self.statistic.sentence(self.value, self.expected)
