import pickle

import families
import numpy as np
import oracles
import pytest
from hypothesis import given
from strategies import problems

from calibrant import Predictions, distances, statistics
from calibrant.calibration import Gathered, observed
from calibrant.distances import euclidean, squared_euclidean, total_variation
from calibrant.lenses import TopLabel
from calibrant.partitions import EqualWidth, FromFunction, VarianceTree
from calibrant.statistics import (
    ExpectedMiscalibration,
    OfFunction,
    Statistic,
    View,
    WorstMiscalibration,
)
from calibrant.statistics.spelled import as_statistic

# The kernel subtracts sums and divides, the loops subtract two means: an ulp of 1 or so per
# class. A root turns 1e-16 into 1e-8, so the euclidean distance is compared by its square.
ROUNDING = 1e-14


def mine(p, q):
    """A distance of the user's."""
    return np.abs(p - q).max(axis=-1)


@given(problems())
def test_equals_loops(data):
    for partition in families.partitions_of(data.m):
        cells = partition.locate(data)[1].tolist()
        for distance in (total_variation, squared_euclidean):
            oracle = oracles.DISTANCES[distance.__name__]
            found = ExpectedMiscalibration(partition, distance)(data)
            expected = oracles.expected_miscalibration(data, cells, oracle)
            assert found == pytest.approx(expected, rel=1e-12, abs=ROUNDING)
            found = WorstMiscalibration(partition, distance)(data)
            expected = oracles.worst_miscalibration(data, cells, oracle)
            assert found == pytest.approx(expected, rel=1e-12, abs=ROUNDING)
        found = WorstMiscalibration(partition, euclidean)(data)
        expected = oracles.worst_miscalibration(data, cells, oracles.euclidean)
        assert found**2 == pytest.approx(expected**2, rel=1e-12, abs=ROUNDING)


@given(problems())
def test_prepare_then_evaluate_is_the_call(data):
    other = data.with_labels((data.labels + 1) % data.m)
    for partition in families.partitions_of(data.m):
        for make in (ExpectedMiscalibration, WorstMiscalibration):
            for distance in (total_variation, mine):
                statistic = make(partition, distance)
                evaluate = statistic.prepare(View.of(data))
                assert evaluate(observed(data)).shape == (1,)
                assert float(evaluate(observed(data))[0]) == statistic(data)
                # What was prepared with some labels is right for others.
                assert float(evaluate(observed(other))[0]) == statistic(other)


def test_statistics_share_the_cells_of_equal_partitions():
    data = Predictions([0.1, 0.6, 0.7], [0, 1, 1])
    shared = View.of(data)
    assert shared.cells(EqualWidth(3)) is shared.cells(EqualWidth(3))
    assert shared.cells(EqualWidth(3)) is not shared.cells(EqualWidth(4))
    assert shared.remember("key", lambda: [1]) is shared.remember("key", lambda: [2])


def test_only_norms_that_are_asked_for_are_wanted():
    shared = View.of(Predictions([0.1, 0.6, 0.7], [0, 1, 1]))
    cells = shared.cells(EqualWidth(3))
    assert cells.norms_wanted == (0, 3)  # nobody said
    ExpectedMiscalibration(EqualWidth(3), euclidean).prepare(shared)
    assert cells.norms_wanted == (1, 2)
    WorstMiscalibration(EqualWidth(3)).prepare(shared)
    assert cells.norms_wanted == (0, 2)
    ExpectedMiscalibration(EqualWidth(3), squared_euclidean).prepare(shared)
    assert cells.norms_wanted == (0, 3)


