"""Recalibration: calibrators estimate the calibration function r of §2.1, so r(g(x)) is calibrated.

A method is a frozen object; ``fit`` gives a calibrator, a `Map`, which is called on predictions. It
may use `predictions`, partitions, `calibration`, `checks` and the engine. It has not heard of
inference.
"""

from calibrant.recalibration.histogram import Histogram, HistogramMap
from calibrant.recalibration.isotonic import Curve, Isotonic, IsotonicMap
from calibrant.recalibration.kinds import load_map
from calibrant.recalibration.map import Chain, Map, Method
from calibrant.recalibration.scaling import Beta, Dirichlet, LogLinearMap, Matrix, Vector
from calibrant.recalibration.temperature import Temperature, TemperatureMap

__all__ = [
    "Beta",
    "Chain",
    "Curve",
    "Dirichlet",
    "Histogram",
    "HistogramMap",
    "Isotonic",
    "IsotonicMap",
    "LogLinearMap",
    "Map",
    "Matrix",
    "Method",
    "Temperature",
    "TemperatureMap",
    "Vector",
    "load_map",
]


def __dir__() -> list[str]:
    return __all__
