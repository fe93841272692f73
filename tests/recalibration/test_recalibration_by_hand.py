"""Maps whose parameters or answers are known without a computer."""

import numpy as np
import pytest

from calibrant import Predictions, partitions
from calibrant.recalibration import (
    Beta,
    Curve,
    Dirichlet,
    Histogram,
    Isotonic,
    IsotonicMap,
    LogLinearMap,
    Matrix,
    Temperature,
    TemperatureMap,
    Vector,
)
from calibrant.recalibration.likelihood import softmax

THREE = [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]]


def test_temperature_of_two_values():
    """Logit log 9 is right three times of four, so it should be log 3: T = 2."""
    data = Predictions([0.9] * 4 + [0.1] * 4, [1, 1, 1, 0, 0, 0, 0, 1])
    assert Temperature().fit(data).temperature == pytest.approx(2.0, rel=1e-12)


def test_temperature_with_weights():
    data = Predictions([0.9, 0.9, 0.1, 0.1], [1, 0, 0, 1], weights=[3, 1, 3, 1])
    assert Temperature().fit(data).temperature == pytest.approx(2.0, rel=1e-12)


def test_a_temperature_takes_powers():
    found = TemperatureMap(("a", "b", "c"), 0.5)([[0.5, 0.25, 0.25], [0.0, 0.25, 0.75]])
    np.testing.assert_allclose(found, [[2 / 3, 1 / 6, 1 / 6], [0, 0.1, 0.9]], rtol=1e-15)


@pytest.mark.parametrize("method", [Vector(), Matrix()], ids=str)
def test_as_many_parameters_as_predictions_reach_the_frequencies(method):
    """Three different predictions of two classes, and three numbers to choose."""
    data = Predictions([0.9] * 4 + [0.5] * 4 + [0.1] * 4, [1, 1, 1, 0] * 2 + [0, 0, 1, 1])
    found = method.fit(data)([0.9, 0.5, 0.1])[:, 1]
    np.testing.assert_allclose(found, [0.75, 0.75, 0.5], rtol=1e-9)


def test_matrix_reaches_the_frequencies_of_three_predictions():
    data = Predictions(THREE * 4, [0, 1, 2, 1, 1, 2, 2, 0, 2, 0, 2, 1])
    expected = [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0, 0.25, 0.75]]
    np.testing.assert_allclose(Matrix().fit(data)(THREE), expected, atol=1e-9)


def test_a_heavy_penalty_leaves_nothing_beside_the_diagonal():
    data = Predictions(THREE * 4, [0, 1, 2, 1, 1, 2, 2, 0, 2, 0, 2, 1])
    found = Dirichlet(1e6, 1e6).fit(data)
    assert np.abs(found.bias).max() < 1e-6
    assert np.abs(found.weights[~np.eye(3, dtype=bool)]).max() < 1e-6


def test_beta_reaches_increasing_frequencies():
    data = Predictions([0.9] * 4 + [0.5] * 4 + [0.1] * 4, [1, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1])
    found = Beta().fit(data)
    np.testing.assert_allclose(found([0.9, 0.5, 0.1])[:, 1], [0.75, 0.5, 0.25], rtol=1e-9)
    np.testing.assert_allclose(found.weights, [0.5, 0.5], rtol=1e-9)  # logit log 9 becomes log 3


def test_beta_that_may_not_fall_is_constant():
    data = Predictions([0.9] * 4 + [0.1] * 4, [0, 0, 0, 1, 1, 1, 1, 1])
    found = Beta().fit(data)
    np.testing.assert_array_equal(found.weights, 0.0)
    np.testing.assert_allclose(found([0.9, 0.3])[:, 1], 5 / 8, rtol=1e-9)


def test_isotonic_pools_equal_predictions_and_those_that_fall():
    data = Predictions([0.2, 0.2, 0.4, 0.6, 0.6, 0.8], [0, 1, 0, 1, 0, 1])
    found = Isotonic().fit(data)([0.0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0])[:, 1]
    # frequencies 1/2, 0, 1/2, 1: the first two become 1/3
    expected = [1 / 3, 1 / 3, 1 / 3, 5 / 12, 1 / 2, 3 / 4, 1, 1]
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_isotonic_with_weights():
    data = Predictions([0.2, 0.4], [1, 0], weights=[3, 1])
    np.testing.assert_allclose(Isotonic().fit(data)([0.3]), [[0.25, 0.75]], rtol=1e-15)


def test_isotonic_of_three_classes_is_divided_by_its_sum():
    data = Predictions(THREE * 2, [0, 1, 2, 1, 1, 2])
    found = Isotonic().fit(data)([THREE[0]])
    # P(class) = 1/2 comes true 1/2, 1, 1 of the time and 1/4 comes true 0, 1/4, 0.
    np.testing.assert_allclose(found, [[2 / 3, 1 / 3, 0]], rtol=1e-14)


def test_a_row_in_which_every_curve_is_zero_stays():
    zero = tuple(Curve(j, [0.0, 0.5, 0.75], [0.0, 0.0, 1.0]) for j in range(3))
    found = IsotonicMap(("a", "b", "c"), zero)([[0.5, 0.25, 0.25], [0.75, 0.25, 0.0]])
    np.testing.assert_array_equal(found, [[0.5, 0.25, 0.25], [1.0, 0.0, 0.0]])


def test_histogram_has_frequencies_and_leaves_empty_cells_alone():
    data = Predictions([0.1, 0.2, 0.2, 0.7], [1, 0, 0, 1])
    found = Histogram(partitions.EqualWidth(4)).fit(data)([0.0, 0.3, 0.7, 0.8])[:, 1]
    np.testing.assert_allclose(found, [1 / 3, 0.3, 1.0, 0.8], rtol=1e-15)


def test_a_log_linear_map():
    found = LogLinearMap(("a", "b"), [[0.0, 1.0], [1.0, 0.0]], [0.0, 0.0], 1e-9)
    np.testing.assert_allclose(found([[0.25, 0.75]]), [[0.75, 0.25]], rtol=1e-15)
    # A zero counts as the floor.
    floor = LogLinearMap(("a", "b"), [1.0, 1.0], [0.0, 0.0], 0.25)
    np.testing.assert_allclose(floor([[0.0, 1.0]]), [[0.2, 0.8]], rtol=1e-15)


@pytest.mark.parametrize("m", [2, 16, 17, 40])
def test_softmax_of_short_and_long_rows(m):
    logits = np.random.default_rng(m).normal(0, 5, (7, m))
    expected = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(softmax(logits + 800.0), expected, rtol=1e-11)
