"""Pictures drawn with matplotlib, for papers. Only this package names matplotlib."""

from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from calibrant.diagrams.picture import Picture
from calibrant.diagrams.static.parts import keep_inside
from calibrant.diagrams.static.plain import draw_plain, trajectories
from calibrant.diagrams.static.simplex import draw_tetrahedron, draw_triangle

__all__ = ["Axes", "Figure", "draw", "draw_without_window", "save", "trajectories"]


def draw(picture: Picture, ax: Axes | None = None) -> Axes:
    """Draw a picture on an Axes, or on that of a new figure, and return the Axes."""
    ax = _new_axes(picture) if ax is None else ax
    if picture.in_space:
        if ax.name != "3d":
            raise TypeError(f'`ax` must have projection="3d" for four outcomes; found {ax.name!r}.')
        draw_tetrahedron(picture, ax)
    elif ax.name != "rectilinear":
        raise TypeError(f"`ax` must be a plain Axes for this picture; found {ax.name!r}.")
    elif picture.frame is None:
        draw_triangle(picture, ax)
    else:
        draw_plain(picture, picture.frame, ax)
    keep_inside(ax)
    return ax


def _new_axes(picture: Picture) -> Axes:
    """Return the Axes of a new figure, which is higher if the legend is long."""
    if picture.frame is None:
        size = (4.6, 4.2)
    elif picture.frame.square:
        size = (4.2, 5.2)
    else:
        size = (4.4, 3.5 + 0.2 * max(0, len(picture.keys) - 5))
    figure = plt.figure(figsize=size, layout="constrained")
    ax: Axes = figure.add_subplot(projection="3d" if picture.in_space else None)
    return ax


def draw_without_window() -> None:
    """Let matplotlib draw into files alone, as a program without a screen must."""
    mpl.use("Agg")


def save(ax: Axes, path: Path, dpi: int = 200) -> None:
    """Write the figure of an Axes to a file, whose ending names the format, and close it."""
    figure: Any = ax.figure
    figure.savefig(path, dpi=dpi)
    plt.close(figure)
