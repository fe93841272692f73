"""Legends, scales of colours and space for them: what surrounds every picture."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter, MaxNLocator
from matplotlib.transforms import ScaledTranslation

from calibrant.diagrams.pictures.picture import Key, wrapped
from calibrant.diagrams.static.looks import GREY, MARKERS, mark_colours, style_of
from calibrant.words import percent

PER_INCH = 72  # points
GAP = 4.0  # points between a text and its point
FEWEST = 10  # letters on a line, even where they do not fit


def inches(ax: Axes) -> float:
    """Return the width of an Axes in inches."""
    return float(ax.bbox.width) / _dpi(ax)


def fit(text: Text, name: str, widest: float) -> None:
    """Set a text as it is, without formulas, on as few lines as fit into `widest` inches."""
    text.set_parse_math(False)
    for width in range(max(len(name), FEWEST), FEWEST - 1, -1):
        lines = "\n".join(wrapped(name, width))
        if lines != text.get_text():
            text.set_text(lines)
            if _width(text) <= widest:
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
            loc="upper center",
            bbox_to_anchor=(0.5, 0.0),
            bbox_transform=ax.transAxes + shift,
            ncols=min(columns, len(keys)),
            frameon=False,
            fontsize="x-small",
            title_fontsize="x-small",
            handlelength=1.4,
            handletextpad=0.5,
            columnspacing=1.2,
            borderaxespad=0.3,
        )
        for text, key in zip(legend.get_texts(), keys, strict=True):
            fit(text, key.name, 3.0)
        if _width(legend) <= 1.15 * inches(ax):
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
        return Patch(color=style["color"], alpha=style["alpha"], lw=0)
    return Line2D([], [], **style)


def add_scale(ax: Axes, shares: Any) -> None:
    """Draw the scale of the colours on the right."""
    bar = ax.figure.colorbar(
        shares,
        ax=ax,
        shrink=0.6,
        fraction=0.05,
        pad=0.06,
        aspect=18,
        ticks=MaxNLocator(5),
        format=FuncFormatter(lambda share, _: percent(share)),
    )
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


def _width(artist: Any) -> float:
    return float(artist.get_window_extent().width) / _dpi(artist)
