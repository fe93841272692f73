"""Tests, standard errors and comparisons, §4.3: where statistics and resamplers meet.

It drives them through their protocols and knows none of their classes by name, but for defaults.
"""

from calibrant.inference.cells import Cellwise, cellwise
from calibrant.inference.classes import Classwise, classwise
from calibrant.inference.comparison import Comparison, compare
from calibrant.inference.differences import Difference
from calibrant.inference.estimation import Estimate, estimate
from calibrant.inference.evaluation import Evaluation, EvaluationRow, evaluate
from calibrant.inference.groups import Slice, Slices, slices
from calibrant.inference.powers import Power, PowerRow, power
from calibrant.inference.tally import Tally
from calibrant.inference.testing import CalibrationTest, calibration_test
from calibrant.inference.verdicts import Verdict

__all__ = [
    "CalibrationTest",
    "Cellwise",
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
    "calibration_test",
    "cellwise",
    "classwise",
    "compare",
    "estimate",
    "evaluate",
    "power",
    "slices",
]
