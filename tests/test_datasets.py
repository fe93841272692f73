"""Data sets: what is drawn has the law that the docstring promises."""

import json
from importlib.resources import files

import numpy as np
import pytest
from chance import BUDGET, agrees, most, rejections
from command import run
from scipy.integrate import quad
from scipy.stats import norm

from calibrant import Predictions, accuracy, calibration_test, datasets, evaluate, load
from calibrant.distances import total_variation
from calibrant.lenses import Marginal, TopLabel
from calibrant.partitions import EqualWidth
from calibrant.statistics import ExpectedMiscalibration

GENERATORS = {
    "gaussian_mixture": lambda n, rng: datasets.gaussian_mixture(n, 1, 1, rng),
    "example1": datasets.example1,
    "example3": datasets.example3,
    "dirichlet": lambda n, rng: datasets.dirichlet(n, 4, alpha=0.5, temperature=0.7, rng=rng),
}


@pytest.mark.parametrize("name", GENERATORS)
def test_same_rng_same_data(name):
    make = GENERATORS[name]
    first, second = make(500, 7), make(500, 7)
    np.testing.assert_array_equal(first.probs, second.probs)
    np.testing.assert_array_equal(first.labels, second.labels)
    same = make(500, np.random.default_rng(7))
    np.testing.assert_array_equal(first.probs, same.probs)
    other = make(500, 8)
    assert (first.labels != other.labels).any()
    shared = np.random.default_rng(7)
    assert (make(500, shared).labels != make(500, shared).labels).any()
    assert make(500, None).n == 500


@pytest.mark.parametrize("name", GENERATORS)
def test_what_is_drawn_passes_the_checks(name):
    data = GENERATORS[name](300, 0)
    names = [data.classes[j] for j in data.labels]
    again = Predictions(data.probs, names, data.classes)
    np.testing.assert_array_equal(again.probs, data.probs)
    np.testing.assert_array_equal(again.labels, data.labels)
    assert data.event == again.event
    assert data.labels.dtype == np.int32


# The Gaussian mixture of §5.1


def pvalues(make, lens=None, trials=300, n=500):
    statistic = ExpectedMiscalibration(EqualWidth(10), total_variation)
    lens = {} if lens is None else {"lens": lens}
    return [
        calibration_test(make(n, seed), statistic, n_resamples=19, rng=seed, **lens).pvalue
        for seed in range(trials)
    ]


@pytest.mark.parametrize("betas", [(0, -2), (0, 0)])
def test_calibrated_mixtures_pass_the_exact_test(betas):
    found = pvalues(lambda n, rng: datasets.gaussian_mixture(n, *betas, rng))
    assert rejections(found) <= most(300, 0.05)


def test_other_mixtures_do_not():
    found = pvalues(lambda n, rng: datasets.gaussian_mixture(n, 0, -3, rng), n=2000)
    assert rejections(found) > most(300, 0.05)


def test_classes_and_columns_of_the_mixture():
    data = datasets.gaussian_mixture(20_000, 0, -2, rng=0)
    assert data.classes == ("-1", "1")
    assert accuracy(data) > 0.8  # the truth is 0.8413
    assert agrees(int(data.labels.sum()), data.n, 0.5)
    # Y = -1 has g_1 = 1 / (1 + exp(2x)): large where x is small
    x = -np.log(data.probs[:, 0] / data.probs[:, 1]) / 2
    for label, mean in ((0, -1), (1, 1)):
        found = x[data.labels == label]
        assert abs(found.mean() - mean) < norm.isf(BUDGET) / len(found) ** 0.5
    integers = Predictions(data.probs, 2 * data.labels - 1, data.classes)
    np.testing.assert_array_equal(integers.labels, data.labels)


def test_extreme_parameters_stay_probabilities():
    data = datasets.gaussian_mixture(1000, 5, -1e6, rng=0)
    assert np.isfinite(data.probs).all()
    np.testing.assert_allclose(data.probs.sum(axis=1), 1, rtol=1e-15)


