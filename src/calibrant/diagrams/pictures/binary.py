"""Two outcomes: bins, as deviations or in the classical view, or a curve on its band."""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from calibrant.diagrams.pictures.picture import (
    ANY,
    SQUARE,
    Areas,
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
    present,
    reference,
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
FREQUENCY, DEVIATION = "observed frequency", "observed −\N{NO-BREAK SPACE}predicted"
LEAST = 0.002  # that the axis of deviations reaches to both sides
FEW = 12  # points of a curve, each of which gets a mark
NOTES = 24  # places along a longer one, about, that say more on hovering
TICKS = 6  # predictions above a curve over the share of rows
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
    extent = _extent(diagram, classical, truth, reach)
    models = range(len(diagram.series))
    marks = [_marks(diagram, i, extent, classical) for i in models]
    limits = [_limits(diagram, i, extent, classical) for i in models]
    true = [] if truth is None else [_true_curve(truth, classical)]
    lines = summary_lines(diagram) if summary else []
    prediction, vertical = prediction_name(diagram), FREQUENCY if classical else DEVIATION
    return Picture(
        label=f"{capital(vertical)}, over the {prediction}, for each bin{_of_models(diagram)}.",
        parts=(reference(float(classical)), *limits, *true, *marks),
        keys=tuple(_keys(diagram, marks, _names(diagram, lines), *true)),
        frame=Frame(prediction, vertical, SQUARE, extent, square=classical),
        strip=present(series.histogram for series in diagram.series),
        summary=tuple(lines) if len(models) == 1 else (),
    )


def _of_models(diagram: "ReliabilityDiagram") -> str:
    """Name the models, if they have names."""
    names = [series.name for series in diagram.series if series.name]
    return f" of {', '.join(names)}" if names else ""


def _true_curve(truth: Truth, classical: bool) -> Lines:
    heights = np.asarray(truth(TRUTH_AT)) - (0 if classical else TRUTH_AT)
    return Lines(np.stack((TRUTH_AT, heights), axis=1)[None], "true")


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
            off, low, high = (
                f"{each[c, j]:+.3f}".replace("-", "−")
                for each in (fn.deviations, cells.lower, cells.upper)
            )
            lines.append(
                f"{name}: " * bool(name) + f"predicted {fn.predicted[c, j]:.3f}, observed"
                f" {fn.observed[c, j]:.3f} ({off}; band {low} to {high})"
            )
        p = pvalue(float(cells.adjusted_pvalues[c]), cells.largest.size)
        notes.append("\n".join([*filter(None, [series.name]), *lines, f"adjusted {p}"]))
    return tuple(notes)


def _extent(
    diagram: "ReliabilityDiagram", classical: bool, truth: Truth | None, reach: float | None
) -> Range:
    """Return the range that is shown: of the deviations of bins that hold enough of the rows."""
    if classical:
        return SQUARE
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
        beyond=bool(sides.any()),
    )


def _names(diagram: "ReliabilityDiagram", lines: list[str]) -> list[str]:
    """Return what the legend calls the models: with their numbers, if lines tell them."""
    if len(diagram.series) == 1:
        return []
    return lines or [series.name for series in diagram.series]


def _keys(
    diagram: "ReliabilityDiagram", marks: Sequence[Marks], names: Sequence[str], *true: Lines
) -> Iterator[Key]:
    """Name the parts, in the order in which they are read."""
    for i, name in enumerate(names):
        yield Key(name, "mark", "mark off", i, model_shape(i))
    model = ANY if names else None
    yield Key(significant_name(diagram.alpha, "all bins"), "mark", "mark off", model)
    yield Key("not significant", "mark", "mark", model)
    yield Key(band_name(diagram.series[0].cells.level), "line", "limits")
    if true:
        yield Key("true", "line", "true")
    if any(each.beyond for each in marks):
        yield Key(BEYOND, "mark", "mark", ANY, "up")
    if not names:
        yield Key("share of predictions", "area", "bar")


def curve_picture(diagram: "CurveDiagram", *, confidence: bool = False) -> Picture:
    """Show the curve of each model on its band, what is significant in front.

    confidence : whether to show the confidence band, in place of the consistency band
    """
    kind, models = diagram.kind, range(len(diagram.series))
    limits = [series.limits(kind, confidence=confidence) for series in diagram.series]
    curves = chain(*(_band_and_curve(diagram, i, limits[i]) for i in models))
    told = [_places_told(diagram, i, limits[i], confidence) for i in models]
    horizontal = kind.horizontal.format(prediction_name(diagram))
    frame = Frame(horizontal, kind.vertical, SQUARE, SQUARE, square=True)
    if not kind.diagonal:
        ends = [np.zeros(1), *chain(*limits), *(series.y for series in diagram.series)]
        above = _predictions(diagram)
        frame = Frame(horizontal, kind.vertical, SQUARE, with_margins(ends), above=above)
    return Picture(
        label=f"{capital(kind.vertical)}, over the {horizontal}.",
        parts=(reference(float(kind.diagonal)), *curves, *told),
        keys=tuple(_curve_keys(diagram, confidence)),
        frame=frame,
        strip=present(series.density for series in diagram.series),
    )


