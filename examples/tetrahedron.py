"""
Four outcomes
=============

Draw a model of four outcomes, as a picture and as a page in which it can be turned.

Usage: python examples/tetrahedron.py [FOLDER]
"""

import sys
from pathlib import Path

import numpy as np

import calibrant as cal
from calibrant import partitions

rng = np.random.default_rng(0)
truth = rng.dirichlet(np.ones(4), 10_000)
labels = (rng.random((10_000, 1)) > truth.cumsum(axis=1)[:, :-1]).sum(axis=1)
probs = truth**1.7  # an overconfident model
probs /= probs.sum(axis=1, keepdims=True)
data = cal.Predictions(probs, labels, classes=["north", "east", "south", "west"])

diagram = cal.reliability_diagram(data, partition=partitions.SimplexBins(3), rng=0)
folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
diagram.plot().figure.savefig(folder / "tetrahedron.png", dpi=130)
diagram.figure().save(folder / "tetrahedron.html")
