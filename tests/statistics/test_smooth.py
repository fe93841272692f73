"""SmoothECE: its fixed point by hand, against roots found one by one, and the reference."""

import numpy as np
import pytest
from binary import NAMES, cosine_moments, smooth_norm, smooth_value, views
from hypothesis import assume, given, settings
from scipy.optimize import brentq
from strategies import problems

from calibrant import Predictions, calibration_test
from calibrant.statistics import SmoothMiscalibration, View
from calibrant.statistics import smooth as module
from calibrant.statistics.statistic import Ties

smooth = SmoothMiscalibration()
AGREEMENT = 1e-11  # what the docstring promises


def test_residuals_of_one_sign_do_not_cancel():
    # The density has one sign, so f(s) is the mean residual for every s.
    assert smooth(Predictions([0.25, 0.5, 0.75], [0, 0, 0])) == pytest.approx(0.5, abs=1e-15)
    assert smooth(Predictions([0.0, 0.0], [1, 1])) == pytest.approx(1.0, abs=1e-15)


def test_perfect_predictions():
    assert smooth(Predictions([0.0, 1.0, 1.0], [0, 1, 1])) == 0.0
    assert smooth(Predictions([0.5, 0.5], [0, 1])) == 0.0


def test_opposite_ends_by_hand():
    # Residuals 1 at 0 and -1 at 1: the density is 2 sum over odd k of e_k cos(pi k t), which
    # crosses 0 at 1/2 alone, so f is 4 sum of e_k sin(pi k / 2) / (pi k).
    k = np.arange(1, 40, 2)

    def f(s):
        return 4 * np.sum(np.exp(-((np.pi * k * s) ** 2) / 2) * np.sin(np.pi * k / 2) / (np.pi * k))

    expected = brentq(lambda s: f(s) - s, 0.1, 1.0, xtol=1e-15)
    found = smooth(Predictions([0.0, 1.0], [1, 0]))
    assert found == pytest.approx(expected, abs=1e-14)


@settings(max_examples=25)
@given(problems(m=2))
def test_equals_loops(data):
    value = smooth(data)
    assume(value > 0.05)  # what 60 moments resolve
    assert value == pytest.approx(smooth_value(data, 60), abs=AGREEMENT)


@pytest.mark.parametrize("n", [50, 400, 1500])
def test_equals_loops_where_the_density_crosses_often(n):
    rng = np.random.default_rng(n)
    p = rng.random(n)
    data = Predictions(p, rng.random(n) < p)
    assert smooth(data) == pytest.approx(smooth_value(data), abs=AGREEMENT)


def test_the_value_is_a_fixed_point_of_direct_gaussians():
    """Sum reflected Gaussians over rows and images, and integrate by the midpoint rule."""
    rng = np.random.default_rng(1)
    p = rng.beta(0.3, 0.5, 60)
    y = rng.random(60) < p
    s = smooth(Predictions(p, y))
    t = (np.arange(20_000) + 0.5) / 20_000
    density = np.zeros_like(t)
    for i in range(60):
        for image in (q + 2 * j for q in (p[i], -p[i]) for j in (-1, 0, 1)):
            gauss = np.exp(-(((t - image) / s) ** 2) / 2) / (s * np.sqrt(2 * np.pi))
            density += gauss * (y[i] - p[i]) / 60
    # A kink at each sign change costs 1e-9.
    assert np.abs(density).mean() == pytest.approx(s, abs=1e-7)


@pytest.mark.parametrize("name", NAMES)
def test_reference(shared, name):  # noqa: ARG001
    for data, values in views(name):
        assert smooth(data) == pytest.approx(values["smooth_ece"], rel=0, abs=1e-8)


def test_values_far_below_one():
    rng = np.random.default_rng(2)
    p = 1e-3 * rng.random(4000)
    data = Predictions(p, rng.random(4000) < p)
    s = smooth(data)
    # Seen from close up: p in units of 1/100 is far from the other end, and s scales with it.
    near = cosine_moments_of(100 * p, data)
    assert smooth_norm(near, 100 * s) == pytest.approx(s, rel=1e-9)
    first = module.Steps.first(Ties.of(smooth, View.of(data)))
    assert s < first.narrowest  # so that a finer grid was needed


def cosine_moments_of(places, data):
    residuals = ((data.labels == 1) - data.probs[:, 1]) / data.n
    return [float(residuals @ np.cos(np.pi * k * places)) for k in range(500)]


def test_grids_agree(monkeypatch):
    rng = np.random.default_rng(4)
    p = rng.random(300)
    data = Predictions(p, rng.random(300) < p)
    expected = smooth(data)
    for fewest in (16, 1024, 1 << 14):
        monkeypatch.setattr(module, "FEWEST", fewest)
        assert smooth(data) == pytest.approx(expected, abs=1e-13)
    monkeypatch.setattr(module, "FEWEST", 16)
    monkeypatch.setattr(
        module.Steps, "first", classmethod(lambda cls, _: cls.spanning(0.0, 1.0, 0.3, 1.0))
    )
    assert smooth(data) == pytest.approx(expected, abs=1e-13)


def test_nearly_certain_and_right():
    """Residuals that are far apart: no s is too small for f to be their sum."""
    data = Predictions([1e-7, 1 - 1e-7], [0, 1])
    assert smooth(data) == pytest.approx(1e-7, rel=1e-8)
    # Too close to each other to be told apart at that width: right to 3e-6.
    p = np.array([1e-9, 2e-9, 1.0, 1 - 1e-9])
    assert smooth(Predictions(p, [0, 0, 1, 0])) == pytest.approx(0.25, abs=3e-6)


def test_the_last_grid_rounds_down(monkeypatch):
    rng = np.random.default_rng(5)
    p = rng.random(2000)
    data = Predictions(p, rng.random(2000) < p)
    expected = smooth(data)
    monkeypatch.setattr(module, "MOST", 64)
    limit = 2 * 1.5 / 64
    assert 0 < smooth(data) <= expected < limit


def test_replicates_that_need_several_grids(monkeypatch):
    rng = np.random.default_rng(6)
    p = rng.beta(0.1, 0.3, 500)
    data = Predictions(p, rng.random(500) < p)
    expected = calibration_test(data, smooth, n_resamples=40, rng=0).null
    monkeypatch.setattr(module, "BATCH", 1 << 10)
    monkeypatch.setattr(module, "CURVES", 1 << 11)
    found = calibration_test(data, smooth, n_resamples=40, rng=0).null
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_is_continuous_in_the_predictions():
    rng = np.random.default_rng(7)
    p = 0.1 + 0.8 * rng.random(200)
    y = rng.random(200) < p
    near = smooth(Predictions(p + 1e-6 * rng.standard_normal(200), y))
    assert near == pytest.approx(smooth(Predictions(p, y)), abs=1e-4)


def test_moments_in_loops():
    data = Predictions([0.25, 0.5], [0, 1], weights=[1, 3])
    expected = [(-0.25 + 1.5) / 4, (-0.25 * np.sqrt(0.5) + 0) / 4]
    assert cosine_moments(data, 2) == pytest.approx(expected, abs=1e-15)
