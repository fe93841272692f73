"""Pictures as SVG: no script draws them, a style sheet paints them, and they print.

`chart` turns a picture into a `Chart`, `forest` groups of rows, `bias_chart` regions; `spark` draws
a small one. Those with axes are drawn here.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from calibrant import tables
from calibrant.diagrams.charts import svg
from calibrant.diagrams.charts.biases import bias_chart
from calibrant.diagrams.charts.parts import Place, draw, drawn_keys, model_class
from calibrant.diagrams.charts.simplex import tetrahedron_chart, triangle_chart
from calibrant.diagrams.charts.svg import WIDTH, Chart, DrawnKey, Point, Scale, element
from calibrant.diagrams.picture import Corner, Floats, Frame, Picture, round_ticks, rounded_percent
from calibrant.inference import Slice
from calibrant.words import ALPHA, percent, points, pvalue

__all__ = ["Chart", "bias_chart", "chart", "forest", "spark"]

LEFT, RIGHT, TOP, BOTTOM = 54.0, 430.0, 10.0, 310.0  # of the drawing
STRIP = 324.0, 366.0  # upper and lower end of the distribution of predictions
MOST_NOTED = 50  # bins of a strip: more have no notes
SPARK = 180.0, 110.0  # width and height of a small chart
SHRUNK = 0.55  # marks of a small chart

NAMES = 150.0  # width of the names of groups
LETTERS = 18  # of such a name
LEAST = 0.01  # that the axis of groups reaches to
UPPER, STEP = 8.0, 24.0  # where groups begin, and how far apart they are
RADIUS = 5.0  # of their marks


def chart(picture: Picture, found: str = "", table: tables.Lines = ((), ())) -> Chart:
    """Draw a picture; what it shows, in a sentence and a table, is for those who cannot see it."""
    label, keys = f"{picture.label} {found}".strip(), drawn_keys(picture)
    if picture.frame is not None:
        drawn = _plain_chart(picture, picture.frame, label, keys)
    else:
        draw_simplex = tetrahedron_chart if picture.in_space else triangle_chart
        drawn = draw_simplex(picture, label, keys)
    return replace(drawn, table=table)


def _plain_chart(picture: Picture, frame: Frame, label: str, keys: tuple[DrawnKey, ...]) -> Chart:
    """Draw the parts, over a strip with the distribution of predictions."""
    middle, half = (LEFT + RIGHT) / 2, (BOTTOM - TOP) / 2
    sides = (middle - half, middle + half) if frame.square else (LEFT, RIGHT)
    x, y = Scale(*frame.x, *sides), Scale(*frame.y, BOTTOM, TOP)
    foot = STRIP[1] if picture.strip else BOTTOM
    parts = [*_axes(frame, x, y, foot), *_strip(x, picture)]
    parts += [draw(part, _places(x, y)) for part in picture.parts]
    vertical = frame.vertical
    if picture.summary:
        parts += _summary(picture.summary, picture.corner, x, y)
        vertical += f" ({', '.join(picture.summary)})" * (picture.corner is None)
    if frame.above:
        parts += [svg.text((x(at), TOP - 6), text, class_="small") for at, text in frame.above]
        vertical += f" (above: {frame.above_name})"
    return Chart(
        drawing="".join(parts),
        label=label,
        top=0.0 if picture.strip else -16.0,
        bottom=foot + 26,
        keys=keys,
        above=vertical,
        below=frame.horizontal,
    )


def spark(picture: Picture, label: str) -> str:
    """Draw the parts of a picture small, without axes."""
    assert picture.frame is not None
    width, height = SPARK
    place = _places(Scale(0, 1, 8, width - 8), Scale(*picture.frame.y, height - 6, 6))
    drawn = "".join(draw(part, place, size=SHRUNK) for part in picture.parts)
    return element("svg", drawn, viewBox=f"0 0 {width:g} {height:g}", role="img", aria_label=label)


def number(value: float, beside: Sequence[float]) -> str:
    """Write a number with as many digits as it takes to tell it from those beside it."""
    step = min(np.diff(beside), default=1.0)
    digits = max(0, int(np.ceil(-np.log10(step) - 1e-9)))
    return f"{value:.{digits}f}".replace("-", "−")


def _places(x: Scale, y: Scale) -> Place:
    def place(points: Floats) -> list[Point]:
        return [(x(a), y(b)) for a, b in points.tolist()]

    return place


def _axes(frame: Frame, x: Scale, y: Scale, foot: float) -> list[str]:
    """Draw the grid and the numbers of both axes, those of the horizontal one at the foot."""
    across, up = frame.across(), round_ticks(y.low, y.high)
    parts = []
    for value in up:
        parts.append(svg.line((x.start, y(value)), (x.end, y(value)), "grid"))
        parts.append(svg.text((x.start - 6, y(value) + 4), number(value, up), "end"))
    for value in across:
        parts.append(svg.line((x(value), BOTTOM), (x(value), TOP), "grid"))
        text, at, anchor = number(value, across), x(value), "middle"
        if at + len(text) * svg.LETTER / 2 > WIDTH:  # it would be cut off
            at, anchor = WIDTH, "end"
        parts.append(svg.text((at, foot + 18), text, anchor))
    return parts


def _summary(lines: Sequence[str], corner: Corner | None, x: Scale, y: Scale) -> list[str]:
    """Write lines into a corner, if there is one."""
    if corner is None:
        return []
    at, anchor = (x.start + 8, "start") if corner.side == "left" else (x.end - 8, "end")
    top = y.end + 14 if corner.end == "top" else y.start - 8 - 16 * (len(lines) - 1)
    return [svg.text((at, top + 16 * i), each, anchor, "name") for i, each in enumerate(lines)]


def _strip(x: Scale, picture: Picture) -> list[str]:
    """Draw how predictions are distributed, models side by side, under upright lines."""
    histograms, (left, right) = picture.strip, picture.strip_range
    if not histograms:
        return []
    largest = max(float(each.max()) for each in histograms)
    up = Scale(0.0, largest, STRIP[1], STRIP[0])
    parts = [svg.line((x.start, STRIP[1]), (x.end, STRIP[1]), "grid")]
    parts.append(svg.text((x.start - 6, STRIP[0] + 9), rounded_percent(largest), "end"))
    for i, each in enumerate(histograms):
        width = (right - left) / each.size
        bars = []
        for j in np.flatnonzero(each).tolist():
            low, high = left + (j + 0.05) * width, left + (j + 0.95) * width
            ends = [low + (high - low) * part / len(histograms) for part in (i, i + 1)]
            place = f"from {left + j * width:.3g} to {left + (j + 1) * width:.3g}"
            note = f"{100 * each[j]:.1f} % of predictions {place}" * (each.size <= MOST_NOTED)
            bars.append(svg.box(x(ends[0]), x(ends[1]), STRIP[1], up(float(each[j])), "bar", note))
        model = None if len(histograms) == 1 else i
        parts.append(element("g", "".join(bars), class_=model_class(model)))
    for at, look in picture.strip_lines:
        parts.append(svg.line((x(at), STRIP[0] - 6), (x(at), STRIP[1]), look))
    return parts


def forest(groups: Sequence[Slice], label: str) -> Chart:
    """Draw a mark and an interval for each group; filled where it is shown to be off."""
    x = Scale(0.0, 1.04 * max([LEAST, *map(_reach, groups)]), NAMES, WIDTH - 14)
    bottom = UPPER + STEP * len(groups)
    parts = []
    percents = round_ticks(0.0, 100 * x.high, 5)
    for value in percents:
        at = x(value / 100)
        parts.append(svg.line((at, UPPER), (at, bottom), "grid"))
        parts.append(svg.text((at, bottom + 16), number(value, percents)))
    parts.append(svg.line((x(0), UPPER), (x(0), bottom), "zero"))
    for i, one in enumerate(groups):
        parts += _row(one, UPPER + STEP * (i + 0.5), x)
    shown = f"shown to be off at {percent(ALPHA)}, adjusted for all groups"
    keys = (
        (svg.mark("circle", (14, 7), RADIUS, "mark off"), shown),
        (svg.mark("circle", (14, 7), RADIUS, "mark"), "not shown to be off"),
        (svg.line((2, 7), (26, 7), "limits"), "95\N{NO-BREAK SPACE}% interval"),
    )
    size = "off by, percentage points (root mean square)"
    return Chart("".join(parts), label, 0.0, bottom + 26, keys, below=size)


def _reach(one: Slice) -> float:
    """Return the largest size that is drawn of a group."""
    ends = one.verdict.size, *(one.verdict.interval or ())
    return max((end for end in ends if end is not None), default=0.0)


def _row(one: Slice, y: float, x: Scale) -> list[str]:
    """Draw one group at a height."""
    verdict = one.verdict
    name = one.group if len(one.group) <= LETTERS else f"{one.group[: LETTERS - 1]}…"
    parts = [svg.text((NAMES - 10, y + 4), name, "end")]
    if verdict.interval is not None:
        low, high = verdict.interval
        end = x.high if high is None else high  # without an upper bound, to the edge
        parts.append(svg.line((x(low), y), (x(end), y), "limits"))
    if verdict.size is not None:
        look = "mark off" if verdict.rejected else "mark"
        parts.append(svg.mark("circle", (x(verdict.size), y), RADIUS, look, _note(one)))
    return parts


def _note(one: Slice) -> str:
    """Describe a group, for hovering."""
    verdict = one.verdict
    size = "" if verdict.size is None else f"off by {points(verdict.size)}"
    bias = "" if verdict.bias is None else f"mean prediction minus rate {points(verdict.bias)}"
    lines = [f"{one.column}: {one.group}, {one.n:,} rows", size, bias]
    return "\n".join(
        [*filter(None, lines), f"adjusted {pvalue(verdict.pvalue, verdict.n_resamples)}"]
    )
