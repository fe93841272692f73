"""The bins of a reliability diagram as a table: what the picture shows, in numbers."""

from collections.abc import Iterator, Sequence
from math import floor, log10
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant import tables
from calibrant.diagrams.bins import deviation_name, is_top
from calibrant.words import percent, signed

if TYPE_CHECKING:
    from calibrant.diagrams.reliability import ReliabilityDiagram
    from calibrant.diagrams.series import Series


def bin_records(diagram: "ReliabilityDiagram") -> list[dict[str, Any]]:
    """Return a record for each bin of each model, in the order of predictions.

    Of two outcomes it is about the event; of more, each bin has a record for each outcome.
    """
    alone = len(diagram.series) == 1
    found = []
    for series in diagram.series:
        named = {} if alone else {"model": series.name}
        found += [{**named, **record} for record in _of_model(diagram, series)]
    return found


def _of_model(diagram: "ReliabilityDiagram", series: "Series") -> Iterator[dict[str, Any]]:
    cells, fn = series.cells, series.function
    two, p = diagram.n_outcomes == 2, cells.adjusted_pvalues
    outcomes = [diagram.event] if two else list(range(diagram.n_outcomes))
    shown = np.flatnonzero(series.shown)
    if two:
        shown = shown[np.argsort(fn.predicted[shown, diagram.event], kind="stable")]
    for number, c in enumerate(shown.tolist(), 1):
        for j in outcomes:
            yield {
                "bin": number,
                **({} if two else {"outcome": diagram.classes[j]}),
                "n": fn.counts[c].item(),
                "predicted": float(fn.predicted[c, j]),
                "observed": float(fn.observed[c, j]),
                "deviation": float(fn.deviations[c, j]),
                "lower": float(cells.lower[c, j]),
                "upper": float(cells.upper[c, j]),
                "adjusted_pvalue": float(p[c]),
            }


def bin_lines(diagram: "ReliabilityDiagram") -> tables.Lines:
    """Return header and lines of the table of bins."""
    level = percent(diagram.series[0].cells.level)
    names = ("confidence", "accuracy") if is_top(diagram) else ("predicted", "observed")
    difference = deviation_name(diagram).replace("\N{NO-BREAK SPACE}", " ")
    records = bin_records(diagram)
    leading: list[str] = [name for name in ("model", "outcome") if records and name in records[0]]
    if diagram.n_outcomes > 2:
        leading.append("bin")  # whose lines belong together
    header = [*leading, *names, "n", difference, f"{level} band", "adjusted p"]
    digits = 3 - floor(log10(diagram.shown[1] - diagram.shown[0]))
    return header, [_line(record, leading, digits) for record in records]


def with_sign(value: float, digits: int = 3) -> str:
    """Write a difference with its sign."""
    return signed(value, digits).replace("-", "−")


def amount(count: float) -> str:
    """Write a number of rows, or what they weigh."""
    return f"{count:,.6g}" if isinstance(count, float) else f"{count:,}"


def _line(record: dict[str, Any], leading: Sequence[str], digits: int) -> list[str]:
    off, low, high = (with_sign(record[name], digits) for name in ("deviation", "lower", "upper"))
    return [
        *(str(record[name]) for name in leading),
        f"{record['predicted']:.{digits}f}",
        f"{record['observed']:.{digits}f}",
        amount(record["n"]),
        off,
        f"{low} to {high}",
        f"{record['adjusted_pvalue']:.3g}",
    ]
