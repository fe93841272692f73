"""Pictures drawn with matplotlib, for papers. Only this package names matplotlib.

Those with two axes are drawn here, and Figure 3: scores and p-value over the steps of a training.
"""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.text import Text

from calibrant.diagrams.picture import (
    Corner,
    Floats,
    Frame,
    Picture,
    Range,
    round_ticks,
    rounded_percent,
)
from calibrant.diagrams.static import parts
from calibrant.diagrams.static.biases import biases
from calibrant.diagrams.static.simplex import draw_tetrahedron, draw_triangle
from calibrant.tables import visible

if TYPE_CHECKING:
    from calibrant.trajectory import Trajectory

__all__ = ["Axes", "Figure", "biases", "draw", "draw_without_window", "save", "trajectories"]

STRIP = 0.2  # share of the height for the distribution of predictions
LOW = 2.3  # inches: beside lower Axes, what is on the vertical axis takes two lines
MOST_TICKS, SHORT, LETTER = 7, 3, 0.09  # ticks; letters of a short number; inches of a letter
MOST_LABELLED = 50  # bins of a strip: of more, none is told how large it is
PANELS = {
    "log_score": "log loss",
    "accuracy": "accuracy",
    "value": "miscalibration",
    "pvalue": "p-value",
}


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
        _draw_plain(picture, picture.frame, ax)
    parts.keep_inside(ax)
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
    for words in figure.findobj(Text):
        words.set_text(visible(words.get_text(), keep="\n"))
    # Into memory first: what writers of formats raise when a disk is full says nothing of it.
    drawn, ending = BytesIO(), path.suffix[1:].lower()
    if ending == "pdf":
        _load_names_of_letters()
    figure.savefig(drawn, dpi=dpi, format=ending)
    plt.close(figure)
    path.write_bytes(drawn.getbuffer())


def _load_names_of_letters() -> None:
    """Load what a PDF calls letters: without memory for it, FreeType leaves out all of them."""
    font = get_font(findfont(FontProperties()))
    letter = font.get_char_index(ord("a"))
    if letter and font.get_glyph_name(letter) == ".notdef":
        raise MemoryError


def _draw_plain(picture: Picture, frame: Frame, ax: Axes) -> None:
    """Draw the parts, over bars for the distribution of predictions."""
    _set_frame(frame, ax, strip=bool(picture.strip))
    for zorder, part in enumerate(picture.parts, 1):
        parts.draw(ax, part, zorder)
    if picture.strip:
        _draw_strip(ax, picture.strip, picture.strip_range)
        for at, look in picture.strip_lines:
            style, place = parts.style_of(look, None), ax.get_xaxis_transform()
            ax.plot([at, at], [0.0, 0.72 * STRIP], transform=place, clip_on=False, **style)
    if picture.summary:
        _write_summary(ax, picture.summary, picture.corner, frame)
    low = ax.bbox.height / ax.figure.dpi < LOW
    ax.set_ylabel("\n".join(frame.vertical.rsplit(" ", 1)) if low else frame.vertical)
    parts.fit(ax.xaxis.label, frame.horizontal, 1.02 * parts.inches(ax))
    parts.add_legend(ax, picture.keys)


def _write_summary(ax: Axes, lines: Sequence[str], corner: Corner | None, frame: Frame) -> None:
    """Write lines into a corner of the frame, or above it."""
    look: Any = {"fontsize": "x-small", "zorder": 100, "parse_math": False}
    if corner is None:
        above = ax.text(0.0, 1.01, ", ".join(lines), transform=ax.transAxes, va="bottom", **look)
        if parts.width_of(above) > parts.inches(ax):
            above.set_text("\n".join(lines))
        return
    x = frame.x[0 if corner.side == "left" else 1]
    y = frame.y[1 if corner.end == "top" else 0]
    place: Any = {"xytext": (4 if corner.side == "left" else -4, -4 if corner.end == "top" else 4)}
    place |= {"textcoords": "offset points", "ha": corner.side, "va": corner.end}
    ax.annotate("\n".join(lines), (x, y), **place, **look)


