"""Risks of an event as clinicians and forecasters judge them: known numbers, with intervals."""

from calibrant.risks.clinical_numbers import Clinical, clinical
from calibrant.risks.forecasts import BrierParts, Verification, verification
from calibrant.risks.sample import Measured

__all__ = ["BrierParts", "Clinical", "Measured", "Verification", "clinical", "verification"]
