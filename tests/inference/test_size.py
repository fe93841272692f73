"""Rejection rates of calibrated models: at most 5 % for the exact test, and what gets it wrong."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from chance import TRIALS, fewest, models, most, outcomes, rejections, wrap
from places import IN_FULL

from calibrant import calibration_test, classwise
from calibrant.distances import euclidean, squared_euclidean, total_variation
from calibrant.lenses import Canonical, Marginal, Pooled, TopLabel
from calibrant.partitions import EqualWidth, FromFunction, VarianceTree
from calibrant.resampling import Consistency, Exact
from calibrant.statistics import ExpectedMiscalibration, WorstMiscalibration

LIMIT = most(TRIALS, 0.05)
FEWER = 400  # data sets where a mistake is large enough to be seen in them


def test_the_limit():
    assert (269 if IN_FULL else 99) == LIMIT


def pvalues(data_sets, statistic, lens=Canonical(), resampler=Exact()):
    # With 19 resamples a test at 5 % rejects if no replicate reaches the statistic.
    for trial, data in enumerate(data_sets):
        yield calibration_test(
            data, statistic, lens=lens, resampler=resampler, n_resamples=19, rng=trial
        ).pvalue


def blurred(probs):
    """A slightly different law: a fifth of every prediction is moved to the next class."""
    return 0.8 * probs + 0.2 * np.roll(probs, 1, axis=-1)


def whole_weights(rng, n):
    return rng.integers(1, 5, n).astype(float)


def mean_squared_gap(data):
    """A statistic of the user's: how far the Brier score is from what the model expects."""
    hit = data.probs[np.arange(data.n), data.labels]
    square = (data.probs**2).sum(axis=1)
    return abs(float(np.sum(1 - 2 * hit + square)) - float(np.sum(1 - square)))


def repeated(data):
    """The mistake of taking a weight of 3 for three rows that were observed independently."""
    rows = np.repeat(np.arange(data.n), data.weights.astype(int))
    return wrap(data.probs[rows], data.labels[rows])


@dataclass
class Case:
    """A calibrated model, how it is tested, and the same with a mistake."""

    model: dict[str, Any]
    statistic: Any
    lens: Any = Canonical()
    wrong_model: dict[str, Any] | None = None  # what changes in the model
    wrong: dict[str, Any] | None = None  # what changes in the test
    mistake: Any = None  # what is done to the data before it
    wrong_trials: int = FEWER


