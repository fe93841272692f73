"""Discrimination over miscalibration."""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from calibrant.diagrams.plane import PlanePoint, ScorePlane
from calibrant.diagrams.static.keys import add_legend, keep_inside
from calibrant.diagrams.style import (
    BLUE,
    GREY,
    MUTED,
    PALE,
    VERMILLION,
    percent,
    plane_axes,
    plane_lines,
    plane_range,
)

APART = 0.05  # of the height: names are at least so far from each other


def plane(diagram: ScorePlane, ax: Axes | None) -> Axes:
    """Draw a mark for each model, and lines of equal score."""
    if ax is None:
        ax = plt.subplots(figsize=(4.6, 4.0), layout="constrained")[1]
    if ax.name != "rectilinear":
        raise TypeError(f"`ax` must be a plain Axes for a score plane; found {ax.name!r}.")
    (left, right), (low, high) = plane_range(diagram)
    ax.set_xlim(left, right)
    ax.set_ylim(low, high)
    for score, x, y in plane_lines(diagram):
        ax.plot(x, y, color=PALE, lw=0.8, zorder=0)
        ax.annotate(
            f"{score:.3g}",
            (x[1], y[1]),
            xytext=(-2, 2),
            textcoords="offset points",
            fontsize="xx-small",
            color=MUTED,
            ha="right",
            va="bottom",
            annotation_clip=True,
        )
    _draw_models(diagram, ax)
    horizontal, vertical = plane_axes(diagram)
    ax.set_xlabel(horizontal)
    ax.set_ylabel(vertical)
    ax.spines[["top", "right"]].set_visible(False)
    add_legend(ax, _handles(diagram), "")
    keep_inside(ax)
    return ax


def _draw_models(diagram: ScorePlane, ax: Axes) -> None:
    """Draw marks, the way from what chance alone gives, and names that do not overlap."""
    height, width = np.ptp(ax.get_ylim()), np.ptp(ax.get_xlim())
    taken = -np.inf
    for point in sorted(diagram.points, key=_place):
        x, y = point.parts.miscalibration, point.parts.discrimination
        if not np.isfinite(x):
            continue
        off = point.pvalue <= diagram.alpha
        colour = VERMILLION if off else BLUE
        ax.plot([point.expected, x], [y, y], color=GREY, lw=1.0, alpha=0.6, zorder=2)
        ax.plot([point.expected], [y], marker="|", color=GREY, ms=6, zorder=2)
        ax.plot([x], [y], "o", ms=6, mec=colour, mfc=colour if off else "white", zorder=3)
        aside, taken = taken + APART * height > y, max(y, taken + APART * height)
        text = ax.annotate(
            "",
            (x, y),
            xytext=(x + 0.03 * width, taken),
            fontsize="x-small",
            va="center",
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": GREY, "lw": 0.5} if aside else None,
        )
        text.set_parse_math(False)
        text.set_text(point.name)
    ax.set_ylim(top=max(ax.get_ylim()[1], taken + APART * height))


def _place(point: PlanePoint) -> tuple[float, float]:
    """Return what decides who is named first: from below, and of those alike, from the right."""
    return round(point.parts.discrimination, 6), -point.parts.miscalibration


def _handles(diagram: ScorePlane) -> dict[str, Any]:
    level = percent(diagram.alpha)
    round_mark: Any = {"ls": "none", "marker": "o", "ms": 6}
    handles = {
        f"miscalibrated ({level})": Line2D([], [], color=VERMILLION, **round_mark),
        "not significant": Line2D([], [], mec=BLUE, mfc="white", color=BLUE, **round_mark),
        "from chance alone": Line2D([], [], color=GREY, marker="|", ms=6, lw=1.0, alpha=0.6),
    }
    if diagram.uncertainty is not None:
        handles["equal scores"] = Line2D([], [], color=PALE, lw=0.8)
    return handles
