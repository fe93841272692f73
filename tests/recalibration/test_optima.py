"""Fits are optima: derivatives are right, vanish at the solution, and starts do not matter."""

import numpy as np
import pytest
from fits import REGRESSIONS, objective, overconfident

from calibrant import Predictions, log_score
from calibrant.recalibration import Beta, Isotonic, Matrix, Temperature, TemperatureMap, Vector
from calibrant.recalibration import likelihood as likelihood_module
from calibrant.recalibration.likelihood import AllClasses, Blocks, Likelihood, OwnClass
from calibrant.recalibration.newton import NearInverse, solve_by_products
from calibrant.recalibration.scaling import regress
from calibrant.recalibration.temperature import derivatives, inverse_temperature, search

GRADIENT = 1e-9


def problem(m, *, full, off=0.0, intercept=0.0):
    if full:
        return AllClasses(), AllClasses().penalty(m, off, intercept)
    return OwnClass(), OwnClass().penalty(m)


@pytest.mark.parametrize("m", [2, 3, 6])
@pytest.mark.parametrize("method", REGRESSIONS, ids=repr)
@pytest.mark.parametrize("weights", [False, True])
def test_the_gradient_of_a_regression_is_zero(m, method, weights):
    data = overconfident(m=m, weights=weights)
    fitted = method.fit(data)
    _, by_weights, by_bias = objective(method, data, fitted.weights, fitted.bias)
    assert max(np.abs(by_weights).max(), np.abs(by_bias).max()) < GRADIENT


@pytest.mark.parametrize("weights", [False, True])
def test_the_gradient_of_a_temperature_is_zero(weights):
    data = overconfident(weights=weights)
    beta = 1 / Temperature().fit(data).temperature
    logs = np.log(data.probs)
    q = data.probs**beta / (data.probs**beta).sum(axis=1, keepdims=True)
    own = logs[np.arange(data.n), data.labels]
    slope = data.weights @ ((q * logs).sum(axis=1) - own) / data.weights.sum()
    assert abs(slope) < GRADIENT


def test_the_gradient_of_beta_is_zero_or_points_out():
    """Where a slope is 0, the loss does not fall if it rises."""
    seen = set()
    for seed in range(40):
        data = overconfident(30, 2, seed=seed, power=0.3)
        fitted = Beta().fit(data)
        _, by_weights, by_bias = objective(Vector(), data, fitted.weights, fitted.bias)
        assert np.abs(by_bias).max() < GRADIENT
        free = fitted.weights > 0
        assert np.abs(by_weights[free]).max(initial=0.0) < GRADIENT
        assert (by_weights[~free] > -GRADIENT).all()
        seen.add(tuple(free.tolist()))
    assert len(seen) >= 3  # free, and at either bound


@pytest.mark.parametrize("full", [False, True])
def test_other_starts_find_the_same(full):
    data = overconfident(m=4)
    design, penalty = problem(4, full=full)
    expected, floor = regress(data, design, penalty)
    for seed in range(5):
        start = np.random.default_rng(seed).normal(0, 3, penalty.centre.shape)
        found, its_floor = regress(data, design, penalty, start)
        assert floor == its_floor
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("start", [1e-9, 1e-4, 0.1, 10.0, 1e4, 1e9])
def test_other_starts_find_the_same_temperature(start):
    data = overconfident()
    assert search(data, start) == pytest.approx(search(data, 1.0), rel=1e-9)


def test_no_other_temperature_is_better():
    data = overconfident()
    best = Temperature().fit(data)
    for factor in (0.9, 0.999, 1.001, 1.1):
        other = TemperatureMap(data.classes, best.temperature * factor)
        assert log_score(other(data)) > log_score(best(data))


def test_derivatives_by_temperature_are_those_of_the_loss():
    data = overconfident(50, weights=True)
    step = 1e-4

    def loss(beta):
        return log_score(TemperatureMap(data.classes, 1 / beta)(data))

    for beta in (0.3, 1.0, 2.0):
        a, b, c = (derivatives(data, beta + move) for move in (-step, 0.0, step))
        assert b[0] == pytest.approx((loss(beta + step) - loss(beta - step)) / step / 2, abs=1e-6)
        assert b[1] == pytest.approx((c[0] - a[0]) / step / 2, rel=1e-6)
        assert b[2] == pytest.approx((c[1] - a[1]) / step / 2, rel=1e-5)