def _band_and_curve(diagram: "CurveDiagram", i: int, limits: tuple[Floats, Floats]) -> list[Part]:
    """Return the band and the curve of model i between its gaps, and what of it is off."""
    series = diagram.series[i]
    model = None if len(diagram.series) == 1 else i
    off = series.band.pvalues <= diagram.alpha
    bands: list[Part] = []
    curves: list[Part] = []
    for piece in series.pieces:
        x = series.x[piece]
        lower, upper, points = (np.stack((x, each[piece]), axis=1) for each in (*limits, series.y))
        bands.append(Areas(np.concatenate((lower, upper[::-1]))[None], "band", model))
        curves.append(Lines(points[None], "curve", model))
        for start, stop in runs(off[piece]):
            curves.append(Lines(points[None, start:stop], "curve off", model))
    return [*bands, *curves]


def runs(marked: Mask) -> list[tuple[int, int]]:
    """Return start and end of each run of neighbours that are marked.

    Examples
    --------
    >>> runs(np.array([True, True, False, True]))
    [(0, 2), (3, 4)]
    """
    steps = np.diff(np.concatenate(([0], marked.astype(int), [0])))
    starts, stops = (np.flatnonzero(steps == step).tolist() for step in (1, -1))
    return list(zip(starts, stops, strict=True))


def _places_told(
    diagram: "CurveDiagram", i: int, limits: tuple[Floats, Floats], confidence: bool
) -> Marks:
    """Return places that say their numbers on hovering: all of few points, which are marks too."""
    series = diagram.series[i]
    few = series.x.size <= FEW
    chosen = np.unique(np.searchsorted(series.x, np.linspace(0, 1, NOTES + 1)))
    told = np.arange(series.x.size) if few else chosen[chosen < series.x.size]
    what = "observed" if diagram.kind.diagonal else "cumulative difference"
    band = _band_name(diagram, confidence)
    notes = []
    for t in told.tolist():
        y, low, high = (f"{each[t]:.4g}".replace("-", "−") for each in (series.y, *limits))
        p = pvalue(float(series.band.pvalues[t]), series.band.largest.size)
        lines = [
            *filter(None, [series.name]),
            f"predicted {series.predictions[t]:.3f}, {what} {y}",
            f"{band}: {low} to {high}",
            f"adjusted {p}",
        ]
        notes.append("\n".join(lines))
    return Marks(
        at=np.stack((series.x[told], series.y[told]), axis=1),
        off=series.band.pvalues[told] <= diagram.alpha,
        notes=tuple(notes),
        sizes=np.full(told.size, 0.3 if few else 1.0),
        shapes=("circle",) * told.size,
        look="mark" if few else "spot",
        model=i if len(diagram.series) > 1 else None,
    )


def _predictions(diagram: "CurveDiagram") -> tuple[tuple[float, str], ...]:
    """Return predictions for an axis above shares of the rows; models would differ in them."""
    series, *others = diagram.series
    if others:
        return ()
    ticks = np.linspace(0, 1, TICKS)
    at = np.searchsorted(series.x, ticks).clip(max=series.x.size - 1)
    told = [f"{p:.2f}" for p in series.predictions[at]]
    return tuple(zip(ticks.tolist(), told, strict=True))


def _band_name(diagram: "CurveDiagram", confidence: bool) -> str:
    level = diagram.series[0].band.level
    if confidence:
        return f"{percent(level)} confidence band (whole curve)"
    return f"{band_name(level)} ({'whole curve' if diagram.kind.whole else 'each point'})"


def _curve_keys(diagram: "CurveDiagram", confidence: bool) -> Iterator[Key]:
    """Name the parts, in the order in which they are read."""
    alone = len(diagram.series) == 1
    if alone:
        yield Key(diagram.kind.name, "line", "curve")
    else:
        for i, series in enumerate(diagram.series):
            yield Key(series.name, "line", "curve", i)
    significant = significant_name(diagram.alpha, "whole curve")
    yield Key(significant, "line", "curve off", None if alone else ANY)
    yield Key(_band_name(diagram, confidence), "area", "band")
    if alone and diagram.series[0].density is not None:
        yield Key("share of predictions", "area", "bar")
