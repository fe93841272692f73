"""
Every predicted class
=====================

Draw every predicted class of a network, and of one of a thousand classes.

Usage: python examples/predicted_classes.py [FOLDER]
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import calibrant as cal

rng = np.random.default_rng(0)
labels = np.repeat(np.arange(1000), 20)
logits = rng.normal(size=(20_000, 1000)).astype(np.float32)
logits[np.arange(20_000), labels] += 5.0 + 1.5 * rng.normal(size=20_000)
logits += 0.3 * rng.normal(size=1000)  # some classes are named too often
logits *= 2.8
names = [f"class {j}" for j in range(1000)]
many = cal.Predictions.from_logits(logits, labels, classes=names)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
cal.class_diagram(cal.datasets.cifar10("resnet"), rng=0).plot(left)
cal.class_diagram(many, rng=0).plot(right)
folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
figure.savefig(folder / "predicted_classes.png", dpi=100)
