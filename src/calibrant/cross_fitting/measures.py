"""The measures of calibration in the table: which test, and which size."""

from calibrant.inference import CalibrationTest, calibration_test
from calibrant.inference.replicates.plan import Plan
from calibrant.inference.testing.families import default_tree
from calibrant.predictions import Predictions
from calibrant.statistics import SquaredMiscalibration


def calibrated_test(data: Predictions, plan: Plan) -> CalibrationTest:
    """Test the hypothesis that outcomes are drawn from the predictions."""
    return calibration_test(
        data, n_resamples=plan.n_resamples, rng=plan.seed, progress=plan.progress
    )


def squared_miscalibration(data: Predictions) -> float:
    """Return the squared Euclidean miscalibration on cells, without bias."""
    return SquaredMiscalibration(default_tree(data))(data)
