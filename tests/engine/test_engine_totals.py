"""Totals over cells: exact, so that neither their order nor a cut changes a bit."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import engine

TOTALS = engine.norms
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
    totals = TOTALS.Totals.zeros(norms.shape[2])
    for part in parts:
        for norm in range(3):
            TOTALS.add_cells(totals, norm, norms[norm, part], shares[part, None])
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
    found = TOTALS.Totals.zeros(4)
    for c in RNG.permutation(30):
        room = norms[:, c].copy()
        room[1] = np.nan  # the 2-norm is written from its square
        TOTALS.collect(room, shares[c], (0, 3), found)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("wanted", [(0, 1), (1, 2), (2, 3), (0, 2), (1, 3)])
def test_norms_that_are_not_wanted_stay_zero(wanted):
    norms, shares = random_cells(10, 4)
    found = TOTALS.Totals.zeros(4)
    for c in range(10):
        TOTALS.collect(norms[:, c].copy(), shares[c], wanted, found)
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
    expected = {TOTALS.ONE: np.abs(pair).sum(axis=-1), TOTALS.TWO: np.sqrt(two)}
    expected[TOTALS.SQUARED] = two
    for norm, values in expected.items():
        np.testing.assert_array_equal(TOTALS.event_norm(off, norm), values)


def check_weighted_sums(values, shares, order):
    """Compare with fractions, and with the same cells in another order."""
    found = TOTALS.weighted_sum(values, shares)
    np.testing.assert_array_equal(TOTALS.weighted_sum(values[order], shares[order]), found)
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
    assert TOTALS.weighted_sum(values, np.array([0.5, 0.5])).tolist() == [np.inf, 1.0]


def test_a_weighted_sum_does_not_depend_on_other_replicates():
    values = np.exp(np.random.default_rng(0).normal(0, 20, (30, 50)))
    shares = np.random.default_rng(1).dirichlet(np.ones(30))
    whole = TOTALS.weighted_sum(values, shares)
    alone = [TOTALS.weighted_sum(values[:, [t]], shares)[0] for t in range(50)]
    np.testing.assert_allclose(whole, (values * shares[:, None]).sum(axis=0), rtol=1e-14)
    np.testing.assert_array_equal(whole, alone)
