"""The averaged two-bin error: by hand, as an integral, as a double sum, and its null mean."""

from itertools import pairwise
from math import fsum

import numpy as np
import pytest
from binary import NAMES, enumerated, reference, rows_of, stored, views
from hypothesis import given
from strategies import problems

from calibrant import Predictions, calibration_test
from calibrant.statistics import AveragedTwoBin

two_bin = AveragedTwoBin()
RELATIVE = 1e-9  # what the reference promises
BINARY = [name for name in NAMES if "first_10_rows" in reference().get(name, {})] or ["adult_rf"]


def double_sum(data):
    rows = rows_of(data)
    total = fsum(w for _, _, w in rows)
    residuals = [(p, w * (y - p)) for p, y, w in rows]
    terms = (a * b * (1 - abs(p - q)) for p, a in residuals for q, b in residuals)
    return fsum(terms) / total**2


def integral(data):
    """Return the integral over the point where the bins meet, constant between predictions."""
    rows = rows_of(data)
    total = fsum(w for _, _, w in rows)
    marks = sorted({0.0, 1.0, *(p for p, _, _ in rows)})
    parts = []
    for low, high in pairwise(marks):
        q = 0.5 * (low + high)
        left = fsum(w * (y - p) for p, y, w in rows if p < q)
        right = fsum(w * (y - p) for p, y, w in rows if p >= q)
        parts.append((high - low) * (left**2 + right**2))
    return fsum(parts) / total**2


def test_by_hand():
    # r = -1/4, -3/4: below 1/4 and above 3/4 one bin holds both, 1^2; between, 1/16 + 9/16.
    assert two_bin(Predictions([0.25, 0.75], [0, 0])) == (0.5 * 1 + 0.5 * 0.625) / 4
    assert two_bin(Predictions([0.0, 1.0], [0, 1])) == 0.0
    assert two_bin(Predictions([0.0, 1.0], [1, 0])) == 0.5  # two bins, 1 and 1


@given(problems(m=2))
def test_equals_loops(data):
    found = two_bin(data)
    assert found == pytest.approx(integral(data), rel=1e-12, abs=1e-16)
    assert found == pytest.approx(double_sum(data), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("name", NAMES)
def test_reference(shared, name):  # noqa: ARG001
    for data, values in views(name):
        assert two_bin(data) == pytest.approx(values["averaged_two_bin"], rel=RELATIVE)
        mean = values["averaged_two_bin_null_mean"]
        assert two_bin.null_mean(data) == pytest.approx(mean, rel=RELATIVE)


@pytest.mark.parametrize("name", BINARY)
def test_first_ten_rows_of_the_reference(shared, name):  # noqa: ARG001
    data = stored(name).take(np.arange(10))
    values = reference()[name]["first_10_rows"]["averaged_two_bin"]
    assert two_bin(data) == pytest.approx(values["statistic"], rel=RELATIVE)
    assert enumerated(data, two_bin) == pytest.approx(values["pvalue"], rel=RELATIVE)


def test_the_null_mean_is_that_of_all_outcomes():
    data = Predictions([0.1, 0.3, 0.3, 0.8], [0, 0, 0, 0])
    p = data.probs[:, 1]
    mean = 0.0
    for code in range(16):
        y = np.array([code >> i & 1 for i in range(4)])
        mean += np.prod(np.where(y, p, 1 - p)) * two_bin(data.with_labels(y))
    assert two_bin.null_mean(data) == pytest.approx(mean, rel=1e-14)


def test_the_null_mean_is_that_of_replicates():
    rng = np.random.default_rng(0)
    p = rng.random(300)
    null = calibration_test(Predictions(p, p > 0.5), two_bin, rng=0).null
    expected = two_bin.null_mean(Predictions(p, p > 0.5))
    assert null.mean() == pytest.approx(expected, abs=5 * null.std() / np.sqrt(999))


def test_nobody_gains_by_another_report():
    """The expectation for outcomes of p is smallest where p is reported: among 40 others."""
    rng = np.random.default_rng(1)
    p = np.array([0.2, 0.4, 0.5, 0.9])
    outcomes = np.array([[code >> i & 1 for i in range(4)] for code in range(16)])
    chance = np.prod(np.where(outcomes, p, 1 - p), axis=1)

    def expectation(report):
        return chance @ [two_bin(Predictions(report, y)) for y in outcomes]

    best = expectation(p)
    for _ in range(40):
        assert expectation(np.clip(p + 0.2 * rng.standard_normal(4), 0, 1)) >= best - 1e-15


def test_weights_in_the_null_mean():
    data = Predictions([0.25, 0.5], [0, 1], weights=[2, 1])
    assert two_bin.null_mean(data) == pytest.approx((4 * 3 / 16 + 1 / 4) / 9, rel=1e-14)
