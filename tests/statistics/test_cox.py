"""Cox's score test and regression: by hand, in loops, with other optimisers."""

from math import exp, fsum, inf, isnan, log, sqrt

import numpy as np
import pytest
from binary import NAMES, rows_of, views
from hypothesis import HealthCheck, assume, given, settings
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import chi2
from strategies import integer_weights, problems

from calibrant import Predictions, calibration_test
from calibrant.statistics import Cox

cox = Cox()
RELATIVE = 1e-9  # what the reference promises


def score_in_loops(data):
    """Return U' I^-1 U by Cramer's rule; with one different p, U^2 / I of the intercept."""
    rows = [(p, y, w) for p, y, w in rows_of(data) if w > 0]
    if any(y != p for p, y, _ in rows if p in (0, 1)):
        return inf
    rows = [(p, y, w, log(p) - log(1 - p)) for p, y, w in rows if 0 < p < 1]
    if not rows:
        return 0.0
    u = [fsum(w * (y - p) * x**k for p, y, w, x in rows) for k in range(2)]
    i = [fsum(w * w * p * (1 - p) * x**k for p, _, w, x in rows) for k in range(3)]
    if len({p for p, _, _, _ in rows}) == 1:
        return u[0] ** 2 / i[0]
    determinant = i[0] * i[2] - i[1] ** 2
    return (u[0] ** 2 * i[2] - 2 * u[0] * u[1] * i[1] + u[1] ** 2 * i[0]) / determinant


@pytest.mark.parametrize("name", NAMES)
def test_reference(shared, name):  # noqa: ARG001
    for data, values in views(name):
        if values["cox"] is None:
            p = data.probs[:, data.event]
            assert ((p == 0) | (p == 1)).any()
            continue
        fit = cox.fit(data)
        for key in ("lr", "in_the_large", "pvalue"):
            assert getattr(fit, key) == pytest.approx(values["cox"][key], rel=RELATIVE, abs=1e-300)
        for key in ("intercept", "slope", "intercept_se", "slope_se"):
            # The reference stops where the gradient is 1e-5: 1e-6 of a standard error away.
            error = values["cox"][key.removesuffix("_se") + "_se"]
            assert getattr(fit, key) == pytest.approx(
                values["cox"][key], rel=1e-6, abs=2e-6 * error
            )


@given(problems(m=2))
def test_cox_equals_loops(data):
    p = data.probs[data.weights > 0, data.event].astype(float)
    inner = np.unique(p[(p > 0) & (p < 1)])
    assume(inner.size < 2 or np.diff(inner).min() > 1e-6)  # Cramer's rule cancels
    assume(inner.size == 0 or (inner.min() > 1e-6 and inner.max() < 1 - 1e-6))  # and so
    expected = score_in_loops(data)
    assert cox(data) == pytest.approx(expected, rel=1e-7, abs=1e-12)


def test_cox_by_hand():
    # One different p: (2 - 4/4)^2 / (4 * 3/16)
    assert cox(Predictions([0.25] * 4, [1, 1, 0, 0])) == pytest.approx(4 / 3, rel=1e-14)
    # Log-odds of -1 and 1 times log 3, so both sums stand alone: 1^2 / (4 * 3/16) each,
    # r = 3/4, -1/4, 1/4, 1/4 and r x / log 3 = -3/4, 1/4, 1/4, 1/4.
    data = Predictions([0.25, 0.25, 0.75, 0.75], [1, 0, 1, 1])
    assert cox(data) == pytest.approx(4 / 3 + 0, rel=1e-14)


def test_cox_score_is_near_the_likelihood_ratio():
    rng = np.random.default_rng(1)
    p = 0.05 + 0.9 * rng.random(20_000)
    data = Predictions(p, rng.random(20_000) < p)
    assert cox(data) == pytest.approx(cox.fit(data).lr, rel=0.05, abs=0.02)


def test_the_null_of_cox_is_chi_squared():
    rng = np.random.default_rng(2)
    p = rng.random(500)
    null = calibration_test(Predictions(p, rng.random(500) < p), cox, n_resamples=999, rng=0).null
    assert null.mean() == pytest.approx(2.0, abs=5 * 2 / sqrt(999))
    assert np.mean(null > chi2.isf(0.05, 2)) == pytest.approx(0.05, abs=5 * sqrt(0.05 / 999))


def loss(theta, x, y, w):
    eta = theta[0] + theta[1] * x
    return float(w @ (np.logaddexp(0, eta) - y * eta))


@settings(suppress_health_check=[HealthCheck.filter_too_much])  # most have no maximum
@given(problems(m=2, weights=integer_weights))
def test_the_fit_is_where_the_likelihood_is_largest(data):
    try:
        fit = cox.fit(data)
    except ValueError:
        assume(False)
    assume(not isnan(fit.slope))
    p = data.probs[:, data.event].astype(float)
    inner = (p > 0) & (p < 1) & (data.weights > 0)
    p, w = p[inner], data.weights[inner]
    y = (data.labels == data.event)[inner].astype(float)
    x = np.log(p) - np.log1p(-p)
    at = np.array([fit.intercept, fit.slope])
    residual = y - expit(at[0] + at[1] * x)
    gradient = [w @ residual, (w * x) @ residual]
    assert gradient == pytest.approx([0, 0], abs=1e-6)
    assert fit.lr == pytest.approx(2 * (loss([0, 1], x, y, w) - loss(at, x, y, w)), abs=1e-9)
    large = y - expit(fit.in_the_large + x)
    assert w @ large == pytest.approx(0, abs=1e-6)


