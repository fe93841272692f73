"""Calibration lenses psi of §3.1: a problem in, the induced problem out.

A lens is called on `Predictions` and returns `Predictions`, so nothing downstream has heard
of lenses. ``a >> b`` looks through a first and then through b.
"""

from calibrant.lenses.canonical import Canonical
from calibrant.lenses.groups import Groups
from calibrant.lenses.induced import Induced
from calibrant.lenses.lens import Chain, Lens
from calibrant.lenses.marginal import Marginal
from calibrant.lenses.pooled import Pooled
from calibrant.lenses.top import TopK, TopLabel

__all__ = [
    "Canonical",
    "Chain",
    "Groups",
    "Induced",
    "Lens",
    "Marginal",
    "Pooled",
    "TopK",
    "TopLabel",
]
