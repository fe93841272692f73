"""What is drawn of a reliability diagram: bins over one axis, or arrows on a simplex."""

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from calibrant.diagrams import picture
from calibrant.diagrams.picture import Arrows, Floats, Key, Label, Lines, Marks, Mask, Part, Picture
from calibrant.lenses import TopLabel
from calibrant.words import bins, capital, percent, pvalue, rows_of

if TYPE_CHECKING:
    from calibrant.diagrams.curve import CurveDiagram
    from calibrant.diagrams.reliability import ReliabilityDiagram
    from calibrant.diagrams.series import Series

Truth = Callable[[Floats], Floats]

SPARSE = 0.01  # of the rows: bins that hold less do not decide the range of an axis
BEYOND = f"beyond the axis (below {percent(SPARSE)} of the rows)"
LEAST = 0.002  # that the axis of deviations reaches to both sides
TRUTH_AT = (np.arange(400) + 0.5) / 400  # not 0 and 1, where a true curve may be undefined

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


def bins_picture(
    diagram: "ReliabilityDiagram",
    *,
    truth: Truth | None = None,
    reach: float | None = None,
) -> Picture:
    """Show the deviation of each bin, of each model, and how its predictions are distributed.

    truth : the true calibration function, which is shown as a curve
    reach : the axis of deviations is from -reach to reach; None for what the bins need
    """
    extent = _extent(diagram, truth, reach)
    drawn = [of_model(diagram, i, extent) for i in range(len(diagram.series))]
    limits, marks = zip(*drawn, strict=True)
    true = true_curve(diagram, truth, slope=0.0)
    vertical = deviation_name(diagram)
    prediction = picture.prediction_name(diagram.subject, diagram.classes[diagram.event])
    return Picture(
        label=f"{capital(vertical)}, over the {prediction}, for each bin{of_models(diagram)}.",
        parts=(picture.reference(0.0, diagram.shown), *limits, *true, *marks),
        keys=tuple(_keys(diagram, marks, *true)),
        frame=picture.Frame(
            horizontal_name(diagram), vertical, picture.axis(diagram.shown), extent
        ),
        strip=picture.present(series.histogram for series in diagram.series),
        strip_range=diagram.shown,
    )


def true_curve(diagram: "ReliabilityDiagram", truth: Truth | None, slope: float) -> list[Lines]:
    """Return the true calibration function as a curve, or as deviations if the slope is 0."""
    if truth is None:
        return []
    low, high = diagram.shown
    at = low + (high - low) * TRUTH_AT
    heights = np.asarray(truth(at)) - (1 - slope) * at
    return [Lines(np.stack((at, heights), axis=1)[None], "true")]


def deviation_name(diagram: "ReliabilityDiagram") -> str:
    """Return what a deviation is, in the words of what the diagram is about."""
    names = ("accuracy", "confidence") if is_top(diagram) else ("observed", "predicted")
    return " −\N{NO-BREAK SPACE}".join(names)


def is_top(diagram: "ReliabilityDiagram | CurveDiagram") -> bool:
    """Whether it is about the predicted class."""
    return diagram.subject == TopLabel().subject


def rate_name(diagram: "ReliabilityDiagram | CurveDiagram") -> str:
    """Return what the rate of the event is called."""
    return "accuracy" if is_top(diagram) else "observed frequency"


def horizontal_name(diagram: "ReliabilityDiagram") -> str:
    """Return what is on the horizontal axis, and which part of it, if not all."""
    prediction = picture.prediction_name(diagram.subject, diagram.classes[diagram.event])
    held = [float(each.sum()) for each in picture.present(s.histogram for s in diagram.series)]
    return picture.enlarged(prediction, diagram.shown, min(held, default=1.0))


def of_models(diagram: "ReliabilityDiagram") -> str:
    """Name the models, if they have names."""
    names = [series.name for series in diagram.series if series.name]
    return f" of {', '.join(names)}" if names else ""


def of_model(
    diagram: "ReliabilityDiagram", i: int, extent: picture.Range, slope: float = 0.0
) -> tuple[Lines, Marks]:
    """Return where the bins of model i would be if it were calibrated, and where they are.

    Heights are frequencies beside a diagonal of slope 1, or deviations if it is 0. Bins beyond the
    axis are triangles that point to where they would be.
    """
    series, e, n_models = diagram.series[i], diagram.event, len(diagram.series)
    fn, shown = series.function, series.shown
    model, aside = None if n_models == 1 else i, i - (n_models - 1) / 2
    x, shares = fn.predicted[shown, e], fn.proportions[shown]
    zero = slope * x
    limits = (series.cells.lower, series.cells.upper)
    heights = [zero + each[shown, e] for each in (*limits, fn.deviations)]
    lower, upper, at = (np.stack((x, np.clip(y, *extent)), axis=1) for y in heights)
    sides = (heights[2] > extent[1]).astype(int) - (heights[2] < extent[0]).astype(int)
    notes = bin_notes(series, [(e, "")])
    marks = Marks(
        at=at,
        off=series.significant(diagram.alpha)[shown],
        notes=tuple(f"{n}\n{BEYOND}" if s else n for n, s in zip(notes, sides, strict=True)),
        sizes=np.sqrt(shares / shares.max(initial=1e-300)) / (1 + (n_models > picture.FEW_MODELS)),
        shapes=tuple(
            {-1: "down", 0: picture.model_shape(model), 1: "up"}[s] for s in sides.tolist()
        ),
        model=model,
        aside=aside,
        beyond=bool(sides.any()),
    )
    return Lines(np.stack((lower, upper), axis=1), "limits", model, aside), marks


