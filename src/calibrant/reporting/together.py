"""One adjustment for all that a page says about a model.

Tests, bins, classes, groups and the curve of a page see the same draws. Each of these boxes has a
strongest piece of evidence, in the data and in every replicate, and so a p-value that is adjusted
within the box. If the model is calibrated, data and replicates are exchangeable. So the share of
them in which some box has a p-value of at most p is a p-value for the whole page (Westfall and
Young), and the chance of any significant claim on the page of a calibrated model is at most 5 %.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from calibrant.inference import Classwise, EvaluationRow, Verdict
from calibrant.inference.testing.families import largest, pvalues_of_row, strongest
from calibrant.words import ALPHA

if TYPE_CHECKING:
    from calibrant.reporting.contents import Contents, Drawing

Floats = NDArray[np.float64]
Evidence = tuple[float, Floats]  # of the data, and of every replicate: larger is stronger
Adjust = Callable[[Floats], Floats]


def _of_tests(rows: Sequence[EvaluationRow]) -> Evidence:
    """Return the strongest evidence of tests."""
    values = np.array([row.value for row in rows])
    return strongest(values, np.stack([row.null for row in rows]))


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


def judged_together(found: "Contents") -> "Contents":
    """Adjust all boxes together; bins of a class are judged if the class is shown to be off."""
    n_tests, evidence = _of_page(found)
    adjust = adjustment(evidence)
    tests, curve, classes, groups = found.evaluation, found.curve, found.classes, found.slices
    tests = replace(
        tests,
        verdicts=tuple(_judged_verdict(verdict, adjust, n_tests) for verdict in tests.verdicts),
        rows=tuple(
            replace(row, adjusted_pvalue=float(adjust(np.array(row.adjusted_pvalue))))
            for row in tests.rows
        ),
    )
    if curve is not None:
        (series,) = curve.series
        band = replace(series.band, pvalues=adjust(series.band.pvalues))
        curve = replace(curve, series=(replace(series, band=band),))
    if classes is not None:
        classes = replace(classes, together=adjust)
    if groups is not None:
        rows = [
            replace(row, verdict=_judged_verdict(row.verdict, adjust, n_tests))
            for row in groups.rows
        ]
        groups = replace(groups, rows=tuple(rows))
    return replace(
        found,
        evaluation=tests,
        drawings=tuple(_judged(drawing, adjust) for drawing in found.drawings),
        curve=curve,
        classes=classes,
        class_drawings=_judged_classes(found.class_drawings, classes),
        slices=groups,
    )


def _of_page(found: "Contents") -> tuple[int, list[Evidence]]:
    """Return the number of tests of a page, and the evidence of its boxes."""
    evidence = [_of_tests(found.evaluation.rows)]
    n_tests = len(found.evaluation.rows)
    for drawing in found.drawings:
        cells = drawing.diagram.series[0].cells
        evidence.append((float(cells.standardised.max()), cells.largest))
        n_tests += cells.function.n_cells
    if found.curve is not None:
        band = found.curve.series[0].band
        evidence.append((band.farthest, band.largest))
        n_tests += 1
    if found.classes is not None:  # the class that is furthest off, and the mean of all
        evidence.append(largest(found.classes.values, found.classes.null))
        evidence.append((found.classes.mean, found.classes.null.mean(axis=0)))
        n_tests += len(found.classes.classes) + 1
    if found.slices is not None:
        evidence.append(_of_tests(found.slices.tests))
        n_tests += len(found.slices.tests)
    return n_tests, evidence


def _judged_verdict(verdict: Verdict, adjust: Adjust, n_tests: int) -> Verdict:
    """Return what tests say as part of a page with so many tests."""
    found = replace(verdict, pvalue=float(adjust(np.array(verdict.pvalue))), n_tests=n_tests)
    return found if found.rejected else replace(found, direction=None)


def _judged(drawing: "Drawing", adjust: Adjust) -> "Drawing":
    """Return a diagram whose bins are judged as part of a page."""
    (series,) = drawing.diagram.series
    judged = replace(series, cells=replace(series.cells, together=adjust))
    return replace(drawing, diagram=replace(drawing.diagram, series=(judged,)))


def _judged_classes(
    drawings: "tuple[Drawing, ...]", classes: Classwise | None
) -> "tuple[Drawing, ...]":
    """Mark no bin of a class that is not shown to be off."""
    if classes is None:
        return drawings
    p = dict(zip(classes.classes, classes.adjusted_pvalues.tolist(), strict=True))
    return tuple(one if p[one.title] <= ALPHA else _judged(one, np.ones_like) for one in drawings)
