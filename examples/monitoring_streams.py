"""Streams of predictions and outcomes whose truth is known, for `monitoring.py`."""

import numpy as np

from calibrant.engine.wealth import EventState, bet_on_event

PORTION = 2000  # rows that are watched before somebody looks whether to go on
NEVER = 10**9  # a row that no stream has


def logit(p):
    """Return the log-odds."""
    return np.log(p / (1 - p))


def sigmoid(x):
    """Return the probability of log-odds."""
    return 1 / (1 + np.exp(-x))


def beta(a, b):
    """Return what draws predictions from a beta distribution."""
    return lambda rng, n: rng.beta(a, b, n)


def tied(rng, n):
    """Draw one of six values."""
    return rng.choice([0.05, 0.1, 0.3, 0.5, 0.7, 0.9], n)


def edges(rng, n):
    """Predictions at edges of tenths, and one rounding step beside them."""
    at = rng.integers(1, 10, n) / 10
    return np.nextafter(at, rng.choice([0.0, 1.0], n))


def drifting(rng, n):
    """Draw predictions that rise from 0.02 to 0.95."""
    return sigmoid(np.linspace(-4, 3, n) + rng.normal(0, 0.5, n))


def waves(rng, n):
    """Draw predictions that rise and fall."""
    return sigmoid(3 * np.sin(np.arange(n) / 500) + rng.normal(0, 0.2, n))


def walking(rng, n):
    """Draw predictions of a random walk."""
    return sigmoid(np.clip(np.cumsum(rng.normal(0, 0.02, n)), -5, 5))


def certain(rng, n):
    """Some predictions of exactly 0 and 1."""
    p = rng.random(n)
    p[rng.random(n) < 0.2] = 0.0
    p[rng.random(n) < 0.2] = 1.0
    return p


def learning(rng, n):
    """Predictions that depend on earlier outcomes: the rate of an urn, which is calibrated."""
    p, black = np.empty(n), 1.0
    for i, u in enumerate(rng.random(n)):
        p[i] = black / (i + 2)
        black += u < p[i]
    return p


def vectors(m, spread, distinct=400):
    """Rows of m classes, from a fixed set of vectors: so a thousand classes are fast, too."""

    def draw(rng, n):
        pool = rng.dirichlet(np.full(m, spread), distinct) + 1e-12
        pool /= pool.sum(axis=1, keepdims=True)
        rows = rng.integers(0, distinct, n)
        steps = (pool.cumsum(axis=1) + np.arange(distinct)[:, None]).ravel()
        labels = np.searchsorted(steps, rows + rng.random(n)) - m * rows
        return pool, rows, np.clip(labels, 0, m - 1).astype(np.int32)

    return draw


CALIBRATED = {
    "Beta(1, 2)": beta(1, 2),
    "uniform": beta(1, 1),
    "extreme": beta(0.05, 0.05),
    "very extreme": beta(0.01, 0.02),
    "rare, 1 in 200": beta(1, 200),
    "rarer, 1 in 5,000": beta(0.5, 2500),
    "nearly certain": beta(50, 1),
    "six values": tied,
    "one half": lambda _, n: np.full(n, 0.5),
    "one in 100": lambda _, n: np.full(n, 0.01),
    "edges of tenths": edges,
    "drifting": drifting,
    "waves": waves,
    "random walk": walking,
    "some 0 and 1": certain,
    "urn": learning,
    "3 classes": vectors(3, 1.0),
    "10 classes": vectors(10, 0.1),
    "100 classes": vectors(100, 0.05),
    "1000 classes": vectors(1000, 0.02),
}


def wave(p):
    """Return what is true if tenths are off by 10 points, up and down in turn."""
    return np.clip(p + np.where((p * 10).astype(int) % 2, 0.1, -0.1), 0.001, 0.999)


DEVIATIONS = {  # what is true where p was predicted
    "temperature 1.5": lambda p: sigmoid(logit(p) / 1.5),
    "temperature 1.25": lambda p: sigmoid(logit(p) / 1.25),
    "temperature 0.75": lambda p: sigmoid(logit(p) / 0.75),
    "log-odds + 0.2": lambda p: sigmoid(logit(p) + 0.2),
    "wave, 10 points": wave,
    "dip, 15 points": lambda p: np.where((p > 0.3) & (p < 0.4), p - 0.15, p),
    "rare region": lambda p: np.where(p > 0.8, p - 0.1, p),
}


def smooth(seed):
    """Return a random smooth curve of the log-odds."""
    rng = np.random.default_rng([7, seed])
    size, phase = rng.normal(0, 1, 4), rng.uniform(0, 2 * np.pi, 4)
    height = rng.uniform(0.25, 0.8)

    def truth(p):
        x = np.minimum(np.abs(logit(p)), 6) * np.sign(logit(p)) / 3
        parts = [size[k] / (1 + k) * np.cos((1 + k) * x + phase[k]) for k in range(4)]
        return sigmoid(logit(p) + height * sum(parts))

    return truth


CURVES = {f"curve {k + 1}": smooth(k) for k in range(20)}
TRUTHS = {**DEVIATIONS, **CURVES}


def stream(name, seed, n, start=0):
    """Return predictions, what is true and outcomes, calibrated before row `start`."""
    rng = np.random.default_rng([list(TRUTHS).index(name), seed])
    p = np.clip(rng.beta(1, 2, n), 1e-9, 1 - 1e-9)
    q = TRUTHS[name](p)
    q[:start] = p[:start]
    return p, q, (rng.random(n) < q).astype(np.uint8)


def first(over):
    """Return the first row at which something is true."""
    found = np.flatnonzero(over)
    return int(found[0]) if found.size else NEVER


def first_row(p, y, reached, limit=0.0):
    """Return the first row at which `reached(traces)` is true; rows after it are not watched."""
    state = EventState.start()
    for k in range(0, p.size, PORTION):
        part = slice(k, k + PORTION)
        found = first(reached(bet_on_event(p[part], y[part], state, limit)))
        if found < NEVER:
            return k + found
    return NEVER
