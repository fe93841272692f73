"""Regions of rows with matplotlib: how far each is off, with its interval, beside chance."""

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter

from calibrant.diagrams.static.parts import BLUE, GREY, INK, LEGEND, VERMILLION, keep_inside
from calibrant.words import many

HEIGHT = 0.34  # inches of a region
ABOVE = {"bbox_to_anchor": (0.5, 1.0), "ncols": 1}
INTERVAL = "95 % interval, for all regions at once"
CHANCE = "95 % consistency bar, for all regions at once"


def biases(rows: Sequence[Any], ax: Axes | None = None) -> Axes:
    """Draw the bias of regions, the first at the top, and return the Axes."""
    if ax is None:
        size = (5.6, 1.4 + HEIGHT * len(rows))
        ax = plt.figure(figsize=size, layout="constrained").add_subplot()
    for i, row in enumerate(rows):
        colour = VERMILLION if row.rejected else BLUE
        ax.barh(i, 2 * row.by_chance, 0.5, left=-row.by_chance, color=GREY, alpha=0.3, lw=0)
        ax.plot(row.interval, [i, i], color=colour, lw=1.4)
        ax.plot(row.off, i, "o", color=colour, mfc=colour if row.rejected else "white", ms=6)
    names = [f"{row.name}\n{many(row.n, 'row')}" for row in rows]
    ax.set_yticks(range(len(rows)), names, fontsize="x-small", parse_math=False)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.axvline(0.0, color=INK, lw=0.8, zorder=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.xaxis.set_major_formatter(FuncFormatter(_points))
    ax.set_xlabel(f"{rows[0].measured}, percentage points", fontsize="small")
    shown = Line2D([], [], color=VERMILLION, marker="o", lw=1.4, ms=6)
    handles = [shown, Patch(color=GREY, alpha=0.3, lw=0)]
    ax.legend(handles, [INTERVAL, CHANCE], **LEGEND | {"loc": "lower center"} | ABOVE)
    keep_inside(ax)
    return ax


def _points(value: float, _: Any) -> str:
    """Write a tick in percentage points, with its sign."""
    return f"{round(100 * value, 6):+g}".replace("-", "−") if round(value, 8) else "0"
