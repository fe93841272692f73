"""Cumulative residuals along sorted predictions, and sums of residuals."""

from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import engine

line = engine.line


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=40))
def test_running_totals_are_exact_sums_rounded(terms):
    found = line.running_totals(np.array(terms))
    exact = list(accumulate(Fraction(x) for x in terms))
    ulp = np.spacing(max(float(exact[-1]), 5e-324))
    for mine, theirs in zip(found.tolist(), exact, strict=True):
        assert abs(Fraction(mine) - theirs) <= Fraction(float(ulp))


def test_running_totals_of_nothing():
    assert line.running_totals(np.zeros(3)).tolist() == [0.0, 0.0, 0.0]


def make(size, cells, seed=0):
    rng = np.random.default_rng(seed)
    events = rng.integers(0, 5, (cells, size)).astype(float)
    return events, rng.random(cells) * 9, np.sort(rng.random(cells)), rng.normal(size=(3, cells))


@pytest.mark.parametrize("cut", [0, 2, 7])
def test_paths_step_by_step(cut):
    events, predicted, values, _ = make(4, 7)
    gaps = np.diff(values, append=1.0)
    found = engine.arrays.blank(line.Paths, size=4)
    for part in (slice(0, cut), slice(cut, 7)):
        line.extend(events[part], part.start, predicted, values, found)
    for t in range(4):
        so_far = list(accumulate(events[:, t].tolist()))
        path = [a - b for a, b in zip(so_far, predicted.tolist(), strict=True)]
        assert found.events[t] == so_far[-1]
        assert found.largest[t] == max(0.0, *path)
        assert found.smallest[t] == min(0.0, *path)
        # The compiled sum may fuse a product with an addition.
        assert found.area[t] == pytest.approx(gaps @ path, rel=1e-14, abs=1e-14)
        assert found.square[t] == pytest.approx(gaps @ np.square(path), rel=1e-14)


@pytest.mark.parametrize("cut", [0, 2, 7])
def test_sums_of_residuals(cut):
    events, predicted, _, factors = make(4, 7)
    found = np.zeros((3, 4))
    for part in (slice(0, cut), slice(cut, 7)):
        line.add_residuals(events[part], predicted[part], factors[:, part], found)
    expected = factors @ (events - predicted[:, None])
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)


def test_refuses_arrays_that_do_not_fit():
    events, predicted, values, factors = make(2, 3)
    start = engine.arrays.blank(line.Paths, size=2)
    with pytest.raises(TypeError, match=r"`paths.events` must be an array of float64 and shape"):
        line.extend(events[:, :1], 0, predicted, values, start)
    with pytest.raises(TypeError, match=r"`predicted` must be an array of float64 and shape"):
        line.extend(events, 0, predicted[:, None], values, start)
    with pytest.raises(IndexError, match=r"`first` must leave 3 values; found 0"):
        line.extend(events, 0, predicted, values[:2], start)
    for first in (-1, 1):
        with pytest.raises(IndexError, match=r"`first` must leave 3 values; found"):
            line.extend(events, first, predicted, values, start)
    with pytest.raises(TypeError, match=r"`paths.events` must be an array of float64"):
        line.extend(events, 0, predicted, values, engine.arrays.blank(line.Paths, size=3))
    with pytest.raises(TypeError, match=r"`paths.area` must be an array of float64"):
        line.extend(events, 0, predicted, values, start._replace(area=np.zeros(1)))
    with pytest.raises(TypeError, match=r"`factors` must be an array of float64 and shape"):
        line.add_residuals(events, predicted, factors[:, :2], np.zeros((3, 2)))
    with pytest.raises(TypeError, match=r"`sums` must be an array of float64 and shape"):
        line.add_residuals(events, predicted, factors, np.zeros((3, 4)))
