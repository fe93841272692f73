"""Sums, faults, rescaling and softmax of rows."""

from math import fsum

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import engine
from calibrant.checks import rows as _rows

RNG = np.random.default_rng(0)
NONE = _rows.Faulty(0, 0)


@given(st.lists(st.floats(0, 1, width=32), min_size=1, max_size=40))
def test_totals(row):
    for dtype in (np.float32, np.float64):
        found = _rows.totals(np.array([row, row], dtype))
        assert found[0] == found[1]
        assert found[0] == pytest.approx(fsum(row), rel=1e-15 * 40)  # 40 additions


def test_totals_of_float32_are_added_up_in_float64():
    """A million times 0.1 in float32 is 100,000 to nine digits, not 100,958."""
    rows = np.full((1, 1_000_000), 0.1, np.float32)
    assert _rows.totals(rows)[0] == pytest.approx(1_000_000 * float(np.float32(0.1)), rel=1e-12)


def faulty(dtype):
    probs = np.full((30, 3), 1 / 3, dtype)
    probs[4, 1] = np.nan
    probs[9, 2] = np.inf
    probs[[5, 6, 7]] = [-0.5, 1.0, 0.5]
    probs[[11, 29]] = 0.5
    probs[20] = [0.5, 0.25, 0.2502]
    probs.flags.writeable = False
    return probs


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("entries", [1, 6, 1 << 19])
def test_scan_counts_faults_and_remembers_the_first(monkeypatch, dtype, entries):
    monkeypatch.setattr("calibrant.engine.threads.ENTRIES", entries)
    found = _rows.scan(faulty(dtype), 1e-3)
    assert found.not_finite == _rows.Faulty(4, 2)
    assert found.negative == _rows.Faulty(5, 3)
    assert found.unequal == _rows.Faulty(11, 2)
    # The engine, which looks first, counts the same rows, and the one that is a little off.
    checked = engine.rows.check(faulty(dtype), 1e-6, 1e-3)
    assert (checked.bad, checked.uneven) == (2 + 3 + 2, 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scan_finds_nothing_in_good_rows(dtype):
    good = np.full((30, 4), 0.25, dtype)
    assert _rows.scan(good, 1e-3) == _rows.Scan(NONE, NONE, NONE)
    checked = engine.rows.check(good, 1e-6, 1e-3)
    assert (checked.bad, checked.uneven) == (0, 0)


@pytest.mark.parametrize("bad", [np.nan, -np.inf, np.inf])
def test_a_row_has_one_fault_the_worst(bad):
    found = _rows.scan(np.array([[bad, -1.0, 0.5], [-1.0, 0.5, 0.5]]), 1e-3)
    assert found == _rows.Scan(_rows.Faulty(0, 1), _rows.Faulty(1, 1), NONE)


def test_rescale_touches_only_rows_that_need_it():
    probs = np.array([[0.5, 0.5], [0.5, 0.5002], [0.25, 0.75]])
    _rows.rescale(probs, 1e-9)
    assert probs[[0, 2]].tolist() == [[0.5, 0.5], [0.25, 0.75]]
    assert probs[1].sum() == pytest.approx(1, abs=1e-15)


def test_rescale_divides_float32_in_float64():
    probs = np.array([[0.3, 0.3, 0.4001]], np.float32)
    wide = probs.astype(np.float64)
    _rows.rescale(probs, 1e-6)
    assert probs.tolist() == (wide / fsum(wide[0])).astype(np.float32).tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_softmax(dtype):
    logits = RNG.normal(0, 5, (50, 11)).astype(dtype)
    logits[3, :4] = -np.inf
    wide = logits.astype(float)
    expected = np.array([[np.exp(x - max(row)) for x in row] for row in wide.tolist()])
    expected /= np.array([[fsum(row)] for row in expected.tolist()])
    _rows.softmax(logits)
    # An exponential and a sum of 11 of them, each rounded a few times.
    np.testing.assert_allclose(logits, expected, rtol=8 * np.finfo(dtype).eps, atol=0)


def test_softmax_of_the_largest_numbers():
    top = np.finfo(np.float64).max
    logits = np.array([[top, -top], [-top, -top], [0.0, top]])
    _rows.softmax(logits)
    assert logits.tolist() == [[1, 0], [0.5, 0.5], [0, 1]]
