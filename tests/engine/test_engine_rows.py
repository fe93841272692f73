"""Row by row, against NumPy: checks, top classes, one class against the rest, groups."""

from math import fsum

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import problems

from calibrant import Predictions, engine

LENGTHS = [2, 3, 31, 32, 33, 63, 64, 65, 100, 128, 129, 300, 1000]  # both sides of every block
ROUNDING, TOLERANCE = 1e-5, 1e-3


def expected_check(probs):
    """Return how many rows are bad and how many uneven, and the top class of good ones."""
    with np.errstate(invalid="ignore"):
        total = np.array(
            [fsum(row) if np.isfinite(row).all() else np.nan for row in probs.tolist()]
        )
        bad = ~(np.abs(total - 1) <= TOLERANCE) | ~(probs >= 0).all(axis=1)
        uneven = ~bad & (np.abs(total - 1) > ROUNDING)
    return int(bad.sum()), int(uneven.sum()), ~bad


def special_rows(m, dtype):
    """Return rows of every kind: good, uneven, and with each fault at each end and inside."""
    rng = np.random.default_rng(m)
    good = rng.dirichlet(np.full(m, 0.3), 30)
    good[0], good[1], good[2] = np.eye(m)[0], np.eye(m)[-1], 1 / m
    good[3] = np.eye(m)[m // 2]
    good[4, :] = 0
    good[4, [0, -1]] = 0.5  # a tie
    good[5] = np.linspace(1, 0, m) / np.linspace(1, 0, m).sum()
    good[6] = 5e-324  # subnormal
    good[6, m // 2] = 1
    rows = [good.astype(dtype)]
    for value in (np.nan, np.inf, -np.inf, -1e-3, -1e-30, -0.5):
        for place in (0, m // 2, m - 1):
            row = good[7].copy()
            row[(place + 1) % m] += row[place] - (value if np.isfinite(value) else 0)
            row[place] = value
            rows.append(row[None].astype(dtype))
    off = good[8:14] * np.array([[1 + 1e-4], [1 - 1e-4], [1.002], [0.998], [2.0], [0.0]])
    return np.concatenate([*rows, off.astype(dtype)])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("m", LENGTHS)
def test_check(m, dtype):
    probs = special_rows(m, dtype)
    bad, uneven, good = expected_check(probs)
    assert bad >= 18
    assert uneven == 2
    found = engine.rows.check(probs, ROUNDING, TOLERANCE)
    assert (found.bad, found.uneven) == (bad, uneven)
    np.testing.assert_array_equal(found.top.classes[good], probs[good].argmax(axis=1))
    np.testing.assert_array_equal(found.top.probs[good], probs[good].max(axis=1))
    assert found.top.probs.dtype == dtype


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("m", LENGTHS)
def test_of_equal_entries_the_lower_class_is_the_top_one(m, dtype):
    for first in range(0, m, max(1, m // 7)):
        for last in range(first, m, max(1, m // 5)):
            probs = np.zeros((1, m), dtype)
            probs[0, [first, last]] = 0.25
            assert engine.rows.check(probs, 1.0, 1.0).top.classes.tolist() == [first]


@pytest.mark.parametrize("entries", [1, 64, 1 << 19])
@pytest.mark.parametrize("count", ["1", "2"])
def test_blocks_and_threads_change_nothing(monkeypatch, entries, count):
    monkeypatch.setenv("CALIBRANT_THREADS", count)
    monkeypatch.setattr("calibrant.engine.threads.ENTRIES", entries)
    for m in (3, 65):
        probs = special_rows(m, np.float64)
        bad, uneven, good = expected_check(probs)
        found = engine.rows.check(probs, ROUNDING, TOLERANCE)
        assert (found.bad, found.uneven) == (bad, uneven)
        np.testing.assert_array_equal(found.top.classes[good], probs[good].argmax(axis=1))


@pytest.mark.parametrize("m", [2, 32, 33, 300])
def test_minus_zero_is_no_negative_number(m):
    probs = np.zeros((1, m))
    probs[0, 1] = 1.0
    probs[0, 0] = -0.0
    found = engine.rows.check(probs, 1e-9, 1e-3)
    assert (found.bad, found.uneven, found.top.classes.tolist()) == (0, 0, [1])


@pytest.mark.parametrize("m", [2, 32, 33, 1000])
def test_minus_zero_is_accepted(m):
    probs = np.zeros((2, m))
    probs[:, 1] = 1.0
    probs[:, 0] = -0.0
    data = Predictions(probs, [0, 1])
    assert data.top.classes.tolist() == [1, 1]
    np.testing.assert_array_equal(data.probs, probs)


@given(problems())
def test_top_classes(data):
    for k in range(1, data.m + 1):
        found = engine.rows.top_classes(data.probs, k)
        expected = np.argsort(-data.probs, axis=1, kind="stable")[:, :k]
        np.testing.assert_array_equal(found, expected)


@given(problems(), st.data())
def test_one_class_against_the_rest(data, draw):
    classes = draw.draw(st.lists(st.integers(0, data.m - 1), min_size=data.n, max_size=data.n))
    for event in (np.array(classes), np.array([classes[0]]), np.array(classes, np.uint8)):
        probs, labels = engine.rows.against_rest(data.rows, event)
        p = data.probs[np.arange(data.n), np.broadcast_to(event, data.n)]
        np.testing.assert_array_equal(probs[:, 0], p)
        rest = np.maximum(0, 1 - p.astype(float)).astype(p.dtype)
        np.testing.assert_array_equal(probs[:, 1], rest)
        np.testing.assert_array_equal(labels, data.labels != event)
    top = engine.rows.check(data.probs, 1.0, 1.0).top
    for one, other in zip(
        engine.rows.against_top(engine.rows.Ranked(data.labels, top)),
        engine.rows.against_rest(data.rows, top.classes),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)


@given(problems())
def test_groups(data):
    group_of = np.arange(data.m, dtype=np.int32) % 2
    out = engine.rows.group_sums(data.probs, group_of, 2)
    expected = [[fsum(p[0::2]), fsum(p[1::2])] for p in data.probs.tolist()]
    assert out.dtype == data.probs.dtype
    np.testing.assert_allclose(out, expected, rtol=2 * np.finfo(out.dtype).eps)
