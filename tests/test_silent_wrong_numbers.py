"""Wrong numbers that widely used libraries give without a word; here right, or refused."""

import numpy as np
import oracles
import pytest

from calibrant import Predictions, calibration_function
from calibrant.lenses import Marginal, TopLabel
from calibrant.partitions import EqualMass, EqualWidth
from calibrant.statistics import ExpectedMiscalibration

ECE = ExpectedMiscalibration(EqualWidth(10))


def batch():
    """Return P(class 1) of 1,000 rows and outcomes that differ from it by 0.12 in each bin."""
    p = np.repeat(np.arange(10) / 10 + 0.05, 100)
    rate = np.clip(p + np.where(p < 0.5, 0.12, -0.12), 0, 1)
    y = np.tile(np.arange(100), 10) < np.rint(100 * rate)
    return p, y.astype(int)


def test_one_entry_just_above_one_does_not_turn_the_batch_into_logits():
    p, y = batch()
    before = ECE(Predictions(p, y))
    assert before == pytest.approx(0.12, abs=1e-12)  # a thousand additions
    p[-1] = 1 + 1e-6
    # One row of a thousand moved by 0.05 at most.
    assert ECE(Predictions(p, y)) == pytest.approx(before, abs=5.1e-5)
    rows = np.column_stack((1 - p, p))
    rows[-1] = [0, 1 + 1e-6]
    assert ECE(Predictions(rows, y)) == ECE(Predictions(p, y))
    logistic = ECE(Predictions.from_logits(p, y))
    assert abs(logistic - before) > 0.02  # what would have come out


def test_one_nan_is_refused():
    p, y = batch()
    p[17] = np.nan
    with pytest.raises(ValueError, match=r"`probs` must be finite; row 17 is nan\."):
        Predictions(p, y)
    with pytest.raises(ValueError, match=r"`probs` must be finite; row 17 has nan in column 0\."):
        Predictions(np.column_stack((1 - p, p)), y)


def test_logits_are_refused():
    with pytest.raises(ValueError, match=r"Are these logits\? Use `Predictions\.from_logits`\."):
        Predictions([[2.0, -1.0, 0.5]], [0])
    with pytest.raises(ValueError, match=r"Are these logits\? Use `Predictions\.from_logits`\."):
        Predictions([[2.0, 1.0, 0.5]], [0])
    with pytest.raises(ValueError, match=r"Are these logits\? Use `Predictions\.from_logits`\."):
        Predictions([2.0, 0.5], [0, 1])


def test_counters_do_not_stop_at_two_to_the_24():
    n = 40_000_000
    p = np.full(n, 0.75, np.float32)
    y = np.zeros(n, np.int8)
    y[::2] = 1
    data = Predictions(p, y)
    assert data.probs.dtype == np.float32
    fn = calibration_function(data, EqualWidth(15))
    assert fn.counts.tolist() == [n]
    assert fn.observed.tolist() == [[0.5, 0.5]]
    assert fn.predicted.tolist() == [[0.25, 0.75]]
    assert ECE(data) == 0.25


def test_one_has_no_cell_of_its_own():
    data = Predictions([0.95, 1.0], [0, 1])
    assert EqualWidth(10).fit(data).n_cells == 1
    assert ECE(data) == pytest.approx(0.475, abs=1e-15)
    assert ECE(TopLabel()(Predictions(np.eye(3), [0, 1, 2]))) == 0


def test_zero_has_a_cell():
    data = Predictions([0.0, 0.0, 0.05, 0.95], [1, 1, 0, 1])
    fn = calibration_function(data, EqualWidth(10))
    assert fn.counts.tolist() == [3, 1]
    # Of three rows near 0 two are events, and one row at 0.95 is: (1.95 + 0.05) / 4.
    assert ECE(data) == pytest.approx(0.5, abs=1e-15)


@pytest.mark.parametrize("k", [3, 7, 10, 15, 20, 100])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_values_on_an_edge_are_counted_and_averaged_in_one_cell(k, dtype):
    p = (np.arange(k + 1) / k).astype(dtype)
    data = Predictions(p, np.ones(k + 1, int))
    fn = calibration_function(data, EqualWidth(k))
    assert fn.counts.sum() == k + 1
    values = data.probs[:, 1].astype(float)
    cells = [oracles.interval(v, k) for v in values]
    assert fn.counts.tolist() == [cells.count(c) for c in sorted(set(cells))]
    means = [np.mean([v for v, c in zip(values, cells, strict=True) if c == d]) for d in set(cells)]
    np.testing.assert_allclose(fn.predicted[:, 1], sorted(means), rtol=1e-15)
    expected = oracles.expected_miscalibration(data, cells, oracles.total_variation)
    assert ExpectedMiscalibration(EqualWidth(k))(data) == pytest.approx(expected, abs=1e-14)