def summary_lines(diagram: "ReliabilityDiagram") -> list[str]:
    """Say the ECE on the bins that are drawn, the number of rows, and the p-value of the bins.

    Several models have a line each. The p-value is not that of the ECE.
    """
    numbers = [
        (
            f"ECE {series.miscalibration:.3f} ({_named_bins(series)})",
            f"n = {series.function.counts.sum():,.12g}",
            f"bins: {pvalue(series.pvalue, series.cells.largest.size)}",
        )
        for series in diagram.series
    ]
    if len(numbers) == 1:
        error, n, p = numbers[0]
        return [error, f"{n}, {p}"]
    return [f"{s.name}: {', '.join(each)}" for s, each in zip(diagram.series, numbers, strict=True)]


def _named_bins(series: "Series") -> str:
    """Return the words for the bins of a model."""
    return bins(series.cells.settings["partition"]).removesuffix(" of equal width")


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
    diagram: "ReliabilityDiagram", truth: Truth | None, reach: float | None
) -> picture.Range:
    """Return the range that is shown: of the deviations of bins that hold enough of the rows."""
    if reach is not None:
        return -reach, reach
    ends = [np.zeros(1)]
    for series in diagram.series:
        cells, fn = series.cells, series.function
        some = series.shown & holds_enough(fn.proportions)
        ends += [each[some, diagram.event] for each in (fn.deviations, cells.lower, cells.upper)]
    ends += [line.at[0, :, 1] for line in true_curve(diagram, truth, slope=0.0)]
    low, high = picture.with_margins(ends)
    return min(low, -LEAST), max(high, LEAST)


def _keys(diagram: "ReliabilityDiagram", marks: Sequence[Marks], *true: Lines) -> Iterator[Key]:
    """Name the parts, in the order in which they are read."""
    models = _model_keys(diagram)
    yield from models
    model = picture.ANY if models else None
    yield Key(picture.significant_name(diagram.alpha, "all bins"), "mark", "mark off", model)
    yield Key("not significant", "mark", "mark", model)
    yield Key(picture.band_name(diagram.series[0].cells.level), "line", "limits")
    if true:
        yield Key("true", "line", "true")
    if any(each.beyond for each in marks):
        yield Key(BEYOND, "mark", "mark", picture.ANY, "up")
    if not models:
        yield Key("share of predictions", "area", "bar")


def _model_keys(diagram: "ReliabilityDiagram") -> list[Key]:
    """Name several models."""
    names = [series.name for series in diagram.series]
    if len(diagram.series) == 1:
        return []
    return [Key(n, "mark", "mark off", i, picture.model_shape(i)) for i, n in enumerate(names)]


def simplex_picture(diagram: "ReliabilityDiagram", *, regions: bool = False) -> Picture:
    """Show bins by their share of the predictions, and arrows to the outcome frequencies.

    With `regions`, outline where each arrow of a triangle would end if calibrated.
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
    return Picture(
        f"{kind} {of_classes}", tuple(parts), tuple(_arrow_keys(diagram, arrows, regions))
    )


def _arrow_keys(
    diagram: "ReliabilityDiagram", arrows: list[Arrows], regions: bool
) -> Iterator[Key]:
    """Name the parts, in the order in which they are read."""
    yield Key(picture.significant_name(diagram.alpha, "all bins"), "line", "arrow off")
    yield Key("not significant", "line", "arrow")
    if any(each.look == "arrow faded" and each.at.size for each in arrows):
        yield Key(FEW_ROWS, "line", "arrow faded")
    if diagram.n_outcomes > 3:
        yield Key("not significant, few rows", "dot", "dot")
    if regions:
        yield Key(picture.band_name(diagram.series[0].cells.level), "line", "region")


def _bins(
    diagram: "ReliabilityDiagram", series: "Series", corners: Floats
) -> picture.Areas | picture.Dots:
    """Return the bins, or dots at the mean predictions of bins that are not drawn."""
    shares = series.function.proportions[series.shown]
    notes = bin_notes(series, list(enumerate(diagram.classes)))
    if series.corners is None or diagram.n_outcomes > 3:
        return picture.Dots(series.function.predicted[series.shown] @ corners, shares, notes)
    return picture.Areas(series.corners[series.shown] @ corners, "cell", shares=shares, notes=notes)


def _arrows(diagram: "ReliabilityDiagram", series: "Series", corners: Floats) -> list[Arrows]:
    """Return faded arrows, usual ones, and significant ones; in space, only of well filled bins."""
    off, fn = series.significant(diagram.alpha), series.function
    enough = holds_enough(fn.proportions) & (fn.weighted | (fn.counts >= FEWEST))
    if not enough.any():
        enough = np.ones_like(enough)
    faded = ~off & ~enough
    usual = ~off & enough
    if diagram.n_outcomes > 3:
        usual &= fn.proportions >= 1 / max(1, int(series.shown.sum()))
        faded = np.zeros_like(off)
    ends = np.stack((fn.predicted, fn.observed), axis=1) @ corners
    looks = {"arrow faded": faded, "arrow": usual, "arrow off": off}
    return [Arrows(ends[x & series.shown], fn.n_cells, look) for look, x in looks.items()]


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
