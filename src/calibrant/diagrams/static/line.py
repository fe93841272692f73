"""Two outcomes: the deviation over the prediction, or the classical view."""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from calibrant.diagrams.diagram import ReliabilityDiagram, Series, Truth
from calibrant.diagrams.style import BLUE, GREY, INK, MODELS, PALE, VERMILLION, event_name

Floats = NDArray[np.float64]

STRIP = 0.2  # share of the height for the distribution of predictions


def line(
    diagram: ReliabilityDiagram, ax: Axes | None, *, classical: bool, truth: Truth | None
) -> Axes:
    """Draw marks for the cells over bars for the distribution of predictions."""
    if ax is None:
        ax = plt.subplots(figsize=(4.2, 3.4), layout="constrained")[1]
    x = np.linspace(0, 1, 201)
    ax.plot([0, 1], [0, 1 if classical else 0], color=INK, lw=0.8, zorder=1)
    if truth is not None:
        y = np.asarray(truth(x)) - (0 if classical else x)
        ax.plot(x, y, color="#009E73", lw=1.4, zorder=2, label="true")
    for number, series in enumerate(diagram.series):
        _draw_cells(diagram, ax, series, number, classical)
    _limits(diagram, ax, truth, classical)
    _draw_histogram(diagram, ax)
    _label(diagram, ax, classical)
    return ax


def _draw_cells(
    diagram: ReliabilityDiagram, ax: Axes, series: Series, number: int, classical: bool
) -> None:
    e = diagram.event
    fn, cells = series.function, series.cells
    alone = len(diagram.series) == 1
    shift = 0.0 if alone else 0.012 * (number - (len(diagram.series) - 1) / 2)
    x = fn.predicted[:, e]
    zero = x if classical else np.zeros_like(x)
    off = series.significant(diagram.alpha)
    colour = BLUE if alone else MODELS[number % len(MODELS)]
    reach = np.stack((-cells.lower[:, e], cells.upper[:, e])).clip(min=0)
    ax.errorbar(
        x + shift,
        zero,
        yerr=reach,
        fmt="none",
        ecolor=GREY if alone else colour,
        elinewidth=3.5 if alone else 2.5,
        alpha=0.55,
        zorder=2,
        label=f"{cells.level:.0%} if calibrated" if alone else None,
    )
    y = zero + fn.deviations[:, e]
    plain: Any = {"ls": "none", "zorder": 4}
    far = VERMILLION if alone else colour
    if (~off).any():
        label = "not significant" if alone else series.name
        ax.plot(x[~off] + shift, y[~off], "x", color=colour, ms=5.5, mew=1.4, label=label, **plain)
    if off.any():
        label = f"off ({diagram.alpha:.0%}, all cells)" if alone else f"{series.name}, off"
        ax.plot(x[off] + shift, y[off], "o", color=far, ms=5.5, label=label, **plain)


def _limits(diagram: ReliabilityDiagram, ax: Axes, truth: Truth | None, classical: bool) -> None:
    ax.set_xlim(-0.02, 1.02)
    if classical:
        ax.set_ylim(-0.02 - STRIP / (1 - STRIP) * 1.04, 1.02)
        ax.set_yticks(np.linspace(0, 1, 6))
        return
    e = diagram.event
    ends = [np.zeros(1)]
    for series in diagram.series:
        cells = series.cells
        ends += [series.function.deviations[:, e], cells.lower[:, e], cells.upper[:, e]]
    if truth is not None:
        x = np.concatenate([s.function.predicted[:, e] for s in diagram.series])
        ends.append(np.asarray(truth(x)) - x)
    low, high = min(a.min() for a in ends), max(a.max() for a in ends)
    room = max(high - low, 0.02)
    low, high = low - 0.08 * room, high + 0.12 * room
    ax.set_ylim(low - (high - low) * STRIP / (1 - STRIP), high)


def _draw_histogram(diagram: ReliabilityDiagram, ax: Axes) -> None:
    """Draw the share of predictions in the lowest part of the Axes."""
    edges = diagram.edges
    width = np.diff(edges) / len(diagram.series)
    tallest = max(float(s.histogram.max()) for s in diagram.series if s.histogram is not None)
    transform = ax.get_xaxis_transform()
    for number, series in enumerate(diagram.series):
        if series.histogram is None:
            continue
        colour = PALE if len(diagram.series) == 1 else MODELS[number % len(MODELS)]
        ax.bar(
            edges[:-1] + number * width,
            0.78 * STRIP * series.histogram / tallest,
            width=width,
            align="edge",
            transform=transform,
            color=colour,
            edgecolor="white",
            linewidth=0.5,
            alpha=1.0 if len(diagram.series) == 1 else 0.6,
            zorder=0,
        )
        if len(diagram.series) == 1:
            top = int(series.histogram.argmax())
            ax.text(
                (edges[top] + edges[top + 1]) / 2,
                0.80 * STRIP,
                f"{series.histogram[top]:.0%}",
                transform=transform,
                ha="center",
                va="bottom",
                fontsize="x-small",
                color=GREY,
            )
    ax.axhline(ax.get_ylim()[0] + (ax.get_ylim()[1] - ax.get_ylim()[0]) * STRIP, color="none")


def _label(diagram: ReliabilityDiagram, ax: Axes, classical: bool) -> None:
    ax.set_xlabel(f"predicted probability of {event_name(diagram)}")
    ax.set_ylabel("observed frequency" if classical else "observed − predicted")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(
        loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
        ncols=3,
        frameon=False,
        fontsize="x-small",
        handletextpad=0.4,
        columnspacing=1.2,
    )
