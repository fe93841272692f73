"""Norms of deviations, in order up to 32 outcomes and exact beyond; and their totals, exact."""

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


RNG = np.random.default_rng(0)


def random_cells(cells, size, seed=0):
    """Return norms (3, cells, size) of deviations, and shares (cells,)."""
    rng = np.random.default_rng(seed)
    two = 2 * rng.random((cells, size)) ** rng.integers(1, 30, (cells, size))
    norms = np.stack([np.minimum(2, 3 * two), np.sqrt(two), two])
    norms[:, rng.random((cells, size)) < 0.2] = 0
    return norms, rng.dirichlet(np.full(cells, 0.3))


def added(norms, shares, parts):
    """Add cells part after part."""
    totals = NORMS.Totals.zeros(norms.shape[2])
    for part in parts:
        for norm in range(3):
            NORMS.add_cells(totals, norm, norms[norm, part], shares[part, None])
    return totals


@given(st.integers(1, 40), st.integers(1, 5), st.data())
def test_neither_order_nor_cut_changes_a_bit(cells, size, draw):
    norms, shares = random_cells(cells, size)
    whole = added(norms, shares, [np.arange(cells)])
    order = np.array(draw.draw(st.permutations(range(cells))))
    marks = sorted(draw.draw(st.sets(st.integers(1, cells - 1)))) if cells > 1 else []
    moved = added(norms, shares, np.split(order, marks))
    for one, other in zip(moved, whole, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(whole.worst, norms.max(axis=1))


@given(st.integers(1, 40))
def test_sums_are_exact_but_for_what_is_below_the_last_unit(cells):
    norms, shares = random_cells(cells, 3)
    found = added(norms, shares, [np.arange(cells)]).expected
    terms = norms * shares[:, None]  # rounded once, which is what is added up
    for norm in range(3):
        for t in range(3):
            exact = sum(Fraction(x) for x in terms[norm, :, t].tolist())
            slack = Fraction(cells, 2**80) + exact / 2**53
            assert abs(Fraction(found[norm, t]) - exact) <= slack


def test_one_cell_after_the_other_is_the_same():
    norms, shares = random_cells(30, 4)
    expected = added(norms, shares, [np.arange(30)])
    found = NORMS.Totals.zeros(4)
    for c in RNG.permutation(30):
        norm = norms[:, c].copy()
        norm[1] = np.nan  # the 2-norm is written from its square
        NORMS.collect(norm, shares[c], (0, 3), found)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("wanted", [(0, 1), (1, 2), (2, 3), (0, 2), (1, 3)])
def test_norms_that_are_not_wanted_stay_zero(wanted):
    norms, shares = random_cells(10, 4)
    found = NORMS.Totals.zeros(4)
    for c in range(10):
        NORMS.collect(norms[:, c].copy(), shares[c], wanted, found)
    expected = added(norms, shares, [np.arange(10)])
    for norm in range(3):
        if norm in range(*wanted):
            np.testing.assert_array_equal(found.expected[norm], expected.expected[norm])
        else:
            assert not found.expected[norm].any()


def test_norms_of_two_outcomes():
    off = np.array([[0.0, 0.25], [0.5, 1.0]])
    pair = np.stack((off, -off), axis=-1)
    two = np.square(pair).sum(axis=-1)
    expected = {NORMS.ONE: np.abs(pair).sum(axis=-1), NORMS.TWO: np.sqrt(two)}
    expected[NORMS.SQUARED] = two
    for norm, values in expected.items():
        np.testing.assert_array_equal(NORMS.event_norm(off, norm), values)


def check_weighted_sums(values, shares, order):
    """Compare with fractions, and with the same cells in another order."""
    found = NORMS.weighted_sum(values, shares)
    np.testing.assert_array_equal(NORMS.weighted_sum(values[order], shares[order]), found)
    terms = values * shares[:, None]
    for t in range(values.shape[1]):
        exact = sum(Fraction(x) for x in terms[:, t].tolist())
        slack = len(values) * max(Fraction(1), 2 * exact) / 2**80 + exact / 2**53
        assert abs(Fraction(found[t]) - exact) <= slack


@given(st.integers(1, 40), st.sampled_from((1e-12, 1.0, 2.0)), st.data())
def test_weighted_sums_do_not_depend_on_the_order(cells, scale, draw):
    rng = np.random.default_rng(cells)
    order = np.array(draw.draw(st.permutations(range(cells))))
    check_weighted_sums(scale * rng.random((cells, 4)), rng.dirichlet(np.ones(cells)), order)


@pytest.mark.parametrize("scale", [1e3, 1e12])
def test_weighted_sums_of_any_size_do_not_depend_on_the_order(scale):
    rng = np.random.default_rng(0)
    values, shares = scale * rng.random((500, 50)), np.full(500, 1 / 500)
    check_weighted_sums(values, shares, rng.permutation(500))


def test_infinite_values_are_added_up():
    values = np.array([[np.inf, 1.0], [0.5, 1.0]])
    assert NORMS.weighted_sum(values, np.array([0.5, 0.5])).tolist() == [np.inf, 1.0]


def test_a_weighted_sum_does_not_depend_on_other_replicates():
    values = np.exp(np.random.default_rng(0).normal(0, 20, (30, 50)))
    shares = np.random.default_rng(1).dirichlet(np.ones(30))
    whole = NORMS.weighted_sum(values, shares)
    alone = [NORMS.weighted_sum(values[:, [t]], shares)[0] for t in range(50)]
    np.testing.assert_allclose(whole, (values * shares[:, None]).sum(axis=0), rtol=1e-14)
    np.testing.assert_array_equal(whole, alone)
