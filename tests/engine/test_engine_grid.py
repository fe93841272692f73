"""Intervals and keys of a grid, against plain Python."""

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import problems

from calibrant import engine
from calibrant.partitions import grid


def intervals(p, k):
    """Return the interval of each number, by both ways there are."""
    probs = np.array(p, np.float64)[:, None]
    keys = engine.grid.box_keys(probs, (0, 1), engine.grid.edges(k))[:, 0].tolist()
    cells, occupied = engine.grid.intervals(probs, 0, engine.grid.edges(k))
    assert cells.tolist() == keys
    assert np.flatnonzero(occupied).tolist() == sorted(set(keys))
    assert [engine.grid.interval(x, engine.grid.edges(k)) for x in p] == keys
    return keys


@given(st.lists(st.floats(0, 1), min_size=1), st.integers(1, 200))
def test_interval(p, k):
    assert intervals(p, k) == [oracles.interval(x, k) for x in p]


def test_interval_on_and_beside_every_edge():
    for k in range(1, 400):
        edges = np.arange(k + 1) / k
        for p in (np.nextafter(edges, -1).clip(0), edges, np.nextafter(edges, 2).clip(max=1)):
            expected = (np.searchsorted(edges, p, side="right") - 1).clip(max=k - 1)
            probs = p[:, None]
            found = engine.grid.intervals(probs, 0, engine.grid.edges(k))[0]
            np.testing.assert_array_equal(found, expected)
            keys = engine.grid.box_keys(probs, (0, 1), engine.grid.edges(k))[:, 0]
            np.testing.assert_array_equal(keys, expected)


def test_edges_are_open_at_the_ends():
    assert engine.grid.edges(4).tolist() == [-np.inf, 0.25, 0.5, 0.75, np.inf]
    assert intervals([0.0, 5e-324, 1.0, 1.0 + 1e-9], 4) == [0, 0, 3, 3]


BIG = st.integers(0, 2**64 - 1)


@given(st.integers(1, 4).flatmap(lambda w: st.lists(st.tuples(*w * [st.integers(0, 2) | BIG]))))
def test_equal_keys_have_one_rank(keys):
    width = len(keys[0]) if keys else 1
    found, ranks = grid.ranked(np.array(keys, np.uint64).reshape(-1, width))
    different = sorted(set(keys))
    assert [tuple(key) for key in found.tolist()] == different
    assert ranks.tolist() == [different.index(key) for key in keys]


def test_many_keys_have_different_ranks():
    keys = np.arange(20_000, dtype=np.uint64)[::-1, None] << np.uint64(40)
    found, ranks = grid.ranked(keys)
    np.testing.assert_array_equal(ranks, np.arange(20_000)[::-1])
    np.testing.assert_array_equal(found, keys[::-1])


@pytest.mark.parametrize("base", [1, 2, 3, 10, 999, 2**31, 2**33])
def test_digits_fit_into_words(base):
    digits = engine.grid.Digits.of(7, base)
    assert base**digits.per_word <= 2**64
    assert digits.words * digits.per_word >= 7
    assert (digits.words - 1) * digits.per_word < 7


@given(problems(), st.integers(1, 12))
def test_digits_are_unpacked(data, k):
    """A key is the intervals along the columns; unpacked, they are there again."""
    digits = engine.grid.Digits.of(data.m, k)
    keys = engine.grid.box_keys(data.probs, (0, data.m), engine.grid.edges(k))
    expected = [[oracles.interval(p, k) for p in row] for row in data.probs.tolist()]
    assert digits.unpack(keys).tolist() == expected


@given(problems(), st.integers(1, 7))
def test_simplex_keys_are_the_names_of_cells(data, k):
    count = data.m - 1
    digits = engine.grid.Digits.of(2 * count, max(k, count))
    keys = engine.grid.simplex_keys(data.probs, (0, count), engine.grid.edges(k), digits)
    names = [oracles.simplex_name(row[:count], k) for row in data.probs.tolist()]
    assert digits.unpack(keys).tolist() == [[*whole, *ranks] for whole, ranks in names]
