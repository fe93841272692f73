"""Laws that hold for every lens, partition, distance and score together."""

import families
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import integer_weights, problems, tie_free, well_spread

from calibrant import Predictions, accuracy, brier_score, log_score, spherical_score
from calibrant.distances import squared_euclidean, total_variation
from calibrant.lenses import Groups, Marginal, Pooled, TopK, TopLabel
from calibrant.partitions import FromFunction, VarianceTree
from calibrant.statistics import ExpectedMiscalibration, WorstMiscalibration

few = settings(max_examples=25)  # each example goes through the whole family

SCORES = (log_score, brier_score, spherical_score, accuracy)

# Two orders of adding a few dozen numbers below 1. The euclidean distance is left out where
# values are compared: near 0 its root turns 1e-16 into 1e-8, and its square is compared.
CLOSE = {"rel": 1e-12, "abs": 1e-13}


def estimates(data):
    """Return every statistic of `data` through every lens, by name."""
    found = {}
    lenses = [lens for lens, _, _ in families.lenses_of(data.m)]
    for lens in [*lenses, Pooled()]:
        seen = lens(data)
        for partition in families.partitions_of(seen.m):
            for statistic in (
                ExpectedMiscalibration(partition, total_variation),
                WorstMiscalibration(partition, squared_euclidean),
            ):
                key = f"{statistic} {getattr(partition, 'split', '')} through {lens}"
                found[key] = statistic(seen)
    return found | {score.__name__: score(data) for score in SCORES}


def repeated(data):
    """Return the rows of `data` as often as their weights say."""
    rows = np.repeat(np.arange(data.n), data.weights.astype(int))
    part = data.take(rows)
    return Predictions.trusted(part.probs, part.labels, part.classes, event=part.event)


@few
@given(problems(weights=integer_weights, kinds=well_spread, max_n=8))
def test_a_weight_is_a_number_of_copies(data):
    assert estimates(data) == pytest.approx(estimates(repeated(data)), **CLOSE)


@few
@given(problems(weights=st.sampled_from((0.0, 0.5, 2.5)), kinds=well_spread, max_n=8))
def test_a_row_of_weight_zero_is_absent(data):
    present = data.take(np.flatnonzero(data.weights > 0))
    assert estimates(data) == pytest.approx(estimates(present), **CLOSE)


@few
@given(problems(weights=False, kinds=well_spread, max_n=8))
def test_weights_of_one_are_no_weights(data):
    ones = Predictions.trusted(
        data.probs, data.labels, data.classes, np.ones(data.n), event=data.event
    )
    assert estimates(data) == estimates(ones)


