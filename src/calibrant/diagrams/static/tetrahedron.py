"""Four outcomes: arrows in the tetrahedron."""

from itertools import combinations
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch
from mpl_toolkits.mplot3d import proj3d
from mpl_toolkits.mplot3d.axes3d import Axes3D
from numpy.typing import NDArray

from calibrant.diagrams.diagram import ReliabilityDiagram
from calibrant.diagrams.static.triangle import add_bar, add_legend, short
from calibrant.diagrams.style import GREY, MUTED, VERMILLION
from calibrant.diagrams.style import tetrahedron as corners_of

Floats = NDArray[np.float64]


def tetrahedron(diagram: ReliabilityDiagram, ax: Axes | None) -> Axes:
    """Draw dots at mean predictions, coloured by their share, and arrows to the frequencies."""
    if ax is None:
        ax = plt.figure(figsize=(5.0, 4.4)).add_axes((0.03, -0.04, 0.92, 1), projection="3d")
    if not isinstance(ax, Axes3D):
        raise TypeError('`ax` must have projection="3d" for four outcomes.')
    series = diagram.series[0]
    fn = series.function
    off = series.significant(diagram.alpha)
    corners = corners_of()
    for a, b in combinations(corners, 2):
        ax.plot(*np.stack((a, b)).T, color=GREY, lw=0.8, zorder=0)
    tails, heads = fn.predicted @ corners, fn.observed @ corners
    share = fn.proportions
    dots = ax.scatter(
        *tails.T,
        c=share,
        s=8 + 60 * share / share.max(),
        cmap="Blues",
        vmin=0,
        vmax=share.max(),
        edgecolors=GREY,
        linewidths=0.4,
        depthshade=False,
    )
    for which, colour, width in ((~off, MUTED, 0.7), (off, VERMILLION, 1.8)):
        for tail, head in zip(tails[which], heads[which], strict=True):
            ax.add_artist(_Arrow(tail, head, color=colour, lw=width))
    _label(diagram, ax, corners)
    add_bar(ax, dots)
    add_legend(diagram, ax, (-0.04, 1.04))
    return ax


class _Arrow(FancyArrowPatch):
    """An arrow in space whose head faces the viewer from every side."""

    def __init__(self, tail: Floats, head: Floats, **style: Any) -> None:
        super().__init__(
            (0, 0), (0, 0), arrowstyle="-|>", mutation_scale=8, shrinkA=0, shrinkB=0, **style
        )
        self._ends = np.stack((tail, head))

    def do_3d_projection(self) -> float:
        """Place the arrow on the page; return its depth."""
        axes: Any = self.axes
        x, y, z = proj3d.proj_transform(*self._ends.T, axes.get_proj())
        self.set_positions((x[0], y[0]), (x[1], y[1]))
        return float(np.min(z))


def _label(diagram: ReliabilityDiagram, ax: Any, corners: Floats) -> None:
    ax.set_axis_off()
    ax.set_box_aspect((1, 1, 0.85), zoom=1.0)
    ax.view_init(elev=20, azim=82)
    middle = corners.mean(axis=0)
    x, y, _ = proj3d.proj_transform(*corners.T, ax.get_proj())
    sideways = np.abs(x - np.median(x)) > 0.3 * np.ptp(x)
    for j, name in enumerate(diagram.classes):
        place = middle + 1.06 * (corners[j] - middle)
        left = x[j] < np.median(x)
        ax.text(
            *place,
            short(name, 14),
            ha=("right" if left else "left") if sideways[j] else "center",
            va="center" if sideways[j] else ("bottom" if y[j] > np.median(y) else "top"),
            fontsize="small",
        )
