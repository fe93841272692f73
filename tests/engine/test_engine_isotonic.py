"""Pool adjacent violators, against the minimax formula and a sum that no function beats."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrant import engine

line = engine.line
cell = st.tuples(st.integers(0, 4), st.integers(0, 4))


def minimax(cells):
    """Return min over b ≥ c of max over a ≤ c of the frequency in cells a … b, for each c."""

    def frequency(a, b):
        others, events = (sum(side) for side in zip(*cells[a : b + 1], strict=True))
        return Fraction(events, others + events)

    return [
        min(max(frequency(a, b) for a in range(c + 1)) for b in range(c, len(cells)))
        for c in range(len(cells))
    ]


def pooled(counts, cuts=(), losses=None):
    """Pool counts (size, cells, 2), handed over in parts; cells have as many rows in each."""
    mass = counts[0].sum(axis=1)
    pools = line.Pools.start(counts.shape[0])
    losses = np.zeros((2, counts.shape[1])) if losses is None else losses
    for first, last in zip((0, *cuts), (*cuts, counts.shape[1]), strict=True):
        part = slice(first, last)
        pools = line.pool(counts[:, part, 1].T, mass[part], losses[:, part], first, pools)
    return pools


@settings(max_examples=200)
@given(st.lists(cell.filter(any), min_size=1, max_size=9))
def test_the_fit_is_that_of_the_minimax_formula(cells):
    pools = pooled(np.array([cells], float))
    found = pools.values(np.arange(len(cells)))[0]
    assert found.tolist() == [float(value) for value in minimax(cells)]
    levels = np.unique(found)
    assert levels.size == pools.height[0]
    assert (np.diff(found) >= 0).all()


@given(st.lists(cell, min_size=1, max_size=9).filter(lambda cells: any(map(any, cells))))
def test_cells_without_rows_change_nothing(cells):
    held = [counts for counts in cells if any(counts)]
    at = np.flatnonzero([any(counts) for counts in cells])
    found = pooled(np.array([cells], float)).values(at)
    np.testing.assert_array_equal(found, pooled(np.array([held], float)).values(np.arange(at.size)))


@given(st.integers(0, 2**32 - 1), st.sets(st.integers(0, 300), max_size=4))
def test_parts_and_replicates_change_no_bit(seed, cuts):
    rng = np.random.default_rng(seed)
    chance = np.linspace(0, 1, 300)
    events = (rng.random((5, 300)) < chance**2).astype(float)
    counts, losses = np.stack((1 - events, events), axis=2), rng.random((2, 300))
    together = pooled(counts, sorted(cuts), losses)
    for t in range(5):
        alone = pooled(counts[t : t + 1], (), losses)
        height = int(alone.height[0])
        assert together.height[t] == height
        for many, one in zip(together[:-1], alone[:-1], strict=True):
            np.testing.assert_array_equal(many[t, :height], one[0, :height])


def test_more_pools_than_there_was_room_for():
    cells = 1000
    counts = np.zeros((2, cells, 2))
    counts[0, :, 0], counts[0, :, 1] = np.arange(cells, 0, -1), np.arange(cells)  # rises
    counts[1, :, 0], counts[1, :, 1] = np.arange(cells), np.arange(cells, 0, -1)  # falls
    pools = pooled(counts, (10, 500))
    assert pools.height.tolist() == [cells, 1]
    assert pools.exist.sum(axis=1).tolist() == [cells, 1]
    np.testing.assert_array_equal(
        pools.values(np.arange(cells))[0], counts[0, :, 1] / counts[0].sum(axis=1)
    )


def test_an_infinite_loss_counts_where_it_occurs():
    losses = np.array([[np.inf, 1.0], [0.0, np.inf]])
    for counts, expected in (([[3, 0], [0, 2]], 2.0), ([[3, 1], [0, 2]], np.inf)):
        pools = pooled(np.array([counts], float), (), losses)
        assert pools.loss[0, : pools.height[0]].sum() == expected


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(st.lists(st.integers(0, 5)), st.lists(st.integers(0, 5)))
def test_tally_counts(dtype, others, events):
    p, occurred = np.array([*others, *events], dtype) / 5, np.arange(len(others + events))
    order = np.random.default_rng(0).permutation(p.size)
    found = line.tally(p[order], (occurred >= len(others))[order])
    all_rows, some = Counter(others + events), Counter(events)
    keys = sorted(all_rows)
    assert found[0].tolist() == (np.array(keys, dtype) / 5).astype(float).tolist()
    assert found[1].tolist() == [all_rows[k] for k in keys]
    assert found[2].tolist() == [some[k] for k in keys]