@pytest.mark.parametrize("betas", [(1.0, 1.0), (0.0, -2.0), (-0.5, -3.0), (2.0, 0.25)])
def test_the_truth_of_the_mixture_by_bayes(betas):
    beta0, beta1 = betas
    x = np.linspace(-5, 5, 101)
    predicted = 1 / (1 + np.exp(beta0 + beta1 * x))  # of Y = 1
    bayes = norm.pdf(x, 1) / (norm.pdf(x, 1) + norm.pdf(x, -1))
    truth = datasets.gaussian_mixture_truth(beta0, beta1)(predicted)
    np.testing.assert_allclose(truth, bayes, rtol=1e-9)


def test_the_expected_miscalibration_of_the_uncalibrated_mixture_by_quadrature():
    truth = datasets.gaussian_mixture_truth(1, 1)

    def integrand(x):
        predicted = 1 / (1 + np.exp(1 + x))
        return abs(truth(predicted) - predicted) * (norm.pdf(x, 1) + norm.pdf(x, -1)) / 2

    parts = [quad(integrand, a, b)[0] for a, b in ((-12, -1), (-1, 0), (0, 12))]
    assert sum(parts) == pytest.approx(0.563751, abs=5e-7)


def test_the_estimate_of_the_uncalibrated_mixture():
    data = datasets.gaussian_mixture(200_000, 1, 1, rng=0)
    estimate = ExpectedMiscalibration(EqualWidth(100), total_variation)(data)
    assert estimate == pytest.approx(0.563751, abs=0.01)
    shown = data.probs[:, 1]
    mean = np.abs(datasets.gaussian_mixture_truth(1, 1)(shown) - shown).mean()
    assert abs(mean - 0.563751) < norm.isf(BUDGET) * 0.5 / data.n**0.5


def test_the_truth_agrees_with_what_occurs():
    data = datasets.gaussian_mixture(200_000, 1, 1, rng=1)
    truth = datasets.gaussian_mixture_truth(1, 1)(data.probs[:, 1])
    cells = np.digitize(data.probs[:, 1], [0.05, 0.1, 0.2, 0.3, 0.5, 0.7])
    for cell in range(7):
        rows = cells == cell
        spread = np.sqrt((truth[rows] * (1 - truth[rows])).sum())
        assert abs(data.labels[rows].sum() - truth[rows].sum()) < 6 * spread


def test_the_truth_at_the_ends_and_of_the_constant():
    assert datasets.gaussian_mixture_truth(1, 1)([0.0, 1.0]).tolist() == [1.0, 0.0]
    assert datasets.gaussian_mixture_truth(0, -2)([0.0, 1.0]).tolist() == [0.0, 1.0]
    assert datasets.gaussian_mixture_truth(0, 0)([0.1, 0.5]).tolist() == [0.5, 0.5]
    assert datasets.gaussian_mixture_truth(0, 0)(0.5).shape == ()


# Examples 1 and 3


@pytest.mark.parametrize(
    ("make", "kinds", "canonical"), [(datasets.example1, 6, 0.1), (datasets.example3, 2, 0.2)]
)
def test_tables(make, kinds, canonical):
    data = make(120_000, rng=0)
    found, counts = np.unique(data.probs, axis=0, return_counts=True)
    assert len(found) == kinds
    assert agrees(counts, data.n, 1 / kinds, tests=kinds).all()
    eta = ExpectedMiscalibration(EqualWidth(10), total_variation)
    assert eta(data) == pytest.approx(canonical, abs=0.012)
    assert eta(TopLabel()(data)) < 0.012
    marginals = [eta(Marginal(j)(data)) for j in range(3)]
    expected = [0, 0, 0] if kinds == 6 else [0.1, 0.1, 0.2]
    assert marginals == pytest.approx(expected, abs=0.012)


@pytest.mark.parametrize("make", [datasets.example1, datasets.example3])
def test_classes_follow_the_second_column_of_the_table(make):
    true = {
        (0.1, 0.3, 0.6): (0.2, 0.2, 0.6),
        (0.1, 0.6, 0.3): (0.0, 0.7, 0.3),
        (0.3, 0.1, 0.6): (0.2, 0.2, 0.6),
        (0.3, 0.6, 0.1): (0.4, 0.5, 0.1),
        (0.6, 0.1, 0.3): (0.7, 0.0, 0.3) if make is datasets.example1 else (0.7, 0.2, 0.1),
        (0.6, 0.3, 0.1): (0.5, 0.4, 0.1),
        (0.4, 0.6, 0.0): (0.3, 0.5, 0.2),
    }
    data = make(60_000, rng=3)
    for row in np.unique(data.probs, axis=0):
        labels = data.labels[(data.probs == row).all(axis=1)]
        counts = np.bincount(labels, minlength=3)
        law = np.array(true[tuple(row.tolist())])
        assert agrees(counts, len(labels), law, tests=18).all()
        assert (counts[law == 0] == 0).all()


