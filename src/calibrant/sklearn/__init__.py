"""Calibration in scikit-learn's world; needs ``pip install 'calibrant[sklearn]'``.

`Recalibrated` wraps a classifier, `ReliabilityDisplay` draws one, `CalibrationScorer` scores one.
"""

from calibrant.checks.doors import needs

needs("calibrant.sklearn", "sklearn", extra="sklearn")

from calibrant.sklearn.display import ReliabilityDisplay  # noqa: E402
from calibrant.sklearn.recalibrated import Recalibrated  # noqa: E402
from calibrant.sklearn.scorer import CalibrationScorer  # noqa: E402

__all__ = ["CalibrationScorer", "Recalibrated", "ReliabilityDisplay"]


def __dir__() -> list[str]:
    return __all__
