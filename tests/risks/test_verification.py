"""Verification of forecasts: by hand, in loops, and against the scores that are there."""

import numpy as np
import pytest
from chance import fewest, outcomes

import calibrant as cal
from calibrant import Predictions, scores


def test_two_outcomes_by_hand():
    found = cal.verification([0.1, 0.1, 0.9, 0.9], [0, 0, 1, 0])
    assert found.brier == pytest.approx((0.01 + 0.01 + 0.01 + 0.81) / 4)
    assert found.brier_skill.value == pytest.approx(1 - 0.21 / 0.1875)
    parts = found.parts
    assert parts.reliability == pytest.approx((0.1**2 + 0.4**2) / 2)
    assert parts.resolution == pytest.approx(0.25**2)
    assert parts.uncertainty == pytest.approx(0.1875)
    assert parts.within == pytest.approx(0.0, abs=1e-15)
    assert (found.bins, found.rps) == (0, None)


def test_reliability_of_calibrated_models_is_what_is_expected():
    rng = np.random.default_rng(0)
    p, w = rng.random(200), rng.choice([1.0, 3.0], 200)
    sets = [Predictions(p, (rng.random(200) < p).astype(int), weights=w) for _ in range(400)]
    parts = [cal.verification(data, bins=10).parts for data in sets]
    found = np.array([one.reliability for one in parts])
    assert abs(found.mean() - parts[0].expected) < 5 * found.std() / 20  # false alarms: 6e-7


@pytest.mark.parametrize("bins", [None, 1, 5, 10])
def test_parts_add_up_and_agree_with_loops(bins):
    rng = np.random.default_rng(0)
    p = rng.random(300)
    y = (rng.random(300) < p**2).astype(int)
    found = cal.verification(p, y, bins=bins)
    assert found.parts.score == pytest.approx(((p - y) ** 2).mean(), abs=1e-12)
    reliability = 0.0
    for b in range(found.bins):
        rows = np.minimum((p * found.bins).astype(int), found.bins - 1) == b
        if rows.any():
            reliability += rows.mean() * (p[rows].mean() - y[rows].mean()) ** 2
    assert found.parts.reliability == pytest.approx(reliability)


def test_more_outcomes_in_plain_loops():
    rng = np.random.default_rng(1)
    probs = rng.dirichlet(np.ones(4), 200)
    labels = outcomes(rng, probs)
    found = cal.verification(probs, labels)
    rps = reference = 0.0
    rates = np.bincount(labels, minlength=4) / 200
    for row, y in zip(probs, labels, strict=True):
        for k in range(3):
            rps += (row[: k + 1].sum() - (y <= k)) ** 2 / 200
            reference += (rates[: k + 1].sum() - (y <= k)) ** 2 / 200
    assert found.rps == pytest.approx(rps)
    assert found.rps_skill.value == pytest.approx(1 - rps / reference)
    assert found.reference[1] == pytest.approx(reference)
    assert found.brier_skill.value == pytest.approx(1 - found.brier / found.reference[0])
    assert found.brier == pytest.approx(scores.brier_score(Predictions(probs, labels)))
    assert found.parts.score == pytest.approx(found.brier)
    assert "for the order 0, 1, 2, 3." in str(found)


def test_climatology_of_a_longer_record():
    data = Predictions([0.2, 0.4, 0.7, 0.9], [0, 1, 0, 1])
    found = cal.verification(data, climatology=0.3)
    reference = (0.3**2 + 0.7**2) / 2
    assert found.brier_skill.value == pytest.approx(1 - found.brier / reference)
    assert found.reference == pytest.approx((reference,))
    same = cal.verification(data, climatology=[0.7, 0.3])
    assert same.brier_skill == found.brier_skill
    assert cal.verification(data, climatology=0.5).brier_skill.value == pytest.approx(
        cal.verification(data).brier_skill.value
    )


def test_refusals():
    with pytest.raises(ValueError, match="`climatology` must be the probability of the event"):
        cal.verification([0.2, 0.4], [0, 1], climatology=[0.2, 0.2])
    with pytest.raises(ValueError, match="`bins` must be"):
        cal.verification([0.2, 0.4], [0, 1], bins=0)
    with pytest.raises(ValueError, match="`verification` needs at least 6 clusters"):
        cal.verification(Predictions([0.2, 0.4, 0.7], [0, 1, 1], clusters=[0, 0, 1]))


SETS = 200


def held(interval):
    """Count how often an interval of the RPS skill holds, of calibrated forecasts of 3 classes."""
    rng = np.random.default_rng(5)
    big = rng.dirichlet((6.0, 2.0, 0.5), 200_000)
    sums = np.cumsum(big, axis=1)[:, :2]
    centre = sums.mean(axis=0)
    truth = 1 - (sums * (1 - sums)).sum(axis=1).mean() / (centre * (1 - centre)).sum()
    count = 0
    for _ in range(SETS):
        probs = rng.dirichlet((6.0, 2.0, 0.5), 120)
        low, high = interval(cal.verification(probs, outcomes(rng, probs)).rps_skill)
        count += low <= truth <= high
    return count


def test_the_interval_of_the_skill_holds():
    assert held(lambda skill: skill.interval) >= fewest(SETS, 0.95)


def test_half_of_it_does_not():
    def half(skill):
        return tuple((skill.value + end) / 2 for end in skill.interval)

    assert held(half) < fewest(SETS, 0.95)
