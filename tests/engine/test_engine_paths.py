"""Cumulative residuals, sums of residuals, and the chance that a path reaches a level."""

from fractions import Fraction
from itertools import accumulate, product
from math import prod

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


def reach_in_loops(values, sizes, predicted, level):
    """Return the chance over all outcomes that a path reaches the level."""
    rows = [v for v, size in zip(values, sizes, strict=True) for _ in range(size)]
    ends = list(accumulate(sizes))
    total = 0.0
    for outcomes in product((0, 1), repeat=len(rows)):
        offs = [abs(sum(outcomes[:end]) - p) for end, p in zip(ends, predicted, strict=True)]
        if max(offs, default=0.0) >= level:
            total += prod(p if y else 1 - p for p, y in zip(rows, outcomes, strict=True))
    return total


@given(
    st.lists(st.sampled_from((0.0, 0.125, 0.5, 0.75, 1.0)), min_size=1, max_size=5),
    st.lists(st.integers(0, 2), min_size=5, max_size=5),
    st.sampled_from((0.0, 0.25, 0.5, 1.0, 1.25, 9.0)),
)
def test_the_chance_to_reach_a_level(values, sizes, level):
    sizes = sizes[: len(values)]
    predicted = list(accumulate(v * size for v, size in zip(values, sizes, strict=True)))
    found = engine.poisson_binomial.reach(
        np.array(values), np.array(sizes), np.array(predicted), level
    )
    expected = reach_in_loops(values, sizes, predicted, level)
    assert found == pytest.approx(expected, rel=1e-13, abs=1e-15)


def test_small_chances_keep_their_digits():
    n = 1000
    found = engine.poisson_binomial.reach(np.array([0.5]), np.array([n]), np.array([n / 2]), n / 2)
    assert found == 2.0 ** (1 - n)


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
    with pytest.raises(TypeError, match="`sizes` must be integers; found float64"):
        engine.poisson_binomial.reach(np.array([0.5]), np.array([1.0]), np.array([0.5]), 1.0)


def test_refuses_sizes_below_zero():
    with pytest.raises(IndexError, match=r"`sizes` must be at least 0 and below"):
        engine.poisson_binomial.reach(
            np.array([0.5, 0.5]), np.array([2, -1]), np.array([1.0, 0.5]), 1.0
        )
