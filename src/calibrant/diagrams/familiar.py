"""Reliability diagrams as papers and scikit-learn draw them: bars with their gaps, or a line.

Bars are those of Guo et al. (2017): the frequency of each bin, and the gap between it and the mean
prediction. A line joins the points of scikit-learn's ``CalibrationDisplay``. Both say the ECE in a
corner that nothing else touches, and the mean prediction and the rate over the histogram.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from calibrant.diagrams import picture
from calibrant.diagrams.bins import (
    Truth,
    bin_notes,
    horizontal_name,
    is_top,
    of_model,
    of_models,
    rate_name,
    summary_lines,
    true_curve,
)
from calibrant.diagrams.picture import Areas, Floats, Key, Lines, Marks, Part, Picture
from calibrant.words import capital

if TYPE_CHECKING:
    from calibrant.diagrams.reliability import ReliabilityDiagram
    from calibrant.diagrams.series import Series


def bars_picture(diagram: "ReliabilityDiagram") -> Picture:
    """Show the frequency of each bin of one model as a bar, and its gap to the mean prediction."""
    if len(diagram.series) > 1:
        raise ValueError(
            f"bars are for one model; found {len(diagram.series)}. Draw several with"
            " `style='line'`, or one picture each."
        )
    (series,) = diagram.series
    shown, e = series.shown, diagram.event
    predicted, observed = series.function.predicted[shown, e], series.function.observed[shown, e]
    sides, off = bin_sides(diagram, predicted), series.significant(diagram.alpha)[shown]
    gaps, tops = _boxes(sides, observed, predicted), np.maximum(observed, predicted)
    parts = (
        Areas(_boxes(sides, np.full_like(observed, diagram.shown[0]), observed), "outcome"),
        Areas(gaps[~off], "gap"),
        Areas(gaps[off], "gap off"),
        picture.reference(1.0, diagram.shown),
        Marks(
            at=np.stack((sides.mean(axis=1), (diagram.shown[0] + tops) / 2), axis=1),
            off=off,
            notes=bin_notes(series, [(e, "")]),
            sizes=np.full(off.size, 1.0),
            shapes=("circle",) * off.size,
            look="spot",
        ),
    )
    names = _names(diagram)
    keys = [Key(names[1], "area", "outcome")]
    significant = picture.significant_name(diagram.alpha, "all bins")
    if off.any():
        keys.append(Key(f"gap, {significant}", "area", "gap off"))
    if not off.all():
        keys.append(Key("gap, not significant", "area", "gap"))
    return _framed(diagram, parts, [*keys, *_mean_keys(diagram, series)])


def line_picture(diagram: "ReliabilityDiagram", *, truth: Truth | None = None) -> Picture:
    """Join the bins of each model, frequency over mean prediction, beside the diagonal."""
    models, extent = range(len(diagram.series)), picture.axis(diagram.shown)
    drawn = [of_model(diagram, i, extent, slope=1.0) for i in models]
    shown = drawn if len(models) <= picture.FEW_MODELS else ()  # whose limits
    limits = [each._replace(aside=0.0) for each, _ in shown]
    marks = [each._replace(aside=0.0) for _, each in drawn]
    joined = map(_joined, marks)
    true = true_curve(diagram, truth, slope=1.0)
    parts: list[Part] = [picture.reference(1.0, diagram.shown), *limits, *true, *joined, *marks]
    keys = list(_line_keys(diagram, has_limits=bool(limits)))
    keys += [Key("true", "line", "true") for _ in true]
    if len(models) == 1:
        keys += _mean_keys(diagram, diagram.series[0])
    return _framed(diagram, tuple(parts), keys)


def _joined(marks: Marks) -> Lines:
    """Return the line through marks, from the left to the right."""
    order = np.argsort(marks.at[:, 0], kind="stable")
    return Lines(marks.at[order][None], "join", marks.model)


def _line_keys(diagram: "ReliabilityDiagram", *, has_limits: bool) -> Iterator[Key]:
    models = diagram.series if len(diagram.series) > 1 else ()
    for i, line in enumerate(summary_lines(diagram) if models else ()):
        yield Key(line, "mark", "mark off", i, picture.model_shape(i))
    model = picture.ANY if models else None
    yield Key(picture.significant_name(diagram.alpha, "all bins"), "mark", "mark off", model)
    yield Key("not significant", "mark", "mark", model)
    if has_limits:
        yield Key(picture.band_name(diagram.series[0].cells.level), "line", "limits")


def bin_sides(diagram: "ReliabilityDiagram", predicted: Floats) -> Floats:
    """Return where bins (bins, 2) begin and end: by their widths, or half-way to the next ones."""
    even = re.fullmatch(r"(\d+) equal widths", str(diagram.settings["partition"]))
    if even is not None:
        k = int(even[1])
        left = np.minimum(np.floor(predicted * k * (1 + 1e-12)), k - 1)
        return np.clip(np.stack((left, left + 1), axis=1) / k, *diagram.shown)
    order = np.argsort(predicted, kind="stable")
    middles = (predicted[order][1:] + predicted[order][:-1]) / 2
    low, high = diagram.shown
    sides = np.stack((np.append(low, middles), np.append(middles, high)), axis=1)
    return sides[np.argsort(order)]


def _boxes(sides: Floats, low: Floats, high: Floats) -> Floats:
    """Return the corners (boxes, 4, 2) of upright boxes."""
    x = sides[:, [0, 1, 1, 0]]
    y = np.stack((low, low, high, high), axis=1)
    return np.stack((x, y), axis=2)


def means(diagram: "ReliabilityDiagram", series: "Series") -> tuple[float, float]:
    """Return the mean prediction and the rate of the event."""
    fn, e = series.function, diagram.event
    return float(fn.proportions @ fn.predicted[:, e]), float(fn.proportions @ fn.observed[:, e])


def _names(diagram: "ReliabilityDiagram") -> tuple[str, str]:
    """Return what the mean prediction and the rate are called."""
    return "mean confidence" if is_top(diagram) else "mean prediction", rate_name(diagram)


def _mean_keys(diagram: "ReliabilityDiagram", series: "Series") -> list[Key]:
    values = zip(_names(diagram), means(diagram, series), ("mean", "rate"), strict=True)
    return [Key(f"{name} {value:.3f}", "line", look) for name, value, look in values]


def _framed(diagram: "ReliabilityDiagram", parts: tuple[Part, ...], keys: list[Key]) -> Picture:
    """Put parts into a square, over the histogram."""
    prediction = picture.prediction_name(diagram.subject, diagram.classes[diagram.event])
    axis = picture.axis(diagram.shown)
    alone = len(diagram.series) == 1
    lines: tuple[tuple[float, str], ...] = ()
    if alone:
        lines = tuple(zip(means(diagram, diagram.series[0]), ("mean", "rate"), strict=True))
    return Picture(
        label=f"{capital(rate_name(diagram))}, over the {prediction}, for each bin"
        f"{of_models(diagram)}.",
        parts=parts,
        keys=tuple(keys),
        frame=picture.Frame(horizontal_name(diagram), rate_name(diagram), axis, axis, square=True),
        strip=picture.present(series.histogram for series in diagram.series),
        strip_range=diagram.shown,
        strip_lines=lines,
        summary=tuple(summary_lines(diagram)) if alone else (),
    )
