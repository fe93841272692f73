"""Check the committed predictions against their logs and print what the training reached.

    python -m experiments.summary

The two tables are those of README.md in this folder.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np

from .mnist.trajectory import Trajectory

HERE = Path(__file__).parent
CIFAR10 = HERE / "cifar10" / "results"
MNIST = HERE / "mnist" / "results"
PAPER = {"lenet": 0.727, "resnet": 0.934, "densenet": 0.933}


def read(path: Path) -> list[dict[str, float]]:
    """Read a log: one row per epoch or checkpoint."""
    with path.open(newline="") as file:
        return [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]


def check(probs: np.ndarray, labels: np.ndarray, loss: float, accuracy: float) -> None:
    """Raise unless probs (n, 10) are distributions with the logged loss and accuracy.

    Two rows may change sides: rounding can swap two classes that were equally likely.
    """
    probs = probs.astype(np.float64)
    likelihood = probs[np.arange(len(labels)), labels]
    np.testing.assert_allclose(probs.sum(1), 1, atol=1e-6)
    np.testing.assert_allclose(
        (probs.argmax(1) == labels).mean(), accuracy, atol=2.01 / len(labels)
    )
    np.testing.assert_allclose(-np.log(likelihood).mean(), loss, atol=1e-5)


def cifar10_row(name: str) -> str:
    """Describe one network on CIFAR-10."""
    settings = json.loads((CIFAR10 / f"{name}.json").read_text())
    last = read(CIFAR10 / f"{name}.csv")[-1]
    with np.load(CIFAR10 / f"{name}.npz") as file:
        check(file["probs"], file["labels"], last["test_loss"], last["test_accuracy"])
    return (
        f"| {name} | {settings['parameters']:,} | {settings['epochs']} "
        f"| {last['train_loss']:.3f} | {last['train_accuracy']:.4f} "
        f"| {last['test_loss']:.3f} | {last['test_accuracy']:.4f} | {PAPER[name]} "
        f"| {settings['seconds']:.0f} |"
    )


def mnist_row(seed: int) -> str:
    """Describe one training on MNIST: its best likelihood and its end."""
    log = read(MNIST / f"lenet{seed}.csv")
    trajectory = Trajectory.load(MNIST / f"lenet{seed}.npz")
    for step, probs, row in zip(trajectory.steps, trajectory.probs, log, strict=True):
        assert step == row["step"]
        check(probs, trajectory.labels, row["validation_loss"], row["validation_accuracy"])
    best, last = min(log, key=lambda row: row["validation_loss"]), log[-1]
    return (
        f"| {seed} "
        + "".join(
            f"| {row['epoch']:g} | {row['validation_loss']:.4f} | {row['validation_accuracy']:.4f} "
            for row in (best, last)
        )
        + f"| {last['seconds']:.0f} |"
    )


def main() -> None:
    """Print both tables."""
    print(
        "| network | parameters | epochs | train loss | train acc. | test loss | test acc. ", end=""
    )
    print("| paper's acc. | seconds |")
    print("|---" * 9 + "|")
    print("\n".join(cifar10_row(name) for name in PAPER))
    print("\n| seed | epoch of best nLL | nLL | acc. | last epoch | nLL | acc. | seconds |")
    print("|---" * 8 + "|")
    print("\n".join(mnist_row(seed) for seed in range(1, 6)))


if __name__ == "__main__":
    main()
