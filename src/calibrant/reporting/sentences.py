"""What tests and diagrams show, in plain words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from calibrant.diagrams import ReliabilityDiagram
from calibrant.diagrams.curve import runs
from calibrant.inference import Classwise, Verdict
from calibrant.lenses import TopLabel
from calibrant.words import ALPHA, NEEDED, apart, be, many, pvalue, rows_of, too_few

SMALL = 0.01  # share of the rows below which a bin is not called the worst


@final
@dataclass(frozen=True, slots=True)
class Line:
    """One sentence about one aspect of calibration."""

    lead: str  # what is the case
    facts: str  # the numbers
    off: bool  # whether calibration is rejected

    @property
    def text(self) -> str:
        """The sentence."""
        return f"{self.lead}: {self.facts}."


def line_of(found: Verdict, diagram: ReliabilityDiagram | None) -> Line:
    """Return what the tests say, with the place where it is worst if a diagram shows one."""
    place = worst_range(diagram) if diagram is not None and found.rejected else ""
    return Line(found.lead, found.facts + place, found.rejected)


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
        return Line(lead, f"{too_few()}; {strongest}", off=False)
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


def spoken_outcomes(diagram: ReliabilityDiagram) -> list[str]:
    """Return the outcomes as a sentence names them."""
    names = [f"“{name}”" for name in diagram.classes]
    if diagram.subject is not None:
        names[diagram.event] = diagram.subject
    return names


def bin_sentences(
    diagram: ReliabilityDiagram, names: Sequence[str], most: int
) -> list[tuple[float, str]]:
    """Describe the significant bins of one model: share times deviation, and a sentence.

    names : the outcomes as a sentence names them
    most : number of bins to describe, the largest first
    """
    series = diagram.series[0]
    fn, p, n_resamples = series.function, series.cells.adjusted_pvalues, series.cells.largest.size
    found = []
    for c in np.flatnonzero(series.significant(diagram.alpha)):
        gaps = fn.deviations[c]
        j = diagram.event if diagram.n_outcomes == 2 else int(np.argmax(np.abs(gaps)))
        says = "{} had a probability of {:.1%} on average and occurred in {:.1%}"
        if names[j] == TopLabel().subject:
            says = "the confidence was {1:.1%} on average and the accuracy {2:.1%}"
        text = (
            f"in {rows_of(float(fn.counts[c]), fn.weighted)}"
            f" {says.format(names[j], fn.predicted[c, j], fn.observed[c, j])};"
            f" {pvalue(float(p[c]), n_resamples)}, adjusted for all tests of the page."
        )
        found.append((float(fn.proportions[c] * np.abs(gaps).sum() / 2), text))
    return sorted(found, key=lambda pair: -pair[0])[:most]


def _common_sign(diagram: ReliabilityDiagram) -> int:
    """Return the sign of the deviations, 0 if both are common.

    Bins that are significant decide, if there are any.
    """
    series = diagram.series[0]
    off = series.significant(diagram.alpha)
    mass = series.function.proportions * (off if off.any() else 1.0)
    deviations = series.function.deviations[:, diagram.event]
    net = float(mass @ deviations)
    if abs(net) < 0.5 * float(mass @ np.abs(deviations)):
        return 0
    return 1 if net > 0 else -1


def worst_range(diagram: ReliabilityDiagram) -> str:
    """Say between which predictions significant deviations are largest; "" if none is.

    Bins of the common sign count, and of these such as hold a hundredth of the rows, if there
    are any: a few rows say little about a model.
    """
    fn = diagram.series[0].function
    candidates = _candidates(diagram)
    if not candidates.any():
        return ""
    x, size = fn.predicted[:, diagram.event], np.abs(fn.deviations[:, diagram.event])
    worst = int(np.argmax(np.where(candidates, size, -1.0)))
    large = candidates & (size >= 0.75 * size[worst])
    order = np.argsort(x, kind="stable")
    place = int(np.flatnonzero(order == worst)[0])
    first, last = next((a, b - 1) for a, b in runs(large[order]) if a <= place < b)
    k = diagram.edges.size - 1
    ends = x[order[[first, last]]] * k + 1e-9  # a mean of equal numbers may be rounded below them
    low, high = np.minimum(ends.astype(int), k - 1) + np.array([0, 1])
    return f"; worst between {diagram.edges[low]:.2g} and {diagram.edges[high]:.2g}"


def _candidates(diagram: ReliabilityDiagram) -> NDArray[np.bool_]:
    """Return which bins (bins,) may be called the worst."""
    series = diagram.series[0]
    gaps = series.function.deviations[:, diagram.event]
    sign = _common_sign(diagram)
    off = series.significant(diagram.alpha) & (gaps != 0)
    if sign != 0:
        off &= gaps * sign > 0
    big: NDArray[np.bool_] = off & (series.function.proportions >= SMALL)
    return big if big.any() else off