def test_a_function_is_a_statistic():
    data = Predictions([0.25, 0.75], [1, 1])
    statistic = as_statistic(lambda seen: seen.labels.sum())
    assert isinstance(statistic, OfFunction)
    assert statistic(data) == 2.0
    assert isinstance(statistic(data), float)
    assert str(as_statistic(max)) == "max"
    eta = ExpectedMiscalibration(EqualWidth(2))
    assert as_statistic(eta) is eta
    for wrong in (3, None, ExpectedMiscalibration):
        with pytest.raises(TypeError, match=r"`statistic` must be a function; found "):
            as_statistic(wrong)
    with pytest.raises(TypeError, match=r"`statistic` .* of \(data\); found one of \(p, q\)\."):
        as_statistic(mine)


@pytest.mark.parametrize("value", [None, "0.5", np.eye(2), [1.0, 2.0]])
def test_a_function_must_return_a_number(value):
    data = Predictions([0.25, 0.75], [1, 1])
    with pytest.raises(TypeError, match=r"`statistic` must return a number; for "):
        OfFunction(lambda _: value)(data)
    with pytest.raises(ValueError, match=r"`statistic` must return a number; .* returned nan\."):
        OfFunction(lambda _: np.nan)(data)


def test_a_statistic_is_abstract():
    class Half(Statistic):
        pass

    with pytest.raises(TypeError, match="prepare"):
        Half()


@given(problems())
def test_locate_finds_the_worst_cell(data):
    for partition in families.partitions_of(data.m):
        statistic = WorstMiscalibration(partition)
        worst = statistic.locate(data)
        table = oracles.cell_table(data, partition.locate(data)[1].tolist())
        for distance in (*families.DISTANCES, mine):
            other = WorstMiscalibration(partition, distance)
            assert other.locate(data).value == other(data)
        mass, predicted, observed = table[worst.cell]
        assert worst.count == mass
        np.testing.assert_allclose(worst.predicted, predicted, rtol=0, atol=ROUNDING)
        np.testing.assert_allclose(worst.observed, observed, rtol=0, atol=ROUNDING)
        here = oracles.total_variation(observed, predicted)
        assert here == pytest.approx(worst.value, rel=1e-12, abs=ROUNDING)


@given(problems(max_n=6))
def test_combine_takes_many_replicates_at_once(data):
    rng = np.random.default_rng(0)
    mass = Gathered(data, EqualWidth(3)).mass
    for statistic in (ExpectedMiscalibration(EqualWidth(3)), WorstMiscalibration(EqualWidth(3))):
        many = rng.random((mass.size, 4))
        found = statistic.combine(many, mass)
        assert found.shape == (4,)
        one = [float(statistic.combine(many[:, [t]], mass)[0]) for t in range(4)]
        assert found.tolist() == one


def test_by_hand():
    data = Predictions([0.25, 0.25, 0.75, 0.75], [0, 1, 1, 1])
    partition = EqualWidth(2)
    assert ExpectedMiscalibration(partition)(data) == 0.25
    assert ExpectedMiscalibration(partition, squared_euclidean)(data) == 0.125
    assert ExpectedMiscalibration(partition, euclidean)(data) == 0.125**0.5
    uneven = Predictions([0.25, 0.75, 0.75, 0.75], [0, 1, 1, 1])
    assert ExpectedMiscalibration(partition)(uneven) == 0.25
    assert WorstMiscalibration(partition)(Predictions([0.25, 0.75], [1, 1])) == 0.75


def test_the_worst_cell_in_words():
    data = Predictions([0.25, 0.25, 0.75], [1, 1, 1], ["no", "yes"], weights=[1, 1, 5])
    worst = WorstMiscalibration(EqualWidth(2)).locate(data)
    assert (worst.cell, worst.count, worst.value) == (0, 2.0, 0.75)
    text = (
        "0.75 in cell 0 (2 rows): mean of predictions no: 0.750, yes: 0.250;"
        " of outcomes no: 0.000, yes: 1.000"
    )
    assert str(worst) == text


def test_of_many_classes_the_worst_three_are_shown():
    probs = np.full((1, 6), 0.125)
    probs[0, 4] = 0.375
    worst = WorstMiscalibration(EqualWidth(1)).locate(Predictions(probs, [5]))
    assert str(worst).count("…") == 2
    assert "5: 1.000" in str(worst)
    assert "4: 0.375" in str(worst)


