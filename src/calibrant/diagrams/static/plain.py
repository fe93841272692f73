"""Pictures with two axes: bins and curves of two outcomes, and the score plane."""

import numpy as np
from matplotlib.axes import Axes

from calibrant.diagrams.pictures.picture import Floats, Frame, Picture, round_ticks, rounded_percent
from calibrant.diagrams.static.keys import add_legend, fit, inches
from calibrant.diagrams.static.looks import GREY, MUTED, PALE, model_colour
from calibrant.diagrams.static.parts import draw

STRIP = 0.2  # share of the height for the distribution of predictions
LOW = 2.3  # inches: beside lower Axes, what is on the vertical axis takes two lines
WIDEST_TOLD = 50  # bins of a strip: of more, none is told how large it is


def draw_plain(picture: Picture, frame: Frame, ax: Axes) -> None:
    """Draw the parts, over bars for the distribution of predictions."""
    _set_frame(frame, ax, strip=bool(picture.strip))
    for zorder, part in enumerate(picture.parts, 1):
        draw(ax, part, zorder)
    if picture.strip:
        _draw_strip(ax, picture.strip)
    _write_summary(ax, picture.summary)
    low = ax.bbox.height / ax.figure.dpi < LOW
    ax.set_ylabel("\n".join(frame.vertical.rsplit(" ", 1)) if low else frame.vertical)
    fit(ax.xaxis.label, frame.horizontal, 1.02 * inches(ax))
    add_legend(ax, picture.keys)


def _set_frame(frame: Frame, ax: Axes, *, strip: bool) -> None:
    """Set both axes; a strip takes the lower part, and has no ticks beside it."""
    ax.set_xlim(*frame.x)
    low, high = frame.y
    ax.set_ylim(low - strip * (high - low) * STRIP / (1 - STRIP), high)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_xticks(round_ticks(*frame.x))
    ax.set_yticks(round_ticks(*frame.y))
    if strip:
        ax.spines["left"].set_bounds(low, high)
    if frame.square:
        ax.set_aspect("equal")
    if frame.above:
        above = ax.secondary_xaxis("top")
        above.set_xticks(*map(list, zip(*frame.above, strict=True)))
        above.tick_params(labelsize="x-small", color=GREY, labelcolor=MUTED)
        above.set_xlabel("predicted probability", fontsize="x-small", color=MUTED)


def _draw_strip(ax: Axes, histograms: tuple[Floats, ...]) -> None:
    """Draw shares of predictions in the lowest part of the Axes."""
    tallest = max(float(histogram.max()) for histogram in histograms)
    alone = len(histograms) == 1
    for i, histogram in enumerate(histograms):
        ax.stairs(
            0.72 * STRIP * histogram / tallest,
            np.arange(histogram.size + 1) / histogram.size,
            transform=ax.get_xaxis_transform(),
            fill=alone,
            color=PALE if alone else model_colour(i),
            linewidth=0 if alone else 1.1,
            zorder=0,
            clip_on=False,
        )
    top = max(histograms, key=np.max)
    if top.size > WIDEST_TOLD:
        return
    ax.text(
        (int(top.argmax()) + 0.5) / top.size,
        0.74 * STRIP,
        rounded_percent(tallest),
        transform=ax.get_xaxis_transform(),
        ha="center",
        va="bottom",
        fontsize="x-small",
        color=MUTED,
    )


def _write_summary(ax: Axes, lines: tuple[str, ...]) -> None:
    if not lines:
        return
    text = ax.text(0.02, 0.985, "", transform=ax.transAxes, va="top", fontsize="x-small")
    text.set_bbox({"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.0})
    text.set_zorder(100)
    text.set_parse_math(False)
    text.set_text("\n".join(lines))
