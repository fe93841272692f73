"""Norms of deviations: in the order of outcomes up to 32, exact beyond."""

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import engine

NORMS = engine.norms


def deviations(cells, m, size=3, seed=0, smallest=1e-15):
    """Return deviations (cells, m, size) of very different sizes, whose 1-norms are at most 2."""
    rng = np.random.default_rng([seed, cells, m])
    off = rng.uniform(-1, 1, (cells, m, size)) * smallest ** rng.random((cells, m, size))
    return off / np.maximum(1.0, np.abs(off).sum(axis=1, keepdims=True) / 2)


@given(st.integers(33, 80), st.randoms(use_true_random=False))
def test_the_order_of_many_outcomes_changes_no_bit(m, random):
    off = deviations(4, m)
    order = random.sample(range(m), m)
    for one, other in zip(NORMS.norms(off[:, order]), NORMS.norms(off), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("m", [33, 200, 1000])
@pytest.mark.parametrize("size", [1e-15, 1e-8, 1.0])
def test_norms_of_many_outcomes_are_exact_but_for_what_is_below_the_last_unit(m, size):
    """Also where all deviations are tiny, since the 2-norm is a root of their squares."""
    off = size * deviations(3, m, smallest=1e-3)
    found = NORMS.norms(off)
    for terms, norm in zip((np.abs(off), off * off), found, strict=True):
        for c, t in np.ndindex(norm.shape):
            exact = sum(Fraction(x) for x in terms[c, :, t].tolist())
            assert abs(Fraction(norm[c, t]) - exact) <= exact / 2**52 + Fraction(m, 2**111)
    plain = np.sqrt((off * off).sum(axis=1))
    np.testing.assert_allclose(np.sqrt(found[1]), plain, rtol=1e-12, atol=1e-16)


@pytest.mark.parametrize("m", [3, 32, 33, 100])
def test_kernels_add_up_as_arrays_do(m):
    rng = np.random.default_rng(m)
    counts = rng.integers(0, 9, (5, m, 4)).astype(float)
    mass = counts.sum(axis=1)[:, 0]
    counts *= (mass[:, None] / counts.sum(axis=1))[:, None]
    predicted = rng.dirichlet(np.full(m, 0.3), 5) * mass[:, None]
    off = (counts - predicted[:, :, None]) * (1.0 / mass)[:, None, None]
    one, two = NORMS.norms(off)
    totals = engine.norms.Totals.zeros(4)
    for norm, values in enumerate((one, np.sqrt(two), two)):
        engine.norms.add_cells(totals, norm, values, (mass / mass.sum())[:, None])
    found = engine.null.table_totals(counts, predicted, mass, (0, 3))
    for ours, theirs in zip(found, totals, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_few_outcomes_are_added_in_their_order():
    off = deviations(2, 32)
    expected = np.zeros((2, 3))
    for j in range(32):
        expected += np.abs(off[:, j])
    np.testing.assert_array_equal(NORMS.norms(off)[0], expected)


def test_by_hand():
    off = np.zeros((1, 40))
    off[0, [3, 30]] = 0.75, -0.5
    one, two = NORMS.norms(off)
    assert one.tolist() == [1.25]
    assert two.tolist() == [0.8125]
    tiny = np.full((1, 64), 2.0**-45)  # squares of 2^-90, which add up to 2^-84
    assert np.sqrt(NORMS.norms(tiny)[1]).tolist() == [sqrt(64) * 2.0**-45]
