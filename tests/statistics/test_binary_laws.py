"""Laws that every statistic of two outcomes obeys, and the size of its exact test."""

import pickle

import numpy as np
import pytest
from binary import EVIDENCE, FAMILY
from chance import TRIALS, most, outcomes, rejections, wrap
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import any_weights, problems

from calibrant import Predictions, calibration_test, estimate
from calibrant.calibration import observed
from calibrant.checks.parameters import make_key
from calibrant.inference.replicates.driver import values_and_replicates
from calibrant.inference.replicates.problem import Plan
from calibrant.lenses import Canonical, Groups, Marginal, Pooled, TopLabel
from calibrant.partitions import EqualWidth
from calibrant.resampling import Bootstrap, Consistency, Exact
from calibrant.statistics import ExpectedMiscalibration, SmoothMiscalibration, View
from calibrant.statistics.statistic import Ties

SEED = 5
LENSES = TopLabel(), Marginal(1), Groups([[0, 2], [1]]), Pooled()
FEWER = 400


def named(family=FAMILY):
    return pytest.mark.parametrize("statistic", family, ids=lambda s: type(s).__name__)


def same(statistic, found, expected):
    """Compare to the last bit; transforms of many replicates at once may round differently."""
    if isinstance(statistic, SmoothMiscalibration):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)
    else:
        np.testing.assert_array_equal(found, expected)


def repeated(data):
    part = data.take(np.repeat(np.arange(data.n), data.weights.astype(int)))
    return Predictions.trusted(part.probs, part.labels, part.classes, event=part.event)


