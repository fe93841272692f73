"""Problems with everything that could tell two engines apart, as arrays and as tensors."""

import numpy as np
import pytest

from calibrant import Predictions, device

torch = pytest.importorskip("torch")

# Where there is no GPU, tensors of the CPU take its way.
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


def problem(n, m, dtype=np.float32, power=1, *, weighted=False, copies=False, seed=0):
    """Return probabilities with zeros, certain rows, ties and edges, labels, and weights."""
    rng = np.random.default_rng([seed, n, m])
    probs = rng.random((n, m)) ** power
    probs[rng.random((n, m)) < 0.05] = 0.0
    probs[:, 0] += 1e-9
    probs /= probs.sum(axis=1, keepdims=True)
    probs[:m] = np.eye(m)[:n]  # certain
    probs[m : m + 3] = 1 / m  # ties
    edge = rng.choice([0.1, 0.2, 0.3, 0.6, 0.7], max(0, min(30, n - m - 3)))
    step = np.spacing(edge.astype(dtype)) * rng.integers(-1, 2, edge.size)  # next to an edge
    probs[m + 3 : m + 33] = 0.0
    probs[m + 3 : m + 33, 0] = edge + step
    probs[m + 3 : m + 33, -1] = 1 - probs[m + 3 : m + 33, 0]
    if copies:
        probs = probs[rng.integers(0, max(1, n // 6), n)]
    weights = rng.integers(0, 5, n) / 2 if weighted else None
    return probs.astype(dtype), rng.integers(0, m, n), weights


def on(kind, monkeypatch):
    """Let tensors of this kind of device stay where they are."""
    monkeypatch.setattr(device, "KINDS", (kind,))


def there(kind, probs, labels, weights=None):
    """Return Predictions of tensors on a device."""
    given = [None if a is None else torch.from_numpy(a).to(kind) for a in (probs, labels, weights)]
    return Predictions(given[0], given[1], weights=given[2])
