"""Three outcomes: arrows on the probability simplex."""

from collections.abc import Sequence

import numpy as np

from calibrant.diagrams import ReliabilityDiagram
from calibrant.diagrams.style import FADED, arrow_looks
from calibrant.reporting.charts import svg
from calibrant.reporting.charts.chart import Chart, Floats, cell_note, drawing
from calibrant.reporting.charts.simplex import LEADING, arrow, arrow_keys, shade, short_lines
from calibrant.reporting.charts.svg import Point, element

CORNERS = np.array([[220.0, 0.0], [55.0, 286.0], [385.0, 286.0]])  # top, left, right
TICKS = 0.25, 0.5, 0.75
SIDES = ((0, 1), (1, 2), (2, 0))  # the axis of a corner: where it is 1, and where it is 0
OUTSIDE = ((-8.0, 0.0, "end"), (4.0, 16.0, "middle"), (8.0, 0.0, "start"))  # its numbers
NAMES = ((0.0, -18.0, "middle", 50), (-50.0, 36.0, "start", 26), (50.0, 36.0, "end", 26))
ROOM = 14.0  # above and below the names


def triangle(diagram: ReliabilityDiagram, label: str, element_id: str) -> Chart:
    """Draw cells coloured by the share of predictions, and arrows to the outcome frequencies.

    element_id : identifies it on the page
    """
    outline = [(float(x), float(y)) for x, y in CORNERS]
    inside = f"{element_id}-inside"
    parts = [element("clipPath", svg.polygon(outline, "outline"), id=inside)]
    parts += [*_cells(diagram), element("g", _arrows(diagram), clip_path=f"url(#{inside})")]
    parts.append(svg.polygon(outline, "outline"))
    names = [short_lines(name, NAMES[k][3]) for k, name in enumerate(diagram.classes)]
    for k, lines in enumerate(names):
        parts += _axis(k) + _name(k, lines)
    above, *below = (LEADING * (len(lines) - 1) for lines in names)
    ends = NAMES[0][1] - above - ROOM, CORNERS[1, 1] + NAMES[1][1] + max(below) + ROOM
    faded = bool(arrow_looks(diagram, diagram.series[0])[0][0].any())
    return Chart(drawing(parts, label, ends), "", "", arrow_keys(diagram, faded=faded))


def _place(point: Floats) -> Point:
    """Return where a point (3,) of the simplex is on the page."""
    x, y = (point @ CORNERS).tolist()
    return x, y


def _cells(diagram: ReliabilityDiagram) -> list[str]:
    """Colour the cells."""
    series = diagram.series[0]
    assert series.corners is not None
    shares = series.function.proportions
    names = list(enumerate(diagram.classes))
    parts = []
    for c in np.flatnonzero(series.shown).tolist():
        corners = [_place(corner) for corner in series.corners[c]]
        opacity = shade(float(shares[c] / shares.max()))
        parts.append(svg.polygon(corners, "cell", cell_note(series, c, names), opacity))
    return parts


def _arrows(diagram: ReliabilityDiagram) -> str:
    """Draw arrows from the mean predictions of cells to what was observed in them."""
    series = diagram.series[0]
    fn = series.function
    groups = []
    for which, off, faded in arrow_looks(diagram, series):
        class_ = "arrow off" if off else "arrow"
        ends = zip(fn.predicted[which], fn.observed[which], strict=True)
        drawn = [arrow(_place(start), _place(stop), class_) for start, stop in ends]
        groups.append(element("g", "".join(drawn), opacity=FADED if faded else ""))
    return "".join(groups)


def _axis(k: int) -> list[str]:
    """Draw the ticks of corner k: along one side, rising towards it."""
    one, zero = SIDES[k]
    dx, dy, anchor = OUTSIDE[k]
    parts = []
    for value in TICKS:
        x, y = (value * CORNERS[one] + (1 - value) * CORNERS[zero]).tolist()
        parts.append(svg.line((x, y), (x + 0.6 * dx, y + 0.4 * dy), f"tick corner{k}"))
        parts.append(svg.text((x + dx, y + dy + 4), f"{value:g}", anchor, f"small corner{k}"))
    return parts


def _name(k: int, lines: Sequence[str]) -> list[str]:
    """Write the name of corner k outside of it; the lines at the top grow upwards."""
    dx, dy, anchor, _ = NAMES[k]
    x, y = CORNERS[k]
    first = y + dy - (LEADING * (len(lines) - 1) if k == 0 else 0.0)
    return [
        svg.text((x + dx, first + LEADING * i), each, anchor, f"corner{k}")
        for i, each in enumerate(lines)
    ]
