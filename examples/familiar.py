"""
Bars, a line, and a rare event
==============================

Draw a network as papers and as scikit-learn do, and a rare event, whose corner is enlarged.

Usage: python examples/familiar.py [FOLDER]
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import calibrant as cal

network = cal.reliability_diagram(cal.datasets.cifar10("resnet"), lens="top", rng=0)

rng = np.random.default_rng(0)
risk = rng.beta(1, 40, 20_000)
rare = cal.reliability_diagram(risk, rng.random(20_000) < 0.7 * risk, rng=0)

figure, axes = plt.subplots(1, 3, figsize=(11, 5), layout="constrained")
network.plot(axes[0], style="bars")
network.plot(axes[1], style="line")
rare.plot(axes[2], style="line")
folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
figure.savefig(folder / "familiar.png", dpi=100)
