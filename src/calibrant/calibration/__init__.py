"""Regression of the calibration function, §4.1: cells, their sums, and r-hat; isotonic.

It may use partitions, distances, `predictions` and the engine. It has not heard of lenses,
statistics or resampling.
"""

from calibrant.calibration.cells import Cells, find_cells
from calibrant.calibration.function import CalibrationFunction, calibration_function
from calibrant.calibration.isotonic import IsotonicFunction, isotonic
from calibrant.calibration.sums import CellSums

__all__ = [
    "CalibrationFunction",
    "CellSums",
    "Cells",
    "IsotonicFunction",
    "calibration_function",
    "find_cells",
    "isotonic",
]
