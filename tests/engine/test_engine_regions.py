"""Tables of pairs of columns, against plain loops."""

import numpy as np
import pytest

from calibrant import engine
from calibrant.engine.regions import Family, Layout

RNG = np.random.default_rng(0)
SIZES = [1, 4, 3]
LAYOUT = Layout.of(SIZES, [(0, 1), (0, 2), (1, 2)])
CODES = np.stack([RNG.integers(0, size, 200) for size in SIZES], axis=1).astype(np.uint8)


def masks(pair, low, high):
    """Return the rows of each rectangle."""
    columns = LAYOUT.pairs[pair, :2]
    inside = [
        (CODES[:, columns[:, k]] >= low[:, k]) & (CODES[:, columns[:, k]] < high[:, k])
        for k in range(2)
    ]
    return (inside[0] & inside[1]).T


def all_rectangles():
    """Return every rectangle of every pair."""
    found = []
    for q, (a, b, _) in enumerate(LAYOUT.pairs):
        for i in range(SIZES[a]):
            for k in range(i + 1, SIZES[a] + 1):
                for j in range(SIZES[b]):
                    found += [(q, i, j, k, m) for m in range(j + 1, SIZES[b] + 1)]
    table = np.array(found)
    return table[:, 0], table[:, 1:3], table[:, 3:5]


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_rectangles_are_sums_over_their_rows(dtype):
    values = RNG.integers(-5, 6, (200, 3)).astype(dtype)
    table = engine.regions.tables(CODES, LAYOUT, values)
    engine.regions.accumulate(LAYOUT, table)
    pair, low, high = all_rectangles()
    found = engine.regions.rectangles(table, LAYOUT.corners(pair, low, high))
    assert found.dtype == dtype
    assert (found == masks(pair, low, high).astype(dtype) @ values).all()


def test_the_maximum_steps_down():
    values = RNG.integers(0, 2, (200, 7)).astype(np.int32)
    table = engine.regions.tables(CODES, LAYOUT, values)
    engine.regions.accumulate(LAYOUT, table)
    pair, low, high = all_rectangles()
    rows = masks(pair, low, high)
    n = rows.sum(axis=1)
    centre, scale = n / 2.0, 2.0 / np.sqrt(np.maximum(n, 1))
    limits = np.sort(RNG.random(n.size) * 3)[::-1].copy()
    family = Family(LAYOUT.corners(pair, low, high), centre, scale)
    hits, largest = engine.regions.step_down(family, limits, table)
    z = np.abs(rows @ values - centre[:, None]) * scale[:, None]
    weaker = np.maximum.accumulate(z[::-1], axis=0)[::-1]  # of a region and all after it
    assert (hits == (weaker >= limits[:, None]).sum(axis=1)).all()
    assert largest == pytest.approx(weaker[0])


def test_refusals():
    values = np.ones((200, 1), np.int64)
    with pytest.raises(IndexError, match="below the number of codes"):
        engine.regions.tables(CODES + np.uint8(1), LAYOUT, values)
    with pytest.raises(IndexError, match="`table` must have"):
        engine.regions.add(CODES, LAYOUT, values, np.zeros((3, 1), np.int64))
    with pytest.raises(IndexError, match="a multiple of"):
        engine.regions.accumulate(LAYOUT, np.zeros((3, 1), np.int64))
    one = np.ones(1)
    family = Family(np.full((1, 4), 10**9), one, one)
    with pytest.raises(IndexError, match="`corners` must be at least 0 and below"):
        engine.regions.step_down(family, one, np.zeros((LAYOUT.cells, 1), np.int64))
    with pytest.raises(IndexError, match="`pairs` must be at least 0 and below 3"):
        Layout.of(SIZES, [(0, 7)])
    with pytest.raises(TypeError, match="`codes` must be an array of uint8"):
        engine.regions.tables(CODES.astype(float), LAYOUT, values)
