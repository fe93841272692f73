"""Figure 3: scores, miscalibration and p-value over the steps of a training."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from calibrant.diagrams.static.looks import INK, model_colour

if TYPE_CHECKING:
    from calibrant.trajectory import Trajectory

PANELS = {
    "log_score": "log loss",
    "accuracy": "accuracy",
    "value": "miscalibration",
    "pvalue": "p-value",
}


def trajectories(drawn: Sequence["Trajectory"], alpha: float) -> Figure:
    """Draw log loss, accuracy, statistic and p-value over the steps, each in a panel.

    drawn : trajectories; those with a name are in the legend
    alpha : level that is drawn as a line among the p-values
    """
    figure, axes = plt.subplots(2, 2, figsize=(7.2, 5.2), sharex=True, layout="constrained")
    for i, one in enumerate(drawn):
        for ax, column in zip(axes.flat, PANELS, strict=True):
            _draw_column(ax, one, column, model_colour(i))
    for ax, label in zip(axes.flat, PANELS.values(), strict=True):
        ax.set_ylabel(label)
        ax.spines[["top", "right"]].set_visible(False)
    for ax in axes[1]:
        ax.set_xlabel("step")
    axes[1, 1].set_yscale("log")
    axes[1, 1].axhline(alpha, color=INK, lw=0.8, ls="--")
    _add_legend(figure, axes[0, 0])
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
    ax.plot(one.best.step, best, "*", ms=10, mec=INK, mew=0.6, mfc=colour, zorder=3)


def _add_legend(figure: Figure, ax: Axes) -> None:
    handles, names = ax.get_legend_handles_labels()
    if names:
        figure.legend(
            handles,
            names,
            loc="outside upper center",
            ncols=min(4, len(names)),
            frameon=False,
            fontsize="small",
        )
