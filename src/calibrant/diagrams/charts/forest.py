"""Groups of rows below each other: how far off each one is, with its interval."""

from collections.abc import Sequence

from calibrant.diagrams.charts import svg
from calibrant.diagrams.charts.chart import WIDTH, Chart
from calibrant.diagrams.charts.plain import number
from calibrant.diagrams.charts.svg import Scale
from calibrant.diagrams.picture import round_ticks
from calibrant.inference import Slice
from calibrant.words import ALPHA, percent, points, pvalue

LEFT, RIGHT, TOP, STEP, AXIS = 150.0, WIDTH - 14.0, 8.0, 24.0, 26.0
LETTERS = 18  # of the name of a group
LEAST = 0.01  # that the axis reaches to
RADIUS = 5.0


def forest(groups: Sequence[Slice], label: str) -> Chart:
    """Draw a mark and an interval for each group; filled where it is shown to be off."""
    ends = [one.verdict.interval[1] for one in groups if one.verdict.interval is not None]
    sizes = [one.verdict.size for one in groups if one.verdict.size is not None]
    x = Scale(0.0, 1.04 * max([LEAST, *ends, *sizes]), LEFT, RIGHT)
    bottom = TOP + STEP * len(groups)
    parts = []
    percents = round_ticks(0.0, 100 * x.high, 5)
    for value in percents:
        at = x(value / 100)
        parts.append(svg.line((at, TOP), (at, bottom), "grid"))
        parts.append(svg.text((at, bottom + 16), number(value, percents)))
    parts.append(svg.line((x(0), TOP), (x(0), bottom), "zero"))
    for i, one in enumerate(groups):
        parts += _row(one, TOP + STEP * (i + 0.5), x)
    shown = f"shown to be off at {percent(ALPHA)}, adjusted for all groups"
    keys = (
        (svg.mark("circle", (14, 7), RADIUS, "mark off"), shown),
        (svg.mark("circle", (14, 7), RADIUS, "mark"), "not shown to be off"),
        (svg.line((2, 7), (26, 7), "limits"), "95\N{NO-BREAK SPACE}% interval"),
    )
    size = "off by, percentage points (root mean square)"
    return Chart("".join(parts), label, 0.0, bottom + AXIS, keys, below=size)


def _row(one: Slice, y: float, x: Scale) -> list[str]:
    """Draw one group at a height."""
    verdict = one.verdict
    name = one.group if len(one.group) <= LETTERS else f"{one.group[: LETTERS - 1]}…"
    parts = [svg.text((LEFT - 10, y + 4), name, "end")]
    if verdict.interval is not None:
        low, high = verdict.interval
        parts.append(svg.line((x(low), y), (x(high), y), "limits"))
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
