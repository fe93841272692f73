"""Regions of rows as SVG: how far each is off, with its interval, beside what chance gives."""

from collections.abc import Sequence
from typing import Any

from calibrant.diagrams.charts import svg
from calibrant.diagrams.charts.svg import WIDTH, Chart, Scale, element
from calibrant.diagrams.picture import round_ticks
from calibrant.words import many

LEFT, RIGHT = 14.0, WIDTH - 14.0
UPPER, STEP = 4.0, 42.0  # where regions begin, and how far apart they are
MIDDLE, HALF = 29.0, 5.0  # of a region: where its mark is below its top, and half of the grey bar
TALL = 10.0  # half of the lines of the grid
RADIUS = 5.0
LETTERS = 52  # of a name
INTERVAL = "95\N{NO-BREAK SPACE}% interval, for all regions at once"
CHANCE = "95\N{NO-BREAK SPACE}% consistency bar, for all regions at once"


def bias_chart(rows: Sequence[Any], label: str) -> Chart:
    """Draw the bias of regions; filled where it is shown.

    rows : of which each has `name`, `n`, `off`, `interval`, `by_chance`, `rejected` and `measured`
    """
    ends = [end for row in rows for end in (*row.interval, row.by_chance, -row.by_chance)]
    reach = 1.03 * min(ends), 1.03 * max(ends)
    x, bottom = Scale(*reach, LEFT, RIGHT), UPPER + STEP * len(rows)
    percents = round_ticks(100 * reach[0], 100 * reach[1], 6)
    parts = []
    for value in percents:
        text = f"{value:+g}" if value else "0"
        parts.append(svg.text((x(value / 100), bottom + 16), text.replace("-", "−")))
    for i, row in enumerate(rows):
        parts += _grid(percents, UPPER + STEP * i + MIDDLE, x)
        parts += _row(row, UPPER + STEP * i, x)
    keys = (
        (svg.mark("circle", (14, 7), RADIUS, "mark off"), "shown to be off"),
        (element("g", svg.line((2, 7), (26, 7), "join"), class_="off"), INTERVAL),
        (svg.box(2, 26, 12, 2, "band"), CHANCE),
    )
    below = f"{rows[0].measured}, percentage points"
    return Chart("".join(parts), label, 0.0, bottom + 22, keys, below=below)


def _grid(percents: Sequence[float], y: float, x: Scale) -> list[str]:
    """Draw the lines of the grid about a height, and that of 0."""
    ends = y - TALL, y + TALL
    looks = [(value / 100, "grid") for value in percents if value] + [(0.0, "zero")]
    return [svg.line((x(at), ends[0]), (x(at), ends[1]), look) for at, look in looks]


def _row(row: Any, top: float, x: Scale) -> list[str]:
    """Draw one region below a height."""
    name = row.name
    name = name if len(name) <= LETTERS else f"{name[: LETTERS - 1]}…"
    y, (low, high) = top + MIDDLE, row.interval
    mark = svg.mark(
        "circle", (x(row.off), y), RADIUS, "mark off" if row.rejected else "mark", str(row)
    )
    line = svg.line((x(low), y), (x(high), y), "join")
    return [
        svg.text((LEFT, top + 15), name, "start", "name"),
        svg.text((RIGHT, top + 15), many(row.n, "row"), "end", "small"),
        svg.box(x(-row.by_chance), x(row.by_chance), y + HALF, y - HALF, "band"),
        element("g", line + mark, class_="off" if row.rejected else ""),
    ]
