"""The default test: several statistics together, exact and sharp."""

import numpy as np
import pytest
from chance import fewest, most, outcomes, rejections, wrap
from scipy.special import softmax

from calibrant import Predictions, calibration_test, evaluate
from calibrant.calibration import View
from calibrant.checks.parameters import make_key
from calibrant.inference.testing.families import omnibus, pvalue
from calibrant.lenses import Canonical, Marginal, TopLabel
from calibrant.partitions import EqualWidth
from calibrant.resampling import Exact
from calibrant.statistics import ExpectedMiscalibration

RNG = np.random.default_rng(0)
THREE = Predictions(RNG.dirichlet(np.ones(3), 90), RNG.integers(0, 3, 90))
BINARY = Predictions(RNG.random(90).round(1), RNG.integers(0, 2, 90))


@pytest.mark.parametrize("lens", [Canonical(), TopLabel(), Marginal(1)], ids=str)
@pytest.mark.parametrize("data", [THREE, BINARY], ids=["three", "binary with ties"])
def test_the_joint_null_is_that_of_a_plain_loop(data, lens):
    """Bit for bit: every statistic of every data set that `Exact` draws."""
    statistics = omnibus(View.of(lens(data)))
    found = evaluate(data, lenses=[lens], statistics=statistics, n_resamples=25, rng=7)
    for b in range(25):
        drawn = lens(Exact().draw(data, make_key(7), b))
        assert [row.null[b] for row in found.rows] == [s(drawn) for s in statistics]


@pytest.mark.parametrize(("data", "weights"), [(THREE, [1, 1, 1, 1]), (BINARY, [1, 1, 0.25])])
def test_the_p_value_by_hand(data, weights):
    """The harmonic mean of p-values, each a share of the values of its statistic."""
    found = calibration_test(data, n_resamples=99, rng=3)
    rows = evaluate(
        data, lenses=[Canonical()], statistics=omnibus(View.of(data)), n_resamples=99, rng=3
    ).rows
    table = np.array([[row.value, *row.null] for row in rows])
    one, other = table[:, :, None], table[:, None, :]
    shares = ((one <= other) | np.isclose(one, other, rtol=1e-12, atol=0)).mean(axis=2)
    mean = sum(weights) / (np.array(weights)[:, None] / shares).sum(axis=0)
    assert found.statistic == pytest.approx(-np.log10(mean[0]), rel=1e-12)
    assert found.pvalue == np.mean(mean <= mean[0] * (1 + 1e-12))
    assert [part.pvalue for part in found.parts] == [row.pvalue for row in rows]
    assert len(found.to_dict()["parts"]) == len(weights)
    assert len(repr(found)) < 500
    assert evaluate(data, lenses=[Canonical()], n_resamples=99, rng=3).verdicts[0].pvalue == (
        found.pvalue
    )


def calibrated(case, number):
    """Return a data set whose labels were drawn from its predictions."""
    rng = np.random.default_rng([5, number])
    if case == "rare events":
        events = rng.choice([0.0005, 0.003, 0.02], 60)
        probs = np.stack((1 - events, events), axis=1)
    elif case == "1000 classes":
        probs = softmax(rng.normal(0, 3, (15, 1000)), axis=1)
    elif case == "ties, 0 and 1":
        probs = rng.multinomial(3, [0.5, 0.3, 0.2], 40) / 3
    else:
        probs = rng.dirichlet(np.ones(2 if case == "binary" else 3), 40)
    data = wrap(probs, outcomes(rng, probs))
    if case == "sorted by label":
        return data.take(np.argsort(data.labels, kind="stable"))
    if case == "weights":
        return Predictions(data.probs, data.labels, weights=rng.choice([0, 1, 7], 40))
    return data.take(np.arange(4)) if case == "four rows" else data


SETTINGS = ["binary", "three", "ties, 0 and 1", "sorted by label", "weights", "four rows"]


@pytest.mark.parametrize("case", [*SETTINGS, "rare events", "1000 classes"])
def test_size(case):
    """Calibrated models are rejected in at most 5 %."""
    trials, pvalues = 600, []
    for number in range(trials):
        data = calibrated(case, number)
        pvalues.append(calibration_test(data, n_resamples=79, rng=number).pvalue)
    assert rejections(pvalues) <= most(trials, 0.05)


def test_verdicts_of_lenses_hold_their_level_together():
    """Confidences are calibrated and the distributions are not: they are found, confidences not.

    A share of the classes below the first changes places. Verdicts that took the evidence of all
    tests for every lens, or the smallest of plain p-values, would accuse confidences.
    """
    trials, found = 400, []
    for number in range(trials):
        rng = np.random.default_rng([8, number])
        probs = np.sort(rng.dirichlet(np.full(4, 0.7), 200), axis=1)[:, ::-1]
        labels = outcomes(rng, probs[:, [0, 2, 3, 1]])
        of_all, top = evaluate(wrap(probs, labels), n_resamples=139, rng=number).verdicts
        found.append((of_all.pvalue, top.pvalue))
    of_all, top = np.array(found).T
    assert (top >= of_all).all()
    assert rejections(of_all) >= fewest(trials, 0.9)
    assert rejections(top) <= most(trials, 0.05)


@pytest.mark.parametrize("m", [3, 8])
def test_any_verdict_of_a_calibrated_model_is_off_in_at_most_5_percent(m):
    """With a wrong twin: the smallest of plain p-values."""
    trials, found = 300, []
    for number in range(trials):
        rng = np.random.default_rng([9, number])
        probs = rng.dirichlet(np.ones(m), 60)
        answer = evaluate(wrap(probs, outcomes(rng, probs)), n_resamples=139, rng=number)
        smallest = min(verdict.pvalue for verdict in answer.verdicts)
        assert smallest == pvalue(*answer.evidence)
        assert min(row.adjusted_pvalue for row in answer.rows) >= smallest
        found.append((smallest, min(row.pvalue for row in answer.rows)))
    right, twin = np.array(found).T
    assert rejections(right) <= most(trials, 0.05)
    assert rejections(twin) > most(trials, 0.05)


@pytest.mark.parametrize("m", [5, 10, 20])
def test_timid_models_are_seen(m):
    """Ten equal widths see nothing of them: a row alone in its cell is always off by 1 - p."""
    rng, trials = np.random.default_rng(m), 30
    default, binned = [], []
    eta = ExpectedMiscalibration(EqualWidth(10))
    for number in range(trials):
        logits = rng.normal(0, 1.5, (500, m))
        labels = outcomes(rng, softmax(logits, axis=1))
        data = Predictions(softmax(logits / 1.5, axis=1), labels)
        default.append(calibration_test(data, n_resamples=99, rng=number).pvalue)
        binned.append(calibration_test(data, eta, n_resamples=99, rng=number).pvalue)
    assert rejections(default) >= fewest(trials, 0.9)
    assert rejections(binned) <= most(trials, 0.05)


@pytest.mark.parametrize(("n", "form"), [(4000, "auto"), (4001, "low-rank"), (60_000, "low-rank")])
def test_the_kernel_of_many_rows_has_landmarks(n, form):
    data = Predictions(np.full((n, 3), 1 / 3), np.arange(n) % 3)
    kernel = omnibus(View.of(data))[0]
    assert kernel.form == form
    assert n < 50_000 or kernel.rank == 64
