"""One adjustment for all that a page says about a model.

Tests, bins, classes, groups and the curve of a page see the same draws. Each of these boxes has a
strongest piece of evidence, in the data and in every replicate, and so a p-value that is adjusted
within the box. If the model is calibrated, data and replicates are exchangeable. So the share of
them in which some box has a p-value of at most p is a p-value for the whole page (Westfall and
Young), and the chance of any significant claim on the page of a calibrated model is at most 5 %.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from calibrant.diagrams import CurveDiagram, ReliabilityDiagram
from calibrant.inference import Classwise, Evaluation, EvaluationRow, Slices, Verdict
from calibrant.inference.adjustment import largest, pvalues_of_row, strongest
from calibrant.words import ALPHA

Floats = NDArray[np.float64]
Evidence = tuple[float, Floats]  # of the data, and of every replicate: larger is stronger
Adjust = Callable[[Floats], Floats]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Drawing:
    """A diagram with its place in the report."""

    name: str  # for links
    title: str  # of its section
    diagram: ReliabilityDiagram
    outcomes: Sequence[str]  # as a sentence names them


class Boxes(NamedTuple):
    """What a page says about a model, one box after the other; see `Contents`."""

    evaluation: Evaluation
    drawings: tuple[Drawing, ...]
    curve: CurveDiagram | None
    classes: Classwise | None
    class_drawings: tuple[Drawing, ...]
    slices: Slices | None


def of_tests(rows: Sequence[EvaluationRow]) -> Evidence:
    """Return the strongest evidence of tests."""
    values = np.array([row.value for row in rows])
    return strongest(values, np.stack([row.null for row in rows]))


def of_classes(found: Classwise) -> list[Evidence]:
    """Return the evidence of the class that is furthest off, and of the mean of all."""
    return [largest(found.values, found.null), (found.mean, found.null.mean(axis=0))]


def of_cells(diagram: ReliabilityDiagram) -> Evidence:
    """Return the evidence of the bin that is furthest off."""
    cells = diagram.series[0].cells
    return float(cells.standardised.max()), cells.largest


def of_curve(diagram: CurveDiagram) -> Evidence:
    """Return the evidence of the point that is furthest off."""
    band = diagram.series[0].band
    return band.farthest, band.largest


def adjustment(families: Iterable[Evidence]) -> Adjust:
    """Return what makes p-values of boxes p-values of the page.

    Examples
    --------
    >>> one = 3.0, np.array([1.0, 2.0, 4.0])
    >>> two = 1.0, np.array([3.0, 2.0, 4.0])
    >>> adjustment([one, two])(np.array([0.5, 0.25])).tolist()
    [0.75, 0.25]
    """
    table = np.stack([pvalues_of_row(np.append(value, null)) for value, null in families])
    smallest = np.sort(table.min(axis=0))

    def adjust(p: Floats) -> Floats:
        return np.searchsorted(smallest, np.asarray(p) * (1 + 1e-12), "right") / smallest.size

    return adjust


def judged_tests(found: Evaluation, adjust: Adjust, n_tests: int) -> Evaluation:
    """Return the tests, and what they say, as part of a page with so many tests."""
    verdicts = [judged_verdict(verdict, adjust, n_tests) for verdict in found.verdicts]
    rows = [
        replace(row, adjusted_pvalue=float(adjust(np.array(row.adjusted_pvalue))))
        for row in found.rows
    ]
    return replace(found, verdicts=tuple(verdicts), rows=tuple(rows))


def judged_verdict(verdict: Verdict, adjust: Adjust, n_tests: int) -> Verdict:
    """Return what tests say as part of a page with so many tests."""
    found = replace(verdict, pvalue=float(adjust(np.array(verdict.pvalue))), n_tests=n_tests)
    return found if found.rejected else replace(found, direction=None)


def judged_slices(found: Slices, adjust: Adjust, n_tests: int) -> Slices:
    """Return groups that are judged as part of a page with so many tests."""
    rows = [
        replace(row, verdict=judged_verdict(row.verdict, adjust, n_tests)) for row in found.rows
    ]
    return replace(found, rows=tuple(rows))


def cells_of_page(diagram: ReliabilityDiagram, adjust: Adjust) -> ReliabilityDiagram:
    """Return a diagram whose bins are judged as part of a page."""
    (series,) = diagram.series
    cells = replace(series.cells, together=adjust)
    return replace(diagram, series=(replace(series, cells=cells),))


def curve_of_page(diagram: CurveDiagram, adjust: Adjust) -> CurveDiagram:
    """Return a curve whose points are judged as part of a page."""
    (series,) = diagram.series
    band = replace(series.band, pvalues=adjust(series.band.pvalues))
    return replace(diagram, series=(replace(series, band=band),))


def judged_together(found: Boxes) -> Boxes:
    """Adjust all boxes together; bins of a class are judged if the class is shown to be off."""
    n_tests, evidence = _of_page(found)
    adjust = adjustment(evidence)
    classes = None if found.classes is None else replace(found.classes, together=adjust)
    return Boxes(
        judged_tests(found.evaluation, adjust, n_tests),
        tuple(_judged(drawing, adjust) for drawing in found.drawings),
        None if found.curve is None else curve_of_page(found.curve, adjust),
        classes,
        _judged_classes(found.class_drawings, classes),
        None if found.slices is None else judged_slices(found.slices, adjust, n_tests),
    )


def _of_page(found: Boxes) -> tuple[int, list[Evidence]]:
    """Return the number of tests of a page, and the evidence of its boxes."""
    cells = [drawing.diagram for drawing in found.drawings]
    evidence = [of_tests(found.evaluation.rows), *map(of_cells, cells)]
    n_tests = len(found.evaluation.rows)
    n_tests += sum(diagram.series[0].function.n_cells for diagram in cells)
    if found.curve is not None:
        evidence.append(of_curve(found.curve))
        n_tests += 1
    if found.classes is not None:
        evidence += of_classes(found.classes)
        n_tests += len(found.classes.classes) + 1
    if found.slices is not None:
        evidence.append(of_tests(found.slices.tests))
        n_tests += len(found.slices.tests)
    return n_tests, evidence


def _judged(drawing: Drawing, adjust: Adjust) -> Drawing:
    return replace(drawing, diagram=cells_of_page(drawing.diagram, adjust))


def _judged_classes(
    drawings: tuple[Drawing, ...], classes: Classwise | None
) -> tuple[Drawing, ...]:
    """Mark no bin of a class that is not shown to be off."""
    if classes is None:
        return drawings
    p = dict(zip(classes.classes, classes.adjusted_pvalues.tolist(), strict=True))
    return tuple(one if p[one.title] <= ALPHA else _judged(one, np.ones_like) for one in drawings)
