"""The parts of a picture as artists of matplotlib, their looks, and what surrounds them.

The colours are those of Okabe and Ito, which people with any colour vision tell apart. What
is significant also differs in shape or width, and models differ in shape, so that it shows
in grey.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import LinearSegmentedColormap, to_rgba
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter, MaxNLocator
from matplotlib.transforms import ScaledTranslation, Transform

from calibrant.diagrams import picture
from calibrant.diagrams.picture import Areas, Arrows, Dots, Key, Label, Lines, Marks, Part
from calibrant.words import percent

PER_INCH = 72  # points
GAP = 4.0  # points between a text and its point
FEWEST = 10  # letters on a line, even where they do not fit
SMALLEST, LARGEST = 3.0, 8.0  # points across a mark
ASIDE = 2.5  # points between the marks of models

BLUE = "#0072B2"
VERMILLION = "#D55E00"
GREEN = "#009E73"
GREY = "#8A8A8A"
MUTED = "#767676"
PALE = "#BFD7EA"
INK = "#222222"
MODELS = (BLUE, "#E69F00", GREEN, "#CC79A7", "#56B4E9", "#000000")
CORNERS = ("#00598C", "#00694C", "#8F3D68")  # of a triangle: top, left, right; ticks have them too
SHARES = ("#EDF4FA", "#A6CBE5", "#5A9BCB")  # ends early, so that arrows show on every bin
SHARE_COLOURS = LinearSegmentedColormap.from_list("shares", SHARES)

MARKERS = dict(zip(picture.SHAPES, "os^DvPX", strict=True))

LOOKS: dict[str, dict[str, Any]] = {  # of lines, areas and texts
    "zero": {"color": INK, "lw": 0.8},
    "limits": {"color": GREY, "lw": 3.5, "alpha": 0.55},
    "true": {"color": GREEN, "lw": 1.4},
    "band": {"color": GREY, "lw": 0, "alpha": 0.3},
    "bar": {"color": PALE, "lw": 0},
    "outcome": {"color": "#5A9BCB", "lw": 0.6, "edge": "white"},
    "gap": {"color": VERMILLION, "lw": 0.8, "alpha": 0.25, "edge": VERMILLION},
    "gap off": {"color": VERMILLION, "lw": 1.6, "alpha": 0.6, "edge": VERMILLION},
    "join": {"color": BLUE, "lw": 1.2},
    "mean": {"color": INK, "lw": 1.2, "ls": "--"},
    "skill": {"color": GREEN, "lw": 0, "alpha": 0.12},
    "climatology": {"color": GREY, "lw": 0.9},
    "rate": {"color": VERMILLION, "lw": 1.2},
    "curve": {"color": BLUE, "lw": 1.4},
    "curve off": {"color": VERMILLION, "lw": 2.6},
    "equal": {"color": PALE, "lw": 0.8},
    "chance": {"color": GREY, "lw": 1.0, "alpha": 0.6},
    "leader": {"color": GREY, "lw": 0.5},
    "region": {"color": INK, "lw": 0.7, "ls": ":"},
    "outline": {"color": INK, "lw": 0.8},
    "arrow": {"color": MUTED, "lw": 1.0},
    "arrow faded": {"color": MUTED, "lw": 1.0, "alpha": 0.3},
    "arrow off": {"color": VERMILLION, "lw": 2.0},
    "name": {"color": INK},
    "small": {"color": MUTED},
    **{f"corner{k}": {"color": colour, "lw": 0.8} for k, colour in enumerate(CORNERS)},
}
LEGEND: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "frameon": False}
LEGEND |= {"fontsize": "x-small", "title_fontsize": "x-small", "borderaxespad": 0.3}
LEGEND |= {"handlelength": 1.4, "handletextpad": 0.5, "columnspacing": 1.2}
OF_MODELS: dict[str, dict[str, Any]] = {"limits": {"lw": 2.0}, "band": {"alpha": 0.12}}


def model_colour(model: int) -> str:
    """Return the colour of a model; there are six."""
    return INK if model == picture.ANY else MODELS[model % len(MODELS)]


def style_of(look: str, model: int | None) -> dict[str, Any]:
    """Return colour, width, opacity and dashes of lines or areas."""
    style = {"ls": "-", "alpha": 1.0, **LOOKS[look]}
    if model is None:
        return style
    return {**style, **OF_MODELS.get(look, {}), "color": model_colour(model)}


def mark_colours(off: bool, model: int | None) -> tuple[str, str]:
    """Return the colours of the edge and of the inside of a mark."""
    edge = VERMILLION if off else BLUE
    if model is not None:
        edge = model_colour(model)
    return edge, edge if off else "white"


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
        **style,
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
        look: Any = {"facecolors": to_rgba(style["color"], style["alpha"])}
        look |= {"edgecolors": style.get("edge", "none"), "linewidths": style["lw"]}
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
    style = style_of(part.look, None)
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
        alpha=style["alpha"],
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


def inches(ax: Axes) -> float:
    """Return the width of an Axes in inches."""
    return float(ax.bbox.width) / _dpi(ax)


def fit(text: Text, name: str, widest: float) -> None:
    """Set a text as it is, without formulas, on as few lines as fit into `widest` inches."""
    text.set_parse_math(False)
    for width in range(max(len(name), FEWEST), FEWEST - 1, -1):
        lines = "\n".join(picture.wrapped(name, width))
        if lines != text.get_text():
            text.set_text(lines)
            if width_of(text) <= widest:
                return


def add_legend(ax: Axes, keys: Sequence[Key], title: str = "") -> None:
    """Explain the marks below an Axes, in as many columns as fit; titles stay free above it.

    Names are set as they are: a leading underscore hides nothing.
    """
    outer = ax.get_tightbbox()  # also settles the aspect, which the next lines rely on
    drop = 0.0 if outer is None else ax.bbox.y0 - outer.y0
    shift = ScaledTranslation(0, -drop / _dpi(ax), ax.figure.dpi_scale_trans)
    for columns in (4, 3, 2, 1):
        legend = ax.legend(
            handles=[_handle(key) for key in keys],
            labels=["x"] * len(keys),
            title=title,
            bbox_transform=ax.transAxes + shift,
            ncols=min(columns, len(keys)),
            **LEGEND,
        )
        for text, key in zip(legend.get_texts(), keys, strict=True):
            fit(text, key.name, 3.0)
        if width_of(legend) <= 1.15 * inches(ax):
            break


def _handle(key: Key) -> Any:
    """Return the sample of a key."""
    if key.sample == "dot":
        return Line2D([], [], ls="none", marker="o", ms=3, mfc="white", mec=GREY, mew=0.6)
    if key.sample == "mark":
        edge, inside = mark_colours("off" in key.look, key.model)
        return Line2D([], [], ls="none", marker=MARKERS[key.shape], ms=5.0, mfc=inside, mec=edge)
    style = style_of(key.look, key.model)
    if key.sample == "area":
        fill = to_rgba(style["color"], style["alpha"])
        return Patch(facecolor=fill, edgecolor=style.get("edge", "none"), lw=style["lw"])
    return Line2D([], [], **style)


def add_scale(ax: Axes, shares: Any) -> None:
    """Draw the scale of the colours on the right."""
    size: Any = {"shrink": 0.6, "fraction": 0.05, "pad": 0.06, "aspect": 18}
    written = FuncFormatter(lambda share, _: percent(share))
    bar = ax.figure.colorbar(shares, ax=ax, ticks=MaxNLocator(5), format=written, **size)
    ax.set_anchor("C")  # the bar moves it to the right, away from space that names may need
    bar.set_label("share of predictions", fontsize="x-small")
    bar.ax.tick_params(labelsize="x-small")
    bar.outline.set_visible(False)


def keep_inside(ax: Axes) -> None:
    """Make an Axes smaller if labels would be cut off and no layout engine takes care of it."""
    figure = ax.figure
    if figure.get_layout_engine() is not None:
        return
    for _ in range(2):  # a smaller Axes changes what its labels cover
        outer = ax.get_tightbbox()
        if outer is None:
            return
        outer = outer.transformed(figure.transSubfigure.inverted())
        place = ax.get_position(original=True)
        x0, x1 = place.x0 + max(0.0, -outer.x0), place.x1 - max(0.0, outer.x1 - 1)
        y0, y1 = place.y0 + max(0.0, -outer.y0), place.y1 - max(0.0, outer.y1 - 1)
        if x0 < x1 and y0 < y1:
            ax.set_position((x0, y0, x1 - x0, y1 - y0))


def _dpi(artist: Any) -> float:
    return float(artist.figure.dpi)


def width_of(artist: Any) -> float:
    """Return how wide something is drawn, in inches."""
    return float(artist.get_window_extent().width) / _dpi(artist)
