"""
Three models whose truth is known
=================================

Draw Figures 8, 11 and 14 of the paper: three models of a mixture whose truth is known.

Usage: python examples/gaussian_mixture.py [FOLDER]
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import calibrant as cal


def logistic(z):
    """Return 1 / (1 + exp(-z))."""
    return 1 / (1 + np.exp(-z))


rng = np.random.default_rng(0)
y = rng.integers(0, 2, 10_000)
x = rng.normal(2 * y - 1, 1)  # so the probability of class 1 is logistic(2 x)
models = {
    "perfect": (logistic(2 * x), lambda p: p),
    "constant": (np.full(x.size, 0.5), lambda p: p),
    "uncalibrated": (logistic(-1 - x), lambda p: logistic(-2 * (1 + np.log(p / (1 - p))))),
}

figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
for ax, (name, (probs, truth)) in zip(axes, models.items(), strict=True):
    data = cal.Predictions(probs, y)
    cal.reliability_diagram(data, rng=0).plot(ax, truth=truth)
    ax.set_title(name)
folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
figure.savefig(folder / "gaussian_mixture.png", dpi=130)
