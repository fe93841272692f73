"""
Several models in one picture
=============================

Draw three models of the same outcomes in one picture, as deviations and as lines.

Usage: python examples/several_models.py [FOLDER]
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import calibrant as cal
from calibrant import lenses

rng = np.random.default_rng(1)
truth = rng.dirichlet(np.full(10, 0.3), 10_000)
labels = (rng.random((10_000, 1)) > truth.cumsum(axis=1)[:, :-1]).sum(axis=1)


def model(power):
    """Return an overconfident model (power > 1), or an underconfident one (power < 1)."""
    probs = truth**power
    return cal.Predictions(probs / probs.sum(axis=1, keepdims=True), labels)


models = {"overconfident": model(2), "calibrated": model(1), "underconfident": model(0.6)}
diagram = cal.reliability_diagram(models, lens=lenses.TopLabel(), rng=0)

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
diagram.plot(left)
diagram.plot(right, style="line")
folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
figure.savefig(folder / "several_models.png", dpi=130)
