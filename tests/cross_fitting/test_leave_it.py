"""A calibrated model is left alone, also where few rows are all right; intervals allow for luck."""

import numpy as np
import pytest
from chance import TRIALS, fewest, most, outcomes, wrap
from scipy.stats import norm

from calibrant import calibration_test, recalibrate
from calibrant.cross_fitting import Change
from calibrant.cross_fitting.before_after import _fit, _recommended, default_methods, make_folds
from calibrant.cross_fitting.result import AS_IT_IS, apply_to_folds
from calibrant.recalibration import Temperature
from calibrant.scores import row_scores


def accurate(rng, n):
    """Return a calibrated model of confidence 1 - Beta(1, 60), two classes of which occur twice."""
    while True:
        top, side = 1 - rng.beta(1, 60, n), rng.integers(0, 2, n)
        event = np.where(side == 1, top, 1 - top)
        data = wrap(
            np.stack((1 - event, event), axis=1),
            outcomes(rng, np.stack((1 - event, event), axis=1)),
        )
        if min(data.labels.sum(), n - data.labels.sum()) >= 2:
            return data


def chosen_by_scores_alone(data, seed):
    """Return the choice of plain fits by cross-fitted scores, without the test."""
    folds = make_folds(data, 5, seed)
    logs = [row_scores(data)[0]]
    for method in default_methods(data):
        maps = _fit(data, method, folds, None)[:-1]
        logs.append(row_scores(apply_to_folds(data, maps, folds))[0])
    return _recommended(np.stack(logs), np.ones(data.n))


@pytest.mark.parametrize("n", [20, 100])
def test_accurate_models_are_left_alone_though_all_rows_are_right(n):
    rng = np.random.default_rng(n)
    sets = [accurate(rng, n) for _ in range(150)]
    changed = 0
    for seed, data in enumerate(sets):
        if calibration_test(data, n_resamples=99, rng=seed).pvalue <= 0.05:
            changed += recalibrate(data, n_resamples=99, rng=seed).recommended != AS_IT_IS
    assert changed <= most(150, 0.05)
    by_scores = sum(chosen_by_scores_alone(data, 1) > 0 for data in sets[:60])
    assert by_scores > most(60, 0.05)


def test_a_test_that_does_not_reject_decides():
    rng = np.random.default_rng(0)
    for seed in range(10):
        found = recalibrate(accurate(rng, 30), [Temperature()], n_resamples=99, rng=seed)
        first = found.rows[0]
        if first.pvalue > 0.05:
            assert found.recommended == AS_IT_IS
            assert found.recommendation == (
                "Leave it as it is: nothing shows that it is miscalibrated"
                f" (p = {first.pvalue:.3g})."
            )


def test_five_rows_that_are_all_right_stay_as_they_are():
    rows = np.array([[0.7, 0.3], [0.75, 0.25], [0.2, 0.8], [0.3, 0.7], [0.25, 0.75]])
    found = recalibrate(wrap(rows, np.array([0, 0, 1, 1, 1])), rng=0)
    assert found.recommended == AS_IT_IS
    assert 0.8 < found.map("temperature").temperature < 1


@pytest.mark.parametrize("signal", [0.0, 0.5, 1.0, 2.0, 4.0])
def test_the_interval_covers_the_gain_of_a_map_that_was_recommended(signal):
    """One parameter that is seen as z = signal + noise, and a map that moves it by z.

    In total it gains signal z - z²/2, and seems to gain z²/2 - 1 when cross-fitted, give or take
    z. It is recommended if a test of level 5 % rejects.
    """
    rng = np.random.default_rng(5)
    z = signal + rng.standard_normal(200 * TRIALS)
    z = z[z > norm.isf(0.025)][:TRIALS]
    gains = signal * z - z**2 / 2

    def covered(choices):
        intervals = [Change(-(x**2 / 2 - 1), x, 10**6, choices=choices).interval for x in z]
        return sum(low <= -gain <= high for (low, high), gain in zip(intervals, gains, strict=True))

    assert covered(choices=1) >= fewest(z.size, 0.95)
    if signal == 0:  # a wrong twin
        assert covered(choices=0) < fewest(z.size, 0.95)


def test_strong_evidence_needs_no_allowance_and_weak_evidence_much():
    plain = Change(-1.0, 0.01, 10**6).interval
    assert Change(-1.0, 0.01, 10**6, choices=1).interval == pytest.approx(plain, abs=1e-9)
    weak = Change(-1.0, 1.0, 10**6, choices=1).interval
    assert weak == pytest.approx((-1 - norm.isf(0.025), -1 + norm.isf(0.025 * 0.05)), abs=1e-4)
