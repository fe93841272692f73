"""Two outcomes: the deviation over the prediction, or the classical view."""

from collections.abc import Iterator
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import AutoLocator
from matplotlib.transforms import ScaledTranslation
from numpy.typing import NDArray

from calibrant.diagrams.diagram import ReliabilityDiagram, Truth
from calibrant.diagrams.static.keys import PER_INCH, add_legend, fit, inches, keep_inside
from calibrant.diagrams.style import (
    BLUE,
    GREEN,
    GREY,
    INK,
    MUTED,
    PALE,
    VERMILLION,
    event_name,
    limits_name,
    model_colour,
    off_name,
    percent,
    truth_at,
)

Floats = NDArray[np.float64]

MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LOW = 2.3  # inches: beside lower Axes, what is on the vertical axis takes two lines
STRIP = 0.2  # share of the height for the distribution of predictions


def line(
    diagram: ReliabilityDiagram, ax: Axes | None, *, classical: bool, truth: Truth | None
) -> Axes:
    """Draw marks for the cells over bars for the distribution of predictions."""
    if ax is None:
        ax = plt.subplots(figsize=(4.2, 3.4), layout="constrained")[1]
    if ax.name != "rectilinear":
        raise TypeError(f"`ax` must be a plain Axes for two outcomes; found {ax.name!r}.")
    ax.plot([0, 1], [0, 1 if classical else 0], color=INK, lw=0.8, zorder=1)
    if truth is not None:
        x = truth_at()
        y = np.asarray(truth(x)) - (0 if classical else x)
        ax.plot(x, y, color=GREEN, lw=1.4, zorder=3)
    for i in range(len(diagram.series)):
        _draw_cells(diagram, ax, i, classical)
    _set_range(diagram, ax, truth, classical)
    _draw_histogram(diagram, ax)
    _label(diagram, ax, classical)
    add_legend(ax, dict(_handles(diagram, truth is not None)), "")
    keep_inside(ax)
    return ax


def _draw_cells(diagram: ReliabilityDiagram, ax: Axes, i: int, classical: bool) -> None:
    """Draw the limits and the marks of model i."""
    series, n_models = diagram.series[i], len(diagram.series)
    e, shown = diagram.event, series.shown
    x, y = series.function.predicted[shown, e], series.function.deviations[shown, e]
    zero = x if classical else np.zeros_like(x)
    # Models stand side by side on the page; in the data they keep their true positions.
    aside = 2.5 * (i - (n_models - 1) / 2) / PER_INCH
    place = ax.transData + ScaledTranslation(aside, 0, ax.figure.dpi_scale_trans)
    thin = min(1.0, 18 * inches(ax) / max(x.size, 1))
    ax.vlines(
        x,
        zero + series.cells.lower[shown, e],
        zero + series.cells.upper[shown, e],
        color=GREY if n_models == 1 else model_colour(i),
        linewidth=max(0.6, (3.5 if n_models == 1 else 2.0) * thin),
        alpha=0.55,
        zorder=2,
        transform=place,
    )
    off = series.significant(diagram.alpha)[shown]
    for which, style in zip((~off, off), _marks(i, n_models), strict=True):
        if which.any():
            small = {key: style[key] * max(0.5, thin) for key in ("ms", "mew")}
            points = {**style, **small, "ls": "none", "zorder": 4, "transform": place}
            ax.plot(x[which], (zero + y)[which], clip_on=False, **points)


