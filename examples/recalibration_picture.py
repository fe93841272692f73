"""Draw a network before and after recalibration, on rows that the maps have not seen.

Usage: python examples/recalibration_picture.py [FILE]
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt

import calibrant as cal
from calibrant import lenses

TARGET = Path(__file__).parents[1] / "docs" / "figures" / "recalibration.png"


def main(path: Path) -> None:
    """Recalibrate, print the table, and draw the recommended method beside the model as it is."""
    data = cal.datasets.cifar10("resnet")
    found = cal.recalibrate(data, rng=0)
    print(found.table())
    print(found.recommendation)
    models = {"as it is": data, f"after {found.recommended}": found.predictions()}
    figure, axes = plt.subplots(figsize=(6, 3.8), layout="constrained")
    cal.reliability_diagram(models, lens=lenses.TopLabel(), rng=0).plot(axes)
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET)
