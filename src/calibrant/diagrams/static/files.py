"""Pictures in files."""

from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.axes import Axes


def draw_without_window() -> None:
    """Let matplotlib draw into files alone, as a program without a screen must."""
    mpl.use("Agg")


def save(ax: Axes, path: Path, dpi: int = 200) -> None:
    """Write the figure of an Axes to a file, whose ending names the format, and close it."""
    figure: Any = ax.figure
    figure.savefig(path, dpi=dpi)
    plt.close(figure)
