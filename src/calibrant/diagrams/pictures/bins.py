"""Two outcomes on bins: the deviation over the prediction, or the classical view."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from calibrant.diagrams.pictures.picture import (
    SQUARE,
    Floats,
    Frame,
    Key,
    Lines,
    Marks,
    Mask,
    Part,
    Picture,
    Range,
    model_shape,
    with_margins,
)
from calibrant.lenses import TopLabel
from calibrant.words import capital, percent, pvalue, rows_of

if TYPE_CHECKING:
    from calibrant.diagrams.curve import CurveDiagram
    from calibrant.diagrams.reliability import ReliabilityDiagram, Series

Truth = Callable[[Floats], Floats]

SPARSE = 0.01  # of the rows: bins that hold less do not decide the range of an axis
BEYOND = f"beyond the axis (below {percent(SPARSE)} of the rows)"
LEAST = 0.002  # that the axis of deviations reaches to both sides
TRUTH_AT = (np.arange(400) + 0.5) / 400  # not 0 and 1, where a true curve may be undefined


def bins_picture(
    diagram: "ReliabilityDiagram",
    *,
    classical: bool = False,
    truth: Truth | None = None,
    summary: bool = False,
    reach: float | None = None,
) -> Picture:
    """Show the bins of each model, and how its predictions are distributed.

    classical : whether to show the frequency over the prediction, instead of the deviation
    truth : the true calibration function, which is shown as a curve
    summary : whether to write rows, size and p-value
    reach : the axis of deviations is from -reach to reach; None for what the bins need
    """
    extent = SQUARE if classical else _extent(diagram, truth, reach)
    models = range(len(diagram.series))
    marks = [_marks(diagram, i, extent, classical) for i in models]
    parts: list[Part] = [Lines(np.array([[[0.0, 0.0], [1.0, float(classical)]]]), "zero")]
    parts += [_limits(diagram, i, extent, classical) for i in models]
    if truth is not None:
        heights = np.asarray(truth(TRUTH_AT)) - (0 if classical else TRUTH_AT)
        parts.append(Lines(np.stack((TRUTH_AT, heights), axis=1)[None], "true"))
    vertical = "observed frequency" if classical else "observed −\N{NO-BREAK SPACE}predicted"
    names = [series.name for series in diagram.series if series.name]
    of_models = f" of {', '.join(names)}" if names else ""
    lines = summary_lines(diagram) if summary else []
    return Picture(
        label=f"{capital(vertical)}, over the {prediction_name(diagram)}{of_models}, for each bin.",
        parts=(*parts, *marks),
        keys=tuple(_keys(diagram, lines, truth is not None, _any_beyond(marks))),
        frame=Frame(prediction_name(diagram), vertical, SQUARE, extent, square=classical),
        strip=tuple(s.histogram for s in diagram.series if s.histogram is not None),
        summary=tuple(lines) if len(models) == 1 else (),
    )


def prediction_name(diagram: "ReliabilityDiagram | CurveDiagram") -> str:
    """Return what the predictions of two outcomes are called."""
    if diagram.subject == TopLabel().subject:
        return "confidence"
    return (
        f"predicted probability of {diagram.subject or f'class {diagram.classes[diagram.event]}'}"
    )


def significant_name(alpha: float, family: str) -> str:
    """Say what is marked, for the legend; `family` is what its p-value is adjusted for."""
    return f"significant ({percent(alpha)}, {family})"


def band_name(level: float) -> str:
    """Say what consistency limits are, for the legend."""
    return f"{percent(level)} consistency band"


def summary_lines(diagram: "ReliabilityDiagram") -> list[str]:
    """Say how many rows a model has, how far off it is, and its p-value; a line each of several."""
    told = [
        (
            f"n = {series.function.counts.sum():,.12g}",
            f"off by {series.miscalibration:.3f}",
            pvalue(series.pvalue, series.cells.largest.size),
        )
        for series in diagram.series
    ]
    if len(told) == 1:
        n, size, p = told[0]
        return [n, f"{size} on average, {p}"]
    return [f"{s.name}: {', '.join(each)}" for s, each in zip(diagram.series, told, strict=True)]


def holds_enough(shares: Floats) -> Mask:
    """Return which bins hold enough of the rows to count; all if none does."""
    enough = shares >= SPARSE
    return enough if enough.any() else np.ones_like(enough)


def bin_notes(series: "Series", names: Sequence[tuple[int, str]]) -> tuple[str, ...]:
    """Describe every bin that is shown: its rows, and each outcome.

    names : the outcomes to tell of, and what to call them; "" for none
    """
    cells, fn = series.cells, series.function
    notes = []
    for c in np.flatnonzero(series.shown).tolist():
        share = f"{100 * fn.proportions[c]:.1f}\N{NO-BREAK SPACE}%"
        lines = [f"{capital(rows_of(float(fn.counts[c]), fn.weighted))} ({share})"]
        for j, name in names:
            found = (
                f"{name}: " * bool(name) + f"predicted {fn.predicted[c, j]:.3f}, observed"
                f" {fn.observed[c, j]:.3f} ({fn.deviations[c, j]:+.3f}; band"
                f" {cells.lower[c, j]:+.3f} to {cells.upper[c, j]:+.3f})"
            )
            lines.append(found if "-" in name else found.replace("-", "−"))
        p = pvalue(float(cells.adjusted_pvalues[c]), cells.largest.size)
        notes.append("\n".join([*filter(None, [series.name]), *lines, f"adjusted {p}"]))
    return tuple(notes)


def _extent(diagram: "ReliabilityDiagram", truth: Truth | None, reach: float | None) -> Range:
    """Return the range of deviations that is shown: of bins that hold enough of the rows."""
    if reach is not None:
        return -reach, reach
    ends = [np.zeros(1)]
    for series in diagram.series:
        cells, fn = series.cells, series.function
        some = series.shown & holds_enough(fn.proportions)
        ends += [each[some, diagram.event] for each in (fn.deviations, cells.lower, cells.upper)]
    if truth is not None:
        ends.append(np.asarray(truth(TRUTH_AT)) - TRUTH_AT)
    low, high = with_margins(ends)
    return min(low, -LEAST), max(high, LEAST)


def _model(diagram: "ReliabilityDiagram", i: int) -> tuple[int | None, float]:
    """Return whose colour the parts of model i have, and how far aside they are."""
    n_models = len(diagram.series)
    return (None if n_models == 1 else i), i - (n_models - 1) / 2


def _limits(diagram: "ReliabilityDiagram", i: int, extent: Range, classical: bool) -> Lines:
    """Return where the bins of model i would be if it were calibrated."""
    series, e = diagram.series[i], diagram.event
    x = series.function.predicted[series.shown, e]
    zero = x if classical else np.zeros_like(x)
    ends = [zero + limit[series.shown, e] for limit in (series.cells.lower, series.cells.upper)]
    points = [np.stack((x, np.clip(end, *extent)), axis=1) for end in ends]
    model, aside = _model(diagram, i)
    return Lines(np.stack(points, axis=1), "limits", model, aside)


def _marks(diagram: "ReliabilityDiagram", i: int, extent: Range, classical: bool) -> Marks:
    """Return the bins of model i: beyond the axis, triangles that point to where they would be."""
    series, e = diagram.series[i], diagram.event
    fn, shown = series.function, series.shown
    x, shares = fn.predicted[shown, e], fn.proportions[shown]
    y = fn.deviations[shown, e] + (x if classical else 0)
    model, aside = _model(diagram, i)
    sides = (y > extent[1]).astype(int) - (y < extent[0]).astype(int)
    notes = bin_notes(series, [(e, "")])
    return Marks(
        at=np.stack((x, np.clip(y, *extent)), axis=1),
        off=series.significant(diagram.alpha)[shown],
        notes=tuple(f"{n}\n{BEYOND}" if s else n for n, s in zip(notes, sides, strict=True)),
        sizes=np.sqrt(shares / shares.max(initial=1e-300)),
        shapes=tuple({-1: "down", 0: model_shape(model), 1: "up"}[s] for s in sides.tolist()),
        model=model,
        aside=aside,
    )


def _any_beyond(marks: Sequence[Marks]) -> bool:
    return any(note.endswith(BEYOND) for each in marks for note in each.notes)


def _keys(
    diagram: "ReliabilityDiagram", lines: Sequence[str], truth: bool, beyond: bool
) -> list[Key]:
    """Name the parts, in the order in which they are read."""
    alone = len(diagram.series) == 1
    keys = []
    if not alone:
        names = lines or [series.name for series in diagram.series]
        keys = [Key(name, "mark", "mark off", i, model_shape(i)) for i, name in enumerate(names)]
    keys.append(Key(significant_name(diagram.alpha, "all bins"), "mark", "mark off"))
    keys.append(Key("not significant", "mark", "mark"))
    keys.append(Key(band_name(diagram.series[0].cells.level), "line", "limits"))
    if truth:
        keys.append(Key("true", "line", "true"))
    if beyond:
        keys.append(Key(BEYOND, "mark", "mark any", shape="up"))
    if alone:
        keys.append(Key("share of predictions", "area", "bar"))
    return keys