def _set_frame(frame: Frame, ax: Axes, *, strip: bool) -> None:
    """Set both axes; a strip takes the lower part, and has no ticks beside it."""
    ax.set_xlim(*frame.x)
    low, high = frame.y
    ax.set_ylim(low - strip * (high - low) * STRIP / (1 - STRIP), high)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_xticks(frame.across(_most_ticks(frame, ax)))
    ax.set_yticks(round_ticks(*frame.y))
    if strip:
        ax.spines["left"].set_bounds(low, high)
    if frame.square:
        ax.set_aspect("equal")
    if frame.above:
        above = ax.secondary_xaxis("top")
        above.set_xticks(*map(list, zip(*frame.above, strict=True)))
        above.tick_params(labelsize="x-small", color=parts.GREY, labelcolor=parts.MUTED)
        above.set_xlabel(frame.above_name, fontsize="x-small", color=parts.MUTED)


def _most_ticks(frame: Frame, ax: Axes) -> int:
    """Return how many ticks the horizontal axis has space for, where their numbers are long."""
    letters = max(len(f"{value:g}") for value in frame.across())
    if letters <= SHORT:
        return MOST_TICKS
    return max(1, min(MOST_TICKS, int(parts.inches(ax) / (LETTER * (letters + 2)))))


def _draw_strip(ax: Axes, histograms: tuple[Floats, ...], across: Range) -> None:
    """Draw shares of predictions in the lowest part of the Axes."""
    tallest = max(float(histogram.max()) for histogram in histograms)
    alone = len(histograms) == 1
    for i, histogram in enumerate(histograms):
        ax.stairs(
            0.72 * STRIP * histogram / tallest,
            np.linspace(*across, histogram.size + 1),
            transform=ax.get_xaxis_transform(),
            fill=alone,
            color=parts.PALE if alone else parts.model_colour(i),
            linewidth=0 if alone else 1.1,
            zorder=0,
            clip_on=False,
        )
    top = max(histograms, key=np.max)
    if top.size > MOST_LABELLED:
        return
    look: Any = {"ha": "center", "va": "bottom", "fontsize": "x-small", "color": parts.MUTED}
    middle = across[0] + (across[1] - across[0]) * (int(top.argmax()) + 0.5) / top.size
    place = ax.get_xaxis_transform()
    ax.text(middle, 0.74 * STRIP, rounded_percent(tallest), transform=place, **look)


def trajectories(drawn: Sequence["Trajectory"], alpha: float) -> Figure:
    """Draw log loss, accuracy, statistic and p-value over the steps; `alpha` is a line there."""
    figure, axes = plt.subplots(2, 2, figsize=(7.2, 5.2), sharex=True, layout="constrained")
    for i, one in enumerate(drawn):
        for ax, column in zip(axes.flat, PANELS, strict=True):
            _draw_column(ax, one, column, parts.model_colour(i))
    for ax, label in zip(axes.flat, PANELS.values(), strict=True):
        ax.set_ylabel(label)
        ax.spines[["top", "right"]].set_visible(False)
    for ax in axes[1]:
        ax.set_xlabel("step")
    axes[1, 1].set_yscale("log")
    axes[1, 1].axhline(alpha, color=parts.INK, lw=0.8, ls="--")
    handles, names = axes[0, 0].get_legend_handles_labels()
    if names:
        look: Any = {"loc": "outside upper center", "frameon": False, "fontsize": "small"}
        figure.legend(handles, names, ncols=min(4, len(names)), **look)
    return figure


def _draw_column(ax: Axes, one: "Trajectory", column: str, colour: str) -> None:
    """Draw one column over the steps, and the mean of the statistic if calibrated, dotted."""
    steps = [row.step for row in one.rows]
    values = [getattr(row, column) for row in one.rows]
    ax.plot(steps, values, color=colour, lw=1.1, label=one.name or None)
    if column == "value":
        expected = [row.null_mean for row in one.rows]
        ax.plot(steps, expected, color=colour, lw=0.9, ls=":")
    best = getattr(one.best, column)
    ax.plot(one.best.step, best, "*", ms=10, mec=parts.INK, mew=0.6, mfc=colour, zorder=3)
