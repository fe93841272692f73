"""Calibration lenses psi of §3.1: a problem in, the induced problem out.

A lens is called on `Predictions` and returns `Predictions`, so that statistics need not know of
it. ``a >> b`` looks through a first and then through b. It may use `predictions`, `checks` and the
engine.
"""

from calibrant.lenses.classes import Canonical, Groups, Marginal, Pooled, TopK, TopLabel
from calibrant.lenses.lens import Chain, Induced, Lens, Outcomes

__all__ = [
    "Canonical",
    "Chain",
    "Groups",
    "Induced",
    "Lens",
    "Marginal",
    "Outcomes",
    "Pooled",
    "TopK",
    "TopLabel",
]


def __dir__() -> list[str]:
    return __all__
