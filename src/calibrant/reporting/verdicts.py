"""What the tests say, in plain words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from calibrant.diagrams import ReliabilityDiagram
from calibrant.distances import total_variation
from calibrant.inference import Classwise, EvaluationRow
from calibrant.reporting.descriptions import direction, worst_range
from calibrant.reporting.words import ALPHA, NEEDED, be, capital, many, points, pvalue, too_few


@final
@dataclass(frozen=True, slots=True)
class Verdict:
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


def verdict(
    subject: str,
    rows: Sequence[EvaluationRow],
    diagram: ReliabilityDiagram | None,
    n_tests: int,
) -> Verdict:
    """Say whether probabilities are off, how far, in which direction and where.

    The verdict is that of the combination with the strongest evidence; its p-value is adjusted
    for all `n_tests` combinations of the table, so the choice is allowed for.

    Parameters
    ----------
    subject : str
        Plural noun: "the top-class probabilities".
    rows : sequence of EvaluationRow
        The combinations that are about it.
    diagram : ReliabilityDiagram or None
        A diagram of two outcomes, for direction and place; None if there are more.
    n_tests : int
        Number of tests that the p-values are adjusted for.

    Returns
    -------
    Verdict
        The sentence.
    """
    strongest = min(reversed(rows), key=lambda row: row.adjusted_pvalue)
    spoken = _in_total_variation(strongest, rows)
    subject = capital(subject)
    facts = (
        f"{points(spoken.value)} on average, where {points(float(spoken.null.mean()))} would be"
        f" expected of calibrated ones; {pvalue(strongest.adjusted_pvalue)}, adjusted for"
        f" {n_tests} tests"
    )
    if strongest.adjusted_pvalue <= ALPHA:
        how, where = ("off", "") if diagram is None else (direction(diagram), worst_range(diagram))
        return Verdict(f"{subject} are {how}", facts + where, off=True)
    if diagram is not None and diagram.n_off > 0:
        n_cells = diagram.series[0].function.n_cells
        cells = f"{diagram.n_off} of {n_cells} cells {be(diagram.n_off)} off"
        facts += f". Yet {cells}{worst_range(diagram)}"
    n_resamples = spoken.null.size
    if n_resamples < NEEDED:
        lead = f"{subject} cannot be judged with {many(n_resamples, 'resample')}"
        return Verdict(lead, f"{too_few()}; {facts}", off=False, undecided=True)
    return Verdict(f"{subject} show no sign of miscalibration on average", facts, off=False)


def _in_total_variation(row: EvaluationRow, rows: Sequence[EvaluationRow]) -> EvaluationRow:
    """Return the row of the same partition whose distance can be said in points, if any."""
    for other in rows:
        if other.partition == row.partition and other.distance is total_variation:
            return other
    return row


def classes_verdict(found: Classwise) -> Verdict:
    """Say how many classes are off when each is looked at alone, and which one most."""
    if (found.adjusted_pvalues <= ALPHA).any():
        return _some_classes(found)
    m, n_resamples = len(found.classes), found.null.shape[1]
    least = pvalue(float(found.adjusted_pvalues.min()))
    strongest = f"{least} for the strongest, adjusted for {m} classes"
    undecided = n_resamples < NEEDED
    if found.mean_pvalue <= ALPHA:
        lead = "The classes are off when each is looked at alone, all of them taken together"
        facts = (
            f"{points(found.mean)} in the mean of {m} classes, where"
            f" {points(float(found.null.mean()))} would be expected of calibrated ones;"
            f" {pvalue(found.mean_pvalue)}. No single class is shown to be off; {strongest}"
        )
        return Verdict(lead, facts + (f"; {too_few()}" if undecided else ""), off=True)
    if undecided:
        lead = f"Single classes cannot be judged with {many(n_resamples, 'resample')}"
        return Verdict(lead, f"{too_few()}; {strongest}", off=False, undecided=True)
    lead = "No class shows a sign of miscalibration when each is looked at alone"
    return Verdict(lead, strongest, off=False)


def _some_classes(found: Classwise) -> Verdict:
    """Say how many classes are off, and which one most."""
    off = found.adjusted_pvalues <= ALPHA
    count, m = int(off.sum()), len(found.classes)
    j = int(np.argmax(np.where(off, found.values, -1.0)))
    which = "All" if count == m else f"{count} of"
    lead = f"{which} {m} classes {be(count)} off when each is looked at alone"
    facts = (
        f"most of all “{found.classes[j]}” by {points(float(found.values[j]))} on average, where"
        f" {points(float(found.null[j].mean()))} would be expected of a calibrated one;"
        f" {pvalue(float(found.adjusted_pvalues[j]))}, adjusted for {m} classes"
    )
    return Verdict(lead, facts, off=True)