def test_the_fit_against_another_optimiser():
    rng = np.random.default_rng(3)
    p = rng.random(300)
    y = (rng.random(300) < p**1.5).astype(float)
    x = np.log(p) - np.log1p(-p)
    fit = cox.fit(Predictions(p, y.astype(int)))
    other = minimize(loss, [0, 1], (x, y, np.ones(300)), tol=1e-12, method="Nelder-Mead")
    assert [fit.intercept, fit.slope] == pytest.approx(other.x, abs=1e-5)
    q = expit(fit.intercept + fit.slope * x)
    design = np.stack((np.ones(300), x))
    errors = np.sqrt(np.diag(np.linalg.inv((q * (1 - q) * design) @ design.T)))
    assert [fit.intercept_se, fit.slope_se] == pytest.approx(errors.tolist(), rel=1e-9)
    assert fit.pvalue == pytest.approx(chi2.sf(fit.lr, 2), rel=1e-12)
    assert fit.pvalue == exp(-fit.lr / 2)


@pytest.mark.parametrize(
    ("probs", "labels"),
    [
        ([1e-12, 1e-10, 1e-8, 1e-6, 1 - 1e-6, 1 - 1e-9], [1, 0, 1, 0, 0, 1]),
        ([5e-324, 5e-324, 1 - 1e-16, 1 - 1e-16, 1 - 1e-16], [0, 1, 0, 1, 1]),
        ([5e-324, 5e-324, 5e-324, 1e-300, 1e-300], [1, 1, 0, 1, 0]),
        ([0.3, 0.3, 0.3, 0.3 + 1e-9, 0.3 + 1e-9], [0, 1, 0, 1, 0]),
    ],
)
def test_the_fit_of_extreme_predictions(probs, labels):
    fit = cox.fit(Predictions(probs, labels))
    x = np.log(probs) - np.log1p(-np.array(probs))
    line = (fit.intercept + fit.slope * x[:, None]).ravel()
    residual = np.array(labels) - expit(line)
    assert [residual.sum(), residual @ (x - x.mean())] == pytest.approx([0, 0], abs=1e-6)
    assert (np.array(labels) - expit(fit.in_the_large + x)).sum() == pytest.approx(0, abs=1e-9)
    assert fit.lr >= 0
    assert cox(Predictions(probs, labels)) > 0


def test_the_fit_takes_weights_for_copies():
    data = Predictions([0.2, 0.4, 0.6, 0.8], [0, 1, 0, 1], weights=[2, 1, 1, 3])
    copies = data.take(np.repeat(np.arange(4), [2, 1, 1, 3]))
    copies = Predictions(copies.probs, copies.labels)
    assert cox.fit(data) == cox.fit(copies)


def test_the_fit_in_any_order():
    data = Predictions([0.2, 0.4, 0.6, 0.8, 0.4], [0, 1, 0, 1, 0])
    assert cox.fit(data.take(np.array([3, 1, 4, 0, 2]))) == cox.fit(data)


def test_certain_predictions_that_came_true_are_left_out():
    rows = [0.2, 0.4, 0.6, 0.8], [0, 1, 0, 1]
    plain = Predictions(*rows)
    more = Predictions([*rows[0], 0.0, 1.0, 1.0], [*rows[1], 0, 1, 1])
    assert cox(more) == pytest.approx(cox(plain), rel=1e-14)
    assert cox.fit(more) == cox.fit(plain)
    # The limit from within.
    near = Predictions([*rows[0], 1e-12, 1 - 1e-12, 1 - 1e-12], [*rows[1], 0, 1, 1])
    assert cox(near) == pytest.approx(cox(plain), abs=1e-6)


def test_certain_predictions_that_did_not_come_true():
    data = Predictions([0.2, 0.4, 0.6, 0.8, 0.0], [0, 1, 0, 1, 1])
    assert cox(data) == inf
    fit = cox.fit(data)
    assert fit.lr == inf
    assert fit.pvalue == 0.0
    assert isnan(fit.intercept)
    assert isnan(fit.slope_se)
    assert calibration_test(data, cox, n_resamples=9, rng=0).pvalue == 0.1


def test_nothing_but_certain_predictions():
    assert cox(Predictions([0.0, 1.0], [0, 1])) == 0.0
    assert cox(Predictions([0.0, 1.0], [0, 0])) == inf


@pytest.mark.parametrize(
    ("probs", "labels"),
    [
        ([0.2, 0.4, 0.6], [1, 1, 1]),
        ([0.2, 0.4, 0.6], [0, 0, 1]),
        ([0.2, 0.4, 0.6], [1, 0, 0]),
        ([0.2, 0.4, 0.4, 0.6], [0, 0, 1, 1]),
        ([0.3, 0.3, 0.3], [0, 1, 1]),
        ([0.0, 1.0], [0, 1]),
    ],
)
def test_refuses_outcomes_that_do_not_overlap(probs, labels):
    data = Predictions(probs, labels)
    with pytest.raises(
        ValueError,
        match=r"`Cox\(\)\.fit` needs outcomes that overlap; here they are all the same, or a"
        r" threshold of the prediction separates them, so that the likelihood has no maximum\. The"
        r" score test, `Cox\(\)\(data\)`, works\.",
    ):
        cox.fit(data)
    assert np.isfinite(cox(data))


def test_the_fit_refuses_more_than_two_outcomes():
    with pytest.raises(ValueError, match=r"`Cox\(\)` needs a problem with two outcomes; found 3"):
        cox.fit(Predictions([[0.2, 0.3, 0.5]], [1]))


def test_a_fit_in_words():
    fit = cox.fit(Predictions([0.1, 0.2, 0.6, 0.7, 0.9], [0, 1, 0, 1, 1]))
    assert str(fit) == "intercept 0.5234 ± 1, slope 0.6597 ± 0.7: p = 0.767"
