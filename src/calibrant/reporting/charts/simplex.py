"""What triangles and tetrahedra share: arrows, shades, names of corners and keys."""

import numpy as np

from calibrant.diagrams import ReliabilityDiagram
from calibrant.diagrams.style import FADED, FEW_ROWS, off_name, wrapped
from calibrant.reporting.charts import svg
from calibrant.reporting.charts.chart import Floats, Key, line_key, share, swatch
from calibrant.reporting.charts.svg import Point, element

HEAD = 10.0  # length of an arrow head
PALEST = 0.12  # opacity of a cell with hardly any rows
LINES, LEADING = 3, 16.0  # of a name: at most so many, so far apart
STEPS = 7  # of the scale of shades


def shade(part: float) -> str:
    """Return the opacity of a cell that holds so much of what the fullest one holds."""
    return f"{PALEST + (1 - PALEST) * part:.2f}"


def arrow(start: Point, stop: Point, class_: str) -> str:
    """Draw an arrow; the head of a short one is smaller."""
    tail, tip = np.array(start), np.array(stop)
    length = max(float(np.hypot(*(tip - tail))), 1e-9)
    head = min(HEAD, 0.6 * length) * (tip - tail) / length
    neck, across = tip - head, 0.45 * np.array([-head[1], head[0]])
    corners = [stop, *map(_point, (neck + across, neck - across))]
    return svg.line(start, _point(neck), class_) + svg.polygon(corners, f"{class_} head")


def _point(place: Floats) -> Point:
    x, y = place.tolist()
    return x, y


def short_lines(name: str, width: int) -> list[str]:
    """Break the name of a corner into a few lines."""
    lines = wrapped(name, width)
    return lines if len(lines) <= LINES else [*lines[: LINES - 1], lines[LINES - 1] + "…"]


def arrow_keys(diagram: ReliabilityDiagram, *, faded: bool) -> tuple[Key, ...]:
    """Say what arrows and shades mean.

    faded : whether some arrows are faded since their cells hold few rows
    """
    largest = float(diagram.series[0].function.proportions.max())
    steps = []
    for i in range(STEPS):
        step = svg.box(28 / STEPS * i, 28 / STEPS * (i + 1), 12, 2, "shade")
        steps.append(element("g", step, fill_opacity=shade(i / (STEPS - 1))))
    keys = [(line_key("arrow off"), off_name(diagram)), (line_key("arrow"), "not significant")]
    if faded:
        keys.append((swatch(svg.line((2, 7), (26, 7), "arrow", FADED)), FEW_ROWS))
    keys.append((swatch("".join(steps)), f"share of predictions, 0 to {share(largest)}"))
    return tuple(keys)
