"""Regression of the calibration function, §4.1: cells, their sums, and r-hat; isotonic.

Rows are seen through a `View`, which hands out `Cells`: sorted rows (`Gathered`) where they are at
hand, else tables (`Tabled`) that one place fills (`view.fill`). Either answers what a block of
replicates is asked. It may use rows, partitions, `predictions` and the engine; lenses are functions
to it. It has not heard of statistics or resampling.
"""

from calibrant.calibration.cells import Cells, CellSums, EventSums, Gathered
from calibrant.calibration.function import (
    CalibrationFunction,
    IsotonicFunction,
    calibration_function,
    isotonic,
)
from calibrant.calibration.tables import Tabled
from calibrant.calibration.view import (
    Block,
    Draws,
    Talk,
    View,
    fill,
    finish,
    fold,
    observed,
    of_replicates,
    talks_of,
)

__all__ = [
    "Block", "CalibrationFunction", "CellSums", "Cells", "Draws", "EventSums", "Gathered",
    "IsotonicFunction", "Tabled", "Talk", "View", "calibration_function", "fill", "finish", "fold",
    "isotonic", "observed", "of_replicates", "talks_of",
]  # fmt: skip
