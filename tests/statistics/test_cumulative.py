"""The range and the largest modulus of cumulative residuals, and their p-values."""

from itertools import combinations

import numpy as np
import pytest
from binary import NAMES, enumerated, path, reference, stored, views
from chance import agrees
from hypothesis import given, settings
from strategies import integer_weights, problems

from calibrant import Predictions, calibration_test
from calibrant.statistics import CutoffMiscalibration, KolmogorovMiscalibration, View
from calibrant.statistics.statistic import Ties

cutoff, kolmogorov = CutoffMiscalibration(), KolmogorovMiscalibration()
range_pvalue, modulus_pvalue = cutoff.brownian_pvalue, kolmogorov.brownian_pvalue
RELATIVE = 1e-9  # what the reference promises
BINARY = [name for name in NAMES if "first_10_rows" in reference().get(name, {})] or ["adult_rf"]


def test_by_hand():
    data = Predictions([0.25, 0.5, 0.75, 0.75], [1, 0, 0, 1])
    # The path goes from 0 to 3/16, 1/16 and -1/16.
    assert cutoff(data) == 0.25
    assert kolmogorov(data) == 0.1875


def test_the_path_begins_at_zero():
    data = Predictions([0.25, 0.5], [0, 0])
    assert cutoff(data) == kolmogorov(data) == 0.375


def test_equal_predictions_enter_together():
    for labels in ([1, 0, 1, 0], [0, 0, 1, 1]):
        assert cutoff(Predictions([0.5] * 4, labels)) == 0.0
        assert kolmogorov(Predictions([0.5] * 4, labels)) == 0.0


@given(problems(m=2))
def test_equals_loops(data):
    steps = path(data)
    assert cutoff(data) == pytest.approx(max(steps) - min(steps), rel=1e-12, abs=1e-15)
    assert kolmogorov(data) == pytest.approx(max(map(abs, steps)), rel=1e-12, abs=1e-15)


@given(problems(m=2))
def test_the_range_is_the_largest_over_intervals(data):
    largest = max(abs(b - a) for a, b in combinations(path(data), 2))
    assert cutoff(data) == pytest.approx(largest, rel=1e-12, abs=1e-15)
    assert kolmogorov(data) <= cutoff(data) <= 2 * kolmogorov(data) + 1e-15


@pytest.mark.parametrize("name", NAMES)
def test_reference(shared, name):  # noqa: ARG001
    for data, values in views(name):
        found = {
            "kolmogorov": kolmogorov(data),
            "kuiper": cutoff(data),
            "path_scale": Ties.of(cutoff, View.of(data)).path_scale,
            "kolmogorov_pvalue_exact": kolmogorov.exact_pvalue(data),
            "kolmogorov_pvalue_asymptotic": kolmogorov.asymptotic_pvalue(data),
            "kuiper_pvalue_asymptotic": cutoff.asymptotic_pvalue(data),
        }
        expected = {key: values[key] for key in found}
        assert found == pytest.approx(expected, rel=RELATIVE, abs=1e-290)


@pytest.mark.parametrize("name", BINARY)
def test_first_ten_rows_of_the_reference(shared, name):  # noqa: ARG001
    data = stored(name).take(np.arange(10))
    values = reference()[name]["first_10_rows"]
    for statistic, key in ((kolmogorov, "kolmogorov"), (cutoff, "kuiper")):
        assert statistic(data) == pytest.approx(values[key]["statistic"], rel=RELATIVE)
        assert enumerated(data, statistic) == pytest.approx(values[key]["pvalue"], rel=RELATIVE)
    exact = kolmogorov.exact_pvalue(data)
    assert exact == pytest.approx(values["kolmogorov"]["pvalue"], rel=RELATIVE)


def test_redrawn_pvalues_of_the_reference(shared):  # noqa: ARG001
    seen = 0
    for name in NAMES:
        if reference()[name]["n"] > 1300:
            continue
        for data, values in views(name):
            mine = calibration_test(data, cutoff, n_resamples=999, rng=1).pvalue
            theirs = values["kuiper_pvalue_redrawn"]
            p = theirs["value"]
            error = np.sqrt(max(p * (1 - p), 1e-3) * (1 / 1000 + 1 / theirs["draws"]))
            assert abs(mine - p) <= 5 * error
            seen += 1
    assert seen >= 10


@settings(max_examples=25)
@given(problems(m=2, weights=False, max_n=7))
def test_the_exact_pvalue_is_that_of_all_outcomes(data):
    found = kolmogorov.exact_pvalue(data)
    assert found == pytest.approx(enumerated(data, kolmogorov), rel=1e-12, abs=1e-15)


