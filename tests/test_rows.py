"""Sums, faults, rescaling and softmax of rows."""

from math import fsum

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import Predictions, engine
from calibrant.checks.arrays import rescale, totals

RNG = np.random.default_rng(0)


@given(st.lists(st.floats(0, 1, width=32), min_size=1, max_size=40))
def test_totals(row):
    for dtype in (np.float32, np.float64):
        found = totals(np.array([row, row], dtype))
        assert found[0] == found[1]
        assert found[0] == pytest.approx(fsum(row), rel=1e-15 * 40)  # 40 additions


def test_totals_of_float32_are_added_up_in_float64():
    """A million times 0.1 in float32 is 100,000 to nine digits, not 100,958."""
    rows = np.full((1, 1_000_000), 0.1, np.float32)
    assert totals(rows)[0] == pytest.approx(1_000_000 * float(np.float32(0.1)), rel=1e-12)


def faulty(dtype):
    probs = np.full((30, 3), 1 / 3, dtype)
    probs[4, 1] = np.nan
    probs[9, 2] = np.inf
    probs[[5, 6, 7]] = [-0.5, 1.0, 0.5]
    probs[[11, 29]] = 0.5
    probs[20] = [0.5, 0.25, 0.2502]
    return probs


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("entries", [1, 6, 1 << 19])
def test_faults_are_counted_and_the_first_is_named(monkeypatch, dtype, entries):
    monkeypatch.setattr("calibrant.engine.threads.ENTRIES", entries)
    probs = faulty(dtype)
    checked = engine.rows.check(probs, 1e-6, 1e-3)
    assert (checked.bad, checked.uneven) == (2 + 3 + 2, 1)
    for sentence, rows in (
        (r"must be finite; row 4 has nan in column 1 \(and 1 more\)", [4, 9]),
        (r"must not be negative; row 5 has -0.5 in column 0 \(and 2 more\)", [5, 6, 7]),
        (r"must sum to 1 in each row; row 11 sums to 1.5 \(and 1 more\)", [11, 29]),
    ):
        with pytest.raises(ValueError, match=sentence):
            Predictions(probs, np.zeros(30, int))
        probs[rows] = 1 / 3
    assert Predictions(probs, np.zeros(30, int)).probs[20].sum() == pytest.approx(1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nothing_is_wrong_with_good_rows(dtype):
    good = np.full((30, 4), 0.25, dtype)
    checked = engine.rows.check(good, 1e-6, 1e-3)
    assert (checked.bad, checked.uneven) == (0, 0)
    assert Predictions(good, np.zeros(30, int)).probs.tobytes() == good.tobytes()


@pytest.mark.parametrize("bad", [np.nan, -np.inf, np.inf])
def test_a_row_has_one_fault_the_worst(bad):
    probs = [[bad, -1.0, 0.5], [-1.0, 0.5, 0.5]]
    with pytest.raises(ValueError, match=f"must be finite; row 0 has {bad} in column 0\\.$"):
        Predictions(probs, [0, 0])


def test_rescale_touches_only_rows_that_need_it():
    probs = np.array([[0.5, 0.5], [0.5, 0.5002], [0.25, 0.75]])
    rescale(probs, 1e-9)
    assert probs[[0, 2]].tolist() == [[0.5, 0.5], [0.25, 0.75]]
    assert probs[1].sum() == pytest.approx(1, abs=1e-15)


def test_rescale_divides_float32_in_float64():
    probs = np.array([[0.3, 0.3, 0.4001]], np.float32)
    wide = probs.astype(np.float64)
    rescale(probs, 1e-6)
    assert probs.tolist() == (wide / fsum(wide[0])).astype(np.float32).tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_softmax(dtype):
    logits = RNG.normal(0, 5, (50, 11)).astype(dtype)
    logits[3, :4] = -np.inf
    wide = logits.astype(float)
    expected = np.array([[np.exp(x - max(row)) for x in row] for row in wide.tolist()])
    expected /= np.array([[fsum(row)] for row in expected.tolist()])
    found = Predictions.from_logits(logits, np.zeros(50, int)).probs
    # An exponential and a sum of 11 of them, each rounded a few times.
    np.testing.assert_allclose(found, expected, rtol=8 * np.finfo(dtype).eps, atol=0)


def test_softmax_of_the_largest_numbers():
    top = np.finfo(np.float64).max
    logits = np.array([[top, -top], [-top, -top], [0.0, top]])
    found = Predictions.from_logits(logits, [0, 0, 0]).probs
    assert found.tolist() == [[1, 0], [0.5, 0.5], [0, 1]]
