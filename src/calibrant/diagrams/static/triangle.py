"""Three outcomes: arrows on the probability simplex."""

from typing import Any

import matplotlib.pyplot as plt
import mpltern  # noqa: F401 (registers the projection)
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.lines import Line2D
from mpltern.ternary import TernaryAxes
from numpy.typing import NDArray

from calibrant.diagrams.diagram import Mask, ReliabilityDiagram, Series
from calibrant.diagrams.static.keys import (
    SHARE_COLOURS,
    add_legend,
    add_scale,
    inches,
    keep_inside,
    lines_for,
)
from calibrant.diagrams.style import GREY, INK, MUTED, VERMILLION, limits_name, off_name

Floats = NDArray[np.float64]

ARROWS = "arrows from mean prediction to outcome frequency"


def triangle(diagram: ReliabilityDiagram, ax: Axes | None, *, regions: bool) -> Axes:
    """Draw cells coloured by the share of predictions, and arrows to the outcome frequency."""
    if ax is None:
        figure = plt.figure(figsize=(4.6, 4.2), layout="constrained")
        ax = figure.add_subplot(projection="ternary")
    if not isinstance(ax, TernaryAxes):
        raise TypeError(
            '`ax` must have projection="ternary" for three outcomes, as in'
            ' plt.subplots(subplot_kw={"projection": "ternary"}) after `import mpltern`.'
        )
    series = diagram.series[0]
    shares = _draw_shares(ax, series)
    if regions:
        _draw_regions(ax, series)
    off = series.significant(diagram.alpha)
    for which, colour, width in ((~off, MUTED, 0.0045), (off, VERMILLION, 0.0085)):
        _arrows(ax, series, which & series.shown, colour, width)
    _label(diagram, ax)
    add_scale(ax, shares)
    handles = arrow_handles(diagram)
    if regions:
        handles[limits_name(series)] = Line2D([], [], color=INK, lw=0.8, ls=":")
    add_legend(ax, handles, ARROWS, above=False)
    keep_inside(ax)
    return ax


def arrow_handles(diagram: ReliabilityDiagram) -> dict[str, Any]:
    """Say what the colours of arrows mean, for the legend."""
    return {
        off_name(diagram): Line2D([], [], color=VERMILLION, lw=2.2),
        "not significant": Line2D([], [], color=MUTED, lw=1.0),
    }


def _plane(ax: Any, points: Floats) -> Floats:
    """Return the coordinates (…, 2) of points of the simplex (…, 3) on the Axes."""
    flat = ax.transProjection.transform(points.reshape(-1, 3))
    return np.asarray(flat).reshape(*points.shape[:-1], 2)


def _draw_shares(ax: Any, series: Series) -> Any:
    """Colour the cells, or dots at the mean predictions of cells that are no simplices."""
    shares = series.function.proportions[series.shown]
    top = float(shares.max())
    if series.corners is None:
        return Axes.scatter(
            ax,
            *_plane(ax, series.function.predicted[series.shown]).T,
            c=shares,
            s=8 + 55 * shares / top,
            cmap=SHARE_COLOURS,
            vmin=0,
            vmax=top,
            edgecolors=GREY,
            linewidths=0.5,
            zorder=2,
            clip_on=False,
        )
    cells = PolyCollection(
        list(_plane(ax, series.corners[series.shown])),
        array=shares,
        cmap=SHARE_COLOURS,
        edgecolors="white",
        linewidths=0.8,
        zorder=1,
    )
    cells.set_clim(0, top)
    ax.add_collection(cells, autolim=False)
    return cells


def _draw_regions(ax: Any, series: Series) -> None:
    assert series.cells.regions is not None
    outlines = _plane(ax, series.cells.regions[series.shown])
    style: Any = {"colors": INK, "linewidths": 0.7, "linestyles": ":", "zorder": 3}
    ax.add_collection(LineCollection(list(outlines), **style), autolim=False)


def _arrows(ax: Any, series: Series, which: Mask, colour: str, width: float) -> None:
    """Draw arrows in one layer, edged in white so that they show on dark cells."""
    start = _plane(ax, series.function.predicted[which])
    stop = _plane(ax, series.function.observed[which])
    crowd = min(1.0, 7 / np.sqrt(series.function.n_cells))
    Axes.quiver(
        ax,
        *start.T,
        *(stop - start).T,
        angles="xy",
        scale_units="xy",
        scale=1,
        units="width",
        width=width * crowd,
        headwidth=4,
        headlength=5,
        headaxislength=4.5,
        minlength=0.5,
        color=colour,
        edgecolors="white",
        linewidths=0.35 * crowd,
        zorder=4,
        clip_on=False,
    )


def _label(diagram: ReliabilityDiagram, ax: Any) -> None:
    room = 0.5 * inches(ax)
    setters = (ax.set_tlabel, ax.set_llabel, ax.set_rlabel)
    for name, put in zip(diagram.classes, setters, strict=True):
        put(lines_for(name, room, 8.3), fontsize="small", parse_math=False)
    for axis in (ax.taxis, ax.laxis, ax.raxis):
        axis.set_ticks([0.25, 0.5, 0.75])
        axis.set_tick_params(labelsize="x-small", color=GREY, labelcolor=MUTED)
    ax.grid(False)