@settings(max_examples=25)
@given(problems(m=2, weights=integer_weights, max_n=6))
def test_a_weight_is_a_number_of_copies_in_pvalues(data):
    rows = np.repeat(np.arange(data.n), data.weights.astype(int))
    part = data.take(rows)
    copies = Predictions.trusted(part.probs, part.labels, part.classes, event=part.event)
    assert kolmogorov.exact_pvalue(data) == kolmogorov.exact_pvalue(copies)


@settings(max_examples=25)
@given(problems(m=2, weights=integer_weights, max_n=20))
def test_asymptotic_pvalues_and_the_unit_of_weights(data):
    other = data.weighted_by(np.full(data.n, 100.0))
    for pvalue in (kolmogorov.asymptotic_pvalue, cutoff.asymptotic_pvalue):
        assert pvalue(other) == pytest.approx(pvalue(data), rel=1e-9, abs=1e-300)


def test_the_exact_pvalue_is_what_is_simulated():
    rng = np.random.default_rng(0)
    p = np.round(rng.random(200), 2)
    data = Predictions(p, rng.random(200) < p**1.1)
    exact = kolmogorov.exact_pvalue(data)
    result = calibration_test(data, kolmogorov, n_resamples=1999, rng=0)
    hits = round(result.pvalue * 2000) - 1
    assert 0.005 < exact < 0.5
    assert agrees(hits, 1999, exact)


def test_exact_pvalues_at_the_ends():
    assert kolmogorov.exact_pvalue(Predictions([0.5, 0.5], [1, 0])) == 1.0  # the statistic is 0
    assert kolmogorov.exact_pvalue(Predictions([0.0, 1.0], [0, 1])) == 1.0
    assert kolmogorov.exact_pvalue(Predictions([0.0, 0.5], [1, 1])) == 0.0  # cannot happen
    assert kolmogorov.exact_pvalue(Predictions([0.5] * 40, [1] * 40)) == 2.0**-39


def test_refuses_broken_weights():
    data = Predictions([0.5, 0.25], [1, 0], weights=[0.5, 1.5])
    with pytest.raises(
        ValueError,
        match=r"`exact_pvalue` needs weights that are whole numbers; found 0\.5\. Use"
        r" `calibration_test`, which takes any\.",
    ):
        kolmogorov.exact_pvalue(data)


def test_asymptotic_pvalues_of_a_path_that_cannot_move():
    right, wrong = Predictions([0.0, 1.0], [0, 1]), Predictions([0.0, 1.0], [1, 1])
    for statistic in (cutoff, kolmogorov):
        assert statistic.asymptotic_pvalue(right) == 1.0
        assert statistic.asymptotic_pvalue(wrong) == 0.0


def test_asymptotic_pvalues_are_near_exact_ones():
    rng = np.random.default_rng(1)
    p = rng.random(4000)
    data = Predictions(p, rng.random(4000) < p)
    exact = kolmogorov.exact_pvalue(data)
    assert kolmogorov.asymptotic_pvalue(data) == pytest.approx(exact, abs=0.02)
    simulated = calibration_test(data, cutoff, rng=0).pvalue
    assert cutoff.asymptotic_pvalue(data) == pytest.approx(simulated, abs=0.06)


# Percentage points of the largest modulus: 4 (1 - Phi(x)) and less beyond; Feller (1951).
@pytest.mark.parametrize(("x", "p"), [(1.959963985, 0.1), (2.241402728, 0.05)])
def test_known_values_of_the_modulus(x, p):
    # The next term is 4 (1 - Phi(3 x)), below 1e-8.
    assert modulus_pvalue(x) == pytest.approx(p, abs=1e-7)


def test_series_meet_where_they_change():
    for pvalue, x in ((modulus_pvalue, 1.0), (range_pvalue, 1.5)):
        assert pvalue(x) == pytest.approx(pvalue(np.nextafter(x, 2)), abs=1e-14)


def test_pvalues_fall_from_one_to_zero():
    x = np.linspace(0.01, 12, 500)
    for pvalue in (modulus_pvalue, range_pvalue):
        found = np.array([pvalue(value) for value in x])
        assert (np.diff(found) <= 0).all()
        assert (found >= 0).all()
        assert found[0] == 1.0
        assert pvalue(0.0) == 1.0
        assert pvalue(np.inf) == 0.0
        # The mean is the integral of the chance to be larger.
        mean = np.trapezoid(np.append(1.0, found), np.append(0.0, x))
        known = {modulus_pvalue: np.sqrt(np.pi / 2), range_pvalue: np.sqrt(8 / np.pi)}
        assert mean == pytest.approx(known[pvalue], abs=1e-4)
