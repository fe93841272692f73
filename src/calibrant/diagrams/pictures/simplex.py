"""Three or four outcomes: arrows on the probability simplex, a triangle or a tetrahedron."""

from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from calibrant.diagrams.pictures.binary import (
    SPARSE,
    band_name,
    bin_notes,
    holds_enough,
    significant_name,
)
from calibrant.diagrams.pictures.picture import (
    Areas,
    Arrows,
    Dots,
    Floats,
    Key,
    Label,
    Lines,
    Mask,
    Part,
    Picture,
)
from calibrant.words import percent

if TYPE_CHECKING:
    from calibrant.diagrams.reliability import ReliabilityDiagram, Series

TRIANGLE = np.array([[0.5, np.sqrt(0.75)], [0.0, 0.0], [1.0, 0.0]])  # top, left, right
BASE = [(np.cos(a), np.sin(a), 0.0) for a in np.deg2rad([90.0, 210.0, 330.0])]
TETRAHEDRON = np.array([*BASE, (0.0, 0.0, np.sqrt(2.0))])  # stands on its base; edges are √3
FEWEST = 5  # rows: frequencies of fewer are hardly more than noise
FEW_ROWS = f"below {percent(SPARSE)} of the rows, or {FEWEST} rows"
TICKS = 0.25, 0.5, 0.75
TICK = 0.018  # length of a tick, where a side is 1
# Of each corner: the side along which its numbers rise, from where it is 1 to where it is 0; where
# they stand beside that side; and where its name stands, at the bottom below the numbers
# (in space, every renderer finds a place for it).
SIDES = ((0, 1), (1, 2), (2, 0))
OUTWARD = ((-0.87, 0.5), (0.0, -1.0), (0.87, 0.5))
NAMED = ((0.0, 1.5), (0.0, -4.5), (0.0, -4.5), (0.0, 0.0))


def simplex_picture(diagram: "ReliabilityDiagram", *, regions: bool = False) -> Picture:
    """Show bins by their share of the predictions, and arrows to the outcome frequencies.

    regions : whether to outline where each arrow of a triangle would end if calibrated
    """
    series, flat = diagram.series[0], diagram.n_outcomes == 3
    corners = TRIANGLE if flat else TETRAHEDRON
    parts: list[Part] = [_bins(diagram, series, corners)]
    if regions:
        assert series.cells.regions is not None
        parts.append(Lines(series.cells.regions[series.shown] @ corners, "region"))
    arrows = _arrows(diagram, series, corners)
    parts += arrows
    parts.append(Lines(np.array(list(combinations(corners, 2))), "outline"))
    if flat:
        parts += _ticks()
    for k, name in enumerate(diagram.classes):
        parts.append(Label(corners[k], name, NAMED[k], f"corner{k}"))
    kind = "Triangle" if flat else "Tetrahedron"
    of_classes = f"of {', '.join(diagram.classes)}, with arrows from predictions to frequencies."
    return Picture(f"{kind} {of_classes}", tuple(parts), tuple(_keys(diagram, arrows, regions)))


def _keys(diagram: "ReliabilityDiagram", arrows: list[Arrows], regions: bool) -> Iterator[Key]:
    """Name the parts, in the order in which they are read."""
    yield Key(significant_name(diagram.alpha, "all bins"), "line", "arrow off")
    yield Key("not significant", "line", "arrow")
    if any(each.faded and each.at.size for each in arrows):
        yield Key(FEW_ROWS, "line", "arrow faded")
    if diagram.n_outcomes > 3:
        yield Key("not significant, few rows", "dot", "dot")
    if regions:
        yield Key(band_name(diagram.series[0].cells.level), "line", "region")


def _bins(diagram: "ReliabilityDiagram", series: "Series", corners: Floats) -> Areas | Dots:
    """Return the bins, or dots at the mean predictions of bins that are not drawn."""
    shares = series.function.proportions[series.shown]
    notes = bin_notes(series, list(enumerate(diagram.classes)))
    if series.corners is None or diagram.n_outcomes > 3:
        return Dots(series.function.predicted[series.shown] @ corners, shares, notes)
    return Areas(series.corners[series.shown] @ corners, "cell", shares=shares, notes=notes)


def _arrows(diagram: "ReliabilityDiagram", series: "Series", corners: Floats) -> list[Arrows]:
    """Return faded arrows, usual ones, and significant ones; in space, only of well filled bins."""
    off = series.significant(diagram.alpha)
    enough = _reliable(series)
    faded = ~off & ~enough
    usual = ~off & enough
    if diagram.n_outcomes > 3:
        shares = series.function.proportions
        usual &= shares >= 1 / max(1, int(series.shown.sum()))
        faded = np.zeros_like(off)
    ends = np.stack((series.function.predicted, series.function.observed), axis=1) @ corners
    looks = ((faded, False, True), (usual, False, False), (off, True, False))
    n_bins = series.function.n_cells
    return [Arrows(ends[which & series.shown], n_bins, *look) for which, *look in looks]


def _reliable(series: "Series") -> Mask:
    """Return which bins (bins,) hold enough of the rows, and enough rows; all if none does."""
    fn = series.function
    enough = holds_enough(fn.proportions) & (fn.weighted | (fn.counts >= FEWEST))
    return enough if enough.any() else np.ones_like(enough)


def _ticks() -> list[Part]:
    """Return ticks and numbers of the corners of a triangle: along one side, rising towards it."""
    parts: list[Part] = []
    for k, (one, zero) in enumerate(SIDES):
        for value in TICKS:
            at = value * TRIANGLE[one] + (1 - value) * TRIANGLE[zero]
            ends = np.stack((at, at + TICK * np.array(OUTWARD[k])))
            parts.append(Lines(ends[None], f"corner{k}"))
            parts.append(Label(ends[1], f"{value:g}", OUTWARD[k], f"small corner{k}"))
    return parts
