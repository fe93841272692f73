"""The prior of a method: rows whose outcomes are as the model says, beside those at hand."""

from dataclasses import replace

import numpy as np
import pytest
from fits import REGRESSIONS, methods_of, overconfident, same_probs

from calibrant import Predictions, log_score
from calibrant.partitions import EqualWidth
from calibrant.recalibration import Beta, Histogram, Isotonic, Temperature, Vector

LIKELY = [(method, m) for m in (2, 3) for method in (Temperature(), *REGRESSIONS)]
ALL = [(method, m) for m in (2, 3) for method in methods_of(m)]


def with_outcomes_as_predicted(data, prior):
    """Return the rows, and after them each row once for every class, by weight prior times p."""
    probs = np.concatenate([data.probs] * (data.m + 1))
    each = np.repeat(np.arange(data.m), data.n)
    weights = [data.weights, *(prior * data.weights * data.probs[:, j] for j in range(data.m))]
    labels = np.concatenate((data.labels, each))
    return Predictions(probs, labels, classes=data.classes, weights=np.concatenate(weights))


@pytest.mark.parametrize(
    ("method", "m"), [*LIKELY, (Beta(), 2), (Histogram(EqualWidth(5)), 3)], ids=repr
)
@pytest.mark.parametrize("prior", [0.02, 3.0])
def test_a_prior_adds_rows_whose_outcomes_are_as_predicted(method, m, prior):
    data = overconfident(100, m, weights=True)
    found = replace(method, prior=prior).fit(data)(data.probs)
    same_probs(found, method.fit(with_outcomes_as_predicted(data, prior))(data.probs))
    assert np.abs(found - method.fit(data)(data.probs)).max() > 1e-4


def test_an_isotonic_function_is_drawn_towards_the_prediction():
    data = Predictions([0.125, 0.375, 0.5, 0.75], [0, 1, 0, 1])
    found = Isotonic(prior=1.0).fit(data)([0.125, 0.25, 0.5, 0.75])[:, 1]
    assert found.tolist() == [0.0625, 0.25, 0.5, 0.875]


@pytest.mark.parametrize(("method", "m"), ALL, ids=repr)
def test_no_prior_and_a_prior_of_zero_are_the_plain_fit(method, m):
    data = overconfident(120, m)
    plain, zero = method.fit(data), replace(method, prior=0.0).fit(data)
    assert np.array_equal(plain(data.probs), zero(data.probs))


def all_right(n, m):
    """Return confident predictions of which all came true."""
    rng = np.random.default_rng(n)
    probs = np.full((n, m), 0.02 / (m - 1))
    labels = np.arange(n) % m
    probs[np.arange(n), labels] = 0.98
    probs *= rng.uniform(0.5, 1.0, probs.shape)
    return Predictions(probs / probs.sum(axis=1, keepdims=True), labels)


def cost_if_right(data, after):
    """Return what predictions cost in the mean if the outcomes are drawn from the data's own."""
    return float((data.probs * (np.log(data.probs) - np.log(after))).sum(axis=1).mean())


@pytest.mark.parametrize(("method", "m"), [*LIKELY, (Beta(), 2)], ids=repr)
@pytest.mark.parametrize("n", [6, 60])
def test_what_a_map_can_cost_is_bounded_by_what_it_seems_to_gain(method, m, n):
    """With λ = 60 rows: at most n/λ of the gain, also where the plain fit becomes certain."""
    data = all_right(n, m)
    after = replace(method, prior=60 / n).fit(data)(data)
    seems = log_score(data) - log_score(after)
    assert 0 <= cost_if_right(data, after.probs) <= n / 60 * seems
    plain = method.fit(data)(data)
    with np.errstate(divide="ignore"):
        assert cost_if_right(data, plain.probs) > n / 60 * (log_score(data) - log_score(plain))


@pytest.mark.parametrize("method", [Isotonic(), Histogram(EqualWidth(2))], ids=str)
def test_frequencies_with_a_prior_are_zero_only_where_predictions_are(method):
    """Nor are they less than prior / (1 + prior) of the smallest prediction of their bin."""
    data = all_right(60, 3)
    assert method.fit(data)(data.probs).min() == 0
    found = replace(method, prior=1.0).fit(data)(data.probs)
    assert (found >= data.probs.min(axis=0) / 2 / 1.5).all()  # rows are divided by 1.5 at most


@pytest.mark.parametrize("prior", [-1, np.nan, "much"])
def test_what_is_no_prior_is_refused(prior):
    for make in (Temperature, Vector, Isotonic, lambda prior: Histogram("width:3", prior=prior)):
        with pytest.raises((TypeError, ValueError), match="`prior` must be"):
            make(prior=prior)
