"""Models whose calibration is known."""

import numpy as np

from calibrant import Predictions

EVIL = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</script><script>alert(2)</script>",
    "{{7*7}} ${7*7} <b>bold</b>",
)
LONG = tuple(
    f"a very long name of a class, number {j}: Animalia/Chordata/Felidae" for j in range(6)
)


def tempered(n, m, power=1.0, classes=None, seed=0, alpha=0.5):
    """Return predictions: calibrated if `power` is 1, too sure if it is greater."""
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet([alpha] * m, n)
    labels = (rng.random((n, 1)) > truth.cumsum(axis=1)).sum(axis=1).clip(0, m - 1)
    probs = truth**power
    return Predictions(probs / probs.sum(axis=1, keepdims=True), labels, classes=classes)


def at(*cells):
    """Return binary predictions: (probability, rows, how many of them had the event)."""
    probs = np.concatenate([np.full(n, p) for p, n, _ in cells])
    labels = np.concatenate([np.arange(n) < k for _, n, k in cells]).astype(int)
    return Predictions(probs, labels)
