"""Sums over cells: exact, so the same bits however rows are cut, ordered and merged."""

from fractions import Fraction
from itertools import pairwise
from math import fsum, nextafter

import integers
import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import problems

from calibrant import Predictions, engine

SUMS = engine.sums
RNG = np.random.default_rng(0)

SPECIAL = [
    0.0,
    1.0,
    2.0**-60,
    2.0**-84,
    2.0**-85,
    3 * 2.0**-86,
    5e-324,
    2.0**-1030,
    nextafter(1.0, 0.0),
    0.1,
    1 / 3,
    *(k * 2.0**-29 for k in (1, 3, 5, 7)),  # halfway between two multiples of 2^-28
    *(0.5 + k * 2.0**-57 for k in (8, 24)),
    *(k * 2.0**-57 for k in (1, 3, 5)),
    *(k * 2.0**-85 for k in (3, 5, 7)),
]
unit_floats = st.one_of(st.sampled_from(SPECIAL), st.floats(0, 1), st.floats(0, 2.0**-50))


@given(unit_floats)
def test_limbs_are_the_nearest_whole_numbers(x):
    expected = integers.limbs(x)
    found = SUMS.cut(x)
    for limb, whole, bits in zip(found, expected, SUMS.LIMBS, strict=True):
        assert Fraction(limb) == Fraction(whole, 2**bits)
    assert abs(Fraction(x) - integers.worth(expected)) <= Fraction(1, 2**85)


@pytest.mark.parametrize("x", SPECIAL)
def test_compiled_limbs_are_those_of_python(x):
    rows = np.array([[x, 1 - x, 0.0]])
    data = Predictions.trusted(rows, np.zeros(1, np.int32), ("a", "b", "c"))
    found = SUMS.add_up(data.rows, np.zeros(1, np.int32), 1)
    assert found.limbs[:, 0, 0].tolist() == integers.limbs(x)
    assert found.limbs[:, 0, 1].tolist() == integers.limbs(1 - x)


def test_whole_and_value_up_to_two_to_the_24_rows():
    """The largest sums of limbs that are kept as floats, and both ends of a limb."""
    rows = 2**24
    assert rows == SUMS.EXACT
    half = [2.0**-29, 2.0**-57]  # a remainder is at most half a unit of the limb before it
    largest = np.array([rows * 1.0, rows * half[0], rows * half[1]])
    for signs in ([1, 1, 1], [1, -1, -1], [1, 1, -1]):
        limbs = largest * signs
        whole = SUMS.whole(limbs)
        assert whole.dtype == np.int64
        for limb, found, bits in zip(limbs.tolist(), whole.tolist(), SUMS.LIMBS, strict=True):
            assert Fraction(limb) == Fraction(found, 2**bits)
        assert SUMS.value(whole) == float(integers.worth(whole))
    # One unit more or less is seen, of every limb.
    for place in range(3):
        more = SUMS.whole(largest)
        more[place] -= 1
        assert integers.worth(more) < integers.worth(SUMS.whole(largest))
    # Sums of several such blocks are whole numbers still.
    many = SUMS.whole(largest) * 100
    assert SUMS.value(many) == pytest.approx(float(integers.worth(many)), rel=2**-52)


@given(st.lists(unit_floats, min_size=1, max_size=30))
def test_a_value_is_the_sum_but_for_what_is_below_the_last_limb(numbers):
    whole = np.array([integers.limbs(x) for x in numbers]).sum(axis=0)
    exact = sum(Fraction(x) for x in numbers)
    found = float(SUMS.value(whole[:, None])[0])
    # Two roundings of the value, and half a unit of the last limb for every number.
    slack = Fraction(found) / 2**52 + Fraction(len(numbers), 2**85)
    assert abs(Fraction(found) - exact) <= slack


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40))
def test_sort_is_stable(values):
    cells = np.array(oracles.ranked(values), np.int32)
    order = SUMS.sort_rows(cells, int(cells.max()) + 1)
    assert order.rows.tolist() == np.argsort(cells, kind="stable").tolist()
    assert order.starts.tolist() == [0, *np.bincount(cells).cumsum().tolist()]


def cells_of(data, k=3):
    return np.array(oracles.equal_width(data, k), np.int32)


def same(a, b):
    for one, other in zip(a, b, strict=True):
        np.testing.assert_array_equal(one, other)


@given(problems())
def test_sums_are_exact(data):
    """Every table against sums of fractions: of weights, of outcomes, of limbs."""
    cells = cells_of(data)
    found = SUMS.add_up(data.rows, cells, int(cells.max()) + 1)
    unit = SUMS.unit_of(data.rows)
    assert unit >= data.weights.max() > unit / 2
    columns = [data.event] if data.m == 2 else range(data.m)
    for c in range(found.mass.size):
        mine = np.flatnonzero(cells == c)
        weights = [Fraction(data.weights[i]) for i in mine]
        assert Fraction(found.mass[c]) == sum(weights)
        for j in range(data.m):
            hits = [w for w, i in zip(weights, mine, strict=True) if data.labels[i] == j]
            assert Fraction(found.observed[c, j]) == sum(hits)
        for k, j in enumerate(columns):
            terms = [integers.limbs(data.weights[i] / unit * float(data.probs[i, j])) for i in mine]
            assert found.limbs[:, c, k].tolist() == np.sum(terms, axis=0).tolist()


