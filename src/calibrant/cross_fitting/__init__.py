"""Cross-fitting: what recalibration does to rows that the maps have not seen.

Methods of `recalibration` are judged with the tests of `inference`; neither knows of the other.
"""

from calibrant.cross_fitting.before_after import recalibrate
from calibrant.cross_fitting.change import Change
from calibrant.cross_fitting.result import Recalibration, RecalibrationRow

__all__ = ["Change", "Recalibration", "RecalibrationRow", "recalibrate"]
