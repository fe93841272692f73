"""Drawn labels and rows: against whole numbers of Python, and as chance would have them."""

import integers
import numpy as np
import pytest
from chance import BUDGET, agrees
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2
from strategies import problems

from calibrant import Predictions, engine
from calibrant.checks.parameters import make_key
from calibrant.engine.arrays import Replicates, Source

DRAWS = engine.draws
KEY = make_key(0)
B = 20_000

keys = st.integers(0, 2**64 - 1)


def labels_of(probs, key=KEY, start=0, stop=B, first=0, table=None):
    probs = np.ascontiguousarray(np.atleast_2d(probs))
    return DRAWS.draw_labels(Source(probs, table, key, first), Replicates(start, stop))


def rows(m, seed=0):
    """Return rows with zeros at both ends and inside, a sure one, tiny and equal entries."""
    rng = np.random.default_rng(seed)
    inner = rng.dirichlet(np.full(m, 0.5), 4)
    gaps = rng.dirichlet(np.ones(m), 3)
    gaps[0, 0] = gaps[1, -1] = gaps[2, m // 2] = 0
    tiny = np.full(m, 1e-12)
    tiny[m // 2] = 1 - 1e-12 * (m - 1)
    found = np.vstack([inner, gaps, np.eye(m)[[0, m - 1, m // 2]], tiny, np.full(m, 1 / m)])
    return found / found.sum(axis=1, keepdims=True)


# Against whole numbers


@given(keys, st.integers(0, 2**40), st.integers(0, 2**40))
def test_numbers_are_those_of_python(key, b, i):
    (replicate,) = DRAWS.replicate_keys(np.uint64(key), Replicates(b, b + 1))
    assert int(replicate) == integers.replicate_key(key, b)
    (u,) = DRAWS.uniforms(np.uint64(key), (i, i + 1), np.array([replicate]))[:, 0]
    assert u * 2**52 == integers.uniform(key, b, i)
    with np.errstate(over="ignore"):  # a scalar of NumPy says that it overflows, as it should
        row = DRAWS.row_key(np.uint64(key), i)
        assert int(row) == integers.row_key(key, i)
        assert int(DRAWS.uniform(row, replicate)) == integers.uniform(key, b, i)


@given(problems(max_n=8), keys, st.integers(0, 10**6), st.integers(0, 10**9))
def test_labels_are_those_of_python(data, key, start, first):
    found = labels_of(data.probs, np.uint64(key), start, start + 3, first)
    for b in range(3):
        for i, row in enumerate(data.probs.astype(float).tolist()):
            u = integers.uniform(key, start + b, first + i)
            assert found[b, i] == integers.label(row, u)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("m", [2, 3, 4, 31, 32, 33, 64, 65, 200])
def test_labels_of_many_classes_are_those_of_python(m, dtype):
    probs = rows(m).astype(dtype)
    found = labels_of(probs, stop=40)
    expected = [
        [integers.label(row, integers.uniform(int(KEY), b, i)) for i, row in enumerate(listed)]
        for b, listed in enumerate([probs.astype(float).tolist()] * 40)
    ]
    assert found.tolist() == expected


ODD = [
    [1.0, 0.0, 0.0],
    [0.0, 0.0, 1.0],
    [2.0**-60, 1.0, 0.0],  # below half a unit: never drawn
    [2.0**-53, 1.0, 0.0],  # exactly half a unit: to even, so never
    [3 * 2.0**-53, 1.0, 0.0],  # one and a half: two units
    [5e-324, 0.5, 0.5],
    [0.5, 0.5, 2.0**-53],
    [0.25, 0.25, 0.5],
    [1 / 3, 1 / 3, 1 / 3],
    [0.5004, 0.5, 0.0],  # sums to 1 only in part
    [0.4996, 0.5, 0.0],
    [0.1, 0.2, 0.7],
]


@pytest.mark.parametrize("row", ODD, ids=str)
def test_thresholds_are_whole_numbers(row):
    expected = [*integers.thresholds(row), DRAWS.NEVER]
    cuts = np.stack([engine.draws.event_cuts(np.array([row]), np.array([j]))[0] for j in range(3)])
    assert cuts[0, 0] == 0
    found = cuts[:, 1].tolist()
    assert found[: len(expected)] == [int(cut) for cut in expected]
    assert cuts[1:, 0].tolist() == found[:-1]
    # Of a class of probability 0, or less than half a unit, there is nothing between them.
    for j, p in enumerate(row):
        assert (p <= 2.0**-53) == (min(cuts[j, 1], 2**52) <= min(cuts[j, 0], 2**52))
    assert min(found[2], 2**52) == 2**52


@given(problems(max_n=8), st.data())
def test_an_event_is_drawn_between_its_thresholds(data, draw):
    classes = draw.draw(st.lists(st.integers(0, data.m - 1), min_size=data.n, max_size=data.n))
    drawn = labels_of(data.probs, stop=50)
    u = [[integers.uniform(int(KEY), b, i) for i in range(data.n)] for b in range(50)]
    for event in (np.array(classes), np.array(classes[:1]), np.array(classes, np.uint8)):
        cuts = engine.draws.event_cuts(data.probs, event)
        inside = (np.array(u) >= cuts[:, 0]) & (np.array(u) < cuts[:, 1])
        np.testing.assert_array_equal(inside, drawn == event)


@pytest.mark.parametrize("n", [1, 2, 30, 1000])
def test_rows_drawn_with_replacement_are_those_of_python(n):
    for b in range(5):
        expected = [0] * n
        for k in range(n):
            expected[integers.uniform(int(KEY), b, k) * n >> 52] += 1
        assert DRAWS.draw_times(n, KEY, b).tolist() == expected


@given(problems(max_n=6), st.data())
def test_copies_are_those_of_python(data, draw):
    times = draw.draw(st.lists(st.integers(0, 3), min_size=data.n, max_size=data.n))
    for first in (0, 17):
        source = Source(data.probs, None, KEY, first)
        found = DRAWS.draw_copies(source, np.array(times), 4)
        expected = [
            integers.label(row, integers.uniform(int(KEY), 4, first + i + copy * data.n))
            for i, row in enumerate(data.probs.astype(float).tolist())
            for copy in range(times[i])
        ]
        assert found.tolist() == expected


# What a label depends on


@pytest.mark.parametrize("m", [2, 5, 40])
def test_a_chunk_of_rows_draws_what_the_whole_draws(m):
    probs = rows(m)
    whole = labels_of(probs, stop=30)
    for k in (0, 1, 5, len(probs) - 1):
        np.testing.assert_array_equal(labels_of(probs[k:], stop=30, first=k), whole[:, k:])
        np.testing.assert_array_equal(
            labels_of(probs[k : k + 2], stop=30, first=k), whole[:, k : k + 2]
        )


def test_a_label_depends_on_key_replicate_and_row_alone():
    probs = rows(5)
    whole = labels_of(probs, stop=50)
    np.testing.assert_array_equal(labels_of(probs, start=20, stop=30), whole[20:30])
    np.testing.assert_array_equal(labels_of(probs[:3], stop=50), whole[:, :3])
    changed = probs.copy()
    changed[0] = changed[0][::-1]
    np.testing.assert_array_equal(labels_of(changed, stop=50)[:, 1:], whole[:, 1:])


def test_float32_and_float64_of_equal_values_draw_the_same_labels():
    for m in (2, 5, 40):
        narrow = rows(m).astype(np.float32)
        wide = narrow.astype(np.float64)
        np.testing.assert_array_equal(labels_of(narrow, stop=500), labels_of(wide, stop=500))


def test_numbers_of_numpy_are_those_of_the_kernels():
    """Of 256 equal classes, whose sums are exact, the label is the integer part of 256 u."""
    replicates = DRAWS.replicate_keys(KEY, Replicates(7, 60))
    numbers = DRAWS.uniforms(KEY, (2, 9), replicates)
    assert numbers.shape == (7, 53)
    labels = labels_of(np.full((9, 256), 1 / 256), start=7, stop=60)
    np.testing.assert_array_equal(np.floor(256 * numbers).T, labels[:, 2:])


def test_the_number_of_blocks_changes_no_label(monkeypatch):
    probs = rows(7)
    whole = labels_of(probs, stop=20)
    monkeypatch.setattr("calibrant.engine.threads.ENTRIES", 10)  # one row in a block
    for count in ("1", "2"):
        monkeypatch.setenv("CALIBRANT_THREADS", count)
        np.testing.assert_array_equal(labels_of(probs, stop=20), whole)


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.int64])
@pytest.mark.parametrize("single", [False, True])
def test_a_table_tells_the_outcome_of_a_class(single, dtype):
    probs = rows(5)
    table = np.random.default_rng(0).integers(0, 3, (1 if single else len(probs), 5)).astype(dtype)
    found = labels_of(probs, stop=20, table=table)
    classes = labels_of(probs, stop=20)
    expected = np.take_along_axis(np.broadcast_to(table, probs.shape), classes.T, axis=1).T
    np.testing.assert_array_equal(found, expected)


# Chance


@pytest.mark.parametrize("m", [2, 3, 10, 16, 17, 32, 33, 40, 200])
def test_frequencies_are_the_probabilities(m):
    probs = rows(m)
    labels = labels_of(probs)
    assert labels.min() >= 0
    assert labels.max() < m
    counts = np.stack([np.bincount(labels[:, i], minlength=m) for i in range(len(probs))])
    assert (counts[probs == 0] == 0).all()
    assert agrees(counts, B, probs, tests=probs.size).all()
    # The same counts do not agree with the probabilities of the neighbouring class.
    assert not agrees(counts, B, np.roll(probs, 1, axis=1), tests=probs.size).all()


def pairs_are_independent(a, b, m):
    """Pearson's test of the m × m table of pairs, whose margins are uniform."""
    table = np.bincount(a * m + b, minlength=m * m).reshape(m, m)
    expected = a.size / m**2
    return ((table - expected) ** 2 / expected).sum() < chi2.isf(BUDGET, m * m - 1)


@pytest.mark.parametrize("m", [2, 4])
def test_rows_and_replicates_are_independent(m):
    labels = labels_of(np.full((60, m), 1 / m), stop=2000)
    for step in (1, 2, 16):
        assert pairs_are_independent(labels[:, :-step].ravel(), labels[:, step:].ravel(), m)
        assert pairs_are_independent(labels[:-step].ravel(), labels[step:].ravel(), m)
        assert pairs_are_independent(
            labels[:-step, :-step].ravel(), labels[step:, step:].ravel(), m
        )
    other = labels_of(np.full((60, m), 1 / m), key=make_key(1), stop=2000)
    assert pairs_are_independent(labels.ravel(), other.ravel(), m)
    assert not pairs_are_independent(labels.ravel(), labels.ravel(), m)


def test_a_sum_over_rows_scatters_as_independent_rows_do():
    # The variance of 20,000 sums of 50 fair coins is 12.5; its own standard error is 1 %, and
    # five of them is a chance of 6e-7.
    labels = labels_of(np.full((50, 2), 0.5))
    assert labels.sum(axis=1).var() == pytest.approx(12.5, rel=0.05)
    # So is that of a row over replicates, and of the same replicates over other rows.
    assert labels.mean(axis=0).var() * 4 * B == pytest.approx(1, abs=5 * np.sqrt(2 / 50))


def test_rows_are_drawn_with_equal_probability():
    n = 30
    counts = np.zeros(n, int)
    sizes = np.zeros(n + 1, int)
    for b in range(5000):
        drawn = DRAWS.draw_times(n, KEY, b)
        assert drawn.sum() == n
        counts += drawn
        sizes += np.bincount(drawn, minlength=n + 1)
    assert agrees(counts, 5000 * n, 1 / n, tests=n).all()
    # How often a row is drawn in one replicate is binomial (n, 1/n); rows of a replicate are
    # nearly independent, and negatively dependent, so the limit holds.
    never = (1 - 1 / n) ** n
    assert agrees(sizes[0], 5000 * n, never)


def test_copies_of_a_row_draw_labels_of_their_own():
    source = Source(np.full((1, 2), 0.5), None, KEY, 0)
    out = DRAWS.draw_copies(source, np.array([1000]), 0)
    assert agrees(out.sum(), 1000, 0.5)
    assert pairs_are_independent(out[:-1], out[1:], 2)


def test_labels_of_a_resampler_are_these():
    from calibrant.resampling import Exact

    data = Predictions(rows(4), np.zeros(len(rows(4)), int))
    for b in range(5):
        np.testing.assert_array_equal(
            Exact().draw(data, KEY, b).labels, labels_of(data.probs, start=b, stop=b + 1)[0]
        )
