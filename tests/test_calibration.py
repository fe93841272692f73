import itertools
import pickle

import families
import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import problems, well_spread

from calibrant import CalibrationFunction, Predictions, calibration_function, lenses
from calibrant.calibration import CellSums, Gathered
from calibrant.partitions import EqualMass, EqualWidth, FromFunction, VarianceTree

# Cell sums of at most a dozen numbers below 1, and one division.
ROUNDING = 1e-14


@given(problems())
def test_equals_loops(data):
    for partition in families.partitions_of(data.m):
        fn = calibration_function(data, partition)
        table = oracles.cell_table(data, partition.locate(data)[1].tolist())
        assert fn.n_cells == partition.fit(data).n_cells
        for c in range(fn.n_cells):
            nothing = (0.0, [0.0] * data.m, [0.0] * data.m)
            mass, predicted, observed = table.get(c, nothing)
            assert fn.counts[c] == mass  # whole numbers, or sums of them and quarters: exact
            np.testing.assert_allclose(fn.predicted[c], predicted, rtol=0, atol=ROUNDING)
            np.testing.assert_allclose(fn.observed[c], observed, rtol=0, atol=ROUNDING)
        np.testing.assert_array_equal(fn.deviations, fn.observed - fn.predicted)
        assert fn.proportions.sum() == pytest.approx(1, abs=ROUNDING)
        assert fn.classes == data.classes


@given(problems())
def test_r_hat_is_constant_on_cells(data):
    for partition in families.partitions_of(data.m):
        fn = calibration_function(data, partition)
        cells = partition.locate(data)[1]
        points = data.probs.astype(np.float64)
        np.testing.assert_array_equal(fn(points), fn.observed[cells])
        np.testing.assert_array_equal(fn(points[0]), fn.observed[cells[0]])


@given(problems(weights=False))
def test_counts_are_whole_numbers(data):
    fn = calibration_function(data, EqualWidth(3))
    assert fn.counts.dtype == np.int64
    assert fn.counts.sum() == data.n
    assert not fn.weighted


def test_by_hand():
    probs = [[0.5, 0.25, 0.25], [0.75, 0.25, 0.0], [0.25, 0.5, 0.25]]
    fn = calibration_function(Predictions(probs, [0, 1, 2]), EqualWidth(2))
    # First coordinate below 1/2 or not, second below 1/2 or not: (0, 1) then (1, 0).
    assert fn.counts.tolist() == [1, 2]
    assert fn.proportions.tolist() == [1 / 3, 2 / 3]
    assert fn.predicted.tolist() == [[0.25, 0.5, 0.25], [0.625, 0.25, 0.125]]
    assert fn.observed.tolist() == [[0, 0, 1], [0.5, 0.5, 0]]
    assert fn.deviations.tolist() == [[-0.25, -0.5, 0.75], [-0.125, 0.25, -0.125]]
    assert str(fn) == "calibration function of 3 outcomes on 2 cells"


def test_weights_by_hand():
    data = Predictions([0.25, 0.25, 0.75], [0, 1, 1], weights=[3, 1, 0])
    fn = calibration_function(data, EqualWidth(2))
    assert fn.counts.tolist() == [4.0, 0.0]
    assert fn.observed[:, 1].tolist() == [0.25, 0.0]
    assert fn.predicted[:, 1].tolist() == [0.25, 0.0]
    assert fn([0.3, 0.7]).tolist() == [0.0, 0.0]  # no weight there


def test_r_hat_of_an_empty_cell_is_zero():
    fn = calibration_function(Predictions([0.05, 0.95], [1, 1]), EqualWidth(10))
    assert fn([[0.5, 0.5], [0.96, 0.04], [0.0, 1.0]]).tolist() == [[0, 0], [0, 1], [0, 1]]
    seen = FromFunction(lambda probs: probs[:, 1] > 0.5)
    low = calibration_function(Predictions([0.05], [1]), seen)
    assert low([0.2, 0.8]).tolist() == [0, 0]


