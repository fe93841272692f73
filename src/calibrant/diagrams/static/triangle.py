"""Three outcomes: arrows on the probability simplex."""

from typing import Any

import matplotlib.pyplot as plt
import mpltern  # noqa: F401 (registers the projection)
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.lines import Line2D
from matplotlib.transforms import ScaledTranslation
from numpy.typing import NDArray

from calibrant.diagrams.diagram import Mask, ReliabilityDiagram, Series
from calibrant.diagrams.static.keys import (
    PER_INCH,
    SHARE_COLOURS,
    add_legend,
    add_scale,
    fit,
    inches,
    keep_inside,
)
from calibrant.diagrams.style import (
    CORNERS,
    FADED,
    FEW_ROWS,
    GREY,
    INK,
    MUTED,
    VERMILLION,
    arrow_looks,
    limits_name,
    off_name,
)

Floats = NDArray[np.float64]

SMALL = 2.8  # inches: a smaller triangle has no space for numbers along its sides
ARROWS = "arrows: from prediction to frequency"


def triangle(diagram: ReliabilityDiagram, ax: Axes | None, *, regions: bool) -> Axes:
    """Draw cells coloured by the share of predictions, and arrows to the outcome frequency."""
    if ax is None:
        figure = plt.figure(figsize=(4.6, 4.2), layout="constrained")
        ax = figure.add_subplot(projection="ternary")
    if ax.name != "ternary":
        raise TypeError(
            '`ax` must have projection="ternary" for three outcomes, as in'
            ' plt.subplots(subplot_kw={"projection": "ternary"}) after `import mpltern`.'
        )
    _draw(diagram, ax, regions)
    keep_inside(ax)
    return ax


def _draw(diagram: ReliabilityDiagram, ax: Axes, regions: bool) -> None:
    series = diagram.series[0]
    shares = _draw_shares(ax, series)
    if regions:
        _draw_regions(ax, series)
    for which, off, faded in arrow_looks(diagram, series):
        style = {"color": VERMILLION if off else MUTED, "alpha": FADED if faded else 1.0}
        _arrows(ax, series, which, 2.0 if off else 1.0, style)
    _label(diagram, ax)
    add_scale(ax, shares)
    handles = arrow_handles(diagram)
    if arrow_looks(diagram, series)[0][0].any():
        handles[FEW_ROWS] = Line2D([], [], color=MUTED, lw=1.0, alpha=FADED)
    if regions:
        handles[limits_name(series)] = Line2D([], [], color=INK, lw=0.8, ls=":")
    add_legend(ax, handles, ARROWS)


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
    if series.corners is None:
        return _draw_dots(ax, series.function.predicted[series.shown], shares)
    cells = PolyCollection(
        list(_plane(ax, series.corners[series.shown])),
        array=shares,
        cmap=SHARE_COLOURS,
        edgecolors="white",
        linewidths=0.8,
        zorder=1,
    )
    cells.set_clim(0, float(shares.max()))
    ax.add_collection(cells, autolim=False)
    return cells


def _draw_dots(ax: Any, points: Floats, shares: Floats) -> Any:
    """Draw dots at points (k, 3) of the simplex, coloured by their shares (k,)."""
    x, y = _plane(ax, points).T
    top = float(shares.max())
    return Axes.scatter(
        ax,
        x,
        y,
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


def _draw_regions(ax: Any, series: Series) -> None:
    assert series.cells.regions is not None
    outlines = _plane(ax, series.cells.regions[series.shown])
    style: Any = {"colors": INK, "linewidths": 0.7, "linestyles": ":", "zorder": 3}
    ax.add_collection(LineCollection(list(outlines), **style), autolim=False)


def _arrows(ax: Any, series: Series, which: Mask, width: float, style: dict[str, Any]) -> None:
    """Draw arrows `width` points wide, edged in white so that they show on dark cells.

    Heads of arrows that end on a side are cut off there: nothing is outside of the simplex.
    """
    start = _plane(ax, series.function.predicted[which])
    stop = _plane(ax, series.function.observed[which])
    size = min(1.6, inches(ax) / 3) * min(1.0, 7 / np.sqrt(series.function.n_cells))
    arrows = Axes.quiver(
        ax,
        *start.T,
        *(stop - start).T,
        angles="xy",
        scale_units="xy",
        scale=1,
        units="inches",
        width=width * size / PER_INCH,
        headwidth=4,
        headlength=5,
        headaxislength=4.5,
        minlength=0.5,
        edgecolors="white",
        linewidths=0.4 * size,
        zorder=4,
        **style,
    )
    arrows.set_clip_path(ax.patch)
    arrows.set_in_layout(False)  # its extent is wrong by a factor of the resolution


def _label(diagram: ReliabilityDiagram, ax: Any) -> None:
    numbers = inches(ax) > SMALL
    below = (-22 if numbers else -7, "top")  # under the numbers along the side
    for axis, name, corner, (offset, va), colour in zip(
        (ax.taxis, ax.laxis, ax.raxis),
        diagram.classes,
        np.eye(3),
        ((6, "bottom"), below, below),
        CORNERS,
        strict=True,
    ):
        aside = ScaledTranslation(0, offset / PER_INCH, ax.figure.dpi_scale_trans)
        axis.set_label_coords(*_plane(ax, corner), transform=ax.transData + aside)
        axis.label.set(ha="center", va=va, rotation=0, fontsize="small", color=colour)
        fit(axis.label, name, 0.4 * inches(ax))
        axis.set_ticks([0.25, 0.5, 0.75])
        axis.set_ticks_position("tick2")  # as plotly has them: rising towards their corner
        axis.set_tick_params(labelsize="x-small", color=colour, labelcolor=colour)
        if not numbers:
            axis.set_ticklabels(["", "", ""])
    ax.grid(False)