def test_the_first_of_equally_bad_cells_is_named():
    data = Predictions([0.25, 0.75], [1, 0])
    assert WorstMiscalibration(EqualWidth(2)).locate(data).cell == 0


def test_a_cell_without_weight_is_never_the_worst():
    data = Predictions([0.25, 0.75], [1, 1], weights=[0, 1])
    worst = WorstMiscalibration(EqualWidth(2))
    assert worst(data) == 0.25
    assert worst.locate(data).cell == 1
    assert worst.combine(np.array([[9.0], [0.25]]), np.array([0.0, 1.0])) == [0.25]
    expected = ExpectedMiscalibration(EqualWidth(2))
    assert expected.combine(np.array([[np.nan], [0.25]]), np.array([0.0, 1.0])) == [0.25]


def test_expected_calibration_error_of_guo_et_al():
    rng = np.random.default_rng(2)
    probs = rng.dirichlet(np.ones(5), 2000)
    data = Predictions(probs, rng.integers(0, 5, 2000))
    confidence, hit = probs.max(axis=1), probs.argmax(axis=1) == data.labels
    total = 0.0
    for j in range(15):
        inside = (confidence >= j / 15) & (confidence < (j + 1) / 15)
        if inside.any():
            total += inside.mean() * abs(hit[inside].mean() - confidence[inside].mean())
    found = ExpectedMiscalibration(EqualWidth(15))(TopLabel()(data))
    assert found == pytest.approx(total, rel=1e-12)  # 2,000 additions in another order


def test_defaults_are_visible():
    assert ExpectedMiscalibration(EqualWidth(10)).distance is distances.total_variation
    assert WorstMiscalibration(EqualWidth(10)).distance is distances.total_variation
    assert ExpectedMiscalibration(EqualWidth(10)) == ExpectedMiscalibration(EqualWidth(10))


def test_statistics_say_what_they_are():
    assert (
        str(ExpectedMiscalibration(EqualWidth(10))) == "expected total variation on 10 equal widths"
    )
    worst = WorstMiscalibration(VarianceTree(50), squared_euclidean)
    assert str(worst) == "worst squared euclidean on tree of 50"


@pytest.mark.parametrize("make", [ExpectedMiscalibration, WorstMiscalibration])
def test_refuses_bad_choices(make):
    with pytest.raises(
        TypeError, match=r"`partition` must be one such as EqualWidth\(10\); found 10"
    ):
        make(10)
    with pytest.raises(
        TypeError, match=r"`partition` must be one such as .*; found <class .*EqualWidth"
    ):
        make(EqualWidth)
    with pytest.raises(TypeError, match=r"`distance` must be a function; found 2\."):
        make(EqualWidth(10), 2)
    with pytest.raises(TypeError, match=r"must be a function of \(p, q\); found one of \(\)\."):
        make(EqualWidth(10), lambda: 1)


@pytest.mark.parametrize("make", [ExpectedMiscalibration, WorstMiscalibration])
def test_statistics_are_values(make):
    statistic = make(EqualWidth(10), euclidean)
    assert pickle.loads(pickle.dumps(statistic)) == statistic
    with pytest.raises(AttributeError):
        statistic.partition = EqualWidth(3)


def test_a_partition_of_the_users_own_class():
    class Halves:
        fixed = True

        def fit(self, data):
            return self.locate(data)[0]

        def locate(self, data):
            return EqualWidth(2).locate(data)

    data = Predictions([0.25, 0.25, 0.75, 0.75], [0, 1, 1, 1])
    assert ExpectedMiscalibration(Halves())(data) == 0.25
    assert statistics.ExpectedMiscalibration(FromFunction(lambda p: p[:, 1] >= 0.5))(data) == 0.25
