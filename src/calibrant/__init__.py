"""Find out whether a classifier's probabilities can be trusted.

The objects of *Evaluating model calibration in classification* (AISTATS 2019), each in the
module that is named after it: `Predictions`, `lenses`, `partitions`, `distances`,
`statistics`, `resampling`, `scores`. What puts them together: `calibration_function`,
`calibration_test`, `estimate`, `evaluate`, `compare`, `classwise`, `cellwise`,
`reliability_diagram`.
"""

from calibrant import datasets, distances, lenses, partitions, resampling, scores, statistics
from calibrant.calibration import CalibrationFunction, calibration_function
from calibrant.diagrams import ReliabilityDiagram, reliability_diagram
from calibrant.inference import (
    CalibrationTest,
    Cellwise,
    Classwise,
    Comparison,
    Difference,
    Estimate,
    Evaluation,
    EvaluationRow,
    calibration_test,
    cellwise,
    classwise,
    compare,
    estimate,
    evaluate,
)
from calibrant.predictions import Predictions
from calibrant.scores import accuracy, brier_score, log_score, spherical_score

__version__ = "0.1.0"

__all__ = [
    "CalibrationFunction",
    "CalibrationTest",
    "Cellwise",
    "Classwise",
    "Comparison",
    "Difference",
    "Estimate",
    "Evaluation",
    "EvaluationRow",
    "Predictions",
    "ReliabilityDiagram",
    "accuracy",
    "brier_score",
    "calibration_function",
    "calibration_test",
    "cellwise",
    "classwise",
    "compare",
    "datasets",
    "distances",
    "estimate",
    "evaluate",
    "lenses",
    "log_score",
    "partitions",
    "reliability_diagram",
    "resampling",
    "scores",
    "spherical_score",
    "statistics",
]