EXPECTED = ExpectedMiscalibration(EqualWidth(10))
CASES = {
    "binary": Case({"n": 100, "m": 2}, EXPECTED, wrong_model={"law": blurred}),
    "three classes": Case(
        {"n": 200, "m": 3},
        ExpectedMiscalibration(EqualWidth(5), squared_euclidean),
        wrong_model={"law": blurred},
    ),
    "ten classes, nearly one row per cell": Case(
        {"n": 100, "m": 10, "spread": 0.5}, EXPECTED, wrong={"resampler": Consistency()}
    ),
    "ten classes in a tree": Case(
        {"n": 300, "m": 10},
        ExpectedMiscalibration(VarianceTree(20), euclidean),
        wrong_model={"law": blurred},
    ),
    "top label": Case(
        {"n": 100, "m": 5, "spread": 0.5}, EXPECTED, TopLabel(), wrong_model={"law": blurred}
    ),
    "marginal": Case(
        {"n": 200, "m": 4, "spread": 0.5}, EXPECTED, Marginal(1), wrong_model={"law": blurred}
    ),
    "pooled": Case(
        {"n": 40, "m": 2},
        ExpectedMiscalibration(EqualWidth(2)),
        Pooled(),
        wrong={"lens": Canonical()},  # the pairs of a row are redrawn independently
        mistake=Pooled(),
        wrong_trials=TRIALS,
    ),
    "weights": Case(
        {"n": 100, "m": 3, "weights": whole_weights},
        ExpectedMiscalibration(EqualWidth(4)),
        mistake=repeated,
    ),
    "worst case": Case(
        {"n": 100, "m": 3}, WorstMiscalibration(EqualWidth(2)), wrong_model={"law": blurred}
    ),
    "a user's statistic": Case(
        {"n": 50, "m": 3, "spread": 0.5}, mean_squared_gap, wrong_model={"law": blurred}
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_calibrated_models_are_rejected_in_five_percent(name):
    case = CASES[name]
    data_sets = models(1, **case.model)
    assert rejections(pvalues(data_sets, case.statistic, case.lens)) <= LIMIT


@pytest.mark.parametrize("name", CASES)
def test_and_more_often_with_a_mistake(name):
    case = CASES[name]
    data_sets = models(1, **(case.model | (case.wrong_model or {})), trials=case.wrong_trials)
    if case.mistake is not None:
        data_sets = map(case.mistake, data_sets)
    settings = {"lens": case.lens} | (case.wrong or {})
    found = rejections(pvalues(data_sets, case.statistic, **settings))
    assert found > most(case.wrong_trials, 0.05)


def test_consistency_resampling_rejects_nearly_all_calibrated_models_where_cells_hold_few_rows():
    trials = 200
    data_sets = list(models(2, 300, 10, trials=trials))
    found = rejections(pvalues(data_sets, EXPECTED, resampler=Consistency()))
    assert found >= fewest(trials, 0.99)
    assert rejections(pvalues(data_sets, EXPECTED)) <= most(trials, 0.05)


def test_consistency_resampling_is_about_right_where_cells_hold_many_rows():
    data_sets = models(3, 400, 2, trials=FEWER)
    statistic = ExpectedMiscalibration(EqualWidth(4))
    assert rejections(pvalues(data_sets, statistic, resampler=Consistency())) <= most(FEWER, 0.05)


def test_ties_count_as_at_least_as_large():
    """Four tosses of a fair coin: the largest deviation has probability 1/8."""
    coin = ExpectedMiscalibration(EqualWidth(1))
    rng = np.random.default_rng(4)
    strict = right = 0
    for trial in range(TRIALS):
        data = wrap(np.full((4, 2), 0.5), rng.integers(0, 2, 4))
        found = calibration_test(data, coin, n_resamples=19, rng=trial)
        right += found.pvalue <= 0.05
        strict += (1 + np.sum(found.null > found.statistic)) / 20 <= 0.05
    assert right <= LIMIT
    assert strict > LIMIT


TABLE_1 = np.array(
    [
        [[0.1, 0.3, 0.6], [0.2, 0.2, 0.6]],
        [[0.1, 0.6, 0.3], [0.0, 0.7, 0.3]],
        [[0.3, 0.1, 0.6], [0.2, 0.2, 0.6]],
        [[0.3, 0.6, 0.1], [0.4, 0.5, 0.1]],
        [[0.6, 0.1, 0.3], [0.7, 0.0, 0.3]],
        [[0.6, 0.3, 0.1], [0.5, 0.4, 0.1]],
    ]
)


def example_1(seed, trials, n=1000):
    rng = np.random.default_rng(seed)
    for _ in range(trials):
        kind = rng.integers(0, 6, n)
        yield wrap(TABLE_1[kind, 0], outcomes(rng, TABLE_1[kind, 1]))


def test_example_1_is_rejected_by_the_canonical_lens_alone():
    trials = 300
    data_sets = list(example_1(5, trials))
    assert rejections(pvalues(data_sets, EXPECTED)) == trials
    for lens in (TopLabel(), Marginal(0), Marginal(1), Marginal(2)):
        found = rejections(pvalues(data_sets, EXPECTED, lens))
        assert found <= most(trials, 0.05), lens


def test_a_true_hypothesis_other_than_calibration_holds_its_size():
    # `blurred` is the law of the labels, so it is the right hypothesis and the identity is not.
    statistic = ExpectedMiscalibration(EqualWidth(5))
    for lens in (Canonical(), TopLabel()):
        data_sets = list(models(6, 150, 3, law=blurred, trials=1000))
        right = rejections(pvalues(data_sets, statistic, lens, Exact(blurred)))
        assert right <= most(1000, 0.05), lens
    assert rejections(pvalues(data_sets, statistic)) > most(1000, 0.05)


def test_a_false_hypothesis_other_than_calibration_is_rejected():
    # The statistic measures from the identity, so a hypothesis that is nearer to it than the
    # truth is what the test can see.
    def half(probs):
        return 0.5 * (probs + blurred(probs))

    data_sets = models(7, 400, 3, law=blurred, trials=300)
    statistic = ExpectedMiscalibration(EqualWidth(3))
    assert rejections(pvalues(data_sets, statistic, resampler=Exact(half))) > most(300, 0.05)


def test_the_mean_over_classes_needs_labels_that_are_drawn_jointly():
    """Of two classes one deviates as the other does: drawn apart, the mean scatters too little."""
    joint = apart = 0
    for trial, data in enumerate(models(8, 60, 2)):
        found = classwise(data, EqualWidth(4), total_variation, n_resamples=19, rng=trial)
        joint += found.mean_pvalue <= 0.05
        other = classwise(data, EqualWidth(4), n_resamples=19, rng=trial + TRIALS).null[1]
        apart += found.mean >= np.max((found.null[0] + other) / 2)
    assert joint <= LIMIT
    assert apart > LIMIT


def test_classes_through_a_function_hold_their_size():
    partition = FromFunction(lambda probs: (probs[:, 0] > 0.2).astype(int))
    found = np.zeros(4, int)
    for trial, data in enumerate(models(9, 80, 4)):
        found += classwise(data, partition, n_resamples=19, rng=trial).pvalues <= 0.05
    assert found.max() <= LIMIT
