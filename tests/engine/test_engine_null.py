"""Cells under redrawn labels: against labels that are laid out and added up by NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import problems

from calibrant import Predictions, engine
from calibrant.checks.parameters import make_key
from calibrant.engine.arrays import Replicates, Source
from calibrant.engine.draws import SPANS

KEY = make_key(3)
REPLICATES = Replicates(2, 9)
NULL = engine.null


def plain_counts(data, cells, n_cells, source, m):
    """Return the weight of each outcome in each cell: (replicates, cells, m)."""
    labels = engine.draws.draw_labels(source, REPLICATES)
    out = np.zeros((REPLICATES.size, n_cells, m))
    for t, drawn in enumerate(labels):
        np.add.at(out[t], (cells, drawn), data.weights)
    return out


def plain_totals(data, cells, n_cells, source):
    """Return the sums and maxima of the three norms over the cells: (3, replicates) twice."""
    counts = plain_counts(data, cells, n_cells, source, data.m)
    mass = np.bincount(cells, data.weights, n_cells)
    held = mass > 0
    probs = data.probs.astype(float)
    if data.m == 2:
        probs[:, 1 - data.event] = 1 - probs[:, data.event]
    predicted = np.stack([np.bincount(cells, data.weights * p, n_cells) for p in probs.T], axis=1)
    gap = (counts - predicted)[:, held] / mass[held, None]
    one, two = np.abs(gap).sum(axis=-1), np.square(gap).sum(axis=-1)
    norms = np.stack([one, np.sqrt(two), two])  # (3, replicates, cells)
    return norms @ (mass[held] / mass.sum()), norms.max(axis=-1)


def cells_for(data, cells, n_cells):
    mass = np.bincount(cells, data.weights, n_cells)
    return NULL.SortedCells(engine.sums.sort_rows(cells, n_cells), mass, float(mass.sum()))


def compare(data, cells, n_cells, table=None):
    source = Source(data.probs, table, KEY, 0)
    seen = data
    found = NULL.null_totals(seen.rows, cells_for(data, cells, n_cells), source, REPLICATES, (0, 3))
    expected, worst = plain_totals(data, cells, n_cells, source)
    # Sums of rounded products in another order; a root near 0 turns 1e-16 into 1e-8.
    atol = np.array([[1e-13], [1e-7], [1e-13]])
    assert (np.abs(found.expected - expected) <= atol + 1e-12 * expected).all()
    assert (np.abs(found.worst - worst) <= atol + 1e-12 * worst).all()
    return found


@settings(max_examples=40)
@given(problems(), st.integers(1, 5))
def test_totals_are_those_of_labels(data, n_cells):
    cells = np.arange(data.n, dtype=np.int32) % n_cells
    compare(data, cells, n_cells)


@pytest.mark.parametrize("weights", [None, "any", "zeros"])
@pytest.mark.parametrize("m", [3, 31, 32, 33, 64, 200])
def test_totals_of_cells_of_any_size(m, weights):
    """Cells of one row, of few rows for the number of outcomes, and of many."""
    rng = np.random.default_rng(m)
    n = 2 * m + 60
    given_weights = {None: None, "any": rng.random(n), "zeros": rng.integers(0, 2, n)}[weights]
    probs = rng.dirichlet(np.full(m, 0.1), n)
    data = Predictions(probs, np.zeros(n, int), weights=given_weights)
    for sizes in ((1,) * n, (2, 5, 1, n - 8), (n,), (m // 2, m // 2 + 1, n - 2 * (m // 2) - 1)):
        cells = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
        compare(data, cells, len(sizes))


@pytest.mark.parametrize("wanted", [(0, 1), (1, 2), (2, 3), (0, 2), (1, 3), (0, 3)])
@pytest.mark.parametrize("m", [3, 40])
def test_only_what_is_wanted(m, wanted):
    rng = np.random.default_rng(m)
    data = Predictions(rng.dirichlet(np.ones(m), 50), np.zeros(50, int))
    cells = np.arange(50, dtype=np.int32) // 7
    source = Source(data.probs, None, KEY, 0)
    by_order = cells_for(data, cells, 8)
    whole = NULL.null_totals(data.rows, by_order, source, REPLICATES, (0, 3))
    found = NULL.null_totals(data.rows, by_order, source, REPLICATES, wanted)
    for norm in range(3):
        for one, other in zip(found, whole, strict=True):
            expected = other[norm] if norm in range(*wanted) else 0 * other[norm]
            np.testing.assert_array_equal(one[norm], expected)


@pytest.mark.parametrize("m", [3, 40])
def test_the_order_of_cells_and_a_cut_of_replicates_change_no_bit(m):
    rng = np.random.default_rng(m)
    data = Predictions(rng.dirichlet(np.ones(m), 60), np.zeros(60, int), weights=rng.random(60))
    cells = rng.integers(0, 9, 60).astype(np.int32)
    source = Source(data.probs, None, KEY, 0)
    whole = NULL.null_totals(data.rows, cells_for(data, cells, 9), source, REPLICATES, (0, 3))
    place = rng.permutation(9).astype(np.int32)
    moved = NULL.null_totals(
        data.rows, cells_for(data, place[cells], 9), source, REPLICATES, (0, 3)
    )
    for one, other in zip(moved, whole, strict=True):
        np.testing.assert_array_equal(one, other)
    by_order = cells_for(data, cells, 9)
    part = NULL.null_totals(data.rows, by_order, source, Replicates(4, 6), (0, 3))
    for one, other in zip(part, whole, strict=True):
        np.testing.assert_array_equal(one, other[:, 2:4])


@settings(max_examples=40)
@given(problems(), st.integers(1, 5), st.data())
def test_counts_are_those_of_labels(data, n_cells, draw):
    cells = np.arange(data.n, dtype=np.int32) % n_cells
    outcomes = draw.draw(st.integers(2, 4))
    shape = (draw.draw(st.sampled_from((1, data.n))), data.m)
    table = np.random.default_rng(0).integers(0, outcomes, shape).astype(np.uint8)
    seen = Predictions(np.full((data.n, outcomes), 1 / outcomes), np.zeros(data.n, int))
    seen = Predictions.trusted(seen.probs, seen.labels, seen.classes, data.weights.copy(), event=0)
    source = Source(data.probs, table, KEY, 0)
    order = engine.sums.sort_rows(cells, n_cells)
    expected = plain_counts(data, cells, n_cells, source, outcomes)
    for span in ((0, n_cells), (n_cells - 1, n_cells)):
        found = engine.null.cell_counts(seen.rows, order, source, REPLICATES, span)
        np.testing.assert_array_equal(found, expected[:, slice(*span)])


@pytest.mark.parametrize("spans", [1, SPANS, SPANS + 1, 20])
@pytest.mark.parametrize("weighted", [False, True])
def test_counts_of_few_and_many_spans_are_those_of_labels(spans, weighted):
    """Spans are counted one by one; where they are many, labels are drawn."""
    rng = np.random.default_rng(spans)
    m, n = 2 * spans + 1, 40
    weights = rng.random(n) if weighted else None
    data = Predictions(rng.dirichlet(np.full(m, 0.3), n), np.zeros(n, int), weights=weights)
    table = (np.arange(m) % 2 == 0)[None].astype(np.uint8)  # the last outcome, and between it
    seen = Predictions(np.full((n, 2), 0.5), np.zeros(n, int), weights=weights)
    cells = np.arange(n, dtype=np.int32) % 3
    source, order = Source(data.probs, table, KEY, 0), engine.sums.sort_rows(cells, 3)
    found = engine.null.cell_counts(seen.rows, order, source, REPLICATES, (0, 3))
    np.testing.assert_array_equal(found, plain_counts(data, cells, 3, source, 2))


@given(problems(), st.data())
def test_counts_of_an_event_are_those_of_labels(data, draw):
    """Of any class against the rest, weights and all."""
    event = np.array([draw.draw(st.integers(0, data.m - 1))])
    cells = np.arange(data.n, dtype=np.int32) % 3
    order = engine.sums.sort_rows(cells, 3)
    cuts = engine.draws.event_cuts(data.probs, event)
    keys = KEY, engine.draws.replicate_keys(KEY, REPLICATES)
    first = draw.draw(st.sampled_from((0, 5)))
    rows = data.rows._replace(first=first)
    labels = engine.draws.draw_labels(Source(data.probs, None, KEY, first), REPLICATES)
    expected = np.zeros((3, REPLICATES.size))
    for t, drawn in enumerate(labels):
        expected[:, t] = np.bincount(cells, data.weights * (drawn == event), 3)
    for span in ((0, 3), (1, 3), (2, 2)):
        found = engine.null.event_counts(rows, order, cuts, keys, span)
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, expected[slice(*span)])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("m", [3, 40])
def test_outcomes_are_counted(m, weighted):
    rng = np.random.default_rng(0)
    weights = rng.integers(1, 9, 700) / 4 if weighted else None
    probs, labels = rng.dirichlet(np.ones(m), 700), rng.integers(0, m, 700)
    rows = Predictions(probs, labels, weights=weights).rows
    outcomes = rng.integers(0, m, (600, 7)).astype(np.uint8)
    expected = np.ones((m, 7))
    for t in range(7):
        each = np.ones(600) if weights is None else weights[50:650]
        expected[:, t] += np.bincount(outcomes[:, t], each, m)
    for dtype in (np.uint8, np.int32):
        table = np.ones((m, 7))
        NULL.count_outcomes(rows, (50, 650), outcomes.astype(dtype), table)
        assert (table == expected).all()


@pytest.mark.parametrize("weighted", [False, True])
def test_residuals_of_events_are_those_of_their_counts(weighted):
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 9, 90) / 4 if weighted else None
    rows = Predictions(rng.random(90), rng.integers(0, 2, 90), weights=weights).rows
    order = engine.sums.sort_rows(rng.integers(0, 20, 90).astype(np.int32), 20)
    cuts = engine.draws.event_cuts(rows.probs, np.array([1]))
    keys = KEY, engine.draws.replicate_keys(KEY, REPLICATES)
    terms = rng.random(20), rng.standard_normal((3, 20))
    expected = np.zeros((3, REPLICATES.size))
    events = NULL.event_counts(rows, order, cuts, keys, (0, 20))
    engine.line.add_residuals(events, *terms, expected)
    assert (NULL.event_residuals(rows, order, cuts, keys, terms) == expected).all()
