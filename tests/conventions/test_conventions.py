"""Conventions against values of the software they are named after (`benchmarks.conventions`)."""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import calibrant as cal
from calibrant import conventions
from calibrant.conventions import bins
from calibrant.predictions import Predictions

FOUND = json.loads(Path(__file__).with_name("stored.json").read_text("utf-8"))
NAMES = sorted({one["convention"] for one in FOUND["values"]})


@cache
def case(name):
    if name not in FOUND["cases"]:
        return cal.datasets.cifar10(name)
    stored = FOUND["cases"][name]
    return Predictions(np.array(stored["probs"], stored["dtype"]), stored["labels"])


@pytest.mark.parametrize("name", NAMES)
def test_values_of_the_software(name):
    for one in FOUND["values"]:
        if one["convention"] != name:
            continue
        data = case(one["case"])
        some = data if data.n == one["rows"] else data.take(np.arange(one["rows"]))
        value = getattr(conventions, name)(**one["arguments"])(some)
        off = abs(value - one["value"]) / max(1.0, abs(value))
        assert off <= one["allowed"], (one, value)


def test_there_are_enough():
    assert len(NAMES) == 13
    kinds = {(one["convention"], json.dumps(one["arguments"])) for one in FOUND["values"]}
    assert len(kinds) >= 40


SMALL = Predictions(np.arange(1, 40) / 40, np.arange(39) % 3 == 0)
THREE = Predictions(np.random.default_rng(0).dirichlet(np.ones(3), 60), np.arange(60) % 3)
ALL = [
    conventions.torchmetrics(),
    conventions.probmetrics(),
    conventions.netcal(),
    conventions.guo(),
    conventions.scikit_learn(),
    conventions.mapie(),
    *map(conventions.pycalib, ("conf_ECE", "classwise_ECE", "ECE")),
    *map(conventions.uncertainty_calibration, ("ece", "ece_em", "l2_debiased")),
    conventions.helm(),
    conventions.relplot(),
    *map(conventions.val_prob, ("Eavg", "E90", "Intercept", "Slope")),
    conventions.val_prob_ci(),
    conventions.hosmer_lemeshow(),
]


@pytest.mark.parametrize("data", [SMALL, THREE], ids=["two", "three"])
@pytest.mark.parametrize("statistic", ALL, ids=str)
def test_a_null_is_what_the_statistic_gives_for_redrawn_labels(statistic, data):
    found = cal.calibration_test(data, statistic, n_resamples=19, rng=3)
    plain = cal.calibration_test(data, statistic.__call__, n_resamples=19, rng=3)
    assert found.statistic == pytest.approx(statistic(data), rel=1e-9)
    np.testing.assert_allclose(found.null, plain.null, rtol=1e-7, atol=1e-12)
    assert found.settings["statistic"] == str(statistic)


@pytest.mark.parametrize("statistic", ALL, ids=str)
def test_the_predicted_class_is_looked_at_once(statistic):
    if statistic.look == "always" or "classwise" in statistic.name:
        return
    seen = cal.lenses.TopLabel()(THREE)
    assert statistic(THREE) == pytest.approx(statistic(seen), rel=1e-6)


def test_rows_that_are_drawn_again():
    found = cal.estimate(SMALL, conventions.torchmetrics(), n_resamples=19, rng=0)
    assert 0 < found.standard_error < 0.2


def test_torch_has_a_bin_for_one_and_rounded_limits():
    data = Predictions([0.95, 0.95, 1.0, 1.0], [0, 1, 1, 1])
    assert conventions.torchmetrics(10)(data) == pytest.approx(0.225)  # 0.95 and 1 apart
    assert conventions.netcal(10)(data) == pytest.approx(0.225)
    split = Predictions([0.95, 0.95, 1.0, 1.0], [1, 1, 0, 1])
    assert conventions.torchmetrics(10)(split) == pytest.approx((0.05 + 0.5) / 2)
    assert conventions.netcal(10)(split) == pytest.approx(0.225)
    edges = bins.torch_widths(np.ones(1, np.float32), 15)[0]
    assert edges.dtype == np.float32
    assert edges[3] > np.float32(0.2)


def test_folded_or_not():
    p, y = [0.25] * 4 + [0.75] * 4, [1] * 4 + [0] * 4
    data = Predictions(p, y)
    assert conventions.torchmetrics(10)(data) == 0.75
    assert conventions.guo(10)(data) == 0.75
    one_sided = Predictions([0.25] * 4 + [0.75] * 4, [0] * 4 + [0] * 4)
    assert conventions.torchmetrics(10)(one_sided) == 0.5
    assert conventions.guo(10)(one_sided) == 0.25  # the deviations of 0.25 and 0.75 cancel
    named = Predictions([0.25] * 4 + [0.75] * 4, [0] * 8, classes=["wrong", "correct"])
    assert conventions.guo(10)(named) == 0.5  # confidences stay


def test_mapie_has_a_bin_for_zero_and_one_fewer():
    lows, highs = bins.pointed_widths(np.ones(1), 3)
    assert lows.tolist() == [-np.inf, 0.0, 0.5]
    assert highs.tolist() == [0.0, 0.5, 1.0]
    data = Predictions([0.0, 0.1], [1, 0])
    assert conventions.mapie(10)(data) == pytest.approx(0.55)
    assert conventions.netcal(10, equal_intervals=True)(Predictions([0.0, 0.09], [1, 0])) < 0.5


def test_hosmer_and_lemeshow_by_hand():
    data = Predictions([0.25] * 4 + [0.5] * 4, [1, 0, 0, 0, 1, 1, 1, 0])
    # groups: expected 1 and 3, observed 1 and 3; expected 2 and 2, observed 3 and 1
    assert conventions.hosmer_lemeshow(2)(data) == pytest.approx(1.0)
    assert conventions.hosmer_lemeshow_pvalue(data, 2, fitted=False) == pytest.approx(np.exp(-0.5))
    certain = conventions.hosmer_lemeshow(2)
    assert certain(Predictions([0.0, 0.0, 0.5, 0.5], [0, 0, 0, 1])) == 0.0
    assert certain(Predictions([0.0, 0.0, 0.5, 0.5], [0, 1, 0, 1])) == np.inf


def test_separable_outcomes_have_no_slope():
    data = Predictions([0.1, 0.2, 0.7, 0.8], [0, 0, 1, 1])
    assert conventions.val_prob("Slope")(data) == np.inf


def test_regressions_are_those_of_cox():
    fit = cal.statistics.Cox().fit(SMALL)
    assert conventions.val_prob("Slope")(SMALL) == pytest.approx(abs(fit.slope - 1))
    assert conventions.val_prob("Intercept")(SMALL) == pytest.approx(abs(fit.intercept))
    assert conventions.val_prob_ci()(SMALL) == pytest.approx(abs(fit.in_the_large))


def test_the_plain_curve_of_equal_predictions():
    data = Predictions([0.3] * 10, [1] * 6 + [0] * 4)
    for measure in ("Eavg", "E50", "E90", "Emax", "ICI"):
        assert conventions.val_prob(measure)(data) == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: conventions.torchmetrics(norm="l3"), "`norm` must be 'l1', 'l2' or 'max'"),
        (lambda: conventions.netcal(measure="ece"), "`measure` must be 'ECE'"),
        (lambda: conventions.guo(0), "`n_bins` must be"),
        (lambda: conventions.mapie(10, "kmeans"), "`split_strategy` must be"),
        (lambda: bins.BinnedError(bins.Bins(bins.numpy_widths, 5, "left"))(THREE), "two outcomes"),
    ],
)
def test_refusals(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
