"""Drawn labels and rows: their frequencies, their independence and their bits."""

import numpy as np
import pytest
from chance import BUDGET, agrees
from scipy.stats import chi2

from calibrant import Predictions, engine
from calibrant.checks.seeds import make_key
from calibrant.resampling import Exact

KEY = make_key(0)
B = 20_000


def labels_of(probs, key=KEY, b0=0, b1=B):
    probs = np.atleast_2d(probs)
    return Exact().labels(Predictions(probs, np.zeros(len(probs), int)), key, b0, b1)


def rows(m, seed=0):
    """Return rows with zeros at both ends and inside, a sure one, tiny and equal entries."""
    rng = np.random.default_rng(seed)
    inner = rng.dirichlet(np.full(m, 0.5), 4)
    gaps = rng.dirichlet(np.ones(m), 3)
    gaps[0, 0] = gaps[1, -1] = gaps[2, m // 2] = 0
    tiny = np.full(m, 1e-12)
    tiny[m // 2] = 1 - 1e-12 * (m - 1)
    found = np.vstack([inner, gaps, np.eye(m)[[0, m - 1, m // 2]], tiny, np.full(m, 1 / m)])
    return found / found.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("m", [2, 3, 10, 16, 17, 32, 33, 40, 200])
def test_frequencies_are_the_probabilities(m):
    probs = rows(m)
    labels = labels_of(probs)
    assert labels.min() >= 0
    assert labels.max() < m
    counts = np.stack([np.bincount(labels[:, i], minlength=m) for i in range(len(probs))])
    assert (counts[probs == 0] == 0).all()
    assert agrees(counts, B, probs, tests=probs.size).all()
    # The same counts do not agree with the probabilities of the neighbouring class.
    assert not agrees(counts, B, np.roll(probs, 1, axis=1), tests=probs.size).all()


def pairs_are_independent(a, b, m):
    """Pearson's test of the m × m table of pairs, whose margins are uniform."""
    table = np.bincount(a * m + b, minlength=m * m).reshape(m, m)
    expected = a.size / m**2
    return ((table - expected) ** 2 / expected).sum() < chi2.isf(BUDGET, m * m - 1)


@pytest.mark.parametrize("m", [2, 4])
def test_rows_and_replicates_are_independent(m):
    labels = labels_of(np.full((60, m), 1 / m), b1=2000)
    for step in (1, 2, 16):
        assert pairs_are_independent(labels[:, :-step].ravel(), labels[:, step:].ravel(), m)
        assert pairs_are_independent(labels[:-step].ravel(), labels[step:].ravel(), m)
        assert pairs_are_independent(
            labels[:-step, :-step].ravel(), labels[step:, step:].ravel(), m
        )
    other = labels_of(np.full((60, m), 1 / m), key=make_key(1), b1=2000)
    assert pairs_are_independent(labels.ravel(), other.ravel(), m)
    assert not pairs_are_independent(labels.ravel(), labels.ravel(), m)


def test_a_sum_over_rows_scatters_as_independent_rows_do():
    # The variance of 20,000 sums of 50 fair coins is 12.5; its own standard error is 1 %, and
    # five of them is a chance of 6e-7.
    labels = labels_of(np.full((50, 2), 0.5))
    assert labels.sum(axis=1).var() == pytest.approx(12.5, rel=0.05)
    # So is that of a row over replicates, and of the same replicates over other rows.
    assert labels.mean(axis=0).var() * 4 * B == pytest.approx(1, abs=5 * np.sqrt(2 / 50))


def test_float32_and_float64_of_equal_values_draw_the_same_labels():
    for m in (2, 5, 40):
        narrow = rows(m).astype(np.float32)
        narrow.flags.writeable = False
        wide = narrow.astype(np.float64)
        y = np.zeros(len(wide), np.int32)
        found = [
            Exact().labels(
                Predictions.trusted(p, y, tuple(str(j) for j in range(m)), event=1), KEY, 0, 500
            )
            for p in (narrow, wide)
        ]
        np.testing.assert_array_equal(*found)


def test_a_label_depends_on_key_replicate_and_row_alone():
    probs = rows(5)
    whole = labels_of(probs, b1=50)
    np.testing.assert_array_equal(labels_of(probs, b0=20, b1=30), whole[20:30])
    np.testing.assert_array_equal(labels_of(probs[:3], b1=50), whole[:, :3])
    changed = probs.copy()
    changed[0] = changed[0][::-1]
    np.testing.assert_array_equal(labels_of(changed, b1=50)[:, 1:], whole[:, 1:])


def test_numbers_of_numpy_are_those_of_the_kernels():
    """Of 256 equal classes, whose sums are exact, the label is the integer part of 256 u."""
    replicates = engine.draws.replicate_keys(KEY, 7, 60)
    numbers = engine.draws.uniforms(KEY, 2, 9, replicates)
    assert numbers.shape == (7, 53)
    labels = labels_of(np.full((9, 256), 1 / 256), b0=7, b1=60)
    np.testing.assert_array_equal(np.floor(256 * numbers).T, labels[:, 2:])


def test_rows_are_drawn_with_equal_probability():
    n = 30
    counts = np.zeros(n, int)
    sizes = np.zeros(n + 1, int)
    for replicate in engine.draws.replicate_keys(KEY, 0, 5000):
        drawn = np.zeros(n, np.int64)
        engine.draws.draw_times(n, KEY, replicate, drawn)
        assert drawn.sum() == n
        counts += drawn
        sizes += np.bincount(drawn, minlength=n + 1)
    assert agrees(counts, 5000 * n, 1 / n, tests=n).all()
    # How often a row is drawn in one replicate is binomial (n, 1/n); rows of a replicate are
    # nearly independent, and negatively dependent, so the limit holds.
    never = (1 - 1 / n) ** n
    assert agrees(sizes[0], 5000 * n, never)


def test_the_number_of_blocks_changes_no_label(monkeypatch):
    probs = rows(7)
    whole = labels_of(probs, b1=20)
    monkeypatch.setattr("calibrant.engine.threads.ENTRIES", 10)  # one row in a block
    for count in ("1", "2"):
        monkeypatch.setenv("CALIBRANT_THREADS", count)
        np.testing.assert_array_equal(labels_of(probs, b1=20), whole)


def test_copies_of_a_row_draw_labels_of_their_own():
    probs = np.full((1, 2), 0.5)
    out = np.empty(1000, np.int32)
    draws = engine.draws
    replicate = draws.replicate_keys(KEY, 0, 1)[0]
    draws.copy_labels(probs, np.array([1000]), KEY, replicate, draws.room(2), out)
    assert agrees(out.sum(), 1000, 0.5)
    assert pairs_are_independent(out[:-1], out[1:], 2)
