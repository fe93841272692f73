"""Three outcomes: arrows on the probability simplex."""

from collections.abc import Sequence

import numpy as np

from calibrant.diagrams import ReliabilityDiagram, Series
from calibrant.diagrams.style import FADED, FEW_ROWS, arrow_looks, off_name, wrapped
from calibrant.reporting.charts import svg
from calibrant.reporting.charts.chart import (
    Chart,
    Floats,
    cell_note,
    drawing,
    line_key,
    share,
    swatch,
)
from calibrant.reporting.charts.svg import Point, element

CORNERS = np.array([[220.0, 0.0], [55.0, 286.0], [385.0, 286.0]])  # top, left, right
TICKS = 0.25, 0.5, 0.75
SIDES = ((0, 1), (1, 2), (2, 0))  # the axis of a corner: where it is 1, and where it is 0
OUTSIDE = ((-8.0, 0.0, "end"), (4.0, 16.0, "middle"), (8.0, 0.0, "start"))  # its numbers
NAMES = ((0.0, -18.0, "middle", 50), (-50.0, 36.0, "start", 26), (50.0, 36.0, "end", 26))
LINES, LEADING = 3, 16.0  # of a name: at most so many, so far apart
ROOM = 14.0  # above and below the names
HEAD = 10.0  # length of an arrow head
PALEST = 0.12  # opacity of a cell with hardly any rows


def triangle(diagram: ReliabilityDiagram, label: str, element_id: str) -> Chart:
    """Draw cells coloured by the share of predictions, and arrows to the outcome frequencies."""
    series = diagram.series[0]
    outline = [(float(x), float(y)) for x, y in CORNERS]
    inside = f"{element_id}-inside"
    parts = [element("clipPath", svg.polygon(outline, "outline"), id=inside)]
    parts += _shares(diagram, series)
    arrows = []
    for which, off, faded in arrow_looks(diagram, series):
        drawn = [
            _arrow(series, c, "arrow off" if off else "arrow")
            for c in np.flatnonzero(which).tolist()
        ]
        arrows.append(element("g", "".join(drawn), opacity=f"{FADED if faded else 1:g}"))
    parts.append(element("g", "".join(arrows), clip_path=f"url(#{inside})"))
    parts.append(svg.polygon(outline, "outline"))
    names = [_lines(k, name) for k, name in enumerate(diagram.classes)]
    for k, lines in enumerate(names):
        parts += _axis(k) + _name(k, lines)
    above, *below = (LEADING * (len(lines) - 1) for lines in names)
    ends = NAMES[0][1] - above - ROOM, CORNERS[1, 1] + NAMES[1][1] + max(below) + ROOM
    return Chart(drawing(parts, label, ends), "", "", tuple(_keys(diagram)))


def _place(point: Floats) -> Point:
    """Return where a point (3,) of the simplex is on the page."""
    x, y = point @ CORNERS
    return float(x), float(y)


def _shares(diagram: ReliabilityDiagram, series: Series) -> list[str]:
    """Colour the cells, or dots at the mean predictions of cells that are no simplices."""
    shares = series.function.proportions
    names = list(enumerate(diagram.classes))
    parts = []
    for c in np.flatnonzero(series.shown).tolist():
        part = float(shares[c] / shares.max())
        note, shade = cell_note(series, c, names), f"{PALEST + (1 - PALEST) * part:.2f}"
        if series.corners is None:
            drawn = svg.mark(
                "circle", _place(series.function.predicted[c]), 3 + 6 * part**0.5, "cell", note
            )
            parts.append(element("g", drawn, fill_opacity=shade))
        else:
            corners = [_place(corner) for corner in series.corners[c]]
            parts.append(svg.polygon(corners, "cell", note, fill_opacity=shade))
    return parts


def _arrow(series: Series, c: int, class_: str) -> str:
    """Draw an arrow from the mean prediction of cell c to what was observed in it."""
    start, stop = (
        np.array(_place(p[c])) for p in (series.function.predicted, series.function.observed)
    )
    length = float(np.hypot(*(stop - start)))
    if length < 0.5:
        return ""
    along = (stop - start) / length
    head = min(HEAD, 0.6 * length)
    neck, across = stop - head * along, 0.45 * head * np.array([-along[1], along[0]])
    corners = [(float(x), float(y)) for x, y in (stop, neck + across, neck - across)]
    shaft = svg.line((start[0], start[1]), (neck[0], neck[1]), class_)
    return shaft + svg.polygon(corners, f"{class_} head")


def _axis(k: int) -> list[str]:
    """Draw the ticks of corner k: along one side, rising towards it."""
    one, zero = SIDES[k]
    dx, dy, anchor = OUTSIDE[k]
    parts = []
    for value in TICKS:
        x, y = value * CORNERS[one] + (1 - value) * CORNERS[zero]
        parts.append(svg.line((x, y), (x + 0.6 * dx, y + 0.4 * dy), f"tick corner{k}"))
        number = svg.text((x + dx, y + dy + 4), f"{value:g}", anchor, class_=f"small corner{k}")
        parts.append(number)
    return parts


def _lines(k: int, name: str) -> list[str]:
    """Break the name of corner k into a few lines."""
    lines = wrapped(name, NAMES[k][3])
    return lines if len(lines) <= LINES else [*lines[: LINES - 1], lines[LINES - 1] + "…"]


def _name(k: int, lines: Sequence[str]) -> list[str]:
    """Write the name of corner k outside of it."""
    dx, dy, anchor, _ = NAMES[k]
    x, y = CORNERS[k]
    up = LEADING * (len(lines) - 1) if k == 0 else 0.0  # the lines at the top grow upwards
    return [
        svg.text((x + dx, y + dy - up + LEADING * i), each, anchor, class_=f"corner{k}")
        for i, each in enumerate(lines)
    ]


def _keys(diagram: ReliabilityDiagram) -> list[tuple[str, str]]:
    """Say what colours and arrows mean."""
    series = diagram.series[0]
    largest = float(series.function.proportions.max())
    steps = [
        element(
            "rect",
            x=4.0 * i,
            y=2,
            width=4,
            height=10,
            class_="cell",
            fill_opacity=f"{PALEST + (1 - PALEST) * i / 6:.2f}",
        )
        for i in range(7)
    ]
    keys = [
        (line_key("arrow off"), off_name(diagram)),
        (line_key("arrow"), "not significant"),
    ]
    if arrow_looks(diagram, series)[0][0].any():
        faded = svg.line((2, 7), (26, 7), "arrow", opacity=FADED)
        keys.append((swatch(faded), FEW_ROWS))
    keys.append((swatch("".join(steps)), f"share of predictions, 0 to {share(largest)}"))
    return keys
