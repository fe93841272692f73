"""Zeros, ones, separable data, classes that never occur: defined and finite."""

import numpy as np
import pytest
from fits import REGRESSIONS, methods_of, overconfident

from calibrant import Predictions, log_score
from calibrant.recalibration import Beta, Histogram, Isotonic, Matrix, Temperature, Vector
from calibrant.recalibration.likelihood import floor_of

SEPARABLE = {
    "two classes": Predictions([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1]),
    "two rows": Predictions([0.4, 0.6], [0, 1]),
    "wrong way": Predictions([0.4, 0.6], [1, 0]),
    "vertices": Predictions(np.eye(3)[[0, 1, 2, 0]], [0, 1, 2, 0]),
    "very sure": Predictions.from_logits(np.eye(3) * 700.0, [0, 1, 2]),
    "nearly uniform": Predictions.from_logits(np.eye(3) * 1e-6, [0, 1, 2]),
}


def parameters(fitted):
    names = ("temperature", "weights", "bias")
    return np.concatenate([np.ravel(getattr(fitted, name, 0.0)) for name in names])


@pytest.mark.parametrize("name", SEPARABLE)
def test_separable_data_have_finite_answers(name):
    data = SEPARABLE[name]
    for method in methods_of(data.m):
        fitted = method.fit(data)
        found = fitted(data)
        assert np.isfinite(parameters(fitted)).all()
        assert np.isfinite(found.probs).all()
        assert np.isfinite(log_score(found))


@pytest.mark.parametrize("method", [Temperature(), *REGRESSIONS], ids=repr)
def test_separable_data_are_told_apart(method):
    data = SEPARABLE["two classes"]
    assert log_score(method.fit(data)(data)) < 1e-9


def test_predictions_that_point_the_wrong_way_become_uniform():
    found = Temperature().fit(SEPARABLE["wrong way"])
    assert found.temperature == pytest.approx(1e9)
    np.testing.assert_allclose(found([0.4]), 0.5, atol=1e-8)


def test_predictions_that_say_nothing_keep_their_temperature():
    assert Temperature().fit(Predictions([0.5] * 3, [0, 1, 1])).temperature == 1.0
    assert Temperature().fit(Predictions([1.0, 0.0], [1, 0])).temperature == 1.0


def test_zeros_stay_zeros_for_temperature():
    data = Predictions([[0.0, 0.25, 0.75], [0.5, 0.5, 0.0], [0.1, 0.2, 0.7]], [1, 0, 2])
    found = Temperature().fit(data)(data)
    np.testing.assert_array_equal(found.probs == 0, data.probs == 0)


def test_impossible_outcomes_say_nothing_about_the_temperature():
    data = overconfident(m=2)
    worse = Predictions(np.append(data.probs[:, 1], [0.0, 1.0]), np.append(data.labels, [1, 0]))
    expected = Temperature().fit(data).temperature
    assert Temperature().fit(worse).temperature == pytest.approx(expected, rel=1e-12)
    assert log_score(Temperature().fit(worse)(worse)) == np.inf


@pytest.mark.parametrize("method", [*REGRESSIONS, Beta()], ids=repr)
def test_zeros_are_raised_by_the_others(method):
    data = overconfident(m=2)
    rows = np.append(data.probs[:, 1], [0.0, 0.0, 1.0, 1.0]), np.append(data.labels, [0, 1, 1, 0])
    zeros = Predictions(*rows)
    found = method.fit(zeros)(zeros)
    assert np.isfinite(log_score(found))
    assert found.probs.min() > 0


def test_the_floor_is_half_the_smallest_probability():
    assert floor_of(Predictions([0.0, 0.25, 1.0], [0, 1, 1])) == 1e-3
    assert floor_of(Predictions([0.0, 1e-6, 1.0], [0, 1, 1])) == 5e-7
    assert floor_of(Predictions([5e-324, 0.5], [0, 1])) == np.finfo(float).tiny
    light = Predictions([0.3, 0.6, 1e-9], [0, 1, 1], weights=[1, 1, 0])
    assert Vector().fit(light).floor == 1e-3


@pytest.mark.parametrize("empty", [False, True])
def test_a_class_that_never_occurs(empty):
    data = overconfident(m=4)
    probs = data.probs.copy()
    if empty:  # nor is it predicted
        probs[:, 3] = 0
        probs /= probs.sum(axis=1, keepdims=True)
    rare = Predictions(probs, data.labels % 3)
    for method in methods_of(4):
        fitted = method.fit(rare)
        found = fitted(rare)
        assert np.isfinite(parameters(fitted)).all()
        assert np.isfinite(log_score(found))
        if not isinstance(method, Temperature | Histogram):
            assert found.probs[:, 3].max() < 0.01


def test_isotonic_gives_nothing_to_a_class_that_never_occurs():
    data = overconfident(m=4)
    rare = Predictions(data.probs, data.labels % 3)
    np.testing.assert_array_equal(Isotonic().fit(rare)(rare).probs[:, 3], 0.0)


@pytest.mark.parametrize("method", [Vector(), Matrix()], ids=str)
def test_very_sure_predictions_of_random_outcomes(method):
    """Logarithms down to -700, where the first steps of a naive search would overshoot."""
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 200, (400, 4))
    data = Predictions.from_logits(logits, rng.integers(0, 4, 400))
    found = method.fit(data)(data)
    assert log_score(found) < np.log(4)


def test_weights_of_very_different_size():
    rng = np.random.default_rng(0)
    weights = 10.0 ** rng.integers(-50, 50, 300)
    data = overconfident()
    uneven = Predictions(data.probs, data.labels, weights=weights)
    for method in methods_of(3):
        if np.unique(uneven.labels[uneven.weights > 0]).size > 1:
            assert np.isfinite(parameters(method.fit(uneven))).all()