def uneven(n, seed=0, m=2, weights=None):
    """Return predictions of which some tie, rows in the order of their labels."""
    rng = np.random.default_rng([seed, n, m])
    probs = rng.dirichlet(np.full(m, 0.7), n)
    probs[: n // 2] = np.round(probs[: n // 2], 1)
    probs /= probs.sum(axis=1, keepdims=True)
    labels = np.sort(outcomes(rng, probs))
    return Predictions(probs, labels, weights=None if weights is None else weights(rng, n))


@named()
@settings(max_examples=25)
@given(data=problems(m=2))
def test_row_order_changes_no_bit(statistic, data):
    rng = np.random.default_rng(0)
    assert statistic(data.take(rng.permutation(data.n))) == statistic(data)


@named([one for one in FAMILY if one not in EVIDENCE])
@settings(max_examples=25)
@given(data=problems(m=2, weights=st.integers(1, 3)))
def test_a_weight_is_a_number_of_copies(statistic, data):
    assert statistic(data) == statistic(repeated(data))


@named(EVIDENCE)
@settings(max_examples=25)
@given(data=problems(m=2, weights=st.integers(1, 3)))
def test_the_unit_of_weights_is_no_matter(statistic, data):
    """A row has one outcome, whatever its weight: 100 times all weights are no more evidence."""
    other = data.weighted_by(np.full(data.n, 100.0))
    assert statistic(other) == pytest.approx(statistic(data), rel=1e-9, abs=1e-12)


@named()
@settings(max_examples=25)
@given(data=problems(m=2, weights=any_weights))
def test_a_row_of_weight_zero_is_absent(statistic, data):
    present = data.take(np.flatnonzero(data.weights > 0))
    assert statistic(data) == pytest.approx(statistic(present), rel=1e-12, abs=1e-14)


@named()
@settings(max_examples=25)
@given(data=problems(m=2))
def test_prepare_then_evaluate_is_the_call(statistic, data):
    other = data.with_labels(1 - data.labels)
    evaluate = statistic.prepare(View.of(data))
    for seen in (data, other):
        assert evaluate(observed(seen)).shape == (1,)
        assert float(evaluate(observed(seen))[0]) == statistic(seen)


@named()
def test_the_event_may_be_either_outcome(statistic):
    data = uneven(60, m=3)
    first = TopLabel()(data)
    swapped = Predictions(first.probs[:, ::-1].copy(), 1 - first.labels)
    assert (first.event, swapped.event) == (0, 1)
    assert statistic(swapped) == statistic(first)


@named()
@settings(max_examples=25)
@given(data=problems(m=2))
def test_is_never_negative(statistic, data):
    assert statistic(data) >= 0


@named()
@pytest.mark.parametrize("lens", LENSES, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_fast_replicates_are_those_of_the_definition(statistic, lens, weighted):
    data = uneven(150, m=3, weights=(lambda rng, n: rng.integers(0, 4, n)) if weighted else None)
    plan = Plan(Exact(), 7, SEED)
    problem = plan.look(data, lens)
    (value,), (found,) = values_and_replicates(problem, [statistic], plan)
    assert value == statistic(lens(data))
    key = make_key(SEED)
    same(statistic, found, [statistic(lens(Exact().draw(data, key, b))) for b in range(7)])


@named()
def test_chunks_of_values_change_nothing(statistic, monkeypatch):
    data = uneven(300)
    whole = calibration_test(data, statistic, n_resamples=20, rng=SEED)
    monkeypatch.setattr("calibrant.statistics.statistic.BATCH", 200)
    parts = calibration_test(data, statistic, n_resamples=20, rng=SEED)
    assert parts.statistic == whole.statistic
    same(statistic, parts.null, whole.null)


@named()
@pytest.mark.parametrize("resampler", [Consistency(), Bootstrap()], ids=lambda r: type(r).__name__)
def test_rows_may_be_drawn_again(statistic, resampler):
    data = uneven(80)
    plan = Plan(resampler, 5, SEED)
    problem = plan.look(data, Canonical())
    _, (found,) = values_and_replicates(problem, [statistic], plan)
    same(statistic, found, [statistic(resampler.draw(data, plan.key, b)) for b in range(5)])
    assert estimate(data, statistic, n_resamples=5, rng=0).value == statistic(data)


def test_statistics_share_their_ties():
    shared = View.of(uneven(30))
    assert Ties.of(FAMILY[0], shared).cells is Ties.of(FAMILY[1], shared).cells


@named()
def test_counts_may_be_drawn_in_place_of_labels(statistic):
    data = Predictions([0.2, 0.5, 0.5, 0.7] * 10, [0, 1, 0, 1] * 10)
    result = calibration_test(data, statistic, resampler=Exact(draws="counts"), rng=0)
    other = calibration_test(data, statistic, rng=0)
    assert result.statistic == other.statistic
    # Two simulated p-values of 999 draws each: five standard errors of their difference.
    assert result.pvalue == pytest.approx(other.pvalue, abs=5 * np.sqrt(0.5 / 1000))


def calibrated(trials, law=None):
    """Yield data sets of 40 rows, tied at tenths, in the order of their labels."""
    rng = np.random.default_rng(3)
    for _ in range(trials):
        p = np.where(rng.random(40) < 0.5, rng.integers(0, 11, 40) / 10, rng.random(40))
        probs = np.stack((1 - p, p), axis=1)
        labels = outcomes(rng, probs if law is None else law(probs))
        order = np.argsort(labels, kind="stable")
        yield wrap(probs[order], labels[order])


def pvalues(data_sets, statistic):
    for trial, data in enumerate(data_sets):
        yield calibration_test(data, statistic, n_resamples=19, rng=trial).pvalue


@named()
def test_size_of_the_exact_test(statistic):
    trials = FEWER if isinstance(statistic, SmoothMiscalibration) else TRIALS  # 20 ms each
    assert rejections(pvalues(calibrated(trials), statistic)) <= most(trials, 0.05)


@named()
def test_a_wrong_law_is_noticed(statistic):
    wrong = calibrated(200, lambda probs: 0.55 * probs + 0.45 * np.array([0.0, 1.0]))
    assert rejections(pvalues(wrong, statistic)) > most(200, 0.05)


@named()
def test_refuses_more_than_two_outcomes(statistic):
    name = type(statistic).__name__
    sentence = (
        rf"`{name}\(\)` needs a problem with two outcomes; found 3\. Look through a lens such as"
        r" `TopLabel\(\)` or `Marginal\(…\)`\."
    )
    data = uneven(9, m=3)
    with pytest.raises(ValueError, match=sentence):
        statistic(data)
    with pytest.raises(ValueError, match=sentence):
        calibration_test(data, statistic, n_resamples=9)
    assert calibration_test(data, statistic, lens=TopLabel(), n_resamples=9).pvalue <= 1


@named()
def test_statistics_are_values(statistic):
    assert pickle.loads(pickle.dumps(statistic)) == statistic
    assert statistic == type(statistic)()
    with pytest.raises((AttributeError, TypeError)):  # a frozen class without fields: either
        statistic.width = 3
    settings_of = calibration_test(uneven(9), statistic, n_resamples=9).settings
    assert settings_of["statistic"] == str(statistic)


def test_statistics_say_what_they_are():
    assert [str(statistic) for statistic in FAMILY] == [
        "averaged two-bin miscalibration",
        "Cox's score test",
        "cutoff miscalibration",
        "Kolmogorov miscalibration",
        "Neyman's smooth test",
        "miscalibration of the Brier score",
        "smooth miscalibration",
        "Spiegelhalter's z",
    ]


def test_others_in_the_same_call_see_the_same_labels():
    data = uneven(50)
    eta = ExpectedMiscalibration(EqualWidth(5))
    plan = Plan(Exact(), 9, SEED)
    problem = plan.look(data, Canonical())
    _, together = values_and_replicates(problem, [*FAMILY, eta], plan)
    for statistic, found in zip([*FAMILY, eta], together, strict=True):
        same(statistic, found, calibration_test(data, statistic, n_resamples=9, rng=SEED).null)
