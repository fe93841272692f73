"""Four outcomes: arrows in the tetrahedron."""

from itertools import combinations
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch
from matplotlib.text import Annotation
from mpl_toolkits.mplot3d import proj3d
from numpy.typing import NDArray

from calibrant.diagrams.diagram import ReliabilityDiagram, Series
from calibrant.diagrams.static.keys import (
    SHARE_COLOURS,
    add_legend,
    add_scale,
    fit,
    inches,
    keep_inside,
)
from calibrant.diagrams.static.triangle import ARROWS, arrow_handles
from calibrant.diagrams.style import GREY, MUTED, VERMILLION, well_filled
from calibrant.diagrams.style import tetrahedron as corners_of

Floats = NDArray[np.float64]

GAP = 6  # points between a corner and its name
SMALLEST, LARGEST = 0.5, 1.3  # zoom of the drawing
REACH = 0.6  # of the Axes from its middle: so far names may stand, a little outside
REMAINS = 0.85  # of the Axes, when legend and scale have taken their share
NAME: dict[str, Any] = {
    "textcoords": "offset points",
    "fontsize": "small",
    "annotation_clip": False,
    "clip_on": False,
}
BEHIND = (1, 2)  # the edge that the others hide from the default angle


def tetrahedron(diagram: ReliabilityDiagram, ax: Axes | None) -> Axes:
    """Draw dots at mean predictions, coloured by their share, and arrows to the frequencies."""
    if ax is None:
        figure = plt.figure(figsize=(4.6, 4.2), layout="constrained")
        ax = figure.add_subplot(projection="3d")
    if ax.name != "3d":
        raise TypeError(f'`ax` must have projection="3d" for four outcomes; found {ax.name!r}.')
    _draw(diagram, ax)
    keep_inside(ax)
    return ax


def _draw(diagram: ReliabilityDiagram, ax: Any) -> None:
    series, corners = diagram.series[0], corners_of()
    for pair in combinations(range(4), 2):
        style = "--" if pair == BEHIND else "-"
        ax.plot(*corners[list(pair)].T, color=GREY, lw=0.8, ls=style, zorder=0)
    dots = _draw_shares(ax, series, corners)
    _draw_arrows(diagram, ax, series, corners)
    _set_view(ax)
    _label(diagram, ax, corners)
    add_scale(ax, dots)
    dot = Line2D([], [], ls="none", marker="o", ms=3, mfc="white", mec=GREY, mew=0.6)
    add_legend(ax, {**arrow_handles(diagram), "not significant, few rows": dot}, ARROWS)


def _draw_shares(ax: Any, series: Series, corners: Floats) -> Any:
    shares = series.function.proportions[series.shown]
    return ax.scatter(
        *(series.function.predicted[series.shown] @ corners).T,
        c=shares,
        s=4 + 45 * shares / shares.max(),
        cmap=SHARE_COLOURS,
        vmin=0,
        vmax=shares.max(),
        edgecolors=GREY,
        linewidths=0.4,
        alpha=0.85,
        depthshade=False,
    )


def _draw_arrows(diagram: ReliabilityDiagram, ax: Any, series: Series, corners: Floats) -> None:
    """Draw the arrows of cells that are off or well filled; the others are dots."""
    off = series.significant(diagram.alpha)
    ends = np.stack((series.function.predicted, series.function.observed), axis=1) @ corners
    for pair in ends[~off & well_filled(series)]:
        ax.add_artist(_Arrow(pair, color=MUTED, lw=0.8, alpha=0.8))
    for pair in ends[off & series.shown]:
        ax.add_artist(_Arrow(pair, in_front=True, color=VERMILLION, lw=1.6))


class _Arrow(FancyArrowPatch):
    """An arrow in space (2, 3) whose head faces the viewer from every side.

    One that is `in_front` hides others, wherever it is.
    """

    def __init__(self, ends: Floats, *, in_front: bool = False, **style: Any) -> None:
        super().__init__((0, 0), (0, 0), arrowstyle="-|>", shrinkA=0, shrinkB=0, **style)
        self.ends = ends
        self.in_front = in_front

    def do_3d_projection(self) -> float:
        """Place the arrow on the page, its head no longer than itself; return its depth."""
        axes: Any = self.axes
        x, y, z = proj3d.proj_transform(*self.ends.T, axes.get_proj())
        self.set_positions((x[0], y[0]), (x[1], y[1]))
        page = axes.transData.transform(np.stack((x, y), axis=1))
        length = float(np.hypot(*(page[1] - page[0]))) * 72 / axes.figure.dpi
        self.set_mutation_scale(min(8.0, max(1.0, 1.5 * length)))
        return -np.inf if self.in_front else float(np.min(z))


def _set_view(ax: Any, zoom: float = 1.0) -> None:
    ax.set_axis_off()
    ax.view_init(elev=18, azim=76)
    ax.set_xlim(-0.87, 0.87)
    ax.set_ylim(-0.5, 1.0)
    ax.set_zlim(0, np.sqrt(2))
    ax.set_box_aspect((np.sqrt(3), 1.5, np.sqrt(2)), zoom=zoom)


def _label(diagram: ReliabilityDiagram, ax: Any, corners: Floats) -> None:
    """Name the corners, each on the side away from the middle, and zoom until all fit.

    Layout engines cannot be left with it: the drawing is as wide as it is high, and they
    do not see that a narrower Axes moves the names as well.
    """
    ax.apply_aspect()
    place = _on_page(ax, corners) - 0.5
    aside = np.abs(place[:, 0]) > 0.3 * np.ptp(place[:, 0])
    zoom = LARGEST
    for corner, name, (x, y), beside in zip(corners, diagram.classes, place, aside, strict=True):
        text = _name_beside(x) if beside else _name_above_or_below(y)
        text.corner = corner
        ax.add_artist(text)
        fit(text, name, (0.2 if beside else 0.6) * inches(ax))
        box = text.get_window_extent()
        width, height = np.array([box.width, box.height]) / (REMAINS * ax.bbox.width)
        if beside:
            zoom = min(zoom, (REACH - width) / abs(x))
        else:
            zoom = min(zoom, (0.47 - height) / abs(y), (REACH - width / 2) / abs(x))
    _set_view(ax, max(zoom, SMALLEST))


def _name_beside(x: float) -> "_Name":
    """Return a name for a corner at x, on its left or right."""
    return _Name(
        "",
        (0, 0),
        xytext=(GAP * np.sign(x), 0),
        ha="left" if x > 0 else "right",
        va="center",
        **NAME,
    )


def _name_above_or_below(y: float) -> "_Name":
    """Return a name for a corner at height y."""
    return _Name(
        "",
        (0, 0),
        xytext=(0, GAP * np.sign(y)),
        ha="center",
        va="bottom" if y > 0 else "top",
        **NAME,
    )


def _on_page(ax: Any, points: Floats) -> Floats:
    """Return where points in space (k, 3) are drawn, as a share of the Axes (k, 2)."""
    x, y, _ = proj3d.proj_transform(*points.T, ax.get_proj())
    page = ax.transData.transform(np.stack((x, y), axis=1))
    return np.asarray(ax.transAxes.inverted().transform(page))


class _Name(Annotation):
    """A name that stays at its corner in space, and that layouts make space for."""

    corner: Floats

    def update_positions(self, renderer: Any) -> None:
        """Follow the corner."""
        axes: Any = self.axes
        self.xy = proj3d.proj_transform(*self.corner, axes.get_proj())[:2]
        super().update_positions(renderer)
