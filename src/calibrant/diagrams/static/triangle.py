"""Three outcomes: arrows on the probability simplex."""

from typing import Any

import matplotlib.pyplot as plt
import mpltern  # noqa: F401 (registers the projection)
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter
from mpltern.ternary import TernaryAxes
from numpy.typing import NDArray

from calibrant.diagrams.diagram import ReliabilityDiagram
from calibrant.diagrams.style import GREY, INK, MUTED, VERMILLION

Floats = NDArray[np.float64]

SHARE = PercentFormatter(1, decimals=None)


def triangle(diagram: ReliabilityDiagram, ax: Axes | None, *, regions: bool) -> Axes:
    """Draw cells coloured by the share of predictions, and arrows to the outcome frequency."""
    if ax is None:
        figure = plt.figure(figsize=(5.0, 4.1))
        ax = figure.add_axes((0.10, 0.15, 0.74, 0.72), projection="ternary")
    if not isinstance(ax, TernaryAxes):
        raise TypeError(
            '`ax` must have projection="ternary" for three outcomes, as in'
            ' plt.subplots(subplot_kw={"projection": "ternary"}) after `import mpltern`.'
        )
    series = diagram.series[0]
    fn = series.function
    off = series.significant(diagram.alpha)
    shares = _draw_shares(ax, series.corners, fn.proportions, fn.predicted)
    if regions and series.cells.regions is not None:
        outlines = LineCollection(
            list(_plane(ax, series.cells.regions)),
            colors=INK,
            linewidths=0.5,
            linestyles=":",
            zorder=3,
        )
        ax.add_collection(outlines, autolim=False)
    for which, colour, width in ((~off, MUTED, 0.004), (off, VERMILLION, 0.007)):
        _arrows(ax, fn.predicted[which], fn.observed[which], colour, width)
    _label(diagram, ax)
    add_bar(ax, shares)
    add_legend(diagram, ax, (-0.16, 1.12))
    return ax


def add_legend(diagram: ReliabilityDiagram, ax: Any, place: tuple[float, float]) -> None:
    """Say what the colours of the arrows mean, in the free corner on the left."""
    names = (f"off ({diagram.alpha:.0%}, all cells)", "not significant")
    lines = [
        Line2D([], [], color=colour, lw=width, label=name)
        for name, colour, width in zip(names, (VERMILLION, MUTED), (2, 1.2), strict=True)
    ]
    ax.legend(
        handles=lines,
        title="from mean prediction\nto outcome frequency",
        loc="upper left",
        bbox_to_anchor=place,
        frameon=False,
        fontsize="x-small",
        title_fontsize="x-small",
        alignment="left",
        handlelength=1.4,
    )


def add_bar(ax: Any, shares: Any) -> None:
    """Draw the scale of the colours in the free corner on the right."""
    bar = ax.figure.colorbar(shares, cax=ax.inset_axes((0.92, 0.5, 0.035, 0.45)), format=SHARE)
    bar.set_label("share of predictions", fontsize="x-small")
    bar.ax.tick_params(labelsize="x-small")
    bar.outline.set_visible(False)


def _plane(ax: Any, points: Floats) -> Floats:
    """Return the coordinates (…, 2) of points of the simplex (…, 3) on the Axes."""
    flat = ax.transProjection.transform(points.reshape(-1, 3))
    return np.asarray(flat).reshape(*points.shape[:-1], 2)


def _draw_shares(ax: Any, corners: Floats | None, shares: Floats, predicted: Floats) -> Any:
    """Colour the cells, or dots at the mean predictions of cells that are no simplices."""
    top = float(shares.max())
    if corners is None:
        xy = _plane(ax, predicted)
        return Axes.scatter(
            ax,
            *xy.T,
            c=shares,
            s=12 + 90 * shares / top,
            cmap="Blues",
            vmin=0,
            vmax=top,
            edgecolors=GREY,
            linewidths=0.5,
            zorder=2,
            clip_on=False,
        )
    cells = PolyCollection(
        list(_plane(ax, corners)),
        array=shares,
        cmap="Blues",
        edgecolors="white",
        linewidths=0.8,
        zorder=1,
    )
    cells.set_clim(0, top)
    ax.add_collection(cells, autolim=False)
    return cells


def _arrows(ax: Any, tails: Floats, heads: Floats, colour: str, width: float) -> None:
    if not tails.size:
        return
    start, stop = _plane(ax, tails), _plane(ax, heads)
    Axes.quiver(
        ax,
        *start.T,
        *(stop - start).T,
        angles="xy",
        scale_units="xy",
        scale=1,
        units="width",
        width=width,
        headwidth=4,
        headlength=5,
        headaxislength=4.5,
        minlength=0.5,
        color=colour,
        zorder=4,
        clip_on=False,
    )


def _label(diagram: ReliabilityDiagram, ax: Any) -> None:
    for name, corner, offset, va in zip(
        diagram.classes, np.eye(3), (8, -24, -24), ("bottom", "top", "top"), strict=True
    ):
        ax.annotate(
            short(name),
            _plane(ax, corner),
            xytext=(0, offset),
            textcoords="offset points",
            ha="center",
            va=va,
            fontsize="small",
            annotation_clip=False,
        )
    for axis in (ax.taxis, ax.laxis, ax.raxis):
        axis.set_ticks([0.25, 0.5, 0.75])
        axis.set_tick_params(labelsize="x-small", color=GREY, labelcolor=GREY)
    ax.grid(False)


def short(name: str, width: int = 22) -> str:
    """Break a long name of a group at its plus signs."""
    lines = [""]
    for part in name.replace("+", "+\n").split("\n"):
        if lines[-1] and len(lines[-1]) + len(part) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)
