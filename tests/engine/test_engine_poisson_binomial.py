"""Sums of powers, and counts in tables, against fractions and plain loops."""

from fractions import Fraction
from itertools import accumulate, product
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import problems

from calibrant import engine
from calibrant.engine.arrays import Order, Replicates, Source

LAWS = engine.poisson_binomial
ODD = [0.0, 1.0, 0.5, 2.0**-60, 5e-324, 1 - 2.0**-53, 2.0**-10, 1e-3, 0.999, 0.3]


def exact(limbs):
    """Return limbs as a fraction."""
    parts = zip(limbs.tolist(), engine.sums.LIMBS, strict=True)
    return sum(Fraction(limb, 2**bits) for limb, bits in parts)


def terms(p):
    """Return what a row adds to every column, in the arithmetic of the loop."""
    q = 1.0 - p
    v, w = p * q, q - p
    powers = [v]
    for _ in range(LAWS.POWERS - 1):
        powers.append(powers[-1] * v)
    out = [p, *powers, *(w * x for x in powers[:-1])]
    ends = [0.0] * (2 * LAWS.ENDS)
    if v < LAWS.MODERATE:
        end, first = (q, LAWS.ENDS) if p > 0.5 else (p, 0)
        x = end
        for k in range(LAWS.ENDS):
            ends[first + k] = x
            x *= end
    return out + ends


@settings(max_examples=40)
@given(st.lists(st.one_of(st.sampled_from(ODD), st.floats(0, 1)), min_size=1, max_size=40))
def test_sums_are_exact(values):
    """Each sum is that of the terms, rounded to multiples of 2^-84 one by one."""
    p = np.array(values)
    cells = (np.arange(p.size) % 3).astype(np.int32)
    found = LAWS.power_sums(p, cells, 3)
    assert found.rows[:, 0].tolist() == np.bincount(cells, minlength=3).tolist()
    for c in range(3):
        mine = [terms(x) for x in p[cells == c].tolist()]
        assert found.rows[c, 1] == sum(
            x > 0.5 and x * (1 - x) < LAWS.MODERATE for x in p[cells == c]
        )
        for j in range(LAWS.COLUMNS):
            expected = sum((Fraction(row[j]) for row in mine), Fraction(0))
            assert abs(exact(found.limbs[:, c, j]) - expected) <= len(mine) * Fraction(1, 2**85)


def test_many_equal_rows():
    """Limbs of so many rows are added as floats, and then as integers."""
    p = np.full(engine.sums.EXACT + 3, 0.1)
    found = LAWS.power_sums(p, np.zeros(p.size, np.int32), 1)
    assert exact(found.limbs[:, 0, 0]) == p.size * Fraction(0.1)


@settings(max_examples=30)
@given(problems(m=3), st.sampled_from([None, 0, 11]), st.data())
def test_counts_are_added_to_tables(data, first, draw):
    """Rows draw by their numbers, and cells stand anywhere in the tables."""
    rng = np.random.default_rng(draw.draw(st.integers(0, 9)))
    numbers = rng.permutation(1_000)[: data.n] if first is None else None
    source = Source(data.probs, None, np.uint64(5), first or 0, numbers)
    replicates = Replicates(2, 7)
    cells = rng.integers(0, 4, data.n).astype(np.int32)
    order, at = engine.sums.sort_rows(cells, 4), rng.permutation(6)[:4]
    out = np.ones((6, 3, 5))
    engine.null.add_counts(data.rows, order, source, replicates, (at, out))
    expected = np.ones((6, 3, 5))
    places = numbers if first is None else first + np.arange(data.n)
    for i in range(data.n):
        alone = Source(data.probs[i : i + 1], None, np.uint64(5), int(places[i]))
        labels = engine.draws.draw_labels(alone, replicates)[:, 0]
        for t, label in enumerate(labels):
            expected[at[cells[i]], label, t] += data.weights[i]
    assert out.tolist() == expected.tolist()


@settings(max_examples=30)
@given(problems(m=3))
def test_totals_of_tables_are_those_of_rows(data):
    cells = (np.arange(data.n) % 3).astype(np.int32)
    n_cells = min(3, data.n)
    order = engine.sums.sort_rows(cells, n_cells)
    mass = np.bincount(cells, data.weights, n_cells).astype(float)
    if mass.sum() == 0:
        return
    source, replicates = Source(data.probs, None, np.uint64(5), 0), Replicates(0, 6)
    tables = engine.null.SortedCells(Order(*order), mass, float(mass.sum()))
    expected = engine.null.null_totals(data.rows, tables, source, replicates, (0, 3))
    counts = np.zeros((n_cells, 3, 6))
    engine.null.add_counts(data.rows, order, source, replicates, (np.arange(n_cells), counts))
    sums = engine.sums.add_up(data.rows, cells, n_cells)
    predicted = engine.sums.value(sums.limbs) * engine.sums.unit_of(data.rows)
    found = engine.null.table_totals(counts, predicted, mass, (0, 3))
    for mine, theirs in zip(found, expected, strict=True):
        assert mine.tolist() == theirs.tolist()


@pytest.mark.parametrize("values", [[1.0, -1.0, 0.25], [2.0**-84, 2.0**-40, -(2.0**-84)]])
def test_values_are_added_exactly(values):
    limbs = engine.poisson_binomial.add_values(np.array(values), np.zeros(3, np.int32), 1)
    assert exact(limbs[:, 0]) == sum(map(Fraction, values))


@pytest.mark.parametrize("length", [1, 3, 128])
@pytest.mark.parametrize("n", [0, 1, 2, 7, 200])
def test_blocks_of_rows_one_by_one(n, length):
    p = np.random.default_rng(n).random(n)
    p[:2] = [0.0, 1.0][:n]
    found = engine.poisson_binomial.block_counts(p, length)
    blocks = [p[start : start + length] for start in range(0, n, length)]
    assert len(found.spans) == len(found.lows) == len(blocks)
    for low, (start, stop), mine in zip(found.lows, found.spans, blocks, strict=True):
        law = np.ones(1)
        for q in mine:
            law = np.append(law, 0.0) * (1 - q) + np.append(0.0, law) * q
        pmf = np.zeros(mine.size + 1)
        pmf[low : low + stop - start] = found.pmf[start:stop]
        # Ends below 1e-30 are left out; the rest is rounded three times a row.
        np.testing.assert_allclose(pmf, law, rtol=3 * mine.size * 2.3e-16, atol=1e-29)


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


def test_refuses_sizes_below_zero():
    with pytest.raises(IndexError, match=r"`sizes` must be at least 0 and below"):
        engine.poisson_binomial.reach(
            np.array([0.5, 0.5]), np.array([2, -1]), np.array([1.0, 0.5]), 1.0
        )
    with pytest.raises(TypeError, match="`sizes` must be integers; found float64"):
        engine.poisson_binomial.reach(np.array([0.5]), np.array([1.0]), np.array([0.5]), 1.0)
