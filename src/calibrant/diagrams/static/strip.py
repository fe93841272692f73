"""Axes whose lower part is a strip with the distribution of predictions."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import AutoLocator
from numpy.typing import NDArray

from calibrant.diagrams.style import MUTED, PALE, model_colour, percent

Floats = NDArray[np.float64]

STRIP = 0.2  # share of the height for the distribution of predictions
SQUARE = -0.02, 1.02  # range of both axes of a classical view
LOW = 2.3  # inches: beside lower Axes, what is on the vertical axis takes two lines


def set_range(ax: Axes, low: float, high: float, *, square: bool) -> None:
    """Give the marks the upper part of the Axes and the strip the lower one."""
    ax.set_xlim(*SQUARE)
    ax.set_ylim(low - (high - low) * STRIP / (1 - STRIP), high)
    ax.yaxis.set_major_locator(TicksAbove(low))
    ax.spines["left"].set_bounds(low, high)
    ax.spines[["top", "right"]].set_visible(False)
    if square:
        ax.set_aspect("equal")
        ax.set_xticks(np.arange(6) / 5)
        ax.yaxis.set_major_locator(TicksAbove(low, ax.get_xticks()))


class TicksAbove(AutoLocator):
    """The usual ticks, or given ones, but none beside the strip."""

    def __init__(self, bottom: float, ticks: Any = None) -> None:
        super().__init__()
        self.bottom = bottom
        self.ticks = ticks

    def __call__(self) -> Any:
        """Return the ticks."""
        ticks = super().__call__() if self.ticks is None else self.ticks
        return [tick for tick in ticks if tick >= self.bottom]


def draw_strip(ax: Axes, histograms: Sequence[Floats], *, named: bool = True) -> None:
    """Draw shares of predictions in even bins from 0 to 1 in the lowest part of the Axes.

    named : whether to say how large the largest is
    """
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
    if not named:
        return
    top = max(histograms, key=np.max)
    ax.text(
        (int(top.argmax()) + 0.5) / top.size,
        0.74 * STRIP,
        percent(float(f"{tallest:.2g}")),
        transform=ax.get_xaxis_transform(),
        ha="center",
        va="bottom",
        fontsize="x-small",
        color=MUTED,
    )


def set_vertical(ax: Axes, words: Sequence[str]) -> None:
    """Name the vertical axis, on two lines where there is little space."""
    low = ax.bbox.height / ax.figure.dpi < LOW
    ax.set_ylabel("\n".join(words) if low else " ".join(words))
