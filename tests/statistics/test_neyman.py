"""Neyman's smooth test: by hand, by least squares, on waves."""

from math import inf

import numpy as np
import pytest
from binary import rows_of
from chance import fewest, rejections
from hypothesis import assume, given, settings
from strategies import problems

from calibrant import Predictions, calibration_test
from calibrant.statistics import Cox, KernelMiscalibration, Neyman
from calibrant.statistics.score_tests import BINS

neyman = Neyman()


def standard(reached, k):
    return (np.cbrt(reached / k) - 1 + 2 / (9 * k)) / np.sqrt(2 / (9 * k))


def by_least_squares(data):
    """Return what the residuals of the different predictions have in the span of directions."""
    rows = [(float(p), y, w) for p, y, w in rows_of(data) if w > 0]
    if any(y != p for p, y, _ in rows if p in (0, 1)):
        return inf
    values = sorted({p for p, _, _ in rows if 0 < p < 1})
    if not values:
        return 0.0
    squares = np.array([sum(w * w for p, _, w in rows if p == v) for v in values])
    off = np.array([sum(w * (y - p) for p, y, w in rows if p == v) for v in values])
    p = np.array(values)
    variance = squares * p * (1 - p)
    middle = (np.cumsum(variance) - variance / 2) / variance.sum()
    directions = [np.ones_like(p), np.log(p / (1 - p))]
    directions += [np.cos(np.pi * j * middle) for j in range(1, 15)]
    found = [0.0]
    for k in (6, 16):
        table = np.stack(directions[:k], axis=1) * np.sqrt(variance)[:, None]
        table /= np.maximum(np.linalg.norm(table, axis=0), 1e-12)
        left, lengths, _ = np.linalg.svd(table, full_matrices=False)
        span = left[:, lengths > 1e-6]
        found.append(standard(((span.T @ (off / np.sqrt(variance))) ** 2).sum(), span.shape[1]))
    return max(found)


def test_by_hand():
    """Two values leave two directions: (4 - 4)² / 3 and (4 - 12)² / 3 of the events of 16 rows."""
    data = Predictions([0.25] * 16 + [0.75] * 16, [1] * 4 + [0] * 12 + [1] * 4 + [0] * 12)
    assert neyman(data) == pytest.approx(standard(64 / 3, 2), rel=1e-12)
    assert Cox()(data) == pytest.approx(64 / 3, rel=1e-12)


@settings(max_examples=60)
@given(problems(m=2))
def test_equals_least_squares(data):
    p = data.probs[:, data.event].astype(float)
    inner = np.unique(p[(p > 0) & (p < 1)])
    assume(inner.size == 0 or (inner.min() > 1e-3 and inner.max() < 1 - 1e-3))
    assume(inner.size < 2 or np.diff(inner).min() > 1e-3)  # else directions nearly depend
    assert neyman(data) == pytest.approx(by_least_squares(data), rel=1e-6, abs=1e-9)


def test_bins_change_little():
    """The statistic of many values is near that without bins, and that of few has none."""
    rng = np.random.default_rng(1)
    p = rng.random(3000)
    data = Predictions(p, (rng.random(3000) < p + 0.08 * np.sin(20 * p)).astype(int))
    assert neyman(data) == pytest.approx(by_least_squares(data), abs=0.2)
    few = data.take(np.arange(BINS))
    assert neyman(few) == pytest.approx(by_least_squares(few), rel=1e-6)


def test_what_was_impossible_is_infinite():
    p = np.r_[np.linspace(0.1, 0.9, 20), 0.0, 1.0]
    right = Predictions(p, np.r_[np.arange(20) % 2, 0, 1])
    assert neyman(right) == neyman(right.take(np.arange(20)))
    for row in (20, 21):
        labels = right.labels.copy()
        labels[row] = 1 - labels[row]
        assert neyman(right.with_labels(labels)) == inf


@pytest.mark.parametrize("p", [[0.0, 1.0], [0.3, 0.3], [1e-310, 0.5]])
def test_few_directions(p):
    assert neyman(Predictions(p, [0, 1])) >= 0.0


def test_waves_are_seen():
    """Ten points up and down: a kernel of width 0.1 and Cox's test average them out."""
    rng, trials = np.random.default_rng(2), 40
    found = {statistic: [] for statistic in (neyman, Cox(), KernelMiscalibration(0.1))}
    for number in range(trials):
        p = rng.random(1500)
        rate = np.clip(p + 0.1 * np.sin(12 * np.pi * p), 0, 1)
        data = Predictions(p, (rng.random(1500) < rate).astype(int))
        for statistic, pvalues in found.items():
            pvalues.append(calibration_test(data, statistic, n_resamples=59, rng=number).pvalue)
    mine, cox, kernel = map(rejections, found.values())
    assert mine >= fewest(trials, 0.9)
    assert max(cox, kernel) < mine
