"""CORP: a score as miscalibration - discrimination + uncertainty."""

from math import inf, log

import numpy as np
import pytest
from binary import NAMES, reference, views
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import any_weights, problems

from calibrant import Predictions, accuracy, brier_score, log_score
from calibrant.calibration import isotonic
from calibrant.lenses import Canonical, Marginal, Pooled, TopLabel
from calibrant.scores import decompose
from calibrant.statistics import ScoreMiscalibration

SCORES = brier_score, log_score
PARTS = {"score": "score", "miscalibration": "MCB", "discrimination": "DSC", "uncertainty": "UNC"}
by_score = pytest.mark.parametrize("score", SCORES, ids=lambda score: score.__name__)


def fitted(data):
    """Return the data with each prediction replaced by its isotonic regression, in plain loops.

    The minimax formula on sorted rows: min over v ≥ p of max over u ≤ p of the frequency.
    """
    p, w = data.probs[:, data.event].astype(float), data.weights
    y = (data.labels == data.event).astype(float)
    cuts = sorted(set(p[w > 0]))

    def frequency(u, v):
        inside = (u <= p) & (p <= v)
        return float((w * y)[inside].sum() / w[inside].sum())

    q = {c: min(max(frequency(u, v) for u in cuts if u <= c) for v in cuts if v >= c) for c in cuts}
    probs = np.array([q.get(each, each) for each in p])
    both = np.stack((1 - probs, probs) if data.event == 1 else (probs, 1 - probs), axis=1)
    return Predictions.trusted(both, data.labels, data.classes, data.weights, event=data.event)


def constant(data):
    rate = np.average(data.labels == data.event, weights=data.weights)
    both = np.full((data.n, 2), [1 - rate, rate][:: 1 if data.event == 1 else -1])
    return Predictions.trusted(both, data.labels, data.classes, data.weights, event=data.event)


def test_by_hand():
    # Pools {0.1}, {0.4, 0.5}, {0.8} with frequencies 0, 1/2, 1.
    data = Predictions([0.1, 0.4, 0.5, 0.8], [0, 1, 0, 1])
    found = decompose(data)
    assert found.score == pytest.approx(2 * (0.01 + 0.36 + 0.25 + 0.04) / 4, rel=1e-15)
    assert found.uncertainty == 0.5
    assert found.discrimination == pytest.approx(0.5 - 2 * (0.25 + 0.25) / 4, rel=1e-15)
    assert found.miscalibration == pytest.approx(0.33 - 0.25, rel=1e-14)
    logs = decompose(data, log_score)
    assert logs.score == pytest.approx(-(log(0.9) + log(0.4) + log(0.5) + log(0.8)) / 4, rel=1e-15)
    assert logs.uncertainty == pytest.approx(log(2), rel=1e-15)
    assert logs.miscalibration == pytest.approx(logs.score - log(2) / 2, rel=1e-14)
    assert str(found) == (
        "0.3300 = 0.0800 (miscalibration) - 0.2500 (discrimination) + 0.5000 (uncertainty)"
    )
    assert list(found.to_dict()) == list(PARTS)


@by_score
@settings(max_examples=60)
@given(data=problems(m=2, dtype=np.float64))
def test_parts_are_scores_of_other_predictions(score, data):
    found = decompose(data, score)
    close = {"rel": 1e-12, "abs": 1e-13}
    if found.score < inf:
        assert found.score == pytest.approx(score(data), **close)
        assert found.miscalibration == pytest.approx(found.score - score(fitted(data)), abs=1e-12)
    assert found.uncertainty == pytest.approx(score(constant(data)), **close)
    expected = score(constant(data)) - score(fitted(data))
    assert found.discrimination == pytest.approx(expected, abs=1e-12)
    assert found.miscalibration >= 0
    assert found.discrimination >= 0


@by_score
@given(data=problems(m=2))
def test_the_statistic_is_the_part(score, data):
    part = decompose(data, score).miscalibration
    assert ScoreMiscalibration(score)(data) == pytest.approx(part, rel=1e-12, abs=1e-14)


@by_score
@given(data=problems(m=2, weights=st.integers(1, 3)))
def test_row_order_and_copies_change_no_bit(score, data):
    found = decompose(data, score)
    rng = np.random.default_rng(0)
    assert decompose(data.take(rng.permutation(data.n)), score) == found
    part = data.take(np.repeat(np.arange(data.n), data.weights.astype(int)))
    copies = Predictions.trusted(part.probs, part.labels, part.classes, event=part.event)
    assert decompose(copies, score) == found


@by_score
@given(data=problems(m=2, weights=any_weights))
def test_a_row_of_weight_zero_is_absent(score, data):
    assert decompose(data, score) == decompose(data.take(np.flatnonzero(data.weights > 0)), score)


@given(problems(m=2))
def test_the_isotonic_function_is_the_minimax_formula(data):
    found = isotonic(data, data.event)
    expected = fitted(data).probs[:, data.event]
    at = dict(zip(found.values.tolist(), found.fitted.tolist(), strict=True))
    for p, w, q in zip(data.probs[:, data.event].tolist(), data.weights, expected, strict=True):
        if w > 0:
            assert at[p] == pytest.approx(q, rel=1e-15)


@by_score
@pytest.mark.parametrize("lens", [TopLabel(), Marginal(2), Pooled()], ids=str)
def test_a_lens_looks_first(score, lens):
    rng = np.random.default_rng(0)
    data = Predictions(rng.dirichlet(np.ones(4), 200), rng.integers(0, 4, 200))
    assert decompose(data, score, lens=lens) == decompose(lens(data), score)


@pytest.mark.parametrize("name", NAMES)
def test_decomposition_of_the_reference(shared, name):  # noqa: ARG001
    assert reference()[name]["binary"]
    for data, values in views(name):
        # The reference has the Brier score of the event alone, half of ours.
        for score, key, unit in ((brier_score, "corp_brier", 2), (log_score, "corp_log", 1)):
            found = decompose(data, score).to_dict()
            for ours, theirs in PARTS.items():
                expected = values[key][theirs]
                expected = inf if expected is None else unit * expected
                assert found[ours] == pytest.approx(expected, rel=1e-9, abs=1e-290)


def test_an_impossible_outcome():
    data = Predictions([0.0, 0.5, 0.5], [1, 0, 1])
    found = decompose(data, log_score)
    assert (found.score, found.miscalibration) == (inf, inf)
    assert (found.discrimination, found.uncertainty) == pytest.approx((0.0, 0.636514), abs=1e-6)
    assert str(found).startswith("inf = inf (miscalibration)")
    one_kind = decompose(Predictions([0.25, 0.5], [1, 1]), log_score)
    assert (one_kind.discrimination, one_kind.uncertainty) == (0, 0)


def test_refusals():
    data = Predictions([[0.2, 0.3, 0.5]], [1])
    with pytest.raises(
        ValueError,
        match=r"`decompose` needs a problem with two outcomes; found 3\. Look through a lens such",
    ):
        decompose(data)
    two = Predictions([0.5], [1])
    for build in (lambda score: decompose(two, score), ScoreMiscalibration):
        with pytest.raises(
            ValueError, match="`score` must be `brier_score` or `log_score`; found accuracy"
        ):
            build(accuracy)
    with pytest.raises(ValueError, match=r"`score` must be .* found 'brier'"):
        decompose(two, "brier")
    with pytest.raises(TypeError, match="lens"):
        decompose(two, lens=3)
    assert decompose(two, lens=Canonical()).score == 0.5