@pytest.mark.parametrize("full", [False, True])
def test_second_derivatives_are_those_of_the_gradient(full):
    data = overconfident(40, 3, weights=True)
    design, penalty = problem(3, full=full, off=0.3, intercept=0.2)
    likelihood = Likelihood(Blocks.of(data, penalty.centre.shape), design, penalty)
    theta = np.random.default_rng(1).normal(0.5, 0.5, penalty.centre.shape).ravel()
    step = 1e-5
    columns = []
    for unit in np.eye(theta.size) * step:
        up, down = likelihood.expand(theta + unit), likelihood.expand(theta - unit)
        columns.append((up.gradient - down.gradient) / step / 2)
        here = likelihood.expand(theta)
        change = (likelihood.value(theta + unit) - likelihood.value(theta - unit)) / step / 2
        assert here.gradient @ unit / step == pytest.approx(change, abs=1e-8)
    hessian = np.array(columns)
    solved = likelihood.expand(theta).solve(np.ones(theta.size))
    np.testing.assert_allclose(hessian @ solved, 1.0, atol=1e-6)
    times = likelihood._products(theta.reshape(penalty.centre.shape), {})
    np.testing.assert_allclose(times(solved), 1.0, atol=1e-9)


@pytest.mark.parametrize("method", REGRESSIONS, ids=repr)
def test_many_parameters_are_found_without_the_matrix(monkeypatch, method):
    data = overconfident(m=5)
    expected = method.fit(data)
    monkeypatch.setattr(likelihood_module, "LARGE", 0)
    found = method.fit(data)
    np.testing.assert_allclose(found.weights, expected.weights, atol=1e-6)
    np.testing.assert_allclose(found.bias, expected.bias, atol=1e-6)
    _, by_weights, _ = objective(method, data, found.weights, found.bias)
    assert np.abs(by_weights).max() < GRADIENT


def test_logarithms_that_are_not_kept_give_the_same(monkeypatch):
    data = overconfident(m=4, dtype=np.float32)
    expected = [method.fit(data).weights for method in (Vector(), Matrix())]
    monkeypatch.setattr("calibrant.recalibration.likelihood.KEPT", 0)
    monkeypatch.setattr("calibrant.recalibration.likelihood.ALONE", 2000)  # many blocks
    for large in (1000, 0):
        monkeypatch.setattr(likelihood_module, "LARGE", large)
        found = [method.fit(data).weights for method in (Vector(), Matrix())]
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-7)


def test_conjugate_gradients_solve_what_the_near_inverse_inverts():
    means, squares = np.array([[2.0, 4.0]]), np.array([[3.0, 4.0]])
    matrix = np.array([[3.0, 2.0], [2.0, 4.0]])
    near = NearInverse.of(means, squares, np.zeros((1, 2)))
    b = np.array([1.0, -2.0])
    np.testing.assert_allclose(matrix @ near(b), b, atol=1e-7)
    calls = []

    def times(vector):
        calls.append(vector)
        return matrix @ vector

    np.testing.assert_allclose(matrix @ solve_by_products(times, near, b), b, atol=1e-6)
    assert len(calls) == 1


def test_a_large_array_starts_from_a_sample(monkeypatch):
    data = overconfident(4000, dtype=np.float32)
    expected = inverse_temperature(data)
    seen = []
    real = derivatives

    def counted(rows, *at):
        seen.append(rows.n)
        return real(rows, *at)

    monkeypatch.setattr("calibrant.recalibration.temperature.SAMPLE", 1500)
    monkeypatch.setattr("calibrant.recalibration.temperature.derivatives", counted)
    assert inverse_temperature(data) == pytest.approx(expected, rel=1e-12)
    assert seen.count(data.n) <= 3
    assert min(seen) == 500


def test_isotonic_is_best_among_increasing_functions():
    """No cut into blocks of neighbours has a smaller squared error unless it falls somewhere."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        n = 7
        p = np.sort(rng.random(n))
        data = Predictions(p, [0, 1, *rng.integers(0, 2, n - 2)], weights=rng.integers(1, 4, n))
        found = Isotonic().fit(data)(p)[:, 1]
        best = min(errors(data, cuts) for cuts in range(2 ** (n - 1)))
        assert data.weights @ (data.labels - found) ** 2 == pytest.approx(best, abs=1e-12)


def errors(data, cuts):
    """Return the squared error of the means of blocks; infinite if they fall."""
    block = np.cumsum([0] + [cuts >> i & 1 for i in range(data.n - 1)])
    means = np.bincount(block, data.weights * data.labels) / np.bincount(block, data.weights)
    if (np.diff(means) < 0).any():
        return np.inf
    return data.weights @ (data.labels - means[block]) ** 2
