from math import inf, log

import numpy as np
import oracles
import pytest
from hypothesis import given
from strategies import problems, tie_free

import calibrant
from calibrant import Predictions, accuracy, brier_score, log_score, spherical_score
from calibrant.scores import all_scores, impossible, why_infinite

SCORES = (log_score, brier_score, spherical_score, accuracy)


@pytest.mark.parametrize("score", SCORES)
@given(problems())
def test_equals_loops(score, data):
    expected = oracles.score(data, oracles.SCORES[score.__name__])
    # A mean of at most a dozen terms. The loops add m squares of differences, the kernel
    # expands them, and a float32 row sums to 1 only to 1e-6, which neither uses.
    assert score(data) == pytest.approx(expected, rel=1e-12, abs=1e-14)


@given(problems())
def test_all_at_once(data):
    found = all_scores(data)
    assert list(found) == ["accuracy", "log_score", "brier_score", "spherical_score"]
    assert found == {score.__name__: score(data) for score in SCORES}


def test_by_hand():
    data = Predictions([[0.5, 0.25, 0.25], [0.0, 1.0, 0.0]], [1, 1])
    assert log_score(data) == log(4) / 2
    assert brier_score(data) == (0.25 + 0.5625 + 0.0625) / 2
    assert spherical_score(data) == pytest.approx((0.25 / 0.375**0.5 + 1) / 2, rel=1e-15)
    assert accuracy(data) == 0.5


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_zero_and_one(dtype):
    right = Predictions(np.eye(3, dtype=dtype), [0, 1, 2])
    assert [score(right) for score in SCORES] == [0, 0, 1, 1]
    wrong = Predictions(np.eye(3, dtype=dtype), [1, 2, 0])
    assert [score(wrong) for score in SCORES] == [inf, 2, 0, 0]


def test_one_impossible_outcome_makes_the_log_score_infinite():
    data = Predictions([0.5] * 1000 + [0.0], [1] * 1001)
    assert log_score(data) == inf
    assert 0 < brier_score(data) < 1


def test_a_row_of_weight_zero_is_absent_even_if_its_outcome_was_impossible():
    data = Predictions([0.5, 0.0], [1, 1], weights=[1, 0])
    assert log_score(data) == log(2)


def test_ties_go_to_the_lower_class():
    probs = [[0.25, 0.25, 0.25, 0.25]] * 4
    assert accuracy(Predictions(probs, [0, 1, 2, 3])) == 0.25
    assert accuracy(Predictions(probs, [0, 0, 0, 0])) == 1
    assert accuracy(Predictions([0.5], [1])) == 0


@pytest.mark.parametrize("score", SCORES)
@given(tie_free())
def test_relabelling_classes_changes_nothing(score, data):
    order = np.random.default_rng(1).permutation(data.m)
    moved = Predictions.trusted(
        data.probs[:, order].copy(), np.argsort(order)[data.labels].astype(np.int32), data.classes
    )
    # m squares are added in another order.
    assert score(moved) == pytest.approx(score(data), rel=1e-13)


@pytest.mark.parametrize("entries", [4, 1 << 19])
@pytest.mark.parametrize("score", SCORES)
def test_blocks_of_rows(monkeypatch, score, entries):
    monkeypatch.setattr("calibrant.engine.threads.ENTRIES", entries)
    rng = np.random.default_rng(0)
    data = Predictions(rng.dirichlet(np.ones(4), 200), rng.integers(0, 4, 200))
    expected = oracles.score(data, oracles.SCORES[score.__name__])
    assert score(data) == pytest.approx(expected, rel=1e-12)  # 200 additions


def test_scores_are_where_the_map_says():
    assert calibrant.scores.log_score is calibrant.log_score


def test_weights_of_one_and_rows_without_weight_change_no_bit():
    rng = np.random.default_rng(0)
    for n in (8, 9, 100, 1001):
        probs, labels = rng.dirichlet(np.ones(3), n), rng.integers(0, 3, n)
        expected = all_scores(Predictions(probs, labels))
        assert all_scores(Predictions(probs, labels, weights=np.ones(n))) == expected
        impossible = np.tile([0.0, 1.0, 0.0], (5, 1))  # an infinite score, and no weight
        more = Predictions(
            np.vstack([probs, impossible]),
            np.append(labels, np.zeros(5, int)),
            weights=np.append(np.ones(n), np.zeros(5)),
        )
        assert all_scores(more) == expected


def test_impossible_outcomes_are_named():
    assert impossible(Predictions([0.2, 1.0], [0, 1])) is None
    zero = Predictions([0.2, 0.0, 0.0, 1.0], [0, 1, 0, 0])
    found = impossible(zero)
    assert found == (2, 1, "1", 0.0, False)
    assert found.sentence == (
        "in row 1 (counted from 0), what was given 0\xa0% occurred, the first of 2 outcomes of"
        " probability 0"
    )
    assert why_infinite(zero, all_scores(zero)) == found.sentence
    assert not why_infinite(zero, {"log_score": 1.0})
    names = Predictions([[0.5, 0.5, 0.0]], ["c"], classes=["a", "b", "c"])
    assert (
        impossible(names).sentence
        == "row 0 (counted from 0) was given 0\xa0% for what occurred, “c”"
    )


def test_predicted_classes_in_place_of_probabilities_are_asked_about():
    asked = " (every probability is 0 or 1: are these predicted classes?)"
    for probs in ([0.0, 1.0, 1.0], [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]):
        assert impossible(Predictions(probs, [0, 1, 0])).sentence.endswith(asked)


def test_certainty_that_single_precision_rounds_to_is_certainty():
    """Cox's test takes it so."""
    data = Predictions(np.array([[1e-12, 1.0]] * 2, np.float32), [1, 0])
    assert np.isfinite(log_score(data))
    assert (
        impossible(data).sentence
        == "in row 1 (counted from 0), what was given 100\xa0% did not occur"
    )
