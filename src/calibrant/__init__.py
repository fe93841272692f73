"""Find out whether a classifier's probabilities can be trusted.

The objects of *Evaluating model calibration in classification* (AISTATS 2019), each in the
module that is named after it: `Predictions`, `lenses`, `partitions`, `distances`,
`statistics`, `scores`, and `calibration_function`, which puts them together.
"""

from calibrant import distances, lenses, partitions, scores, statistics
from calibrant.calibration import CalibrationFunction, calibration_function
from calibrant.predictions import Predictions
from calibrant.scores import accuracy, brier_score, log_score, spherical_score

__version__ = "0.1.0"

__all__ = [
    "CalibrationFunction",
    "Predictions",
    "accuracy",
    "brier_score",
    "calibration_function",
    "distances",
    "lenses",
    "log_score",
    "partitions",
    "scores",
    "spherical_score",
    "statistics",
]