def _marks(i: int, n_models: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the marks of model i: of cells that are not significant, and of those that are."""
    if n_models == 1:
        return (
            {"marker": "x", "color": BLUE, "ms": 5.5, "mew": 1.4},
            {"marker": "o", "color": VERMILLION, "ms": 5.5, "mew": 0},
        )
    style = {"marker": MARKERS[i % len(MARKERS)], "color": model_colour(i)}
    return {**style, "ms": 4.5, "mew": 1.1, "mfc": "white"}, {**style, "ms": 4.5, "mew": 1.1}


def _set_range(diagram: ReliabilityDiagram, ax: Axes, truth: Truth | None, classical: bool) -> None:
    """Give the marks the upper part of the Axes and the histogram the lower one."""
    low, high = (-0.02, 1.02) if classical else _extent(diagram, truth)
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(low - (high - low) * STRIP / (1 - STRIP), high)
    ax.yaxis.set_major_locator(_TicksAbove(low))
    ax.spines["left"].set_bounds(low, high)


class _TicksAbove(AutoLocator):
    """The usual ticks, but none beside the histogram."""

    def __init__(self, bottom: float) -> None:
        super().__init__()
        self.bottom = bottom

    def __call__(self) -> Any:
        return [tick for tick in super().__call__() if tick >= self.bottom]


def _extent(diagram: ReliabilityDiagram, truth: Truth | None) -> tuple[float, float]:
    e = diagram.event
    ends = [np.zeros(1)]
    for series in diagram.series:
        cells = series.cells
        ends += [
            values[series.shown, e]
            for values in (series.function.deviations, cells.lower, cells.upper)
        ]
    if truth is not None:
        ends.append(np.asarray(truth(truth_at())) - truth_at())
    every = np.concatenate(ends)
    low, high = float(np.nanmin(every)), float(np.nanmax(every))
    height = max(high - low, 1e-3)
    return low - 0.10 * height, high + 0.08 * height


def _draw_histogram(diagram: ReliabilityDiagram, ax: Axes) -> None:
    """Draw the share of predictions in the lowest part of the Axes."""
    drawn = [s.histogram for s in diagram.series if s.histogram is not None]
    tallest = max(float(h.max()) for h in drawn)
    alone = len(drawn) == 1
    for i, histogram in enumerate(drawn):
        ax.stairs(
            0.72 * STRIP * histogram / tallest,
            diagram.edges,
            transform=ax.get_xaxis_transform(),
            fill=alone,
            color=PALE if alone else model_colour(i),
            linewidth=0 if alone else 1.1,
            zorder=0,
            clip_on=False,
        )
    top = int(max(drawn, key=np.max).argmax())
    ax.text(
        (diagram.edges[top] + diagram.edges[top + 1]) / 2,
        0.74 * STRIP,
        percent(float(f"{tallest:.2g}")),
        transform=ax.get_xaxis_transform(),
        ha="center",
        va="bottom",
        fontsize="x-small",
        color=MUTED,
    )


def _label(diagram: ReliabilityDiagram, ax: Axes, classical: bool) -> None:
    fit(ax.xaxis.label, f"predicted probability of {event_name(diagram)}", 1.02 * inches(ax))
    words = ("observed", "frequency" if classical else "− predicted")
    low = ax.bbox.height / ax.figure.dpi < LOW
    ax.set_ylabel("\n".join(words) if low else " ".join(words))
    ax.spines[["top", "right"]].set_visible(False)


def _handles(diagram: ReliabilityDiagram, truth: bool) -> Iterator[tuple[str, Any]]:
    """Name the marks, in the order in which they are read."""
    first, n_models = diagram.series[0], len(diagram.series)
    if n_models == 1:
        for name, style in zip(("not significant", off_name(diagram)), _marks(0, 1), strict=True):
            yield name, Line2D([], [], ls="none", **style)
    else:
        for i, series in enumerate(diagram.series):
            yield series.name, Line2D([], [], ls="none", **_marks(i, n_models)[1])
        yield off_name(diagram), Line2D([], [], ls="none", marker="o", color=INK, ms=4.5)
        hollow = Line2D([], [], ls="none", marker="o", color=INK, mfc="white", ms=4.5)
        yield "not significant", hollow
    yield limits_name(first), Line2D([], [], color=GREY, lw=3.5, alpha=0.55)
    if truth:
        yield "true", Line2D([], [], color=GREEN, lw=1.4)
    if n_models == 1:
        yield "share of predictions", Patch(color=PALE)
