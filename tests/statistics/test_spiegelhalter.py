"""Spiegelhalter's z: by hand, in loops, its sign, and where nothing can move it."""

from math import erfc, fsum, inf, sqrt

import numpy as np
import pytest
from binary import NAMES, rows_of, views
from chance import most
from hypothesis import given
from scipy.stats import norm
from strategies import problems

from calibrant import Predictions, calibration_test
from calibrant.statistics import Spiegelhalter

spiegelhalter = Spiegelhalter()
RELATIVE = 1e-9  # what the reference promises


def z_in_loops(data):
    rows = rows_of(data)
    above = fsum(w * (y - p) * (1 - 2 * p) for p, y, w in rows)
    variance = fsum(w * w * (1 - 2 * p) ** 2 * p * (1 - p) for p, _, w in rows)
    if variance == 0:
        return 0.0 if above == 0 else inf
    return above / sqrt(variance)


def test_spiegelhalter_by_hand():
    data = Predictions([0.2, 0.8], [0, 1])
    # -0.2 * 0.6 twice, over the root of 2 * 0.36 * 0.16
    assert spiegelhalter.z(data) == pytest.approx(-0.24 / sqrt(0.1152), rel=1e-14)
    assert spiegelhalter(data) == -spiegelhalter.z(data)
    assert spiegelhalter.pvalue(data) == pytest.approx(2 * norm.sf(0.24 / sqrt(0.1152)), rel=1e-13)
    assert spiegelhalter.pvalue(data) == erfc(spiegelhalter(data) / sqrt(2))


@given(problems(m=2))
def test_spiegelhalter_equals_loops(data):
    expected = z_in_loops(data)
    assert spiegelhalter.z(data) == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert spiegelhalter(data) == abs(spiegelhalter.z(data))


def test_z_is_positive_if_predictions_are_too_extreme():
    rng = np.random.default_rng(0)
    p = rng.random(2000)
    y = rng.random(2000) < p
    extreme = p**2 / (p**2 + (1 - p) ** 2)
    timid = p**0.5 / (p**0.5 + (1 - p) ** 0.5)
    assert spiegelhalter.z(Predictions(extreme, y)) > 5
    assert spiegelhalter.z(Predictions(timid, y)) < -5


def test_z_that_no_prediction_can_move():
    assert spiegelhalter(Predictions([0.0, 0.5, 1.0], [0, 1, 1])) == 0.0
    assert spiegelhalter.pvalue(Predictions([0.0, 0.5, 1.0], [0, 1, 1])) == 1.0
    wrong = Predictions([0.0, 0.5, 1.0], [0, 1, 0])
    assert spiegelhalter.z(wrong) == inf
    assert spiegelhalter.pvalue(wrong) == 0.0
    assert calibration_test(wrong, spiegelhalter, n_resamples=9, rng=0).pvalue == 0.1


@pytest.mark.parametrize("name", NAMES)
def test_reference(shared, name):  # noqa: ARG001
    for data, values in views(name):
        expected = values["spiegelhalter"]
        assert spiegelhalter.z(data) == pytest.approx(expected["z"], rel=RELATIVE)
        near = {"rel": RELATIVE, "abs": 1e-300}
        assert spiegelhalter.pvalue(data) == pytest.approx(expected["pvalue"], **near)


def test_pvalues_hold_with_weights():
    """Calibrated, weights of 1 to 50: 5 % are below 0.05; as if a weight were copies, far more."""
    rng = np.random.default_rng(3)
    found, as_copies = [], []
    for _ in range(400):
        p, w = rng.random(200), rng.choice([1.0, 50.0], 200, p=[0.9, 0.1])
        data = Predictions(p, rng.random(200) < p, weights=w)
        found.append(spiegelhalter.pvalue(data))
        rows = np.repeat(np.arange(200), w.astype(int))
        as_copies.append(spiegelhalter.pvalue(Predictions(p[rows], data.labels[rows])))
    assert sum(x <= 0.05 for x in found) <= most(400, 0.05) < sum(x <= 0.05 for x in as_copies)


@pytest.mark.parametrize("method", [spiegelhalter.z, spiegelhalter.pvalue])
def test_methods_refuse_more_than_two_outcomes(method):
    with pytest.raises(ValueError, match=r"`Spiegelhalter\(\)` needs a problem with two outcomes"):
        method(Predictions([[0.2, 0.3, 0.5]], [1]))
