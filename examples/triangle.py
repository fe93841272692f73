"""
Three outcomes
==============

Draw a model of three outcomes with 25 and 100 triangles and with data-dependent bins.

Usage: python examples/triangle.py [FOLDER]
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import calibrant as cal
from calibrant import partitions

rng = np.random.default_rng(0)
truth = rng.dirichlet([2, 1, 1], 10_000)
labels = (rng.random((10_000, 1)) > truth.cumsum(axis=1)[:, :-1]).sum(axis=1)
probs = truth * [1, 1, 2]  # a model that expects too much rain
probs /= probs.sum(axis=1, keepdims=True)
data = cal.Predictions(probs, labels, classes=["sun", "cloud", "rain"])

bins = (partitions.SimplexBins(5), partitions.SimplexBins(10), partitions.VarianceTree(500))
figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
for ax, partition in zip(axes, bins, strict=True):
    diagram = cal.reliability_diagram(data, partition=partition, rng=0)
    diagram.plot(ax, regions=partition == bins[0])
folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
figure.savefig(folder / "triangle.png", dpi=95)