@few
@given(problems(kinds=well_spread), st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing(data, random):
    order = list(range(data.n))
    random.shuffle(order)
    moved = data.take(np.array(order))
    found, expected = estimates(moved), estimates(data)
    assert found == pytest.approx(expected, **CLOSE)
    # Sums over cells are exact, so not even a last digit moves; scores are plain sums.
    names = {score.__name__ for score in SCORES}
    assert all(found[name] == expected[name] for name in found if name not in names)
    for partition in families.partitions_of(data.m):
        cells = partition.locate(data)[1]
        np.testing.assert_array_equal(partition.locate(moved)[1], cells[order], str(partition))


def test_the_order_of_many_rows_changes_no_cell():
    rng = np.random.default_rng(5)
    probs = rng.dirichlet(np.full(4, 0.4), 3000)
    probs[:1000] = np.eye(4)[rng.integers(0, 4, 1000)]  # ties
    probs[1000:2000] = rng.multinomial(10, [0.4, 0.3, 0.2, 0.1], 1000) / 10
    data = Predictions(probs, rng.integers(0, 4, 3000))
    order = rng.permutation(3000)
    for partition in (VarianceTree(20), VarianceTree(20, "median")):
        cells = partition.locate(data)[1]
        np.testing.assert_array_equal(partition.locate(data.take(order))[1], cells[order])


@few
@given(tie_free())
def test_relabelling_classes_changes_nothing(data):
    order = np.random.default_rng(2).permutation(data.m)
    place = np.argsort(order)
    moved = Predictions.trusted(
        data.probs[:, order].copy(),
        place[data.labels].astype(np.int32),
        data.classes,
        event=int(place[1]),
    )
    pairs = [(TopK(k), TopK(k)) for k in range(1, data.m)]
    pairs += [(Marginal(j), Marginal(int(place[j]))) for j in range(data.m)]
    groups = [[0], list(range(1, data.m))]
    pairs += [(Groups(groups), Groups([[int(place[j]) for j in g] for g in groups]))]
    for a, b in pairs:
        seen = a(data)
        for partition in families.partitions_of(seen.m):
            for make in (ExpectedMiscalibration, WorstMiscalibration):
                found, expected = make(partition)(b(moved)), make(partition)(seen)
                assert found == pytest.approx(expected, **CLOSE)
    # The canonical problem: grids leave out the last class, but these cells do not.
    for partition in (VarianceTree(2), FromFunction(families.largest_over_half)):
        expected = ExpectedMiscalibration(partition)(data)
        assert ExpectedMiscalibration(partition)(moved) == pytest.approx(expected, **CLOSE)


@few
@given(problems())
def test_one_cell_is_the_distance_of_means(data):
    weights = data.weights / data.weights.sum()
    predicted = weights @ data.probs.astype(float)
    if data.m == 2:  # what the event lacks is the other's; a row of float32 may not sum to 1
        predicted[1 - data.event] = 1 - predicted[data.event]
    observed = weights @ np.eye(data.m)[data.labels]
    for partition in families.one_cell(data.m):
        for distance in (total_variation, squared_euclidean):
            expected = pytest.approx(float(distance(observed, predicted)), **CLOSE)
            assert ExpectedMiscalibration(partition, distance)(data) == expected
            assert WorstMiscalibration(partition, distance)(data) == expected


@few
@given(problems(dtype=np.float32))
def test_the_same_values_in_float64_give_the_same(data):
    for lens, _, _ in families.lenses_of(data.m):
        seen = lens(data)
        wide = Predictions.trusted(
            seen.probs.astype(np.float64), seen.labels, seen.classes, _given(seen), seen.event
        )
        for partition in families.partitions_of(seen.m):
            np.testing.assert_array_equal(partition.locate(seen)[1], partition.locate(wide)[1])
            for distance in families.DISTANCES:
                statistic = ExpectedMiscalibration(partition, distance)
                assert statistic(seen) == statistic(wide)
    wide = Predictions.trusted(
        data.probs.astype(np.float64), data.labels, data.classes, _given(data), data.event
    )
    for score in SCORES:
        assert score(data) == score(wide)


def _given(data):
    return data.weights if data.weighted else None


@few
@given(problems())
def test_everything_is_finite_and_in_range(data):
    for name, value in estimates(data).items():
        if name != "log_score":
            assert 0 <= value <= 2, name
    assert log_score(data) >= 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("m", [2, 7])
def test_the_number_of_threads_changes_no_bit(monkeypatch, m, dtype):
    monkeypatch.setattr("calibrant.engine.threads.ENTRIES", 256)  # many blocks
    rng = np.random.default_rng(m)
    logits = rng.normal(0, 2, (400, m)).astype(dtype)
    labels = rng.integers(0, m, 400)
    weights = rng.random(400)
    found = []
    for count in ("1", "2"):
        monkeypatch.setenv("CALIBRANT_THREADS", count)
        data = Predictions.from_logits(logits, labels, weights=weights)
        again = Predictions(data.probs * 1.0004, labels)  # divided by their sums
        found.append(
            (data.probs.tobytes(), again.probs.tobytes(), estimates(data), estimates(again))
        )
    assert found[0] == found[1]


def test_the_law_about_weights_can_fail():
    """The comparison is sharp enough to see one row too many."""
    data = Predictions([0.25, 0.75, 0.5], [0, 1, 1], weights=[2, 1, 1])
    rows = np.array([0, 0, 1, 2, 2])
    twice = data.take(rows)
    wrong = Predictions.trusted(twice.probs, twice.labels, twice.classes, event=1)
    assert estimates(data) != pytest.approx(estimates(wrong), **CLOSE)
    assert estimates(data) == pytest.approx(estimates(repeated(data)), **CLOSE)
    assert TopLabel()(data).n == 3
