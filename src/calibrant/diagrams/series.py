"""The bins of one model in a reliability diagram."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from calibrant.calibration import CalibrationFunction
from calibrant.diagrams.picture import Floats, Mask
from calibrant.inference import Binwise
from calibrant.inference.replicates.problem import fields


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Series:
    """The bins of one model."""

    name: str  # of the model; "" if it is the only one
    cells: Binwise  # the deviations of all bins, with limits and adjusted p-values
    histogram: Floats | None  # (bins,) of two outcomes: share of the predictions of the event
    corners: Floats | None  # (bins, m, m) of each bin, where the bins are simplices

    @property
    def function(self) -> CalibrationFunction:
        """The estimated calibration function."""
        return self.cells.function

    @property
    def shown(self) -> Mask:
        """Which bins (bins,) are drawn: those that hold any weight."""
        return self.function.mass > 0

    @property
    def miscalibration(self) -> float:
        """Mean total variation of outcome frequencies and predictions over the bins."""
        fn = self.function
        return float(fn.proportions @ np.abs(fn.deviations).sum(axis=1)) / 2

    @property
    def pvalue(self) -> float:
        """P-value of the hypothesis of calibration: of the bin that is farthest off, adjusted."""
        return float(self.cells.adjusted_pvalues.min())

    def significant(self, alpha: float) -> Mask:
        """Return which bins (bins,) are significant at the family-wise level `alpha`."""
        return self.cells.adjusted_pvalues <= alpha

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        return fields(self, "name", "histogram", "corners") | self.cells.to_dict()

    def __repr__(self) -> str:
        return f"Series(name={self.name[:60]!r}, n_cells={self.function.n_cells})"