def test_the_examples_under_the_exact_test():
    assert rejections(pvalues(datasets.example1, TopLabel())) <= most(300, 0.05)
    assert rejections(pvalues(datasets.example1, Marginal(1))) <= most(300, 0.05)
    assert rejections(pvalues(datasets.example1, n=2000)) > most(300, 0.05)
    assert rejections(pvalues(datasets.example3, TopLabel())) <= most(300, 0.05)
    assert rejections(pvalues(datasets.example3, Marginal(2), n=2000)) > most(300, 0.05)


# Dirichlet models


@pytest.mark.parametrize("m", [2, 3, 6])
def test_temperature_one_is_calibrated(m):
    found = pvalues(lambda n, rng: datasets.dirichlet(n, m, alpha=0.5, rng=rng), TopLabel())
    assert rejections(found) <= most(300, 0.05)


@pytest.mark.parametrize("temperature", [0.5, 2.0])
def test_other_temperatures_are_not(temperature):
    def make(n, rng):
        return datasets.dirichlet(n, 3, temperature=temperature, rng=rng)

    assert rejections(pvalues(make, TopLabel(), trials=50)) == 50


def test_the_temperature_changes_the_predictions_alone():
    plain = datasets.dirichlet(2000, 5, alpha=[1, 2, 3, 0.5, 1], rng=4)
    for temperature in (0.25, 3.0):
        data = datasets.dirichlet(2000, 5, alpha=[1, 2, 3, 0.5, 1], temperature=temperature, rng=4)
        np.testing.assert_array_equal(data.labels, plain.labels)
        powers = plain.probs ** (1 / temperature)
        np.testing.assert_allclose(data.probs, powers / powers.sum(axis=1, keepdims=True))
        top, before = data.probs.max(axis=1), plain.probs.max(axis=1)
        assert ((top >= before) == (temperature < 1)).all()
        lensed = TopLabel()(data)
        gap = lensed.probs[:, 0].mean() - (lensed.labels == 0).mean()
        assert (gap > 0.05) == (temperature < 1)


def test_moments_of_the_rows():
    alpha = np.array([0.5, 1.0, 2.5])
    data = datasets.dirichlet(50_000, 3, alpha=alpha, rng=0)
    mean = alpha / alpha.sum()
    spread = np.sqrt(mean * (1 - mean) / (alpha.sum() + 1) / data.n)
    assert (np.abs(data.probs.mean(axis=0) - mean) < 6 * spread).all()
    assert agrees(np.bincount(data.labels), data.n, mean, tests=3).all()


@pytest.mark.parametrize("alpha", [1e-3, 0.02, 1e6])
@pytest.mark.parametrize("temperature", [0.01, 1.0, 100.0])
def test_extreme_dirichlet_models_stay_probabilities(alpha, temperature):
    data = datasets.dirichlet(2000, 7, alpha=alpha, temperature=temperature, rng=0)
    assert np.isfinite(data.probs).all()
    np.testing.assert_allclose(data.probs.sum(axis=1), 1, rtol=1e-14)


# The networks


def test_names():
    assert datasets.names() == ("lenet", "resnet", "densenet")


@pytest.mark.parametrize(
    ("name", "low", "high"), [("lenet", 0.6, 0.8), ("resnet", 0.85, 0.97), ("densenet", 0.85, 0.97)]
)
def test_networks(name, low, high):
    data = datasets.cifar10(name)
    assert (data.n, data.m) == (10_000, 10)
    assert data.probs.dtype == np.float32
    assert data.classes[3:6] == ("cat", "deer", "dog")
    assert np.bincount(data.labels).tolist() == [1000] * 10
    assert low < accuracy(data) < high
    np.testing.assert_array_equal(data.labels, datasets.cifar10("lenet").labels)


