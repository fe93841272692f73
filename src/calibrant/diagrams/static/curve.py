"""Curves over the predictions of two outcomes."""

from collections.abc import Iterator
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from calibrant.diagrams.curve import CurveDiagram
from calibrant.diagrams.static.keys import add_legend, fit, inches, keep_inside
from calibrant.diagrams.static.strip import SQUARE, draw_strip, set_range, set_vertical
from calibrant.diagrams.style import (
    BLUE,
    GREY,
    INK,
    MUTED,
    PALE,
    VERMILLION,
    band_name,
    curve_limits,
    curve_off_name,
    curve_range,
    event_name,
    model_colour,
)

FEW = 12  # points of a curve, each of which gets a mark
TICKS = 6  # predictions above a curve over the share of rows


def curve(diagram: CurveDiagram, ax: Axes | None, *, confidence: bool) -> Axes:
    """Draw the curve of each model on its band."""
    square = diagram.kind.diagonal
    if ax is None:
        size = (3.8, 5.0) if square else (4.4, 3.5)
        ax = plt.subplots(figsize=size, layout="constrained")[1]
    if ax.name != "rectilinear":
        raise TypeError(f"`ax` must be a plain Axes for a curve; found {ax.name!r}.")
    ax.plot([0, 1], [0, 1 if square else 0], color=INK, lw=0.8, zorder=1)
    for i in range(len(diagram.series)):
        _draw_curve(diagram, ax, i, confidence)
    if square:
        set_range(ax, *SQUARE, square=True)
        draw_strip(ax, _densities(diagram), named=diagram.series[0].step is None)
    else:
        _set_plain(diagram, ax, confidence)
    _label(diagram, ax)
    add_legend(ax, dict(_handles(diagram, confidence)), "")
    keep_inside(ax)
    return ax


def _densities(diagram: CurveDiagram) -> list[Any]:
    return [series.density for series in diagram.series if series.density is not None]


def _label(diagram: CurveDiagram, ax: Axes) -> None:
    words = diagram.kind.vertical.rsplit(" ", 1 if diagram.kind.diagonal else 2)
    set_vertical(ax, (words[0], " ".join(words[1:])))
    fit(ax.xaxis.label, diagram.kind.horizontal.format(event_name(diagram)), 1.02 * inches(ax))


def _draw_curve(diagram: CurveDiagram, ax: Axes, i: int, confidence: bool) -> None:
    """Draw the band and the curve of model i, and what of it is off."""
    series, alone = diagram.series[i], len(diagram.series) == 1
    lower, upper = curve_limits(diagram, series, confidence=confidence)
    colour = BLUE if alone else model_colour(i)
    off = np.where(series.band.pvalues <= diagram.alpha, series.y, np.nan)
    marks = "o" if series.x.size <= FEW else None
    for piece in series.pieces:
        x, y = series.x[piece], series.y[piece]
        shade: Any = {"color": GREY if alone else colour, "alpha": 0.3 if alone else 0.12, "lw": 0}
        ax.fill_between(x, lower[piece], upper[piece], zorder=1.5, **shade)
        ax.plot(x, y, marker=marks, color=colour, lw=1.4, ms=3, zorder=3, clip_on=False)
        style: Any = {
            "color": VERMILLION if alone else colour,
            "lw": 2.6,
            "ms": 5,
            "clip_on": False,
        }
        ax.plot(x, off[piece], marker=marks, solid_capstyle="round", zorder=4, **style)


def _set_plain(diagram: CurveDiagram, ax: Axes, confidence: bool) -> None:
    """Set the axes of a curve over the share of rows, with predictions above it."""
    ax.set_xlim(-0.01, 1.01)
    ax.set_ylim(*curve_range(diagram, confidence=confidence))
    ax.spines["right"].set_visible(False)
    first = diagram.series[0]
    if len(diagram.series) > 1:
        ax.spines["top"].set_visible(False)
        return
    ticks = np.linspace(0, 1, TICKS)
    at = np.searchsorted(first.x, ticks).clip(max=first.x.size - 1)
    above = ax.secondary_xaxis("top")
    above.set_xticks(ticks, [f"{p:.2f}" for p in first.predictions[at]])
    above.tick_params(labelsize="x-small", color=GREY, labelcolor=MUTED)
    above.set_xlabel("predicted probability", fontsize="x-small", color=MUTED)


def _handles(diagram: CurveDiagram, confidence: bool) -> Iterator[tuple[str, Any]]:
    """Name what is drawn, in the order in which it is read."""
    alone = len(diagram.series) == 1
    if alone:
        yield diagram.kind.name, Line2D([], [], color=BLUE, lw=1.4)
        yield curve_off_name(diagram), Line2D([], [], color=VERMILLION, lw=2.6)
    else:
        for i, series in enumerate(diagram.series):
            yield series.name, Line2D([], [], color=model_colour(i), lw=1.4)
        yield curve_off_name(diagram), Line2D([], [], color=INK, lw=2.6)
    yield band_name(diagram, confidence=confidence), Patch(color=GREY, alpha=0.3, lw=0)
    if alone and diagram.series[0].density is not None:
        yield "share of predictions", Patch(color=PALE)
