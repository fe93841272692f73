"""Folds: who is kept away from what."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import Predictions
from calibrant.cross_fitting.before_after import make_folds


def rows(labels, weights=None):
    probs = np.full((len(labels), 4), 0.25)
    return Predictions(probs, labels, weights=weights)


@given(
    st.lists(st.integers(0, 3), max_size=40), st.integers(2, 7), st.integers(0, 2**32), st.data()
)
def test_folds_differ_by_one_row_at_most_in_all_and_in_each_class(more, count, seed, data):
    labels = data.draw(st.permutations([0, 0, 1, 1, 2, 2, 2, *more]))
    folds = make_folds(rows(labels), count, seed)
    sizes = np.bincount(folds, minlength=count)
    assert sizes.max() - sizes.min() <= 1
    for label in set(labels):
        own = np.bincount(folds[np.array(labels) == label], minlength=count)
        assert own.max() - own.min() <= 1


def test_a_seed_gives_the_same_folds_and_another_seed_others():
    data = rows([0, 1, 2, 3] * 20)
    first = make_folds(data, 5, 1)
    assert np.array_equal(first, make_folds(data, 5, 1))
    assert not np.array_equal(first, make_folds(data, 5, 2))
    six = Predictions([0.5] * 6, [0, 0, 0, 0, 1, 1])
    assert make_folds(six, 2, seed=0).tolist() == [0, 1, 1, 0, 1, 0]


def test_rows_without_weight_do_not_unbalance_the_others():
    labels = np.array([0, 1] * 30)
    weights = np.arange(60) % 3 > 0
    folds = make_folds(rows(labels, weights), 5, 0)
    assert np.bincount(folds[weights]).tolist() == [8] * 5


@pytest.mark.parametrize(
    ("labels", "count", "match"),
    [
        ([0, 1, 0, 1], 5, "`folds` must be at most the number of rows, 4; found 5"),
        ([0, 1, 0, 1], 1, "`folds` must be a whole number from 2"),
        ([0, 0, 0, 0], 2, "outcomes of at least two classes; all of them are '0'"),
        ([0, 0, 0, 1], 2, "two classes that occur twice.*only '0' does"),
    ],
)
def test_rows_of_which_no_fold_can_be_left_out_are_refused(labels, count, match):
    with pytest.raises(ValueError, match=match):
        make_folds(rows(labels), count, 0)


def test_rows_without_weight_do_not_count():
    with pytest.raises(ValueError, match="at most the number of rows, 4"):
        make_folds(rows([0, 1, 0, 1, 2], [1, 1, 1, 1, 0]), 5, 0)
