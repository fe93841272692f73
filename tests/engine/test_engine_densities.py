"""Reflected Gaussians on a grid, and integrals of moduli that are known."""

import numpy as np
import pytest
from scipy.integrate import quad

from calibrant import engine

densities = engine.densities


def reflected(t, p, width):
    images = [q + 2 * j for q in (p, -p) for j in (-1, 0, 1)]
    terms = [np.exp(-(((t - image) / width) ** 2) / 2) for image in images]
    return np.sum(terms, axis=0) / (width * np.sqrt(2 * np.pi))


@pytest.mark.parametrize("p", [0.0, 1e-3, 0.21, 0.5, 0.997, 1.0])
@pytest.mark.parametrize("steps", [64, 100])
def test_gaussians_are_reflected_at_both_ends(p, steps):
    nodes = np.zeros((steps + 1, 2))
    densities.add_gaussians(np.array([p]), np.array([[1.0, -0.5]]), nodes)
    nodes[[0, -1]] *= 2
    expected = reflected(np.linspace(0, 1, steps + 1), p, densities.WIDTH / steps)
    # An ulp of the place on the grid, up to 100, moves the density by 1e-14 of its peak.
    peak = steps / (densities.WIDTH * np.sqrt(2 * np.pi))
    for column, mass in zip(nodes.T, (1.0, -0.5), strict=True):
        np.testing.assert_allclose(column, mass * expected, rtol=0, atol=2e-14 * peak)


def test_gaussians_add_up():
    values, masses = np.array([0.1, 0.4, 0.4]), np.arange(6.0).reshape(3, 2)
    together, apart = np.zeros((2, 65, 2))
    densities.add_gaussians(values, masses, together)
    for c in range(3):
        densities.add_gaussians(values[[c]], masses[[c]], apart)
    np.testing.assert_array_equal(together, apart)


def curves(g, slope, integral, points):
    t = np.linspace(0, 1, points + 1)
    return densities.Curves(*(np.stack([f(t)]) for f in (g, slope, integral)))


@pytest.mark.parametrize("k", [1, 2, 7])
@pytest.mark.parametrize("points", [64, 81])
def test_a_cosine(k, points):
    w = np.pi * k
    found = densities.moduli(
        curves(
            lambda t: np.cos(w * t),
            lambda t: -w * np.sin(w * t),
            lambda t: np.sin(w * t) / w,
            points,
        )
    )
    # The sixth power of a step, over 46,080, as polynomials of degree 5 are.
    assert found.integral[0] == pytest.approx(2 / np.pi, abs=1e-4 * (w / points) ** 6 + 1e-15)
    assert found.crossings[0] == pytest.approx(k * w, rel=1e-5)


@pytest.mark.parametrize("depth", [-1e-3, -1e-6, 1e-6])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_dip_between_two_nodes(depth, sign):
    """A parabola that goes below 0 and comes back within a step, or does not quite."""
    a, middle = 40.0, 0.5078
    found = densities.moduli(
        curves(
            lambda t: sign * (a * (t - middle) ** 2 + depth),
            lambda t: sign * 2 * a * (t - middle),
            lambda t: sign * (a * (t - middle) ** 3 / 3 + depth * t),
            64,
        )
    )
    half = np.sqrt(max(-depth, 0) / a)
    assert half < 1 / 128
    whole = a * ((1 - middle) ** 3 + middle**3) / 3 + depth
    below = -2 * (a * 2 * half**3 / 3 + depth * 2 * half)  # counted with the wrong sign
    assert found.integral[0] == pytest.approx(whole + below, rel=1e-14)
    assert found.crossings[0] == pytest.approx(2 * 2 * a * half, rel=1e-6)


def test_two_curves_against_quadrature():
    def g(t):
        return np.sin(9 * t) + 0.4 * np.cos(31 * t) - 0.2

    def slope(t):
        return 9 * np.cos(9 * t) - 12.4 * np.sin(31 * t)

    def integral(t):
        return -np.cos(9 * t) / 9 + 0.4 / 31 * np.sin(31 * t) - 0.2 * t

    one = curves(g, slope, integral, 1000)
    two = densities.Curves(*(np.concatenate((part, -part)) for part in one))
    expected = quad(lambda t: abs(g(t)), 0, 1, limit=500, epsabs=1e-12)[0]
    assert densities.moduli(two).integral == pytest.approx([expected] * 2, abs=1e-9)


def test_a_zero_on_a_node_is_a_crossing():
    found = densities.moduli(
        curves(lambda t: t - 0.5, np.ones_like, lambda t: 0.5 * t**2 - 0.5 * t, 64)
    )
    assert found.integral[0] == 0.25
    assert found.crossings[0] == 1.0


def test_signs_of_rounding_are_left_out():
    rng = np.random.default_rng(0)
    noise = 1e-18 * rng.standard_normal(65)
    noise[3] = 1.0
    flat = densities.Curves(noise[None], 1e9 * rng.standard_normal((1, 65)), np.zeros((1, 65)))
    flat.slope[0, [2, 3, 4]] = 0.0
    assert densities.moduli(flat).crossings[0] < 1e-9


def test_refuses_arrays_that_do_not_fit():
    values, nodes = np.array([0.5]), np.zeros((65, 2))
    with pytest.raises(TypeError, match=r"`nodes` must be an array of float64 and shape"):
        densities.add_gaussians(values, np.ones((1, 3)), nodes)
    with pytest.raises(TypeError, match=r"`values` must be an array of float64 and shape"):
        densities.add_gaussians(np.array([1]), np.ones((1, 2)), nodes)
    with pytest.raises(ValueError, match=r"`nodes` must be more than 13; found 13\."):
        densities.add_gaussians(values, np.ones((1, 2)), np.zeros((13, 2)))
    for wrong in (-0.1, 1.1, np.nan):
        with pytest.raises(ValueError, match=r"`values` must be from 0 to 1\."):
            densities.add_gaussians(np.array([wrong]), np.ones((1, 2)), nodes)
    good = np.zeros((1, 9))
    with pytest.raises(TypeError, match=r"`curves.slope` must be an array of float64 and shape"):
        densities.moduli(densities.Curves(good, good[:, :8], good))
    with pytest.raises(TypeError, match=r"`curves.integral` must be an array of float64 and shape"):
        densities.moduli(densities.Curves(good, good, good[:, :8]))