def test_data_dependent_partitions_reach_everywhere():
    data = Predictions([0.4, 0.45, 0.55, 0.6], [0, 1, 1, 1])
    for partition in (EqualMass(2), VarianceTree(4)):
        fn = calibration_function(data, partition)
        assert fn([[1.0, 0.0], [0.0, 1.0]]).tolist() == [[0.5, 0.5], [0.0, 1.0]]


def test_one_split_bins_another():
    rng = np.random.default_rng(0)
    a = Predictions(rng.dirichlet(np.ones(3), 400), rng.integers(0, 3, 400))
    b = Predictions(rng.dirichlet(np.ones(3), 400), rng.integers(0, 3, 400))
    fn = calibration_function(a, VarianceTree(50))
    again = Predictions(fn(b.probs), b.labels)  # frequencies are predictions: recalibration
    assert again.n == 400


@pytest.mark.parametrize(
    ("mu", "match"),
    [
        ([0.5, 0.25, 0.25], r"`mu` must be of shape \(2,\) or \(k, 2\); found \(3,\)\."),
        (0.5, r"`mu` must be of shape \(2,\) or \(k, 2\); found \(\)\."),
        ([[[0.5, 0.5]]], r"`mu` must be of shape \(2,\) or \(k, 2\); found \(1, 1, 2\)\."),
        ([np.nan, np.nan], r"`mu` must not be negative and sum to 1; found \[nan, nan\]\."),
        ([[0.5, 0.5], [1.5, -0.5]], r"not be negative and sum to 1; found \[1\.5, -0\.5\]\."),
        ([0.5, 0.6], r"`mu` must not be negative and sum to 1; found \[0\.5, 0\.6\]\."),
    ],
)  # fmt: skip
def test_r_hat_refuses(mu, match):
    fn = calibration_function(Predictions([0.1, 0.9], [0, 1]), EqualWidth(2))
    with pytest.raises(ValueError, match=match):
        fn(mu)


@pytest.mark.parametrize("partition", families.partitions_of(2), ids=str)
def test_survives_pickling(partition):
    fn = calibration_function(Predictions([0.1, 0.4, 0.9], [0, 1, 1]), partition)
    again = pickle.loads(pickle.dumps(fn))
    assert isinstance(again, CalibrationFunction)
    mu = [[0.95, 0.05], [0.5, 0.5], [0.0, 1.0]]
    np.testing.assert_array_equal(again(mu), fn(mu))


def test_outcome_names_are_those_of_the_lens():
    data = Predictions([[0.5, 0.25, 0.25]], [0], ["cat", "dog", "car"])
    assert calibration_function(lenses.TopLabel()(data), EqualWidth(2)).classes == (
        "predicted class",
        "other",
    )


@given(problems())
def test_rows_are_sorted_by_cell_and_keep_their_order(data):
    for partition in families.partitions_of(data.m):
        found = Gathered(data, partition)
        cells = partition.locate(data)[1]
        np.testing.assert_array_equal(found.of_rows, cells)
        assert found.order.rows.tolist() == np.argsort(cells, kind="stable").tolist()
        assert np.diff(found.order.starts).tolist() == np.bincount(cells).tolist()
        assert found.mass.tolist() == np.bincount(cells, data.weights).tolist()
        assert found.proportions.sum() == pytest.approx(1, abs=ROUNDING)


@pytest.mark.parametrize("entries", [1, 7, 64, 1 << 19])
def test_blocks_of_cells_cover_all_cells_once(entries):
    rng = np.random.default_rng(0)
    data = Predictions(rng.random(100) ** 3, rng.integers(0, 2, 100))
    for partition in families.partitions_of(2):
        found = Gathered(data, partition)
        covered = [c for first, last in found.blocks(entries) for c in range(first, last)]
        assert covered == list(range(found.n_cells))


