"""Risks of an event as clinicians and forecasters judge them: known numbers, with intervals."""

from calibrant.risks.clinical import Clinical, clinical
from calibrant.risks.sample import Measured

__all__ = ["Clinical", "Measured", "clinical"]
