"""What a diagram shows, in plain words."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from calibrant.diagrams import ReliabilityDiagram
from calibrant.words import pvalue, rows_of

SMALL = 0.01  # share of the rows below which a cell is not called the worst


def spoken_outcomes(diagram: ReliabilityDiagram) -> list[str]:
    """Return the outcomes as a sentence names them."""
    names = [f"“{name}”" for name in diagram.classes]
    if diagram.subject is not None:
        names[diagram.event] = diagram.subject
    return names


def cell_sentences(
    diagram: ReliabilityDiagram, names: Sequence[str], most: int
) -> list[tuple[float, str]]:
    """Describe the significant cells of a diagram of one model.

    Parameters
    ----------
    diagram : ReliabilityDiagram
        The diagram.
    names : sequence of str
        The outcomes as a sentence names them.
    most : int
        Number of cells to describe.

    Returns
    -------
    list of (float, str)
        The share of the cell times its deviation, and a sentence; the largest first.
    """
    series = diagram.series[0]
    fn, p, n_resamples = series.function, series.cells.adjusted_pvalues, series.cells.largest.size
    found = []
    for c in np.flatnonzero(series.significant(diagram.alpha)):
        gaps = fn.deviations[c]
        j = diagram.event if diagram.n_outcomes == 2 else int(np.argmax(np.abs(gaps)))
        text = (
            f"in {rows_of(float(fn.counts[c]), fn.weighted)} {names[j]} had a probability of"
            f" {fn.predicted[c, j]:.1%} on average and occurred in {fn.observed[c, j]:.1%};"
            f" {pvalue(float(p[c]), n_resamples)}, adjusted for all tests of the page."
        )
        found.append((float(fn.proportions[c] * np.abs(gaps).sum() / 2), text))
    return sorted(found, key=lambda pair: -pair[0])[:most]


def direction(diagram: ReliabilityDiagram) -> str:
    """Say whether predictions of two outcomes are too high, too low, or both."""
    return {
        -1: "too high",
        0: "too high in some places and too low in others",
        1: "too low",
    }[_common_sign(diagram)]


def _common_sign(diagram: ReliabilityDiagram) -> int:
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
    fn = diagram.series[0].function
    candidates = _candidates(diagram)
    if not candidates.any():
        return ""
    x, size = fn.predicted[:, diagram.event], np.abs(fn.deviations[:, diagram.event])
    worst = int(np.argmax(np.where(candidates, size, -1.0)))
    large = candidates & (size >= 0.75 * size[worst])
    order = np.argsort(x, kind="stable")
    first, last = _run_around(large[order], int(np.flatnonzero(order == worst)[0]))
    k = diagram.edges.size - 1
    ends = x[order[[first, last]]] * k + 1e-9  # a mean of equal numbers may be rounded below them
    low, high = np.minimum(ends.astype(int), k - 1) + np.array([0, 1])
    return f"; worst between {diagram.edges[low]:.2g} and {diagram.edges[high]:.2g}"


def _candidates(diagram: ReliabilityDiagram) -> NDArray[np.bool_]:
    """Return which cells (cells,) may be called the worst."""
    series = diagram.series[0]
    gaps = series.function.deviations[:, diagram.event]
    sign = _common_sign(diagram)
    off = series.significant(diagram.alpha) & (gaps != 0)
    if sign != 0:
        off &= gaps * sign > 0
    big: NDArray[np.bool_] = off & (series.function.proportions >= SMALL)
    return big if big.any() else off


def _run_around(marked: NDArray[np.bool_], place: int) -> tuple[int, int]:
    """Return the first and the last of the neighbours of `place` that are marked as it is."""
    first = last = place
    while first > 0 and marked[first - 1]:
        first -= 1
    while last < len(marked) - 1 and marked[last + 1]:
        last += 1
    return first, last