def test_labels_out_of_range_are_refused():
    probs = np.full((3, 3), 1 / 3)
    for bad, shown in ((3, "3"), (-1, "-1"), (255, "255")):
        with pytest.raises(ValueError, match=rf"whole numbers from 0 to 2; row 1 has {shown}\."):
            Predictions(probs, [0, bad, 2])
    with pytest.raises(ValueError, match=r"whole numbers from 0 to 1; row 0 has 2\."):
        Predictions([0.5], [2])
    with pytest.raises(ValueError, match=r"whole numbers from 0 to 1; row 1 has -1\."):
        Predictions([0.5, 0.5], [1, -1])  # the classes -1 and 1 of a margin


def test_numbers_that_name_some_classes_are_never_taken_for_places():
    probs = np.full((2, 3), 1 / 3)
    with pytest.raises(ValueError, match=r"among the classes '1', '2', 'x'; row 0 has 0\."):
        Predictions(probs, [0, 2], ["1", "2", "x"])
    with pytest.raises(ValueError, match=r"found '1' and '1\.0', which are equal\."):
        Predictions(probs, [1, 2], ["1", "1.0", "2"])
    assert Predictions(probs, [1, 2], ["+1", "2", "3"]).labels.tolist() == [0, 1]


def test_whether_the_model_was_right_is_no_label_of_three_classes():
    with pytest.raises(ValueError, match=r"numbers from 0 to 2; row 0 has True \(and 1 more\)\."):
        Predictions(np.full((2, 3), 1 / 3), [True, False])


def test_missing_mass_is_refused_and_not_given_to_a_class():
    rows = [[0.2, 0.3], [0.5, 0.5]]
    with pytest.raises(
        ValueError, match=r"`probs` must sum to 1 in each row; row 0 sums to 0\.5\."
    ):
        Predictions(rows, [0, 1])
    with pytest.raises(ValueError, match=r"found 1\. For a binary problem give the column"):
        Predictions([[0.2], [0.5]], [0, 1])


@pytest.mark.parametrize("total", [0.93, 0.998, 1.002, 1.2, 2.0])
def test_rows_that_do_not_sum_to_one_are_refused(total):
    probs = np.full((10, 4), 0.25)
    probs[3] *= total
    with pytest.raises(ValueError, match=rf"row 3 sums to {total:g}\. Are these logits"):
        Predictions(probs, np.zeros(10, int))


def test_a_class_that_never_occurs_is_neither_dropped_nor_shared_out():
    probs = np.array([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]])
    data = Predictions(probs, [0, 1])
    assert data.m == 3
    np.testing.assert_array_equal(data.probs, probs)
    one_cell = ExpectedMiscalibration(EqualWidth(1))
    # Means (0.375, 0.375, 0.25) against (0.5, 0.5, 0).
    assert one_cell(data) == 0.25
    assert one_cell(Marginal(2)(data)) == 0.25
    assert Predictions(probs, ["a", "b"], ["a", "b", "c"]).classes == ("a", "b", "c")


def test_a_binary_problem_is_never_guessed_from_the_labels():
    three = Predictions(np.full((2, 3), 1 / 3), [0, 1])
    assert three.m == 3
    assert calibration_function(three, EqualWidth(2)).observed.shape[1] == 3
    ones = Predictions([0.9, 0.8], [1, 1])
    assert ones.m == 2
    assert calibration_function(ones, EqualWidth(1)).observed.tolist() == [[0.0, 1.0]]
    zeros = Predictions([0.9, 0.8], [0, 0])
    assert calibration_function(zeros, EqualWidth(1)).observed.tolist() == [[1.0, 0.0]]
    assert ECE(zeros) == pytest.approx(0.85, abs=1e-15)
    two = Predictions([[0.1, 0.9], [0.2, 0.8]], [1, 1])
    assert ECE(two) == pytest.approx(ECE(ones), abs=1e-15)  # 1 - 0.9 is not 0.1


@pytest.mark.parametrize("b", [1, 2, 5, 10, 15])
def test_b_bins_are_b_bins(b):
    p = np.linspace(0, 1, 1001)
    data = Predictions(p, np.zeros(1001, int))
    assert EqualWidth(b).fit(data).n_cells == b
    assert EqualMass(b).fit(data).n_cells == b
