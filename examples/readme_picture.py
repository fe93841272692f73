"""Draw the picture of the README: networks on CIFAR-10, seen through two lenses."""

from pathlib import Path

import matplotlib as mpl

import calibrant as cal
from calibrant import lenses

TARGET = Path(__file__).parents[1] / "docs" / "figures" / "readme.png"
GROUPS = (
    ["airplane", "automobile", "ship", "truck"],
    ["cat", "dog"],
    ["bird", "deer", "frog", "horse"],
)


def main() -> None:
    """Draw the predicted class on the left and three groups of classes on the right."""
    mpl.use("Agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415

    resnet, lenet = cal.datasets.cifar10("resnet"), cal.datasets.cifar10("lenet")
    figure = plt.figure(figsize=(11, 4.6), layout="constrained")
    left = figure.add_subplot(1, 2, 1)
    right = figure.add_subplot(1, 2, 2)
    cal.reliability_diagram(resnet, lens=lenses.TopLabel(), rng=0).plot(left)
    cal.reliability_diagram(lenet, lens=lenses.Groups(GROUPS), rng=0).plot(right)
    left.set_title("a ResNet: the predicted class", loc="left")
    right.set_title("a LeNet: three groups of classes", loc="left")
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(TARGET, dpi=100)


if __name__ == "__main__":
    main()
