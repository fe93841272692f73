"""Numbers that are large where calibration is bad, §3.2 and §4.1.

A statistic prepares what depends on the predictions alone and then pulls what it needs from a
block of replicates. It may use `calibration` and what is below it; it has not heard of resampling.
"""

from calibrant.calibration import Block, View
from calibrant.statistics.calibration_errors import CalibrationError
from calibrant.statistics.classwise import ClasswiseMiscalibration
from calibrant.statistics.cumulative import (
    AveragedTwoBin,
    CutoffMiscalibration,
    KolmogorovMiscalibration,
)
from calibrant.statistics.kernel import KernelMiscalibration
from calibrant.statistics.miscalibration import (
    ExpectedMiscalibration,
    RootMeanSquareMiscalibration,
    WorstCell,
    WorstMiscalibration,
    grid,
)
from calibrant.statistics.row_sums import (
    ScoreMiscalibration,
    Spiegelhalter,
    Surprise,
    WorstClass,
)
from calibrant.statistics.score_tests import Cox, CoxFit, Neyman
from calibrant.statistics.smooth import SmoothMiscalibration
from calibrant.statistics.squared import SquaredMiscalibration
from calibrant.statistics.statistic import OfFunction, Statistic

__all__ = [
    "AveragedTwoBin",
    "Block",
    "CalibrationError",
    "ClasswiseMiscalibration",
    "Cox",
    "CoxFit",
    "CutoffMiscalibration",
    "ExpectedMiscalibration",
    "KernelMiscalibration",
    "KolmogorovMiscalibration",
    "Neyman",
    "OfFunction",
    "RootMeanSquareMiscalibration",
    "ScoreMiscalibration",
    "SmoothMiscalibration",
    "Spiegelhalter",
    "SquaredMiscalibration",
    "Statistic",
    "Surprise",
    "View",
    "WorstCell",
    "WorstClass",
    "WorstMiscalibration",
    "grid",
]


def __dir__() -> list[str]:
    return __all__
