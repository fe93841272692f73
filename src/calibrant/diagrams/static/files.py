"""Pictures in files."""

from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes


def draw_without_window() -> None:
    """Let matplotlib draw into files alone, as a program without a screen must."""
    mpl.use("Agg")


def save(ax: Axes, path: Path, dpi: int = 200) -> None:
    """Write the figure of an Axes to a file; its ending names the format."""
    figure: Any = ax.figure
    figure.savefig(path, dpi=dpi)
