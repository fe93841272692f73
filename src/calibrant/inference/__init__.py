"""Tests, standard errors and comparisons, §4.3: where statistics and resamplers meet.

It drives them through their protocols and knows none of their classes by name, but for defaults.
"""

from calibrant.inference.testing.binwise import Binwise, binwise
from calibrant.inference.testing.classwise import Classwise, classwise
from calibrant.inference.testing.resampled import (
    CalibrationTest,
    Estimate,
    calibration_test,
    estimate,
)
from calibrant.inference.testing.tally import Tally
from calibrant.inference.verdicts.assertion import assert_calibrated
from calibrant.inference.verdicts.comparison import Comparison, Difference, compare
from calibrant.inference.verdicts.evaluation import Evaluation, EvaluationRow, evaluate
from calibrant.inference.verdicts.groups import Slice, Slices, slices
from calibrant.inference.verdicts.power import Power, PowerRow, power
from calibrant.inference.verdicts.verdict import Verdict

__all__ = [
    "Binwise",
    "CalibrationTest",
    "Classwise",
    "Comparison",
    "Difference",
    "Estimate",
    "Evaluation",
    "EvaluationRow",
    "Power",
    "PowerRow",
    "Slice",
    "Slices",
    "Tally",
    "Verdict",
    "assert_calibrated",
    "binwise",
    "calibration_test",
    "classwise",
    "compare",
    "estimate",
    "evaluate",
    "power",
    "slices",
]
