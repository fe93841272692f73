"""One adjustment for all that a page says about a model.

Tests, bins, classes, groups and the curve of a page see the same draws. Each of these boxes has a
strongest piece of evidence, in the data and in every replicate, and so a p-value that is adjusted
within the box. If the model is calibrated, data and replicates are exchangeable. So the share of
them in which some box has a p-value of at most p is a p-value for the whole page (Westfall and
Young), and the chance of any significant claim on the page of a calibrated model is at most 5 %.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant import diagrams, inference
from calibrant.inference.testing.families import Evidence, largest, pvalues_of_row
from calibrant.words import ALPHA

if TYPE_CHECKING:
    from calibrant.reporting.contents import Contents, Placed, Where

Floats = NDArray[np.float64]
Adjust = Callable[[ArrayLike], Floats]

PAGE = "all tests of the page"


def judged_together(found: "Contents") -> "Contents":
    """Adjust all boxes together; bins of a class are judged if the class is shown to be off."""
    counts, evidence = zip(*_boxes(found), strict=True)
    n_tests, adjust = sum(counts), adjustment(evidence)
    tests, classes = found.evaluation, found.classes
    tests = replace(
        tests,
        verdicts=tuple(_judged_verdict(verdict, adjust, n_tests) for verdict in tests.verdicts),
        rows=tuple(
            replace(row, adjusted_pvalue=float(adjust(row.adjusted_pvalue))) for row in tests.rows
        ),
    )
    if classes is not None:
        classes = replace(classes, together=adjust)
    return found._replace(
        evaluation=tests,
        drawings=tuple(_judged(drawing, adjust) for drawing in found.drawings),
        curve=_judged_curve(found.curve, adjust),
        by_class=found.by_class and found.by_class.judged(adjust),
        classes=classes,
        class_drawings=_judged_classes(found.class_drawings, classes),
        slices=_judged_groups(found.slices, adjust, n_tests),
        where=_judged_where(found.where, adjust),
    )


def _judged_groups(
    groups: inference.Slices | None, adjust: Adjust, n_tests: int
) -> inference.Slices | None:
    """Return groups of rows that are judged as part of a page."""
    if groups is None:
        return None
    verdicts = [_judged_verdict(row.verdict, adjust, n_tests) for row in groups.rows]
    pairs = zip(groups.rows, verdicts, strict=True)
    return replace(groups, rows=tuple(replace(row, verdict=one) for row, one in pairs))


def _judged_where(where: "Where | None", adjust: Adjust) -> "Where | None":
    """Return regions that are judged as part of a page."""
    if where is None or where.found is None:
        return where
    return where._replace(found=where.found.judged(lambda p: float(adjust(p)), PAGE))


def _judged_curve(
    curve: diagrams.CurveDiagram | None, adjust: Adjust
) -> diagrams.CurveDiagram | None:
    """Return a curve whose points are judged as part of a page."""
    if curve is None:
        return None
    (series,) = curve.series
    band = replace(series.band, pvalues=adjust(series.band.pvalues))
    return replace(curve, series=(replace(series, band=band),))


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

    def adjust(p: ArrayLike) -> Floats:
        return np.searchsorted(smallest, np.asarray(p) * (1 + 1e-12), "right") / smallest.size

    return adjust


def _of_bins(cells: inference.Binwise) -> tuple[int, Evidence]:
    """Return the number of bins, and the strongest evidence of them."""
    return cells.function.n_cells, (float(cells.standardised.max()), cells.largest)


def _boxes(found: "Contents") -> Iterator[tuple[int, Evidence]]:
    """Yield the number of tests of each box of a page, and its evidence."""
    yield len(found.evaluation.rows), found.evaluation.evidence
    for drawing in found.drawings:
        yield _of_bins(drawing.diagram.series[0].cells)
    if found.curve is not None:
        band = found.curve.series[0].band
        yield 1, (band.farthest, band.largest)
    if found.by_class is not None:
        yield _of_bins(found.by_class.cells)
    if found.classes is not None:  # the class that is furthest off, and the mean of all
        yield len(found.classes.classes), largest(found.classes.values, found.classes.null)
        yield 1, (found.classes.mean, found.classes.null.mean(axis=0))
    if found.slices is not None:
        yield len(found.slices.tests), found.slices.evidence
    if found.where is not None and found.where.found is not None:
        regions = found.where.found
        yield regions.n_regions, (regions.evidence, regions.largest)


def _judged_verdict(verdict: inference.Verdict, adjust: Adjust, n_tests: int) -> inference.Verdict:
    """Return what tests say as part of a page with so many tests."""
    found = replace(verdict, pvalue=float(adjust(verdict.pvalue)), n_tests=n_tests)
    return found if found.rejected else replace(found, direction=None)


def _judged(drawing: "Placed", adjust: Adjust) -> "Placed":
    """Return a diagram whose bins are judged as part of a page."""
    (series,) = drawing.diagram.series
    judged = replace(series, cells=replace(series.cells, together=adjust))
    return drawing._replace(diagram=replace(drawing.diagram, series=(judged,)))


def _judged_classes(
    drawings: "tuple[Placed, ...]", classes: inference.Classwise | None
) -> "tuple[Placed, ...]":
    """Mark no bin of a class that is not shown to be off."""
    if classes is None:
        return drawings
    p = dict(zip(classes.classes, classes.adjusted_pvalues.tolist(), strict=True))
    return tuple(one if p[one.title] <= ALPHA else _judged(one, np.ones_like) for one in drawings)
