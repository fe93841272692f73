"""Two outcomes: the deviation over the prediction, or the classical view."""

from collections.abc import Iterator
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.transforms import ScaledTranslation
from numpy.typing import NDArray

from calibrant.diagrams.diagram import ReliabilityDiagram, Truth
from calibrant.diagrams.static.keys import PER_INCH, add_legend, fit, inches, keep_inside
from calibrant.diagrams.static.strip import SQUARE, draw_strip, set_range, set_vertical
from calibrant.diagrams.style import (
    BEYOND,
    BLUE,
    GREEN,
    GREY,
    INK,
    PALE,
    VERMILLION,
    Range,
    event_name,
    limits_name,
    model_colour,
    off_name,
    summary_lines,
    truth_at,
    vertical_range,
)

Floats = NDArray[np.float64]

MARKERS = ("o", "s", "^", "D", "v", "P", "X")
SMALLEST, LARGEST = 3.0, 8.0  # points across a mark, by the share of its rows


def line(
    diagram: ReliabilityDiagram,
    ax: Axes | None,
    *,
    classical: bool,
    truth: Truth | None,
    summary: bool,
) -> Axes:
    """Draw marks for the cells over bars for the distribution of predictions."""
    ax = _new_axes(len(diagram.series), classical) if ax is None else ax
    if ax.name != "rectilinear":
        raise TypeError(f"`ax` must be a plain Axes for two outcomes; found {ax.name!r}.")
    _draw_references(ax, classical, truth)
    extent = SQUARE if classical else vertical_range(diagram, truth)
    set_range(ax, *extent, square=classical)
    beyond = [_draw_cells(diagram, ax, i, extent, classical) for i in range(len(diagram.series))]
    draw_strip(ax, [s.histogram for s in diagram.series if s.histogram is not None])
    _label(diagram, ax, classical, summary)
    names = _names(diagram, summary)
    add_legend(ax, dict(_handles(diagram, names, truth is not None, any(beyond))), "")
    keep_inside(ax)
    return ax


def _new_axes(n_models: int, classical: bool) -> Axes:
    """Return axes of a new figure, with room for a legend of so many models."""
    width, height = (3.8, 5.0) if classical else (4.2, 3.4)
    height += 0.2 * max(0, n_models - 2)
    ax: Axes = plt.subplots(figsize=(width, height), layout="constrained")[1]
    return ax


def _names(diagram: ReliabilityDiagram, summary: bool) -> list[str]:
    """Return what the legend calls the models: with their numbers, if there are several."""
    if summary and len(diagram.series) > 1:
        return summary_lines(diagram)
    return [series.name for series in diagram.series]


def _draw_references(ax: Axes, classical: bool, truth: Truth | None) -> None:
    """Draw where a calibrated model is, and the true curve."""
    ax.plot([0, 1], [0, 1 if classical else 0], color=INK, lw=0.8, zorder=1)
    if truth is not None:
        x = truth_at()
        y = np.asarray(truth(x)) - (0 if classical else x)
        ax.plot(x, y, color=GREEN, lw=1.4, zorder=3)


def _draw_cells(
    diagram: ReliabilityDiagram, ax: Axes, i: int, extent: Range, classical: bool
) -> bool:
    """Draw the limits and the marks of model i; say whether some are beyond the axis."""
    series, n_models = diagram.series[i], len(diagram.series)
    e, shown = diagram.event, series.shown
    x, y = series.function.predicted[shown, e], series.function.deviations[shown, e]
    zero = x if classical else np.zeros_like(x)
    shares = series.function.proportions[shown]
    # Models stand side by side on the page; in the data they keep their true positions.
    aside = 2.5 * (i - (n_models - 1) / 2) / PER_INCH
    place = ax.transData + ScaledTranslation(aside, 0, ax.figure.dpi_scale_trans)
    thin = min(1.0, 18 * inches(ax) / max(x.size, 1))
    ax.vlines(
        x,
        np.clip(zero + series.cells.lower[shown, e], *extent),
        np.clip(zero + series.cells.upper[shown, e], *extent),
        color=GREY if n_models == 1 else model_colour(i),
        linewidth=max(0.6, (3.5 if n_models == 1 else 2.0) * thin),
        alpha=0.55,
        zorder=2,
        transform=place,
    )
    y = zero + y
    off = series.significant(diagram.alpha)[shown]
    above, below = y > extent[1], y < extent[0]
    size = SMALLEST + (LARGEST - SMALLEST) * np.sqrt(shares / shares.max())
    for which, style in zip((~off, off), _marks(i, n_models), strict=True):
        for part, marker in (
            (which & ~above & ~below, style["marker"]),
            (which & above, "^"),
            (which & below, "v"),
        ):
            look = {**style, "marker": marker, "s": (size[part] * max(0.5, thin)) ** 2}
            here = np.clip(y[part], *extent)
            if part.any():
                ax.scatter(x[part], here, zorder=4, transform=place, clip_on=False, **look)
    return bool((above | below).any())


def _marks(i: int, n_models: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the marks of model i: of cells that are not significant, and of those that are."""
    if n_models == 1:
        return (
            {"marker": "o", "facecolors": "white", "edgecolors": BLUE, "linewidths": 1.3},
            {"marker": "o", "facecolors": VERMILLION, "edgecolors": VERMILLION, "linewidths": 1.3},
        )
    colour = model_colour(i)
    style = {"marker": MARKERS[i % len(MARKERS)], "edgecolors": colour, "linewidths": 1.1}
    return {**style, "facecolors": "white"}, {**style, "facecolors": colour}


def _label(diagram: ReliabilityDiagram, ax: Axes, classical: bool, summary: bool) -> None:
    fit(ax.xaxis.label, f"predicted probability of {event_name(diagram)}", 1.02 * inches(ax))
    set_vertical(ax, ("observed", "frequency" if classical else "− predicted"))
    if summary and len(diagram.series) == 1:
        text = ax.text(0.02, 0.985, "", transform=ax.transAxes, va="top", fontsize="x-small")
        text.set_bbox({"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.0})
        text.set_zorder(5)
        text.set_parse_math(False)
        text.set_text("\n".join(summary_lines(diagram)))


def _handles(
    diagram: ReliabilityDiagram, names: list[str], truth: bool, beyond: bool
) -> Iterator[tuple[str, Any]]:
    """Name the marks, in the order in which they are read."""
    first, n_models = diagram.series[0], len(diagram.series)
    if n_models == 1:
        for name, style in zip(("not significant", off_name(diagram)), _marks(0, 1), strict=True):
            yield name, _handle(style)
    else:
        for i, name in enumerate(names):
            yield name, _handle(_marks(i, n_models)[1])
        yield off_name(diagram), Line2D([], [], ls="none", marker="o", color=INK, ms=4.5)
        hollow = Line2D([], [], ls="none", marker="o", color=INK, mfc="white", ms=4.5)
        yield "not significant", hollow
    yield limits_name(first), Line2D([], [], color=GREY, lw=3.5, alpha=0.55)
    if truth:
        yield "true", Line2D([], [], color=GREEN, lw=1.4)
    if beyond:
        yield BEYOND, Line2D([], [], ls="none", marker="^", color=INK, mfc="white", ms=4.5)
    if n_models == 1:
        yield "share of predictions", Patch(color=PALE)


def _handle(style: dict[str, Any]) -> Line2D:
    """Return a mark for the legend."""
    return Line2D(
        [],
        [],
        ls="none",
        ms=5.0,
        marker=style["marker"],
        mfc=style["facecolors"],
        mec=style["edgecolors"],
        mew=style["linewidths"],
    )
