"""
Isotonic, smooth and cumulative curves
======================================

Draw a model of two outcomes as curves: isotonic (CORP), smooth and cumulative.

Usage: python examples/curves.py [FOLDER]
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import calibrant as cal

rng = np.random.default_rng(0)
predicted = rng.beta(1.2, 2, 4000)
data = cal.Predictions(predicted, rng.random(4000) < predicted**1.2)  # expects the event too often

figure, axes = plt.subplots(1, 3, figsize=(11.5, 5.0), layout="constrained")
isotonic = cal.isotonic_diagram(data, rng=0)
isotonic.plot(axes[0])
cal.smooth_diagram(data, rng=0).plot(axes[1])
cal.cumulative_diagram(data, rng=0).plot(axes[2])
folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
figure.savefig(folder / "curves.png", dpi=95, bbox_inches="tight")