def same_bits(a, b):
    for one, other in zip(a, b, strict=True):
        np.testing.assert_array_equal(one, other)


@given(problems(kinds=well_spread), st.data())
def test_sums_are_the_same_however_rows_are_cut_and_ordered(data, draw):
    """Blocks of rows, merged in any order, and rows in any order, have the same bits."""
    order = np.array(draw.draw(st.permutations(range(data.n))))
    marks = sorted(draw.draw(st.sets(st.integers(1, data.n))) | {0, data.n})
    for partition in families.partitions_of(data.m):
        cells = Gathered(data, partition)
        of_rows, size = cells.of_rows, cells.n_cells
        whole = cells.sums()
        parts = [
            CellSums.of(data.take(order[a:b]), of_rows[order[a:b]], size, whole.unit)
            for a, b in itertools.pairwise(marks)
        ]
        for some in (parts, parts[::-1]):
            merged = some[0]
            for part in some[1:]:
                merged = merged.merge(part)
            same_bits(merged.sums, whole.sums)
            same_bits(merged.finish(), whole.finish())
            same_bits(merged.norms(), whole.norms())


def test_sums_of_other_problems_are_not_merged():
    cells = np.array([0], np.int32)
    plain = CellSums.of(Predictions([0.1], [0]), cells, 1)
    heavy = CellSums.of(Predictions([0.1], [0], weights=[4.0]), cells, 1)
    other = CellSums.of(lenses.Marginal(0)(Predictions([0.1], [0])), cells, 1)
    for wrong in (heavy, other):
        with pytest.raises(ValueError, match=r"`other` must be sums of the same problem, with w"):
            plain.merge(wrong)


@pytest.mark.parametrize("m", [2, 3, 40])
@pytest.mark.parametrize("weights", [None, "any"])
def test_many_cells_are_added_up_one_by_one_to_the_same_bits(monkeypatch, m, weights):
    rng = np.random.default_rng(m)
    given_weights = None if weights is None else rng.random(200)
    data = Predictions(
        rng.dirichlet(np.ones(m), 200), rng.integers(0, m, 200), weights=given_weights
    )
    other = data.with_labels(rng.integers(0, m, 200))
    partitions = [VarianceTree(3), FromFunction(lambda probs: np.floor(7 * probs[:, 0]))]
    for partition in partitions:
        found = {}
        for large in (1 << 18, 0):
            monkeypatch.setattr("calibrant.calibration.cells.LARGE", large)
            cells = Gathered(data, partition)
            found[large] = [
                *cells.means(),
                *cells.means(other),
                *cells.norms(),
                *cells.norms(other),
                *cells.totals(),
                *cells.totals(other),
            ]
        same_bits(found[0], found[1 << 18])
        some = cells.sums_of(1, 2)
        whole = cells.sums_of(0, cells.n_cells)
        same_bits(some, [table[1:2] for table in whole])


@given(problems())
def test_totals_are_those_of_the_means(data):
    for partition in families.partitions_of(data.m):
        cells = Gathered(data, partition)
        means = cells.means()
        held = means.mass > 0
        gap = (means.observed - means.predicted)[held]
        one, two = np.abs(gap).sum(axis=1), np.square(gap).sum(axis=1)
        shares = means.mass[held] / means.mass.sum()
        for norm, values in enumerate((one, np.sqrt(two), two)):
            # A root turns rounding of 1e-16 into 1e-8 near 0.
            small = 1e-7 if norm == 1 else ROUNDING
            totals = cells.totals()
            assert totals.expected[norm, 0] == pytest.approx(shares @ values, abs=small)
            assert totals.worst[norm, 0] == pytest.approx(values.max(), abs=small)


def test_short_in_words():
    fn = calibration_function(Predictions([0.1, 0.9], [0, 1]), EqualWidth(2))
    assert repr(fn) == "<calibration function of 2 outcomes on 2 cells>"
