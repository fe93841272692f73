"""
Right in one respect, wrong in another
======================================

Draw Example 1 of the paper: right for the predicted class and yet not calibrated.

Usage: python examples/toy_example.py [FOLDER]
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import calibrant as cal
from calibrant import lenses, partitions

TENTHS = [  # prediction and true distribution, Table 1
    ((1, 3, 6), (2, 2, 6)),
    ((1, 6, 3), (0, 7, 3)),
    ((3, 1, 6), (2, 2, 6)),
    ((3, 6, 1), (4, 5, 1)),
    ((6, 1, 3), (7, 0, 3)),
    ((6, 3, 1), (5, 4, 1)),
]
probs = np.repeat([p for p, _ in TENTHS], 1000, axis=0) / 10
labels = np.concatenate([np.repeat([1, 2, 3], 100 * np.array(r)) for _, r in TENTHS])
data = cal.Predictions(probs, labels, classes=[1, 2, 3])

figure = plt.figure(figsize=(8.5, 3.8), layout="constrained")
left = figure.add_subplot(1, 2, 1)
right = figure.add_subplot(1, 2, 2)
cal.reliability_diagram(data, lens=lenses.Marginal("1"), rng=0).plot(left)
cal.reliability_diagram(data, partition=partitions.VarianceTree(2), rng=0).plot(right)
folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
figure.savefig(folder / "toy_example.png", dpi=130)
