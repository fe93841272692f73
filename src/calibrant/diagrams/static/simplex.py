"""Three and four outcomes: arrows in a triangle, or in a tetrahedron."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, Polygon
from matplotlib.text import Annotation
from mpl_toolkits.mplot3d import proj3d

from calibrant.diagrams.bins import TRIANGLE
from calibrant.diagrams.picture import Areas, Arrows, Dots, Floats, Label, Lines, Picture
from calibrant.diagrams.static import parts

ARROWS = "arrows: from prediction to frequency"
SMALL = 2.8  # inches: a smaller triangle has no space for numbers along its sides

SMALLEST, LARGEST = 0.5, 1.3  # zoom of the drawing
REACH = 0.6  # of the Axes from its middle: so far names may stand, a little outside
REMAINS = 0.85  # of the Axes, when legend and scale have taken their share
EDGES = ("-", "-", "-", "--", "-", "-")  # one is behind the others from the default angle
NAME: dict[str, Any] = {
    "textcoords": "offset points",
    "fontsize": "small",
    "annotation_clip": False,
    "clip_on": False,
}


def draw_triangle(picture: Picture, ax: Axes) -> None:
    """Draw bins coloured by the share of predictions, and arrows to the outcome frequency."""
    ax.set_axis_off()
    ax.set_aspect("equal")
    ax.set_xlim(-0.06, 1.06)
    ax.set_ylim(bottom=-0.02)
    numbers = parts.inches(ax) > SMALL
    for zorder, part in enumerate(picture.parts, 1):
        if isinstance(part, Label):
            _write(ax, part, numbers)
            continue
        drawn = parts.draw(ax, part, zorder)
        if isinstance(part, Areas | Dots):
            shares = drawn
        elif isinstance(part, Arrows) or part.look == "region":
            # What leaves the simplex is cut off, such as heads of arrows that end on a side.
            drawn.set_clip_on(True)
            drawn.set_clip_path(Polygon(TRIANGLE, transform=ax.transData))
            drawn.set_in_layout(False)  # the extent of arrows is wrong by a factor of the dpi
    parts.add_scale(ax, shares)
    parts.add_legend(ax, picture.keys, ARROWS)


def _write(ax: Axes, part: Label, numbers: bool) -> None:
    """Write a name or a number; without numbers, names are nearer to their corners."""
    right, up = part.away
    if not numbers:
        if part.look.startswith("small"):
            return
        part = part._replace(away=(right, max(up, -1.5)))
    text = parts.draw(ax, part, 0)
    if part.look == "corner0":  # a title has its place above the name
        height = text.get_window_extent().height / ax.bbox.width
        ax.set_ylim(top=TRIANGLE[0, 1] + 0.05 + 1.4 * height)


def draw_tetrahedron(picture: Picture, ax: Any) -> None:
    """Draw dots at mean predictions, coloured by their share, and arrows to the frequencies."""
    for part in picture.parts:
        if isinstance(part, Lines):
            for edge, dashes in zip(part.at, EDGES, strict=True):
                ax.plot(*edge.T, color=parts.GREY, lw=0.8, ls=dashes, zorder=0)
        elif isinstance(part, Dots):
            dots = parts.draw_dots(ax, part, (4, 45), lw=0.4, alpha=0.85, depthshade=False)
        elif isinstance(part, Arrows):
            _draw_arrows(ax, part)
    _set_view(ax)
    _write_names(ax, picture.labels)
    parts.add_scale(ax, dots)
    parts.add_legend(ax, picture.keys, ARROWS)


def _draw_arrows(ax: Any, part: Arrows) -> None:
    off = part.look == "arrow off"
    style = {"lw": 1.6} if off else {"lw": 0.8, "alpha": 0.8}
    style["color"] = parts.style_of(part.look, None)["color"]
    for ends in part.at:
        ax.add_artist(_Arrow(ends, in_front=off, **style))


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


def _write_names(ax: Any, labels: list[Label]) -> None:
    """Name the corners, each on the side away from the middle, and zoom until all fit.

    Layout engines cannot be left with it: the drawing is as wide as it is high, and they
    do not see that a narrower Axes moves the names as well.
    """
    ax.apply_aspect()
    place = _on_page(ax, np.array([label.at for label in labels])) - 0.5
    aside = np.abs(place[:, 0]) > 0.3 * np.ptp(place[:, 0])
    zoom = LARGEST
    for label, (x, y), beside in zip(labels, place, aside, strict=True):
        if beside:
            side = "left" if x > 0 else "right"
            text = _Name("", (0, 0), (parts.GAP * np.sign(x), 0), ha=side, va="center", **NAME)
        else:
            side = "bottom" if y > 0 else "top"
            text = _Name("", (0, 0), (0, parts.GAP * np.sign(y)), ha="center", va=side, **NAME)
        text.corner = label.at
        ax.add_artist(text)
        parts.fit(text, label.text, (0.2 if beside else 0.6) * parts.inches(ax))
        box = text.get_window_extent()
        width, height = np.array([box.width, box.height]) / (REMAINS * ax.bbox.width)
        if beside:
            zoom = min(zoom, (REACH - width) / abs(x))
        else:
            zoom = min(zoom, (0.47 - height) / abs(y), (REACH - width / 2) / abs(x))
    _set_view(ax, max(zoom, SMALLEST))


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
