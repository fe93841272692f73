"""Find out whether a classifier's probabilities can be trusted.

The objects of *Evaluating model calibration in classification* (AISTATS 2019), each in the
module that is named after it: `Predictions`, `lenses`, `partitions`, `distances`,
`statistics`, `resampling`, `scores`, `recalibration`. What puts them together:
`calibration_function`, `calibration_test`, `estimate`, `evaluate`, `compare`, `classwise`,
`binwise`, `recalibrate`, `reliability_diagram`, `isotonic_diagram`, `smooth_diagram`,
`cumulative_diagram`, `score_plane`, `Trajectory`, `report`; `load` reads files and `datasets` has
examples.

A name is imported when it is first used, so that the command line answers at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from calibrant import (
        datasets,
        distances,
        lenses,
        partitions,
        recalibration,
        resampling,
        scores,
        statistics,
    )
    from calibrant.calibration import CalibrationFunction, calibration_function
    from calibrant.cross_fitting import Recalibration, RecalibrationRow, recalibrate
    from calibrant.diagrams import (
        CurveDiagram,
        ReliabilityDiagram,
        ScorePlane,
        cumulative_diagram,
        isotonic_diagram,
        reliability_diagram,
        score_plane,
        smooth_diagram,
    )
    from calibrant.inference import (
        Binwise,
        CalibrationTest,
        Classwise,
        Comparison,
        Difference,
        Estimate,
        Evaluation,
        EvaluationRow,
        Power,
        Slice,
        Slices,
        Tally,
        Verdict,
        binwise,
        calibration_test,
        classwise,
        compare,
        estimate,
        evaluate,
        power,
        slices,
    )
    from calibrant.loading import load, load_models, scan
    from calibrant.predictions import Predictions
    from calibrant.reporting import report
    from calibrant.rows import Scan
    from calibrant.scores import accuracy, brier_score, decompose, log_score, spherical_score
    from calibrant.statistics import ece
    from calibrant.trajectory import Trajectory, TrajectoryRow

__version__ = "0.2.0.dev0"

__all__ = [
    "Binwise",
    "CalibrationFunction",
    "CalibrationTest",
    "Classwise",
    "Comparison",
    "CurveDiagram",
    "Difference",
    "Estimate",
    "Evaluation",
    "EvaluationRow",
    "Power",
    "Predictions",
    "Recalibration",
    "RecalibrationRow",
    "ReliabilityDiagram",
    "Scan",
    "ScorePlane",
    "Slice",
    "Slices",
    "Tally",
    "Trajectory",
    "TrajectoryRow",
    "Verdict",
    "accuracy",
    "binwise",
    "brier_score",
    "calibration_function",
    "calibration_test",
    "classwise",
    "compare",
    "cumulative_diagram",
    "datasets",
    "decompose",
    "distances",
    "ece",
    "estimate",
    "evaluate",
    "isotonic_diagram",
    "lenses",
    "load",
    "load_models",
    "log_score",
    "partitions",
    "power",
    "recalibrate",
    "recalibration",
    "reliability_diagram",
    "report",
    "resampling",
    "scan",
    "score_plane",
    "scores",
    "slices",
    "smooth_diagram",
    "spherical_score",
    "statistics",
]

_HOMES = {
    "calibration": "CalibrationFunction calibration_function",
    "cross_fitting": "Recalibration RecalibrationRow recalibrate",
    "diagrams": "CurveDiagram ReliabilityDiagram ScorePlane cumulative_diagram isotonic_diagram"
    " reliability_diagram score_plane smooth_diagram",
    "inference": "CalibrationTest Binwise Classwise Comparison Difference Estimate Evaluation"
    " EvaluationRow Power Slice Slices Tally Verdict calibration_test binwise classwise compare"
    " estimate evaluate power slices",
    "loading": "load load_models scan",
    "predictions": "Predictions",
    "reporting": "report",
    "rows": "Scan",
    "scores": "accuracy brier_score decompose log_score spherical_score",
    "statistics": "ece",
    "trajectory": "Trajectory TrajectoryRow",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}


if not TYPE_CHECKING:  # which knows the names from their imports, and no others

    def __getattr__(name: str) -> Any:
        if name in _HOME_OF:
            value = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
        elif name in __all__:
            value = import_module(f"{__name__}.{name}")
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return ["__version__", *__all__]
