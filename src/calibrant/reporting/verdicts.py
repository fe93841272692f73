"""What the tests say, in plain words."""

from dataclasses import dataclass
from typing import final

import numpy as np

from calibrant.diagrams import ReliabilityDiagram
from calibrant.inference import Classwise, Verdict
from calibrant.reporting.descriptions import worst_range
from calibrant.words import ALPHA, NEEDED, apart, be, many, pvalue, too_few


@final
@dataclass(frozen=True, slots=True)
class Line:
    """One sentence about one aspect of calibration.

    Parameters
    ----------
    lead : str
        What is the case.
    facts : str
        The numbers.
    off : bool
        Whether calibration is rejected.
    undecided : bool, default False
        Whether there were too few resamples to reject anything.
    """

    lead: str
    facts: str
    off: bool
    undecided: bool = False

    @property
    def text(self) -> str:
        """The sentence."""
        return f"{self.lead}: {self.facts}."


def line_of(found: Verdict, diagram: ReliabilityDiagram | None) -> Line:
    """Return what the tests say, with the place where it is worst if a diagram shows one."""
    place = worst_range(diagram) if diagram is not None and found.rejected else ""
    return Line(found.lead, found.facts + place, found.rejected, not found.decided)


def classes_verdict(found: Classwise) -> Line:
    """Say how many classes are off when each is looked at alone, and which one most."""
    if (found.adjusted_pvalues <= ALPHA).any():
        return _some_classes(found)
    m, n_resamples = len(found.classes), found.null.shape[1]
    least = pvalue(float(found.adjusted_pvalues.min()), n_resamples)
    strongest = f"{least} for the strongest of {m:,}, adjusted for all tests of the page"
    undecided = n_resamples < NEEDED
    if found.mean_pvalue <= ALPHA:
        lead = "The classes are off when each is looked at alone, all of them taken together"
        mean, expected = apart(found.mean, float(found.null.mean()))
        facts = (
            f"{mean} in the mean of {m:,} classes, where {expected} would be expected of"
            f" calibrated ones; {pvalue(found.mean_pvalue, n_resamples)}. No single class is shown"
            f" to be off; {strongest}"
        )
        return Line(lead, facts + (f"; {too_few()}" if undecided else ""), off=True)
    if undecided:
        lead = f"Single classes cannot be judged with {many(n_resamples, 'resample')}"
        return Line(lead, f"{too_few()}; {strongest}", off=False, undecided=True)
    lead = "No class shows a sign of miscalibration when each is looked at alone"
    return Line(lead, strongest, off=False)


def _some_classes(found: Classwise) -> Line:
    """Say how many classes are off, and which one most."""
    off = found.adjusted_pvalues <= ALPHA
    count, m = int(off.sum()), len(found.classes)
    j = int(np.argmax(np.where(off, found.values, -1.0)))
    which = "All" if count == m else f"{count:,} of"
    lead = f"{which} {m:,} classes {be(count)} off when each is looked at alone"
    value, expected = apart(float(found.values[j]), float(found.null[j].mean()))
    p = pvalue(float(found.adjusted_pvalues[j]), found.null.shape[1])
    facts = (
        f"most of all “{found.classes[j]}” by {value} on average, where {expected} would be"
        " expected of a calibrated one;"
        f" {p}, adjusted for all tests of the page"
    )
    return Line(lead, facts, off=True)
