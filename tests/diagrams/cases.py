"""Data sets for diagrams, and every kind of picture with its options."""

from functools import cache

import numpy as np

from calibrant import Predictions, lenses, partitions, reliability_diagram

ODD_NAMES = (
    "a very long name of a class that does not fit on one line",
    "costs $5 & <b>more</b> than $3_x",
    "_naïve+Übergröße+<br>",
    r"\alpha^2 $\beta$ 100%",
)


def dirichlet(n, m, power=2.0, seed=0, classes=None, weights=None):
    """Return a model that is too sure (power > 1), not sure enough (< 1) or calibrated (1)."""
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.ones(m), n)
    labels = (rng.random((n, 1)) > truth.cumsum(axis=1)[:, :-1]).sum(axis=1)
    probs = truth**power
    return Predictions(probs / probs.sum(axis=1, keepdims=True), labels, classes, weights)


def moved(m, to, n=200):
    """Return equal predictions near the middle whose outcome is always `to`: a known arrow."""
    probs = np.full(m, 1 / m) + np.linspace(-0.05, 0.05, m)
    return Predictions(np.tile(probs, (n, 1)), np.full(n, to), [f"class {j}" for j in range(m)])


def three_models(n=2000):
    return {name: dirichlet(n, 3, k, k) for k, name in enumerate(("plain", "_hidden", "$5"), 1)}


def rare(n=4000, seed=0):
    """Return an event that is predicted to be rare, and is rarer."""
    rng = np.random.default_rng(seed)
    p = rng.beta(1, 40, n)
    return Predictions(p, rng.random(n) < p / 2)


def squared(p):
    return p**2


TWO_PLACES = np.repeat([[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]], 100, axis=0)
CORNER = np.tile([[0.98, 0.01, 0.005, 0.005]], (500, 1))
IN_CORNER = np.repeat([0, 1], [450, 50])

# name: (arguments of `reliability_diagram`, options of `plot` and `figure`)
CASES = {
    "two outcomes": ((dirichlet(2000, 2), {}), {}),
    "line": ((dirichlet(2000, 2), {}), {"style": "line"}),
    "bars": ((dirichlet(2000, 2), {}), {"style": "bars"}),
    "truth": ((dirichlet(2000, 2), {}), {"truth": squared}),
    "line, truth": ((dirichlet(2000, 2), {}), {"truth": squared, "style": "line"}),
    "rare": ((rare(), {"partition": partitions.EqualMass(10)}), {"style": "line"}),
    "2 cells": ((dirichlet(2000, 2), {"partition": partitions.EqualWidth(2)}), {}),
    "100 cells": ((dirichlet(9000, 2), {"partition": partitions.EqualWidth(100)}), {}),
    "tree": ((dirichlet(9000, 2), {"partition": partitions.VarianceTree(500)}), {}),
    "equal mass": ((dirichlet(2000, 2), {"partition": partitions.EqualMass(15)}), {}),
    "pooled": ((dirichlet(300, 5), {"lens": lenses.Pooled(), "n_resamples": 19}), {}),
    "top label": ((dirichlet(2000, 7), {"lens": lenses.TopLabel()}), {}),
    "calibrated": ((dirichlet(2000, 2, 1.0), {}), {}),
    "models": ((three_models(), {"lens": lenses.TopLabel()}), {}),
    "models, line": ((three_models(), {"lens": lenses.TopLabel()}), {"style": "line"}),
    "1 row, 2": ((Predictions([0.3], [1]), {}), {}),
    "corner, 2": ((Predictions(np.full(500, 1.0), np.repeat([0, 1], [1, 499])), {}), {}),
    "names, 2": ((dirichlet(500, 2, classes=["no", ODD_NAMES[1] + ODD_NAMES[0]]), {}), {}),
    "three outcomes": ((dirichlet(3000, 3), {}), {}),
    "regions": ((dirichlet(3000, 3), {}), {"regions": True}),
    "100 triangles": ((dirichlet(9000, 3), {"partition": partitions.SimplexBins(10)}), {}),
    "1 triangle": ((dirichlet(30, 3), {"partition": partitions.SimplexBins(1)}), {}),
    "2 triangles": ((Predictions(TWO_PLACES, np.arange(200) % 3), {}), {}),
    "tree, 3": ((dirichlet(3000, 3), {"partition": partitions.VarianceTree(300)}), {}),
    "boxes": ((dirichlet(3000, 3), {"partition": partitions.EqualWidth(3)}), {"regions": True}),
    "1 row, 3": ((Predictions([[0.3, 0.3, 0.4]], [1]), {}), {"regions": True}),
    "corner, 3": ((Predictions(CORNER[:, :3] + [0, 0, 0.005], IN_CORNER), {}), {"regions": True}),
    "names, 3": ((dirichlet(500, 3, classes=ODD_NAMES[:3]), {}), {}),
    "four outcomes": ((dirichlet(3000, 4), {}), {}),
    "125 tetrahedra": ((dirichlet(9000, 4), {"partition": partitions.SimplexBins(5)}), {}),
    "tree, 4": ((dirichlet(3000, 4), {"partition": partitions.VarianceTree(300)}), {}),
    "1 row, 4": ((Predictions([[0.3, 0.3, 0.2, 0.2]], [1]), {}), {}),
    "corner, 4": ((Predictions(CORNER, IN_CORNER), {}), {}),
    "names, 4": ((dirichlet(500, 4, classes=ODD_NAMES), {}), {}),
}


@cache
def made(name):
    """Return a diagram of `CASES` and the options to draw it with."""
    (data, settings), options = CASES[name]
    return reliability_diagram(data, **{"n_resamples": 99, "rng": 0, **settings}), options
