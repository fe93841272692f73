"""The parts of a picture as artists of matplotlib, on a plain Axes."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.transforms import ScaledTranslation, Transform

from calibrant.diagrams.pictures.picture import Areas, Arrows, Dots, Label, Lines, Marks, Part
from calibrant.diagrams.static.keys import GAP, PER_INCH, fit, inches
from calibrant.diagrams.static.looks import (
    FADED,
    GREY,
    MARKERS,
    SHARE_COLOURS,
    mark_colours,
    style_of,
)

SMALLEST, LARGEST = 3.0, 8.0  # points across a mark
ASIDE = 2.5  # points between the marks of models


def draw(ax: Axes, part: Part, zorder: float) -> Any:
    """Draw one part and return what was added last."""
    if isinstance(part, Lines):
        return _draw_lines(ax, part, zorder)
    if isinstance(part, Areas):
        return _draw_areas(ax, part, zorder)
    if isinstance(part, Marks):
        return _draw_marks(ax, part, zorder)
    if isinstance(part, Dots):
        return draw_dots(ax, part, (8, 55), lw=0.5, zorder=zorder, clip_on=False)
    if isinstance(part, Arrows):
        return _draw_arrows(ax, part, zorder)
    return _draw_label(ax, part)


def _moved(ax: Axes, steps: float) -> Transform:
    """Return where data is drawn if it stands aside; in the data it keeps its true position."""
    moved = ScaledTranslation(ASIDE * steps / PER_INCH, 0, ax.figure.dpi_scale_trans)
    return ax.transData + moved


def _thin(ax: Axes, count: int) -> float:
    """Return how much thinner and smaller so many parts beside each other are."""
    return min(1.0, 18 * inches(ax) / max(count, 1))


def _draw_lines(ax: Axes, part: Lines, zorder: float) -> LineCollection:
    """Draw lines; many limits beside each other are thin."""
    style = style_of(part.look, part.model)
    if part.look == "limits":
        style["lw"] = max(0.6, style["lw"] * _thin(ax, len(part.at)))
    lines = LineCollection(
        list(part.at),
        colors=style["color"],
        linewidths=style["lw"],
        linestyles=style["ls"],
        alpha=style["alpha"],
        capstyle="round" if part.look == "curve off" else "butt",
        joinstyle="round",
        zorder=zorder,
        clip_on=False,
        transform=_moved(ax, part.aside),
    )
    ax.add_collection(lines, autolim=False)
    if part.look == "chance":  # a stroke where it begins
        x, y = part.at[:, 0].T
        ax.plot(x, y, ls="none", marker="|", color=style["color"], ms=6, zorder=zorder)
    return lines


def _draw_areas(ax: Axes, part: Areas, zorder: float) -> PolyCollection:
    if part.shares is None:
        style = style_of(part.look, part.model)
        look: Any = {"facecolors": style["color"], "alpha": style["alpha"], "linewidths": 0}
    else:
        look = {"array": part.shares, "cmap": SHARE_COLOURS, "clim": (0, part.shares.max())}
        look |= {"edgecolors": "white", "linewidths": 0.8}
    areas = PolyCollection(list(part.at), zorder=zorder, **look)
    ax.add_collection(areas, autolim=False)
    return areas


def _draw_marks(ax: Axes, part: Marks, zorder: float) -> None:
    """Draw marks; places that only speak on hovering are not drawn."""
    if part.look == "spot":
        return
    thin = max(0.5, _thin(ax, len(part.at)))
    sizes = thin * (SMALLEST + (LARGEST - SMALLEST) * part.sizes)
    for off in (False, True):
        edge, inside = mark_colours(off, part.model)
        for shape in dict.fromkeys(part.shapes):
            which = (part.off == off) & (np.array(part.shapes) == shape)
            if which.any():
                ax.scatter(
                    part.at[which, 0],
                    part.at[which, 1],
                    s=sizes[which] ** 2,
                    marker=MARKERS[shape],
                    edgecolors=edge,
                    facecolors=inside,
                    linewidths=1.3 if part.model is None else 1.1,
                    zorder=zorder,
                    clip_on=False,
                    transform=_moved(ax, part.aside),
                )


def draw_dots(ax: Any, part: Dots, sizes: tuple[float, float], **look: Any) -> Any:
    """Draw dots coloured by their shares; `sizes` are that of no share, and what is added."""
    shares, top = part.shares, part.shares.max()
    size = sizes[0] + sizes[1] * shares / top
    colours = {"c": shares, "cmap": SHARE_COLOURS, "vmin": 0, "vmax": top, "edgecolors": GREY}
    return ax.scatter(*part.at.T, s=size, **colours, **look)


def _draw_arrows(ax: Axes, part: Arrows, zorder: float) -> Any:
    """Draw arrows edged in white, so that they show on dark bins; many are thin."""
    style = style_of("arrow off" if part.off else "arrow", None)
    size = min(1.6, inches(ax) / 3) * min(1.0, 7 / np.sqrt(part.of))
    start, stop = part.at[:, 0], part.at[:, 1]
    return ax.quiver(
        *start.T,
        *(stop - start).T,
        angles="xy",
        scale_units="xy",
        scale=1,
        units="inches",
        width=style["lw"] * size / PER_INCH,
        headwidth=4,
        headlength=5,
        headaxislength=4.5,
        minlength=0.5,
        edgecolors="white",
        linewidths=0.4 * size,
        zorder=zorder,
        color=style["color"],
        alpha=FADED if part.faded else 1.0,
    )


def _draw_label(ax: Axes, part: Label) -> Any:
    """Write a text beside a point, as it is; the name of a corner on as many lines as it needs."""
    right, up = part.away
    corner = part.look.removeprefix("small ") if "corner" in part.look else ""
    text = ax.annotate(
        "",
        (float(part.at[0]), float(part.at[1])),
        xytext=(GAP * right, GAP * up),
        textcoords="offset points",
        ha={"left": "right", "center": "center", "right": "left"}[part.side],
        va=("center" if abs(up) <= abs(right) else "bottom" if up > 0 else "top"),
        fontsize="small" if part.look == corner else "x-small",
        color=style_of(corner or part.look, None)["color"],
        annotation_clip=False,
    )
    fit(text, part.text, 0.35 * inches(ax) if part.look == corner else np.inf)
    return text
