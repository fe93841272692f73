"""Claims about real models of two outcomes, against means and cells counted here."""

import re

import numpy as np
import pytest
from places import SHARED
from scipy.special import ndtr

from calibrant import Predictions, evaluate
from calibrant.lenses import Canonical

FOLDER = SHARED / "data" / "predictions"
CLAIM = re.compile(r"are too (high|low), by ([\d.e-]+) points")
BOTH = "too high in some places and too low in others"
EXACT = 100.0  # variance of a count, up to which its distribution is worked out


def binary_sets():
    for path in sorted(FOLDER.glob("*.npz")):
        with np.load(path) as found:
            if found["probs"].shape[1] == 2:
                yield path.stem


def tails(p, count):
    """Return P(X <= count) and P(X >= count) of a sum of independent events (n,)."""
    mean, variance = p.sum(), (p * (1 - p)).sum()
    if variance > EXACT:
        at = (count + np.array([0.5, -0.5]) - mean) / np.sqrt(variance)
        return ndtr(at[0]), ndtr(-at[1])
    sure = int((p > 0.5).sum())  # counted from the other end, so that few numbers are enough
    reach = 400 + abs(int(count) - int(mean))
    law = np.zeros(2 * reach + 1)
    law[reach] = 1.0  # deviations of the count from that of the likely events
    for each in p:
        step = np.zeros_like(law)
        if each > 0.5:
            step[:-1], step[-1] = law[1:], 0.0
            law = each * law + (1 - each) * step
        else:
            step[1:] = law[:-1]
            law = (1 - each) * law + each * step
    at = int(count) - sure + reach
    return law[: at + 1].sum(), law[at:].sum()


def smallest_pvalues(p, y):
    """Return the smallest p-values of ten cells, times ten: of too high, and of too low ones."""
    smallest = {"high": 1.0, "low": 1.0}
    cells = np.minimum((10 * p).astype(int), 9)
    for c in np.unique(cells):
        below, above = tails(p[cells == c], y[cells == c].sum())
        smallest["high"] = min(smallest["high"], 20 * below)
        smallest["low"] = min(smallest["low"], 20 * above)
    return smallest["high"], smallest["low"]


@pytest.mark.skipif(not FOLDER.exists(), reason="../shared is missing")
def test_what_is_said_of_direction_is_so():
    claims = []
    for name in binary_sets():
        with np.load(FOLDER / f"{name}.npz") as found:
            probs, labels = found["probs"].astype(np.float64), found["labels"]
        probs /= probs.sum(axis=1, keepdims=True)
        data = Predictions(probs, labels)
        (verdict,) = evaluate(data, lenses=[Canonical()], n_resamples=39, rng=0).verdicts
        sentence = verdict.sentence
        claim = CLAIM.search(sentence)
        if claim is not None:
            bias = 100 * (data.probs[:, 1].mean() - (labels == 1).mean())
            sign = 1 if claim[1] == "high" else -1
            assert abs(sign * float(claim[2]) - bias) <= 0.05 + 1e-9, (name, sentence)
        high, low = smallest_pvalues(data.probs[:, 1], labels == 1)
        if verdict.rejected and max(high, low) < 0.01:
            assert BOTH in sentence, (name, high, low)
        if max(high, low) > 0.1:
            assert BOTH not in sentence, (name, high, low)
        claims.append("both" if BOTH in sentence else claim and claim[1])
    assert len(claims) == 23
    assert {"both", "high", "low", None} <= set(claims)
