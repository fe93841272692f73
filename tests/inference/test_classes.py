"""Every class at once: the same as one marginal after the other."""

import json

import numpy as np
import pytest
from chance import TRIALS, models, most

from calibrant import Predictions, calibration_test, classwise
from calibrant.distances import euclidean, squared_euclidean, total_variation
from calibrant.inference import Classwise
from calibrant.inference.testing.families import max_t
from calibrant.lenses import Marginal
from calibrant.partitions import EqualMass, EqualWidth, FromFunction, SimplexBins, VarianceTree
from calibrant.resampling import Exact
from calibrant.statistics import ExpectedMiscalibration

from calibrant.checks.parameters import make_key  # isort: skip

RNG = np.random.default_rng(0)
DISTANCES = (total_variation, euclidean, squared_euclidean)


def hellinger(p, q):
    return np.sqrt(np.square(np.sqrt(p) - np.sqrt(q)).sum(axis=-1) / 2)


def above_a_third(probs):
    return probs[:, 0] > 1 / 3


PARTITIONS = [
    EqualWidth(1),
    EqualWidth(15),
    EqualWidth(256),
    EqualWidth(257),
    SimplexBins(4),
    EqualMass(5),
    VarianceTree(20),
    VarianceTree(7, "median"),
    FromFunction(above_a_third),
]


def make(n, m, weights=None, dtype=np.float64):
    probs = RNG.dirichlet(np.full(m, 0.4), n).astype(dtype)
    probs[0] = np.eye(m)[0]
    given = {
        None: None,
        "any": RNG.random(n),
        "zeros": np.where(np.arange(n) % 3 == 0, 0.0, 1.5),
    }[weights]
    return Predictions(probs, RNG.integers(0, m, n), weights=given)


@pytest.mark.parametrize("weights", [None, "any", "zeros"])
@pytest.mark.parametrize("partition", PARTITIONS, ids=str)
def test_values_are_those_of_each_marginal(partition, weights):
    """To the last bit: sums over rows and over cells are exact."""
    for m in (2, 3, 11):
        data = make(70, m, weights)
        for distance in (*DISTANCES, hellinger):
            statistic = ExpectedMiscalibration(partition, distance)
            expected = [statistic(Marginal(j)(data)) for j in range(m)]
            found = classwise(data, partition, distance, n_resamples=0)
            np.testing.assert_array_equal(found.values, expected)
            assert found.mean == np.mean(expected)


def test_float32():
    """A marginal of float32 rounds 1 - p to 24 bits, but the mean of p alone is used."""
    data = make(200, 5, dtype=np.float32)
    for distance in DISTANCES:
        statistic = ExpectedMiscalibration(EqualWidth(10), distance)
        expected = [statistic(Marginal(j)(data)) for j in range(5)]
        found = classwise(data, EqualWidth(10), distance, n_resamples=0).values
        np.testing.assert_array_equal(found, expected)


def test_more_rows_than_a_block():
    data = make(40_000, 3, "any")
    found = classwise(data, EqualWidth(20), n_resamples=0).values
    statistic = ExpectedMiscalibration(EqualWidth(20))
    expected = [statistic(Marginal(j)(data)) for j in range(3)]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("weights", [None, "any", "zeros"])
@pytest.mark.parametrize("partition", [EqualWidth(6), VarianceTree(15)], ids=str)
def test_replicates_are_those_of_one_draw_for_all_classes(partition, weights):
    for m in (2, 4):
        data = make(60, m, weights)
        for distance in (*DISTANCES, hellinger):
            found = classwise(data, partition, distance, n_resamples=8, rng=3)
            statistic = ExpectedMiscalibration(partition, distance)
            for b in range(8):
                drawn = Exact().draw(data, make_key(3), b)
                expected = [statistic(Marginal(j)(drawn)) for j in range(m)]
                np.testing.assert_array_equal(found.null[:, b], expected)
            for j in range(m):
                alone = calibration_test(data, statistic, lens=Marginal(j), n_resamples=8, rng=3)
                np.testing.assert_array_equal(found.null[j], alone.null)


def test_pvalues():
    data = make(100, 4)
    found = classwise(data, n_resamples=99, rng=0)
    reached = found.null >= found.values[:, None] - 1e-13  # more than rounding, less than a row
    expected = ((1 + reached.sum(axis=1)) / 100).tolist()
    assert found.pvalues.tolist() == expected
    assert found.adjusted_pvalues.tolist() == max_t(found.values, found.null).tolist()
    means = found.null.mean(axis=0)
    assert found.mean_pvalue == (1 + np.sum(means >= found.mean - 1e-13)) / 100


def test_every_class_and_their_mean_hold_their_size():
    hits = np.zeros(3, int)
    mean = family = twin = 0
    for trial, data in enumerate(models(1, 60, 3)):
        found = classwise(data, EqualWidth(4), n_resamples=59, rng=trial)
        hits += found.pvalues <= 0.05
        mean += found.mean_pvalue <= 0.05
        family += found.adjusted_pvalues.min() <= 0.05
        twin += found.pvalues.min() <= 0.05  # three looks without adjustment
    limit = most(TRIALS, 0.05)
    assert max(*hits, mean, family) <= limit
    assert twin > limit


