"""Draw the picture of the README: a network on CIFAR-10, seen through two lenses."""

from pathlib import Path

import matplotlib as mpl

import calibrant as cal
from calibrant import lenses

TARGET = Path(__file__).parents[1] / "docs" / "figures" / "readme.png"
VEHICLES = "airplane", "automobile", "ship", "truck"
GROUPS = {
    "cat": ["cat"],
    "dog": ["dog"],
    "another class": [*VEHICLES, "bird", "deer", "frog", "horse"],
}


def main() -> None:
    """Draw the predicted class on the left; cats, dogs and the other classes on the right."""
    mpl.use("Agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415

    data = cal.datasets.cifar10("resnet")
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(10, 4.8), width_ratios=(1, 1.3), layout="constrained"
    )
    cal.reliability_diagram(data, lens=lenses.TopLabel(), rng=0).plot(left, style="bars")
    cal.reliability_diagram(data, lens=lenses.Groups(GROUPS), rng=0).plot(right)
    left.set_title("a ResNet: the predicted class", loc="left")
    right.set_title("the same: cat, dog, or another class", loc="left")
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(TARGET, dpi=100)


if __name__ == "__main__":
    main()
