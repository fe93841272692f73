"""Standard errors and intervals."""

import json

import numpy as np
import pytest
from scipy.stats import chi2

from calibrant import Predictions, accuracy, brier_score, estimate, log_score
from calibrant.inference import Estimate
from calibrant.lenses import TopLabel
from calibrant.partitions import EqualMass, EqualWidth
from calibrant.statistics import ExpectedMiscalibration, SquaredMiscalibration

RNG = np.random.default_rng(0)


def test_the_standard_error_of_accuracy_is_binomial():
    hits, n, size = 130, 200, 4000
    data = Predictions([0.9] * n, [1] * hits + [0] * (n - hits))
    found = estimate(data, accuracy, n_resamples=size, rng=1)
    assert found.value == 0.65
    exact = np.sqrt(0.65 * 0.35 / n)
    # The variance of 4,000 nearly normal numbers: limits of a chi-square, budget 1e-6.
    ratio = found.standard_error**2 / exact**2 * (size - 1)
    assert chi2.ppf(5e-7, size - 1) < ratio < chi2.isf(5e-7, size - 1)
    assert abs(found.replicates.mean() - 0.65) < 5 * exact / np.sqrt(size)  # a chance of 6e-7


def test_weights_count_as_often_as_they_say():
    # The bootstrap draws rows, so twice the weight everywhere changes nothing.
    probs, labels = RNG.dirichlet(np.ones(3), 80), RNG.integers(0, 3, 80)
    one, two = (
        estimate(Predictions(probs, labels, weights=np.full(80, w)), brier_score, rng=2).replicates
        for w in (1.0, 2.0)
    )
    np.testing.assert_array_equal(one, two)


def test_the_plain_definition():
    value = Estimate(0.5, np.array([0.1, 0.4, 0.6, 0.9]), {})
    assert value.standard_error == pytest.approx(np.sqrt(0.34 / 3), rel=1e-15)
    assert np.isnan(Estimate(0.5, np.array([0.1]), {}).standard_error)
    assert str(value) == "0.5 ± 0.34"
    plain = json.loads(json.dumps(value.to_dict(), allow_nan=False))
    assert plain["interval_95"] == list(value.interval())
    assert (plain["value"], plain["n_resamples"]) == (0.5, 4)


def linear_quantile(values, q):
    """Between the two nearest of sorted values, at q (n - 1)."""
    values = sorted(values)
    place = q * (len(values) - 1)
    low = min(int(place), len(values) - 2)
    return values[low] + (place - low) * (values[low + 1] - values[low])


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99])
def test_intervals(level):
    replicates = RNG.gamma(2, size=499)
    tails = (1 - level) / 2, (1 + level) / 2
    expected = [linear_quantile(replicates, q) for q in tails]
    # One interpolation.
    assert Estimate(1.0, replicates, {}).interval(level) == pytest.approx(expected, rel=1e-13)


def test_a_statistic_may_have_an_interval_of_its_own():
    data = Predictions(RNG.random(300), RNG.integers(0, 2, 300))
    squared = SquaredMiscalibration(EqualMass(10))
    found = estimate(data, squared, n_resamples=9, rng=0)
    assert found.interval(0.9) == squared.interval(data, 0.9)
    assert found.interval(0.9)[0] < found.value < found.interval(0.9)[1]


def test_constant_data_have_no_error():
    data = Predictions([0.75] * 20, [1] * 20)
    found = estimate(data, ExpectedMiscalibration(EqualWidth(4)), rng=0)
    assert found.value == 0.25
    # Of cells that stay, the share of a row is rounded once in the data and once in a replicate.
    assert found.standard_error < np.spacing(0.25)
    assert found.interval() == pytest.approx((0.25, 0.25), rel=2 * 2.3e-16)
    assert estimate(data, accuracy, rng=0).standard_error == 0


def test_infinite_replicates():
    """A class that was given probability 0 occurs: the log score is infinite if it is drawn."""
    data = Predictions([[0.5, 0.5, 0.0]] * 3, [2, 0, 1])
    found = estimate(data, log_score, n_resamples=99, rng=0)
    assert found.value == np.inf
    assert np.isnan(found.standard_error)
    low, high = found.interval()
    assert low == pytest.approx(np.log(2), rel=1e-15)
    assert high == np.inf
    assert str(found) == "inf ± nan"


def test_through_a_lens():
    data = Predictions(RNG.dirichlet(np.ones(4), 50), RNG.integers(0, 4, 50))
    eta = ExpectedMiscalibration(EqualWidth(3))
    found = estimate(data, eta, lens=TopLabel(), n_resamples=20, rng=3)
    direct = estimate(TopLabel()(data), eta, n_resamples=20, rng=3)
    assert found.value == direct.value
    np.testing.assert_array_equal(found.replicates, direct.replicates)
