"""Every method of recalibration, data to fit them to, and their objectives in plain NumPy."""

import numpy as np

from calibrant import Predictions, partitions
from calibrant.recalibration import (
    Beta,
    Dirichlet,
    Histogram,
    Isotonic,
    Matrix,
    Temperature,
    Vector,
)

REGRESSIONS = (Vector(), Matrix(), Dirichlet(), Dirichlet(1e-4, 0.5), Dirichlet(0.0, 0.1))
MONOTONE_OF_TWO = (Temperature(), Beta(), Isotonic())


def methods_of(m):
    """Return every method that works on m classes."""
    found = [
        Temperature(),
        *REGRESSIONS,
        Isotonic(),
        Histogram(partitions.EqualWidth(5)),
        Histogram(partitions.SimplexBins(3)),
        Histogram(partitions.VarianceTree(30)),
    ]
    return [*found, Beta(), Histogram(partitions.EqualMass(7))] if m == 2 else found


def overconfident(n=300, m=3, *, seed=0, power=1.7, weights=False, dtype=np.float64):
    """Return predictions that are too sure, of classes that overlap: nothing is separable."""
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.full(m, 0.8), n)
    truth = 0.9 * truth + 0.1 / m
    labels = (truth.cumsum(axis=1) < rng.random(n)[:, None]).sum(axis=1).clip(max=m - 1)
    probs = truth**power
    probs /= probs.sum(axis=1, keepdims=True)
    given = rng.integers(1, 4, n) if weights else None
    return Predictions(probs.astype(dtype), labels, weights=given)


def penalty(method, weights, bias):
    """Return what a method adds to the mean log loss, and its gradient by W and b."""
    if not isinstance(method, Dirichlet):
        return 0.0, np.zeros_like(weights), np.zeros_like(bias)
    m = len(bias)
    off = np.where(np.eye(m, dtype=bool), 0.0, weights)
    scale, shift = method.off_diagonal / (m * (m - 1)), method.intercept / m
    value = scale * (off**2).sum() + shift * (bias**2).sum()
    return value, 2 * scale * off, 2 * shift * bias


def objective(method, data, weights, bias):
    """Return the penalised mean log loss of softmax(W log p + b), and its gradient."""
    x = np.log(data.probs.astype(np.float64))
    full = np.diag(weights) if weights.ndim == 1 else weights
    z = x @ full.T + bias
    z -= z.max(axis=1, keepdims=True)
    q = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    rows = np.arange(data.n)
    share = data.weights / data.weights.sum()
    value, by_weights, by_bias = penalty(method, full, bias)
    value -= share @ np.log(q[rows, data.labels])
    residual = q.copy()
    residual[rows, data.labels] -= 1
    residual *= share[:, None]
    by_weights = by_weights + residual.T @ x
    if weights.ndim == 1:
        by_weights = np.diag(by_weights)
    return value, by_weights, by_bias + residual.sum(axis=0)


def same_probs(a, b, tolerance=1e-7):
    np.testing.assert_allclose(a, b, rtol=0, atol=tolerance)
