"""What the numbers say, in plain words."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from calibrant.diagrams import ReliabilityDiagram
from calibrant.distances import total_variation
from calibrant.inference import Classwise, EvaluationRow

ALPHA = 0.05
SMALL = 0.01  # share of the rows below which a cell is not called the worst


@final
@dataclass(frozen=True, slots=True)
class Verdict:
    """One sentence about one aspect of calibration.

    Parameters
    ----------
    lead : what is the case
    facts : the numbers
    off : whether calibration is rejected
    undecided : whether there were too few resamples to reject anything
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
    subject : plural noun: "the top-class probabilities"
    rows : the combinations that are about it
    diagram : of two outcomes, for direction and place; None if there are more
    n_tests : number of tests that the p-values are adjusted for
    """
    strongest = min(reversed(rows), key=lambda row: row.adjusted_pvalue)
    row = next(
        (
            row
            for row in rows
            if row.partition == strongest.partition and row.distance is total_variation
        ),
        strongest,
    )
    p = strongest.adjusted_pvalue
    off = p <= ALPHA
    subject = capital(subject)
    facts = (
        f"{points(row.value)} on average, where {points(float(row.null.mean()))} would be"
        f" expected of calibrated ones; {pvalue(p)}, adjusted for {n_tests} tests"
    )
    if off:
        how = "off" if diagram is None else direction(diagram)
        where = "" if diagram is None else worst_range(diagram)
        return Verdict(f"{subject} are {how}", facts + where, off)
    if diagram is not None and (count := int(diagram.series[0].significant(diagram.alpha).sum())):
        n_cells = diagram.series[0].function.n_cells
        facts += f". Yet {count} of {n_cells} cells {be(count)} off{worst_range(diagram)}"
    if (n_resamples := row.null.size) < needed(n_tests):
        lead = f"{subject} cannot be judged with {many(n_resamples, 'resample')}"
        return Verdict(lead, f"{too_few(n_tests)}; {facts}", off, undecided=True)
    return Verdict(f"{subject} show no sign of miscalibration on average", facts, off)


def classes_verdict(found: Classwise) -> Verdict:
    """Say how many classes are off when each is looked at alone, and which one most."""
    adjusted = found.adjusted_pvalues
    count, m = int((adjusted <= ALPHA).sum()), len(found.classes)
    least = pvalue(float(adjusted.min()))
    n_resamples = found.null.shape[1]
    if count == 0 and found.mean_pvalue <= ALPHA:
        lead = "The classes are off when each is looked at alone, all of them taken together"
        facts = (
            f"{points(found.mean)} in the mean of {m} classes, where"
            f" {points(float(found.null.mean()))} would be expected of calibrated ones;"
            f" {pvalue(found.mean_pvalue)}. No single class is shown to be off; {least} for the"
            f" strongest, adjusted for {m} classes"
        )
        if n_resamples < needed(m):
            facts += f"; {too_few(m)}"
        return Verdict(lead, facts, True)
    strongest = f"{least} for the strongest, adjusted for {m} classes"
    if count == 0 and n_resamples < needed(m):
        lead = f"Single classes cannot be judged with {many(n_resamples, 'resample')}"
        return Verdict(lead, f"{too_few(m)}; {strongest}", False, undecided=True)
    if count == 0:
        lead = "No class shows a sign of miscalibration when each is looked at alone"
        return Verdict(lead, strongest, False)
    j = int(np.argmax(np.where(adjusted <= ALPHA, found.values, -1.0)))
    which = "All" if count == m else f"{count} of"
    lead = f"{which} {m} classes {be(count)} off when each is looked at alone"
    facts = (
        f"most of all “{found.classes[j]}” by {points(float(found.values[j]))} on average, where"
        f" {points(float(found.null[j].mean()))} would be expected of a calibrated one;"
        f" {pvalue(float(adjusted[j]))}, adjusted for {m} classes"
    )
    return Verdict(lead, facts, True)


def needed(n_tests: int) -> int:
    """Return the least number of resamples B with n_tests / (B + 1) at most ALPHA.

    With fewer, no p-value that is adjusted for `n_tests` tests (Holm) can reject.
    """
    n_resamples = max(1, math.floor(n_tests / ALPHA) - 2)
    while n_tests * (1.0 / (n_resamples + 1)) > ALPHA:
        n_resamples += 1
    return n_resamples


def too_few(n_tests: int) -> str:
    """Say how many resamples a rejection needs."""
    return f"at least {needed(n_tests):,} are needed to reject calibration at {100 * ALPHA:g} %"


def direction(diagram: ReliabilityDiagram) -> str:
    """Say whether predictions of two outcomes are too high, too low, or both."""
    return {
        -1: "too high",
        0: "too high in some places and too low in others",
        1: "too low",
    }[_sign(diagram)]


def _sign(diagram: ReliabilityDiagram) -> int:
    """Return the sign of the deviations, 0 if both are common.

    Cells that are significantly off decide, if there are any.
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

    Cells of the common sign count, and of these such as hold a hundredth of the rows, if there
    are any: a few rows say little about a model.
    """
    series = diagram.series[0]
    fn = series.function
    x, gaps = fn.predicted[:, diagram.event], fn.deviations[:, diagram.event]
    off = series.significant(diagram.alpha) & (gaps * (_sign(diagram) or np.sign(gaps)) > 0)
    if (off & (fn.proportions >= SMALL)).any():
        off &= fn.proportions >= SMALL
    if not off.any():
        return ""
    size = np.abs(gaps)
    top = int(np.argmax(np.where(off, size, -1.0)))
    large = off & (size >= 0.75 * size[top])
    order = np.argsort(x, kind="stable")
    first = last = int(np.flatnonzero(order == top)[0])
    while first > 0 and large[order[first - 1]]:
        first -= 1
    while last < order.size - 1 and large[order[last + 1]]:
        last += 1
    k = diagram.edges.size - 1
    ends = x[order[[first, last]]] * k + 1e-9  # a mean of equal numbers may be rounded below them
    low, high = (diagram.edges[min(int(end), k - 1) + i] for i, end in enumerate(ends))
    return f"; worst between {low:.2g} and {high:.2g}"


def cell_sentences(
    diagram: ReliabilityDiagram, names: Sequence[str], most: int
) -> list[tuple[float, str]]:
    """Describe the significant cells: pairs of their share times deviation, and a sentence.

    Parameters
    ----------
    names : of the outcomes, to stand in a sentence
    most : number of cells to describe
    """
    series = diagram.series[0]
    fn, p = series.function, series.cells.adjusted_pvalues
    found = []
    for c in np.flatnonzero(series.significant(diagram.alpha)):
        gaps = fn.deviations[c]
        j = diagram.event if diagram.n_outcomes == 2 else int(np.argmax(np.abs(gaps)))
        text = (
            f"in {rows_of(float(fn.counts[c]), fn.weighted)} {names[j]} had a probability of"
            f" {fn.predicted[c, j]:.1%} on average and occurred in {fn.observed[c, j]:.1%};"
            f" {pvalue(float(p[c]))}, adjusted for {many(fn.n_cells, 'cell')}."
        )
        found.append((float(fn.proportions[c] * np.abs(gaps).sum() / 2), text))
    return sorted(found, key=lambda pair: -pair[0])[:most]


def summary(diagram: ReliabilityDiagram) -> str:
    """Say how many cells of a diagram are off."""
    count = int(diagram.series[0].significant(diagram.alpha).sum())
    n_cells = diagram.series[0].function.n_cells
    n_resamples = diagram.series[0].cells.largest.size
    if n_resamples < needed(1):
        return f"Cells cannot be judged with {many(n_resamples, 'resample')}: {too_few(1)}."
    if count == 0:
        which = "The only cell is not" if n_cells == 1 else f"None of the {n_cells} cells is"
        return f"{which} further off than chance allows."
    which = "The only cell" if n_cells == 1 else f"{count} of {n_cells} cells"
    return (
        f"{which} {be(count)} further off than chance allows: if the model were calibrated, the"
        f" chance of any such cell would be at most {100 * diagram.alpha:g} %."
    )


def be(count: int) -> str:
    """Return the verb for a number of things."""
    return "is" if count == 1 else "are"


def many(count: float, noun: str) -> str:
    """Write a number of things: "1 row", "2,000 rows"."""
    return f"{count:,.12g} {noun}{'' if count == 1 else 's'}"


def rows_of(count: float, weighted: bool) -> str:
    """Write the number of rows of a cell, or their weight: "rows of weight 470.8"."""
    if not weighted:
        return many(count, "row")
    return f"rows of weight {count:,.1f}" if count >= 100 else f"rows of weight {count:.4g}"


def capital(text: str) -> str:
    """Begin a text with a capital letter."""
    return text[:1].upper() + text[1:]


def points(share: float) -> str:
    """Write a difference of probabilities in percentage points."""
    return f"{100 * share:.1f} points"


def pvalue(p: float) -> str:
    """Write a p-value, on one line."""
    return (
        f"p\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{p:.3f}"
        if p >= 0.001
        else "p\N{NO-BREAK SPACE}<\N{NO-BREAK SPACE}0.001"
    )
