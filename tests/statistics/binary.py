"""Statistics of two outcomes: the family, reference values, and definitions in plain loops."""

import json
from functools import cache
from itertools import pairwise, product
from math import cos, fsum, pi

import numpy as np
from places import SHARED
from scipy.optimize import brentq

from calibrant import Predictions, lenses
from calibrant.statistics import (
    AveragedTwoBin,
    Cox,
    CutoffMiscalibration,
    KolmogorovMiscalibration,
    Neyman,
    ScoreMiscalibration,
    SmoothMiscalibration,
    Spiegelhalter,
)

FAMILY = (
    AveragedTwoBin(),
    Cox(),
    CutoffMiscalibration(),
    KolmogorovMiscalibration(),
    Neyman(),
    ScoreMiscalibration(),
    SmoothMiscalibration(),
    Spiegelhalter(),
)
EVIDENCE = tuple(one for one in FAMILY if isinstance(one, Cox | Neyman | Spiegelhalter))
LENSES = {
    "class:1": lenses.Canonical(),
    "class:0": lenses.Marginal(0),
    "top": lenses.TopLabel(),
}


@cache
def reference():
    """Return the reference values; none where they are missing."""
    path = SHARED / "reference" / "beyond.json"
    return json.loads(path.read_text()) if path.exists() else {}


NAMES = sorted(reference()) or ["adult_rf"]


@cache
def stored(name):
    with np.load(SHARED / "data" / "predictions" / f"{name}.npz") as file:
        probs = file["probs"].astype(np.float64)
        return Predictions(probs / probs.sum(axis=1, keepdims=True), file["labels"])


def views(name):
    """Yield (data as the lens shows them, reference values) of each view of a set."""
    for view, values in reference()[name]["binary"].items():
        yield LENSES[view](stored(name)), values


def rows_of(data):
    """Return (p, y, w) of every row, in the order of p."""
    y = (data.labels == data.event).tolist()
    p = data.probs[:, data.event].astype(float).tolist()
    return sorted(zip(p, map(float, y), data.weights.tolist(), strict=True))


def path(data):
    """Return the cumulative residuals behind every different prediction, 0 in front."""
    rows = rows_of(data)
    total = fsum(w for _, _, w in rows)
    cuts = sorted({p for p, _, _ in rows})
    return [0.0, *(fsum(w * (y - p) for p, y, w in rows if p <= v) / total for v in cuts)]


def enumerated(data, statistic):
    """Return the chance of a statistic as large, over all 2^n outcomes; 1e-12 counts as equal."""
    p = data.probs[:, data.event].astype(float)
    least = statistic(data) - 1e-12
    chance = []
    for outcomes in product((0, 1), repeat=data.n):
        y = np.array(outcomes)
        if statistic(data.with_labels(np.where(y == 1, data.event, 1 - data.event))) >= least:
            chance.append(float(np.prod(np.where(y == 1, p, 1 - p))))
    return fsum(chance)


def cosine_moments(data, count):
    """Return the mean of r cos(pi k p) for k = 0 … count - 1, in plain loops."""
    rows = rows_of(data)
    total = fsum(w for _, _, w in rows)
    return [fsum(w * (y - p) * cos(pi * k * p) for p, y, w in rows) / total for k in range(count)]


def smooth_norm(moments, s, points=2000):
    """Return f(s): the density's roots one by one, and the integral between them."""
    waves = pi * np.arange(1, len(moments))
    decay = np.exp(-((waves * s) ** 2) / 2)
    terms = 2 * decay * np.array(moments[1:])

    def density(t):
        return moments[0] + float(terms @ np.cos(waves * t))

    def integral(t):
        return moments[0] * t + float(terms / waves @ np.sin(waves * t))

    grid = np.linspace(0, 1, points + 1)
    g = moments[0] + np.cos(np.outer(grid, waves)) @ terms
    changes = np.flatnonzero(g[:-1] * g[1:] < 0)
    changes = [j for j in changes if density(grid[j]) * density(grid[j + 1]) < 0]  # not rounding
    roots = [brentq(density, grid[j], grid[j + 1], xtol=1e-15) for j in changes]
    marks = [integral(t) for t in (0.0, *roots, 1.0)]
    return fsum(abs(b - a) for a, b in pairwise(marks))


def smooth_value(data, count=300):
    """Return the s with f(s) = s, where `count` moments are enough for it."""
    moments = cosine_moments(data, count)
    least = 8.5 / (pi * count)
    if smooth_norm(moments, least) < least:
        raise AssertionError("not enough moments")
    return brentq(lambda s: smooth_norm(moments, s) - s, least, 1.1, xtol=1e-14)
