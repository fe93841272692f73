"""Where results and figures are, and how they are written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
RESULTS = HERE / "results"
FIGURES = ROOT / "docs" / "figures" / "paper"
PAGE = ROOT / "docs" / "paper.md"
MNIST = HERE.parent / "mnist" / "results"

NETWORKS = {"lenet": "LeNet", "resnet": "ResNet", "densenet": "DenseNet"}


def facts() -> dict[str, Any]:
    """Return the numbers printed in the paper."""
    return json.loads((HERE / "paper.json").read_text("utf-8"))


def read(name: str) -> Any:
    """Return a result."""
    return json.loads((RESULTS / f"{name}.json").read_text("utf-8"))


def write(name: str, result: Any) -> None:
    """Write a result, every digit of it."""
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps(result, indent=1, ensure_ascii=False, allow_nan=False)
    (RESULTS / f"{name}.json").write_text(text + "\n", "utf-8")


def save(name: str, figure: Figure, dpi: int = 110, margins: str | None = None) -> None:
    """Write a figure and close it; with `margins` "tight", without what is empty around it."""
    import matplotlib.pyplot as plt  # noqa: PLC0415

    FIGURES.mkdir(parents=True, exist_ok=True)
    path = FIGURES / f"{name}.png"
    figure.savefig(path, dpi=dpi, bbox_inches=margins, metadata={"Software": None})
    plt.close(figure)