def test_the_file_of_a_network_can_be_loaded():
    from calibrant import load

    path = files("calibrant.datasets") / "lenet.npz"
    np.testing.assert_array_equal(load(str(path)).probs, datasets.cifar10("lenet").probs)


def test_a_network_that_is_missing(monkeypatch, tmp_path):
    monkeypatch.setattr("calibrant.datasets.files", lambda _: tmp_path)
    with pytest.raises(FileNotFoundError, match=r"of 'lenet' are not in this installation"):
        datasets.cifar10("lenet")


# Refusals


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda: datasets.cifar10("vgg"), ValueError, r"`name` must be one of 'lenet', 'resnet'"),
        (lambda: datasets.cifar10(3), ValueError, r"`name` must be one of .*; found 3\."),
        (lambda: datasets.cifar10([]), ValueError, r"`name` must be one of .*; found \[\]\."),
        (lambda: datasets.example1(0), ValueError, r"`n` must be a whole number from 1; found 0"),
        (lambda: datasets.example3(2.5), TypeError, r"`n` must be a whole number; found 2\.5"),
        (
            lambda: datasets.example1(5, rng="a"),
            TypeError,
            r"`rng` must be a whole number, a numpy",
        ),
        (lambda: datasets.example1(5, rng=-1), ValueError, r"`rng` must be a whole number from 0"),
        (
            lambda: datasets.gaussian_mixture(5, "a", 1),
            TypeError,
            r"`beta0` must be a number; found",
        ),
        (
            lambda: datasets.gaussian_mixture(5, 0, np.inf),
            ValueError,
            r"`beta1` must be finite",
        ),
        (lambda: datasets.gaussian_mixture_truth(np.nan, 0), ValueError, r"`beta0` must be finite"),
        (
            lambda: datasets.gaussian_mixture_truth(0, 1)([0.5, 1.5]),
            ValueError,
            r"`predicted` must be between 0 and 1; found 1\.5\.",
        ),
        (
            lambda: datasets.dirichlet(5, 1),
            ValueError,
            r"`m` must be a whole number from 2; found 1",
        ),
        (
            lambda: datasets.dirichlet(5, 3, alpha=0),
            ValueError,
            r"`alpha` must be .*at least 0\.001",
        ),
        (
            lambda: datasets.dirichlet(5, 3, alpha="x"),
            TypeError,
            r"`alpha` must be a number or 3 nu",
        ),
        (lambda: datasets.dirichlet(5, 3, alpha=[1, 2]), ValueError, r"or 3 numbers; found shape"),
        (
            lambda: datasets.dirichlet(5, 3, temperature=0),
            ValueError,
            r"`temperature` must be positive; found 0\.",
        ),
    ],
)
def test_refusals(call, error, sentence):
    with pytest.raises(error, match=sentence):
        call()


def test_a_class_without_probability_is_never_drawn():
    class Ones:
        def random(self, n):
            return np.full(n, 1 - 2.0**-53)

    from calibrant.datasets import draw_labels

    rows = np.array([[0.3, 0.7, 0.0], [1.0, 0.0, 0.0], [0.1, 0.2, 0.7]])
    assert draw_labels(rows, Ones()).tolist() == [1, 0, 2]


def test_a_network_written_to_parquet_is_evaluated_as_in_the_package(tmp_path):
    path = tmp_path / "resnet.parquet"
    assert run("datasets", "resnet", "-o", path).exit_code == 0
    written = json.loads(run("evaluate", path, "--resamples", "19", "--json").stdout)["rows"]
    packaged = evaluate(datasets.cifar10("resnet"), n_resamples=19, rng=0).rows
    assert [row["value"] for row in written] == [row.value for row in packaged]


def test_a_network_written_to_csv_differs_by_rounding_only(tmp_path):
    path = tmp_path / "resnet.csv"
    assert run("datasets", "resnet", "-o", path).exit_code == 0
    found, packaged = load(path), datasets.cifar10("resnet")
    np.testing.assert_allclose(found.probs, packaged.probs, rtol=0, atol=1e-7)
    np.testing.assert_array_equal(found.labels, packaged.labels)