@given(problems(), st.data())
def test_any_cut_into_blocks_and_any_order_has_the_same_bits(data, draw):
    cells = cells_of(data)
    size = int(cells.max()) + 1
    whole = SUMS.add_up(data.rows, cells, size)
    order = np.array(draw.draw(st.permutations(range(data.n))))
    moved = data.take(order)
    same(SUMS.add_up(moved.rows, cells[order], size), whole)
    marks = sorted(draw.draw(st.sets(st.integers(1, data.n))) | {0, data.n})
    unit = SUMS.unit_of(data.rows)
    parts = [(moved.take(np.arange(a, b)), cells[order[a:b]]) for a, b in pairwise(marks)]
    if any(not part.weights.any() or SUMS.unit_of(part.rows) != unit for part, _ in parts):
        return  # a block of small weights has another unit
    parts = [SUMS.add_up(part.rows, mine, size) for part, mine in parts]
    draw.draw(st.randoms(use_true_random=False)).shuffle(parts)
    merged = parts[0]
    for part in parts[1:]:
        merged = SUMS.merged(merged, part)
        same(SUMS.merged(part, merged), SUMS.merged(merged, part))
    same(merged, whole)


@pytest.mark.parametrize("exact", [1, 7, 50])
@pytest.mark.parametrize("count", ["1", "2", "5"])
@pytest.mark.parametrize("m", [2, 4])
def test_blocks_and_threads_change_no_bit(monkeypatch, m, count, exact):
    data = Predictions(
        RNG.dirichlet(np.ones(m), 90), RNG.integers(0, m, 90), weights=RNG.random(90)
    )
    cells = cells_of(data)
    monkeypatch.setenv("CALIBRANT_THREADS", "1")
    whole = SUMS.add_up(data.rows, cells, int(cells.max()) + 1)
    monkeypatch.setenv("CALIBRANT_THREADS", count)
    monkeypatch.setattr(SUMS, "EXACT", exact)
    monkeypatch.setattr(engine.threads, "FEW", 1)
    same(SUMS.add_up(data.rows, cells, int(cells.max()) + 1), whole)
    if m == 2:
        edges = engine.grid.edges(3)
        monkeypatch.undo()
        quick = SUMS.add_intervals(data.rows, edges)
        monkeypatch.setattr(SUMS, "EXACT", exact)
        same(SUMS.add_intervals(data.rows, edges), quick)


@given(problems(m=2), st.integers(1, 12))
def test_intervals_are_added_up_without_naming_them(data, k):
    edges = engine.grid.edges(k)
    cells, occupied = engine.grid.intervals(data.probs, data.event, edges)
    same(SUMS.add_intervals(data.rows, edges), SUMS.add_up(data.rows, cells, k))
    assert (SUMS.add_intervals(data.rows, edges).mass[~occupied] == 0).all()


def by_cell(data, span=None, step=1):
    """Return the tables of some cells, one after the other, and the norms of all."""
    cells = cells_of(data)
    count = int(cells.max()) + 1
    order = SUMS.sort_rows(cells, count)
    first, last = span or (0, count)
    shape = (last - first if step else 1, data.m)
    tables = SUMS.CellTables(RNG.random(shape), RNG.random(shape), step)  # what was there goes
    norms = SUMS.CellNorms(*np.zeros((3, count)))
    SUMS.by_cell(data.rows, order, (first, last), tables, norms)
    return tables, norms, oracles.cell_table(data, cells.tolist())


@given(problems())
def test_sums_of_one_cell_after_the_other(data):
    tables, norms, table = by_cell(data)
    for c in range(norms.mass.size):
        nothing = (0.0, [0.0] * data.m, [0.0] * data.m)
        total, p, o = table.get(c, nothing)
        assert norms.mass[c] == total
        # One rounding of a sum, and one of a quotient.
        mass = total or 1.0
        np.testing.assert_allclose(tables.predicted[c] / mass, p, atol=1e-15)
        np.testing.assert_allclose(tables.observed[c] / mass, o, atol=1e-15)
        gap = [a - b for a, b in zip(o, p, strict=True)]
        assert norms.one[c] == pytest.approx(fsum(map(abs, gap)), abs=1e-14)
        assert norms.two[c] == pytest.approx(fsum(d * d for d in gap), abs=1e-14)


@given(problems(), st.data())
def test_sums_of_some_cells_without_their_tables(data, draw):
    _, whole, _ = by_cell(data)
    count = whole.mass.size
    first = draw.draw(st.integers(0, count - 1))
    last = draw.draw(st.integers(first + 1, count))
    _, part, _ = by_cell(data, (first, last), step=0)
    for one, other in zip(part, whole, strict=True):
        np.testing.assert_array_equal(one[first:last], other[first:last])
        assert not one[:first].any()
        assert not one[last:].any()


def test_one_cell_after_the_other_has_the_bits_of_all_at_once():
    for m in (2, 3, 40):
        data = Predictions(RNG.dirichlet(np.ones(m), 80), RNG.integers(0, m, 80))
        cells = cells_of(data)
        found = SUMS.add_up(data.rows, cells, int(cells.max()) + 1)
        tables, norms, _ = by_cell(data)
        np.testing.assert_array_equal(norms.mass, found.mass)
        np.testing.assert_array_equal(tables.observed, found.observed)
        columns = [data.event] if m == 2 else slice(None)
        np.testing.assert_array_equal(tables.predicted[:, columns], SUMS.value(found.limbs))
