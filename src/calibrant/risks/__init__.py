"""Risks of an event as clinicians and forecasters judge them: known numbers, with intervals."""

from calibrant.risks.clinical import Clinical, clinical
from calibrant.risks.sample import Measured
from calibrant.risks.verification import BrierParts, Verification, verification

__all__ = ["BrierParts", "Clinical", "Measured", "Verification", "clinical", "verification"]
