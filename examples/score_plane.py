"""
The score plane
===============

Split the Brier scores of five models of the same outcomes.

Usage: python examples/score_plane.py [FOLDER]
"""

import sys
from pathlib import Path

import numpy as np

import calibrant as cal

rng = np.random.default_rng(0)
truth = rng.beta(1, 1, 3000)
labels = rng.random(3000) < truth
noisy = np.clip(truth + rng.normal(0, 0.2, 3000), 0.001, 0.999)
predictions = {
    "calibrated": truth,
    "overconfident": truth**2 / (truth**2 + (1 - truth) ** 2),
    "underconfident": 0.25 + 0.5 * truth,
    "noisy": noisy,
    "constant": np.full(3000, labels.mean()),
}
models = {name: cal.Predictions(p, labels) for name, p in predictions.items()}
plane = cal.score_plane(models, rng=0)
for point in plane.points:
    print(f"{point.name}: {point.parts}, p = {point.pvalue:.3g}")
folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
plane.plot().figure.savefig(folder / "score_plane.png", dpi=95)
