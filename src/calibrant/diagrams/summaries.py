"""What a diagram shows, in a sentence a model."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from calibrant.words import NEEDED, be, many, percent, pvalue, too_few

if TYPE_CHECKING:
    from calibrant.diagrams.curve import CurveDiagram, CurveSeries
    from calibrant.diagrams.diagram import ReliabilityDiagram, Series


def cells_sentences(diagram: "ReliabilityDiagram") -> str:
    """Say how many cells of each model are off."""
    told = _named((series.name, _cells(series, diagram.alpha)) for series in diagram.series)
    if not diagram.n_off or len(diagram.series[0].cells.largest) < NEEDED:
        return told
    return (
        f"{told} If a model were calibrated, the chance of any such cell would be at most"
        f" {percent(diagram.alpha)}."
    )


def curve_sentences(diagram: "CurveDiagram") -> str:
    """Say whether the curve of each model is off."""
    return _named((series.name, _curve(diagram, series)) for series in diagram.series)


def _cells(series: "Series", alpha: float) -> str:
    count, n_cells = int(series.significant(alpha).sum()), series.function.n_cells
    n_resamples = series.cells.largest.size
    if n_resamples < NEEDED:
        return f"Cells cannot be judged with {many(n_resamples, 'resample')}: {too_few()}."
    if count == 0:
        which = "The only cell is not" if n_cells == 1 else f"None of the {n_cells:,} cells is"
        return f"{which} further off than chance allows."
    which = "The only cell" if n_cells == 1 else f"{count:,} of {n_cells:,} cells"
    return f"{which} {be(count)} further off than chance allows."


def _curve(diagram: "CurveDiagram", series: "CurveSeries") -> str:
    p, n_resamples = series.pvalue, diagram.settings["n_resamples"]
    which = "The curve is" if p <= diagram.alpha else "No part of the curve is"
    return f"{which} further off than chance allows: {pvalue(p, n_resamples)} for the whole curve."


def _named(told: Iterable[tuple[str, str]]) -> str:
    return " ".join(f"{name}: {text[0].lower()}{text[1:]}" if name else text for name, text in told)
