"""What the numbers say, in plain words."""

from dataclasses import dataclass
from typing import final

import numpy as np

from calibrant.diagrams import ReliabilityDiagram
from calibrant.inference import EvaluationRow

ALPHA = 0.05


@final
@dataclass(frozen=True, slots=True)
class Verdict:
    """One sentence about one aspect of calibration.

    Parameters
    ----------
    subject : what it is about
    text : the sentence
    off : whether calibration is rejected
    """

    subject: str
    text: str
    off: bool


def verdict(subject: str, row: EvaluationRow, diagram: ReliabilityDiagram | None) -> Verdict:
    """Say whether probabilities are off, how far, in which direction and where.

    Parameters
    ----------
    subject : plural noun: "the top-class probabilities"
    row : the estimate with its test
    diagram : of two outcomes, for direction and place; None if there are more
    """
    off = row.adjusted_pvalue <= ALPHA
    subject = subject[0].upper() + subject[1:]
    expected = f"{points(float(row.null.mean()))} would be expected if they were calibrated"
    if not off:
        text = (
            f"{subject} show no sign of miscalibration: {points(row.value)} on average,"
            f" {expected}; {pvalue(row.adjusted_pvalue)}."
        )
        return Verdict(subject, text, off)
    how = "off" if diagram is None else direction(diagram)
    where = "" if diagram is None else worst_range(diagram)
    text = (
        f"{subject} are {how}: {points(row.value)} on average, where {expected};"
        f" {pvalue(row.adjusted_pvalue)}{where}."
    )
    return Verdict(subject, text, off)


def direction(diagram: ReliabilityDiagram) -> str:
    """Say whether predictions of two outcomes are too high, too low, or both."""
    fn = diagram.series[0].function
    deviations = fn.deviations[:, diagram.event]
    net = float(fn.proportions @ deviations)
    if abs(net) < 0.5 * float(fn.proportions @ np.abs(deviations)):
        return "too high in some places and too low in others"
    return "too low" if net > 0 else "too high"


def worst_range(diagram: ReliabilityDiagram) -> str:
    """Say between which predictions significant deviations are largest; "" if none is."""
    series = diagram.series[0]
    fn = series.function
    x, size = fn.predicted[:, diagram.event], np.abs(fn.deviations[:, diagram.event])
    off = series.significant(diagram.alpha)
    if not off.any():
        return ""
    top = int(np.argmax(np.where(off, size, -1.0)))
    large = off & (size >= 0.75 * size[top])
    order = np.argsort(x)
    place = int(np.flatnonzero(order == top)[0])
    first = last = place
    while first > 0 and large[order[first - 1]]:
        first -= 1
    while last < order.size - 1 and large[order[last + 1]]:
        last += 1
    k = diagram.edges.size - 1
    low = diagram.edges[min(int(x[order[first]] * k), k - 1)]
    high = diagram.edges[min(int(x[order[last]] * k), k - 1) + 1]
    return f"; worst between {low:.2g} and {high:.2g}"


def cell_sentences(what: str, diagram: ReliabilityDiagram, most: int) -> list[tuple[float, str]]:
    """Describe the significant cells: pairs of their share times deviation, and a sentence."""
    series = diagram.series[0]
    fn, p = series.function, series.cells.adjusted_pvalues
    found = []
    for c in np.flatnonzero(series.significant(diagram.alpha)):
        gaps = fn.deviations[c]
        j = diagram.event if diagram.n_outcomes == 2 else int(np.argmax(np.abs(gaps)))
        name = diagram.classes[j]
        text = (
            f"{what}: in a cell of {fn.counts[c]:,.6g} rows “{name}” was predicted with"
            f" {fn.predicted[c, j]:.1%} and occurred in {fn.observed[c, j]:.1%};"
            f" {pvalue(float(p[c]))}, adjusted for {fn.n_cells} cells."
        )
        found.append((float(fn.proportions[c] * np.abs(gaps).sum() / 2), text))
    return sorted(found, reverse=True)[:most]


def points(share: float) -> str:
    """Write a difference of probabilities in percentage points."""
    return f"{100 * share:.1f} points"


def pvalue(p: float) -> str:
    """Write a p-value."""
    return f"p = {p:.3f}" if p >= 0.001 else "p < 0.001"
