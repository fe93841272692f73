"""The class that is furthest off: by hand, in loops, and among many."""

from math import inf, log

import numpy as np
import pytest
from chance import fewest, outcomes, rejections
from hypothesis import assume, given
from scipy.special import softmax
from strategies import problems

from calibrant import Predictions, calibration_test
from calibrant.lenses import TopLabel
from calibrant.partitions import EqualWidth
from calibrant.statistics import ExpectedMiscalibration, Surprise, WorstClass

worst = WorstClass()


def in_loops(data):
    """Return the largest deviance of the Poisson numbers with the classes' three moments."""
    found = []
    for k in range(data.m):
        rows = [
            (float(p), float(w), y == k)
            for p, w, y in zip(data.probs[:, k], data.weights, data.labels, strict=True)
        ]
        off = sum(w * (y - p) for p, w, y in rows)
        variance = sum(w * w * p * (1 - p) for p, w, _ in rows)
        if variance == 0:
            found.append(inf if off else 0.0)
            continue
        scale = sum(w**3 * p * (1 - p) * (1 - 2 * p) for p, w, _ in rows) / variance
        if abs(scale) < 1e-9:
            found.append(off**2 / variance / 2)
            continue
        mean = variance / scale**2
        count = mean + off / scale
        found.append(mean - count + (count * log(count / mean) if count > 0 else 0.0))
    return max(found)


def test_by_hand():
    """Of 40 rows 4 were to be of the last class, and 10 are."""
    data = Predictions([[0.5, 0.4, 0.1]] * 40, [0] * 20 + [1] * 10 + [2] * 10)
    mean = 3.6 / 0.8**2
    count = mean + 6 / 0.8
    assert worst(data) == pytest.approx(count * log(count / mean) - count + mean, rel=1e-12)


@given(problems())
def test_equals_loops(data):
    assume(data.probs[data.probs > 0].min() > 1e-6)
    assume(data.probs[data.probs < 1].max(initial=0.0) < 1 - 1e-6)
    assert worst(data) == pytest.approx(in_loops(data), rel=1e-6, abs=1e-9)


def test_no_skewness_leaves_the_squared_score():
    data = Predictions([0.5] * 30, [1] * 20 + [0] * 10)
    assert worst(data) == pytest.approx(5**2 / (2 * 7.5), rel=1e-12)


@pytest.mark.parametrize("p", [1e-320, 1e-200, 1e-100, 1e-20])
def test_a_class_of_tiny_probability(p):
    """While it does not occur nothing is off; if it does, the deviance is its log, or huge."""
    probs = [[0.5, 0.5, p]] * 4
    assert worst(Predictions(probs, [0, 1, 0, 1])) < 1e-9
    found = worst(Predictions(probs, [0, 1, 0, 2]))
    if p > 1e-150:
        assert found == pytest.approx(-log(4 * p) - 1, rel=1e-9)
    assert 40 < found < inf


def test_a_class_that_was_impossible():
    probs = [[1.0, 0.0, 0.0]] * 3
    assert worst(Predictions(probs, [0, 0, 0])) == 0.0
    assert worst(Predictions(probs, [0, 0, 1])) == inf


def test_weights():
    """A row has one outcome: the unit of weights changes nothing."""
    rng = np.random.default_rng(0)
    data = Predictions(rng.dirichlet(np.ones(4), 50), rng.integers(0, 4, 50))
    doubled = Predictions(data.probs, data.labels, weights=np.full(50, 2.0))
    assert worst(doubled) == pytest.approx(worst(data), rel=1e-12)
    one, other = (
        calibration_test(Predictions(data.probs, data.labels, weights=w), worst, rng=0).pvalue
        for w in (np.arange(1.0, 51), 100 * np.arange(1.0, 51))
    )
    assert one == other


def test_the_order_of_classes_is_no_matter():
    rng = np.random.default_rng(1)
    data = Predictions(rng.dirichlet(np.ones(5), 80), rng.integers(0, 5, 80))
    turned = Predictions(data.probs[:, ::-1].copy(), 4 - data.labels)
    assert worst(turned) == pytest.approx(worst(data), rel=1e-12)
    assert worst(TopLabel()(data)) >= 0.0


def test_one_class_of_many_is_seen():
    """Its log-odds are off by 2: sums over all classes drown it."""
    rng, trials = np.random.default_rng(3), 40
    totals = ExpectedMiscalibration(EqualWidth(1))
    found = {statistic: [] for statistic in (worst, Surprise(), totals)}
    for number in range(trials):
        logits = rng.normal(0, 4, (1000, 100))
        probs = softmax(logits, axis=1)
        logits[:, 7] += 2.0
        data = Predictions(probs, outcomes(rng, softmax(logits, axis=1)))
        for statistic, pvalues in found.items():
            pvalues.append(calibration_test(data, statistic, n_resamples=59, rng=number).pvalue)
    mine, *others = map(rejections, found.values())
    assert mine >= fewest(trials, 0.9)
    assert max(others) < mine / 2
