"""The difference of two models' estimates on the same rows."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from calibrant.distances import name_of
from calibrant.inference.estimation import Estimate
from calibrant.inference.evaluation import EvaluationRow

LEVEL = 0.95  # of the intervals


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Difference:
    """The difference of two models' estimates on the same rows, first minus second.

    Parameters
    ----------
    first : str
        Name of one model.
    second : str
        Name of the other.
    rows : tuple of EvaluationRow
        Their rows of the evaluation.
    estimate : Estimate
        The difference, with paired bootstrap replicates.
    level : float, default 0.95
        Of the interval.
    alpha : float, default 0.05
        Level of the tests that the sentence speaks of.
    """

    first: str
    second: str
    rows: tuple[EvaluationRow, EvaluationRow]
    estimate: Estimate
    level: float = LEVEL
    alpha: float = 0.05

    @property
    def interval(self) -> tuple[float, float]:
        """Paired bootstrap percentile interval, moved so that the difference is its median.

        Replicates of either estimate are larger than it, by different amounts, so their
        quantiles alone may lie beside the difference. nan if both estimates are infinite, in
        the data or in a replicate.
        """
        if np.isnan(self.estimate.value) or np.isnan(self.estimate.replicates).any():
            return np.nan, np.nan
        low, high = self.estimate.interval(self.level)
        shift = self.estimate.value - float(np.median(self.estimate.replicates))
        return low + shift, high + shift

    @property
    def conclusion(self) -> str:
        """Say what may and what may not be concluded."""
        names = self.first, self.second
        off = [row.adjusted_pvalue <= self.alpha for row in self.rows]
        if not any(off):
            return (
                f"Neither {names[0]} nor {names[1]} is shown to be miscalibrated here, so the"
                " difference of the estimates says nothing about calibration."
            )
        if not all(off):
            bad, other = names if off[0] else names[::-1]
            return (
                f"{bad} is shown to be miscalibrated; {other} is not, which does not prove that it"
                " is calibrated."
            )
        return self._of_two()

    def _of_two(self) -> str:
        """Say which of two miscalibrated models is more so, if the interval tells."""
        names = self.first, self.second
        low, high = self.interval
        if not (low > 0 or high < 0):
            return (
                f"Both are shown to be miscalibrated; the data do not tell whether {names[0]} or"
                f" {names[1]} is more so."
            )
        more, less = names if low > 0 else names[::-1]
        return (
            f"Both are shown to be miscalibrated, and the estimate of {more} is above that of"
            f" {less}. The estimates may be biased by different amounts, so this is evidence about"
            " the models only if the difference is large against their values if calibrated."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        row = self.rows[0]
        return {
            "first": self.first,
            "second": self.second,
            "lens": str(row.lens),
            "partition": str(row.partition),
            "distance": name_of(row.distance),
            "difference": self.estimate.value,
            "standard_error": self.estimate.standard_error,
            "interval": list(self.interval),
            "level": self.level,
            "conclusion": self.conclusion,
        }

    def __repr__(self) -> str:
        return f"<difference {self.first} minus {self.second}: {self.estimate}>"

    def __str__(self) -> str:
        low, high = self.interval
        row = self.rows[0]
        return (
            f"{self.first} minus {self.second} ({row.lens}, {row.partition},"
            f" {name_of(row.distance)}): {self.estimate.value:+.4f}, {self.level:.0%}"
            f" interval {low:+.4f} to {high:+.4f}. {self.conclusion}"
        )
