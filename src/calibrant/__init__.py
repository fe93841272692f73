"""Find out whether a classifier's probabilities can be trusted.

The objects of *Evaluating model calibration in classification* (AISTATS 2019), each in the
module that is named after it: `Predictions`, `lenses`, `partitions`, `distances`,
`statistics`, `resampling`, `scores`, `recalibration`. What puts them together:
`calibration_function`, `calibration_test`, `estimate`, `evaluate`, `compare`, `classwise`,
`binwise`, `slices`, `search`, `recalibrate`, `clinical`, `reliability_diagram`, `isotonic_diagram`,
`smooth_diagram`, `cumulative_diagram`, `class_diagram`, `score_plane`, `Trajectory`, `Monitor`,
`report`, `explore`; `load` reads files and `datasets` has examples.

A name is imported when it is first used, so that the command line answers at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what type checkers know; `as` tells them that a name is public
    from calibrant import conventions as conventions
    from calibrant import datasets as datasets
    from calibrant import distances as distances
    from calibrant import lenses as lenses
    from calibrant import partitions as partitions
    from calibrant import recalibration as recalibration
    from calibrant import resampling as resampling
    from calibrant import scores as scores
    from calibrant import statistics as statistics
    from calibrant.calibration import CalibrationFunction as CalibrationFunction
    from calibrant.calibration import calibration_function as calibration_function
    from calibrant.calibration_errors import MeasuredError as MeasuredError
    from calibrant.calibration_errors import ace as ace
    from calibrant.calibration_errors import classwise_ece as classwise_ece
    from calibrant.calibration_errors import ece as ece
    from calibrant.calibration_errors import mce as mce
    from calibrant.calibration_errors import rms as rms
    from calibrant.cross_fitting import Recalibration as Recalibration
    from calibrant.cross_fitting import RecalibrationRow as RecalibrationRow
    from calibrant.cross_fitting import recalibrate as recalibrate
    from calibrant.diagrams import ClassDiagram as ClassDiagram
    from calibrant.diagrams import CurveDiagram as CurveDiagram
    from calibrant.diagrams import DecisionCurve as DecisionCurve
    from calibrant.diagrams import FlexibleDiagram as FlexibleDiagram
    from calibrant.diagrams import ReliabilityDiagram as ReliabilityDiagram
    from calibrant.diagrams import ScorePlane as ScorePlane
    from calibrant.diagrams import class_diagram as class_diagram
    from calibrant.diagrams import cumulative_diagram as cumulative_diagram
    from calibrant.diagrams import decision_curve as decision_curve
    from calibrant.diagrams import flexible_diagram as flexible_diagram
    from calibrant.diagrams import isotonic_diagram as isotonic_diagram
    from calibrant.diagrams import reliability_diagram as reliability_diagram
    from calibrant.diagrams import score_plane as score_plane
    from calibrant.diagrams import smooth_diagram as smooth_diagram
    from calibrant.explorer import Explorer as Explorer
    from calibrant.explorer import explore as explore
    from calibrant.inference import Binwise as Binwise
    from calibrant.inference import CalibrationTest as CalibrationTest
    from calibrant.inference import Classwise as Classwise
    from calibrant.inference import Comparison as Comparison
    from calibrant.inference import Difference as Difference
    from calibrant.inference import Estimate as Estimate
    from calibrant.inference import Evaluation as Evaluation
    from calibrant.inference import EvaluationRow as EvaluationRow
    from calibrant.inference import Power as Power
    from calibrant.inference import Slice as Slice
    from calibrant.inference import Slices as Slices
    from calibrant.inference import Tally as Tally
    from calibrant.inference import Verdict as Verdict
    from calibrant.inference import assert_calibrated as assert_calibrated
    from calibrant.inference import binwise as binwise
    from calibrant.inference import calibration_test as calibration_test
    from calibrant.inference import classwise as classwise
    from calibrant.inference import compare as compare
    from calibrant.inference import estimate as estimate
    from calibrant.inference import evaluate as evaluate
    from calibrant.inference import power as power
    from calibrant.inference import slices as slices
    from calibrant.loading import load as load
    from calibrant.loading import load_models as load_models
    from calibrant.loading import scan as scan
    from calibrant.monitor import Monitor as Monitor
    from calibrant.predictions import Predictions as Predictions
    from calibrant.regions import Region as Region
    from calibrant.regions import Regions as Regions
    from calibrant.regions import search as search
    from calibrant.reporting import report as report
    from calibrant.risks import Clinical as Clinical
    from calibrant.risks import Verification as Verification
    from calibrant.risks import clinical as clinical
    from calibrant.risks import verification as verification
    from calibrant.rows import Scan as Scan
    from calibrant.scores import accuracy as accuracy
    from calibrant.scores import brier_score as brier_score
    from calibrant.scores import decompose as decompose
    from calibrant.scores import log_score as log_score
    from calibrant.scores import spherical_score as spherical_score
    from calibrant.trajectory import Trajectory as Trajectory
    from calibrant.trajectory import TrajectoryRow as TrajectoryRow

__version__ = "0.3.0"

_HOMES = {  # where public names live; "" for modules
    "": "conventions datasets distances lenses partitions recalibration resampling scores"
    " statistics",
    "calibration": "CalibrationFunction calibration_function",
    "calibration_errors": "MeasuredError ace classwise_ece ece mce rms",
    "cross_fitting": "Recalibration RecalibrationRow recalibrate",
    "diagrams": "ClassDiagram CurveDiagram DecisionCurve FlexibleDiagram ReliabilityDiagram"
    " ScorePlane class_diagram cumulative_diagram decision_curve flexible_diagram isotonic_diagram"
    " reliability_diagram score_plane smooth_diagram",
    "explorer": "Explorer explore",
    "inference": "CalibrationTest Binwise Classwise Comparison Difference Estimate Evaluation"
    " EvaluationRow Power Slice Slices Tally Verdict assert_calibrated calibration_test binwise"
    " classwise compare estimate evaluate power slices",
    "loading": "load load_models scan",
    "monitor": "Monitor",
    "predictions": "Predictions",
    "regions": "Region Regions search",
    "reporting": "report",
    "risks": "Clinical Verification clinical verification",
    "rows": "Scan",
    "scores": "accuracy brier_score decompose log_score spherical_score",
    "trajectory": "Trajectory TrajectoryRow",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}


if not TYPE_CHECKING:  # which knows the names from their imports, and no others
    __all__ = sorted(_HOME_OF)  # noqa: PLE0605 (each name stands once, in the table above)

    def __getattr__(name: str) -> Any:
        if name not in _HOME_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        if _HOME_OF[name]:
            value = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
        else:
            value = import_module(f"{__name__}.{name}")
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return ["__version__", *__all__]
