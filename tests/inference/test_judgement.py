"""Verdicts: true by construction."""

import json

import numpy as np
import pytest
from chance import models, most
from hypothesis import given, settings
from strategies import problems

from calibrant import Predictions, evaluate
from calibrant.lenses import Canonical, Marginal, Pooled, TopLabel
from calibrant.partitions import EqualWidth
from calibrant.sizes import CrossFit, size_of
from calibrant.statistics import ExpectedMiscalibration

RNG = np.random.default_rng(0)


def binary(shift, n=4000, seed=0):
    """Return a model whose log-odds are off by `shift` of the prediction."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.05, 0.95, n)
    odds = p / (1 - p) * np.exp(shift(p))
    return Predictions(p, rng.random(n) < odds / (1 + odds))


def verdict_of(data, **options):
    (found,) = evaluate(data, lenses=[Canonical()], n_resamples=199, rng=0, **options).verdicts
    return found


@pytest.mark.parametrize(("shift", "direction"), [(0.7, "low"), (-0.7, "high")])
def test_direction_and_bias(shift, direction):
    data = binary(lambda p: shift)  # noqa: ARG005
    found = verdict_of(data)
    bias = data.probs[:, 1].mean() - data.labels.mean()
    assert found.rejected
    assert found.direction == direction
    assert found.bias == pytest.approx(bias, rel=1e-12)
    low, high = found.bias_interval
    assert low < bias < high
    span = (
        f"{min(100 * abs(low), 100 * abs(high)):.1f} to {max(100 * abs(low), 100 * abs(high)):.1f}"
    )
    assert f"too {direction}, by {100 * abs(bias):.1f} points ({span}) on average" in found.sentence


def test_both_ways():
    found = verdict_of(binary(lambda p: 1.5 * np.where(p < 0.5, 1, -1)))
    assert found.rejected
    assert found.direction == "both"
    assert "too high in some places and too low in others" in found.sentence


def test_no_evidence():
    data = binary(lambda p: 0.0)  # noqa: ARG005
    found = verdict_of(data)
    assert not found.rejected
    assert found.direction is None
    assert found.sentence.startswith("No evidence that the probabilities of “1” are miscalibrated")
    assert f"off by at most {100 * found.interval[1]:.1f} points" in found.sentence


def test_the_size_is_the_root_mean_square_deviation():
    data = binary(lambda p: 0.7)  # noqa: ARG005
    found = verdict_of(data)
    p = data.probs[:, 1]
    odds = p / (1 - p) * np.exp(0.7)
    truth = np.sqrt(((odds / (1 + odds) - p) ** 2).mean())
    assert found.size == pytest.approx(truth, rel=0.1)
    assert found.interval[0] < truth < found.interval[1]
    assert found.shown_above(0.9 * found.interval[0])
    assert found.shown_below(1.1 * found.interval[1])


def test_more_than_two_outcomes_have_no_upper_limit():
    probs = RNG.dirichlet(np.ones(4), 2000)
    labels = (probs.cumsum(axis=1) < RNG.random((2000, 1)) ** 2).sum(axis=1)
    (found,) = evaluate(
        Predictions(probs, labels), lenses="canonical", n_resamples=99, rng=0
    ).verdicts
    low, high = found.interval
    assert 0 < low < found.size
    assert high is None
    assert not found.shown_below(1.0)
    assert f"off by at least {100 * low:.1f} points" in found.sentence
    assert "at most" not in found.sentence


def test_few_rows_have_no_size():
    probs = np.vstack([np.eye(40)[k] * 0.9 + 0.1 / 40 for k in range(3)])
    (found,) = evaluate(
        Predictions(probs, [0, 1, 2]), lenses=[Canonical()], n_resamples=19, rng=0
    ).verdicts
    assert found.size is None
    assert "too few rows to say how far off" in found.sentence


def test_too_few_resamples_decide_nothing():
    (found,) = evaluate(binary(lambda p: 0.0), n_resamples=18, rng=0).verdicts  # noqa: ARG005
    assert not found.rejected
    assert found.sentence.startswith("Cannot tell with 18 resamples whether the probabilities of")
    assert "at least 19 resamples are needed" in found.sentence


def test_more_than_two_outcomes_have_no_direction():
    probs = RNG.dirichlet(np.ones(4), 500)
    found = evaluate(Predictions(probs, RNG.integers(0, 4, 500)), n_resamples=99, rng=0)
    canonical, top = found.verdicts
    assert canonical.direction is None
    assert canonical.bias is None
    assert top.direction == "high"
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["verdicts"][1]["rejected"]


def test_the_smallest_p_value_is_said_to_be_a_limit():
    text = verdict_of(binary(lambda p: 2.0)).sentence  # noqa: ARG005
    assert "p\N{NO-BREAK SPACE}≤\N{NO-BREAK SPACE}0.005" in text


@pytest.mark.parametrize("m", [2, 4])
def test_calibrated_models_get_no_claim_in_95_of_100(m):
    trials, claims = 400, 0
    for number, data in enumerate(models(m, 50, m, trials=trials)):
        found = evaluate(data, n_resamples=39, rng=number)
        claims += any(verdict.rejected for verdict in found.verdicts)
    assert claims <= most(trials, 0.05)


@settings(max_examples=50, deadline=None)
@given(problems())
def test_any_data_have_a_verdict(data):
    found = evaluate(data, lenses=[Canonical(), TopLabel(), Marginal(0)], n_resamples=20, rng=0)
    assert len(repr(found)) < 500
    for verdict in found.verdicts:
        assert verdict.sentence.endswith(".")
        assert len(repr(verdict)) < 500
        assert 0 < verdict.pvalue <= 1
        if verdict.interval is not None:
            low, high = verdict.interval
            assert 0 <= low <= verdict.size
            assert (high is None) == (verdict.bias is None)
            assert high is None or verdict.size <= high


def test_weights_that_balance_classes_are_named():
    data = binary(lambda p: 0.0, n=400)  # noqa: ARG005
    rate = data.labels.mean()
    weights = np.where(data.labels == 1, 0.5 / rate, 0.5 / (1 - rate))
    for chosen, named in (
        (weights, True),
        (np.linspace(1, 2, 400), False),
        (np.full(400, 3), False),
    ):
        found = verdict_of(Predictions(data.probs, data.labels, weights=chosen))
        assert found.balanced == named
        assert ("the weights depend on the labels" in found.sentence) == named


# Outcomes that were given probability 0


def one_failure(seed=3):
    """Return a calibrated model of four classes, but row 17 is sure of a class and wrong."""
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet([4.0, 0.3, 0.3, 0.3], 600)
    labels = (rng.random((600, 1)) > np.cumsum(probs, axis=1)).sum(axis=1).clip(max=3)
    probs[17], labels[17] = (1, 0, 0, 0), 2
    return Predictions(probs, labels)


def test_a_forecast_of_certainty_that_failed_is_the_reason():
    full, top = evaluate(one_failure(), n_resamples=199, rng=0).verdicts
    alone = "which alone refutes calibration; p"
    assert full.sentence.startswith(
        "The full distributions over all 4 classes are miscalibrated: row 17 (counted from 0) was"
        f" given 0\xa0% for what occurred, “2”, {alone}"
    )
    assert top.sentence.startswith(
        "The probabilities of the predicted class are miscalibrated: in row 17 (counted from"
        f" 0), what was given 100\xa0% did not occur, {alone}"
    )
    assert top.impossible == (1, 17, "other", 1.0, False)


@pytest.mark.parametrize("lens", [TopLabel(), Pooled()])
def test_the_reason_is_told_where_no_test_sees_it(lens):
    blind = ExpectedMiscalibration(EqualWidth(10))
    found = evaluate(one_failure(), lenses=lens, statistics=blind, n_resamples=199, rng=0)
    (verdict,) = found.verdicts
    assert not verdict.rejected
    assert (
        "are miscalibrated, though no test rejects: in row 17 (counted from 0), what was given"
        in str(verdict)
    )


def test_calibrated_models_have_no_such_outcome():
    rng = np.random.default_rng(0)
    p = rng.choice([0.0, 0.5, 1.0], 300)
    verdict = verdict_of(Predictions(p, rng.random(300) < p))
    assert verdict.impossible is None
    assert "refutes" not in verdict.sentence


def test_rows_without_weight_are_no_reason():
    data = one_failure()
    weights = np.ones(600)
    weights[17] = 0
    for verdict in evaluate(data.weighted_by(weights), n_resamples=19, rng=0).verdicts:
        assert verdict.impossible is None


def test_no_size_is_below_a_bias_that_is_told():
    """A root mean square is never below a mean; learned directions alone see less of it."""
    shown, less = 0, 0
    for seed in range(20):
        data = binary(lambda p: -0.9, n=80, seed=seed)  # noqa: ARG005
        found = verdict_of(data)
        if found.direction == "high":
            shown += 1
            less += size_of(CrossFit(data, seed)).value < found.bias
            low, high = found.interval
            assert found.size >= found.bias
            assert low <= found.size <= high
    assert shown > 5
    assert less > 0