def test_estimates_alone():
    data = make(50, 3)
    found = classwise(data, n_resamples=0)
    assert found.null.shape == (3, 0)
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain.pop("settings") == dict(found.settings)
    assert plain == {
        "classes": ["0", "1", "2"],
        "values": found.values.tolist(),
        "mean": found.mean,
        "n_resamples": 0,
    }
    lines = found.table().splitlines()
    assert lines[0].split() == ["class", "estimate"]
    assert lines[2].split() == [str(found.values.argmax()), f"{found.values.max():.4f}"]
    bins = "15 bins of equal width"
    assert str(found) == f"mean miscalibration of 3 classes on {bins}: {found.mean:.4g}"
    assert "estimate" in found._repr_html_()


def test_plain_numbers_and_tables():
    data = Predictions([[0.5, 0.5, 0.0]] * 40, [0] * 30 + [1] * 10, classes=["<a>", "b", "c"])
    found = classwise(data, n_resamples=99, rng=0)
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["values"] == [0.25, 0.25, 0]
    assert plain["n_resamples"] == 99
    assert plain["null_means"] == pytest.approx(found.null.mean(axis=1))
    lines = found.table().splitlines()
    assert [line.split()[0] for line in lines[2:]] == ["<a>", "b", "c"]  # the worst first
    assert "&lt;a&gt;" in found._repr_html_()
    assert "<a>" not in found._repr_html_()
    assert "of 3 classes on 15 bins of equal width: 0.1667, p = " in str(found)


def test_blocks_and_threads_change_no_bit(monkeypatch):
    data = make(300, 4, "any")
    whole = classwise(data, n_resamples=40, rng=1).null
    monkeypatch.setattr("calibrant.inference.testing.classwise.LAID_OUT", 100)
    for count in ("1", "2"):
        monkeypatch.setenv("CALIBRANT_THREADS", count)
        np.testing.assert_array_equal(classwise(data, n_resamples=40, rng=1).null, whole)
        np.testing.assert_array_equal(classwise(data, n_resamples=3, rng=1).null, whole[:, :3])


def test_a_bad_distance_is_refused():
    with pytest.raises(ValueError, match=r"`distance` must turn arrays of shape \(…, m\) into"):
        classwise(make(20, 3), EqualWidth(3), lambda p, q: p - q)


def test_a_distance_is_not_asked_about_cells_without_rows():
    def chi_square(p, q):
        return ((p - q) ** 2 / q).sum(axis=-1)

    rng = np.random.default_rng(3)
    data = Predictions(rng.dirichlet(np.ones(3), 300), rng.integers(0, 3, 300))
    found = classwise(data, EqualWidth(15), chi_square, n_resamples=9, rng=0)
    eta = ExpectedMiscalibration(EqualWidth(15), chi_square)
    np.testing.assert_allclose(found.values, [eta(Marginal(j)(data)) for j in range(3)])


def kullback_leibler(p, q):
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(p > 0, p * np.log(p / q), 0.0).sum(axis=-1)


def test_an_infinite_distance_is_a_number():
    """Class 0 occurs where it was given probability 0."""
    probs = [[0.0, 0.5, 0.5]] * 4 + [[0.4, 0.3, 0.3]] * 4
    data = Predictions(probs, [0, 1, 2, 0, 0, 1, 2, 0])
    found = classwise(data, EqualWidth(3), kullback_leibler, n_resamples=19, rng=0)
    assert found.values[0] == np.inf
    assert np.isfinite(found.values[1:]).all()
    assert np.isfinite(found.null).all()
    assert found.pvalues[0] == 0.05
    eta = ExpectedMiscalibration(EqualWidth(3), kullback_leibler)
    for j in range(3):
        alone = calibration_test(data, eta, lens=Marginal(j), n_resamples=19, rng=0)
        assert found.values[j] == alone.statistic
        np.testing.assert_array_equal(found.null[j], alone.null)


@pytest.mark.filterwarnings("ignore:invalid value")
def test_an_infinite_distance_is_significant_among_all_classes():
    probs = [[0.0, 0.5, 0.5]] * 4 + [[0.4, 0.3, 0.3]] * 4
    data = Predictions(probs, [0, 1, 2, 0, 0, 1, 2, 0])
    found = classwise(data, EqualWidth(3), kullback_leibler, n_resamples=99, rng=0)
    assert found.pvalues[0] == 0.01
    assert found.adjusted_pvalues[0] == 0.01


@pytest.mark.parametrize("n_resamples", [0, 9])
@pytest.mark.parametrize("backend", ["polars", "pandas"])
def test_a_data_frame_has_a_row_for_every_class(backend, n_resamples):
    found = classwise(make(50, 3), n_resamples=n_resamples, rng=0)
    frame = found.to_frame(backend)
    assert type(frame).__module__.split(".")[0] == backend
    assert list(frame["class"]) == ["0", "1", "2"]
    assert list(frame["estimate"]) == found.values.tolist()
    assert ("pvalue" in frame.columns) == (n_resamples > 0)
    assert repr(found) == f"<classes: {found}>"
    assert found.settings["n_resamples"] == n_resamples


def test_the_strongest_evidence_comes_first():
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(30), 300)
    found = classwise(Predictions(probs, rng.integers(0, 30, 300)), n_resamples=19, rng=0)
    by = found.adjusted_pvalues, found.pvalues, -found.values
    expected = sorted(range(30), key=lambda j: tuple(each[j] for each in by))
    assert found.ranked.tolist() == expected
    assert [line[0] for line in found.lines()[1]] == [found.classes[j] for j in expected]
    estimates = Classwise(found.classes, found.values, np.empty((30, 0)), found.settings)
    assert estimates.ranked.tolist() == np.argsort(-found.values).tolist()
