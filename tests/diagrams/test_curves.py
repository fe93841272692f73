"""Isotonic, smooth and cumulative curves as data: values, laws, bands that hold, refusals."""

import json

import numpy as np
import pytest
from chance import fewest, most, wrap
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import problems

from calibrant import (
    Predictions,
    calibration_test,
    cumulative_diagram,
    isotonic_diagram,
    lenses,
    smooth_diagram,
)
from calibrant.calibration import isotonic
from calibrant.statistics import KolmogorovMiscalibration, SmoothMiscalibration

MAKERS = isotonic_diagram, smooth_diagram, cumulative_diagram
by_kind = pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
FEW = {"n_resamples": 19, "rng": 0}


def binary(n, seed=0, power=1.0, ties=False):
    rng = np.random.default_rng(seed)
    p = np.round(rng.random(n), 1) if ties else rng.random(n)
    return Predictions(p, rng.random(n) < p**power)


def curve(make, data, **more):
    return make(data, **{**FEW, **more}).series[0]


def test_the_isotonic_curve_is_the_regression():
    data = binary(400, power=2.0)
    series, found = curve(isotonic_diagram, data), isotonic(data, 1)
    at = np.searchsorted(found.values, series.x)
    np.testing.assert_array_equal(found.values[at], series.x)
    np.testing.assert_array_equal(found.fitted[at], series.y)
    few = curve(isotonic_diagram, binary(400, ties=True))
    assert few.x.tolist() == sorted(set(np.round(np.arange(11) / 10, 1)))
    assert few.shares.sum() == pytest.approx(1)


def kernel(t, p, s):
    """Return the density of a Gaussian reflected at 0 and 1, image by image."""
    images = [p + 2 * j for j in range(-4, 5)] + [-p + 2 * j for j in range(-4, 5)]
    return sum(np.exp(-0.5 * ((t - q) / s) ** 2) for q in images) / (s * np.sqrt(2 * np.pi))


@pytest.mark.parametrize("width", [0.03, 0.2, 1.0])
def test_the_smooth_curve_is_that_of_the_formula(width):
    data = binary(60, power=2.0)
    series = curve(smooth_diagram, data, bandwidth=width)
    p, y = data.probs[:, 1], data.labels
    weights = kernel(series.x[:, None], p, width)
    expected = series.x + weights @ (y - p) / weights.sum(axis=1)
    np.testing.assert_allclose(series.y, expected, rtol=0, atol=1e-9)
    assert series.density.sum() == pytest.approx(1, abs=1e-3)


def test_the_area_of_the_smooth_curve_is_the_smooth_miscalibration():
    data = binary(3000, power=1.3)
    s = SmoothMiscalibration()(data)
    series = curve(smooth_diagram, data, bandwidth=s)
    off = np.abs(series.y - series.x)
    # The trapezoidal rule on 256 steps of a curve that is smooth on a scale of s = 0.07.
    area = float(series.density @ ((off[1:] + off[:-1]) / 2))
    assert area == pytest.approx(s, rel=1e-3)


def test_the_cumulative_curve_is_the_path():
    data = binary(100, power=2.0)
    order = np.argsort(data.probs[:, 1])
    off = (data.labels - data.probs[:, 1])[order]
    series = curve(cumulative_diagram, data)
    np.testing.assert_allclose(series.y, np.concatenate(([0], np.cumsum(off) / 100)), atol=1e-14)
    np.testing.assert_allclose(series.x, np.arange(101) / 100, atol=1e-15)
    np.testing.assert_array_equal(series.predictions[1:], data.probs[order, 1])
    assert np.abs(series.y).max() == pytest.approx(KolmogorovMiscalibration()(data))


def test_the_pvalue_of_the_cumulative_curve_is_that_of_kolmogorov():
    data = binary(100, power=1.3)
    found = cumulative_diagram(data, rng=3).series[0].pvalue
    test = calibration_test(data, KolmogorovMiscalibration(), rng=3)
    assert found == test.pvalue
    lower, upper = cumulative_diagram(data, rng=3).series[0].band.whole
    assert np.ptp(lower) == np.ptp(upper) == 0
    np.testing.assert_array_equal(lower, -upper)


@by_kind
def test_row_order_and_copies_change_nothing(make):
    data = binary(50, ties=True)
    weights = np.random.default_rng(1).integers(1, 4, 50)
    weighted = Predictions(data.probs, data.labels, weights=weights)
    rows = np.repeat(np.arange(50), weights)
    copies = Predictions(data.probs[rows], data.labels[rows])
    mixed = data.take(np.random.default_rng(2).permutation(50))
    for one, other in ((data, mixed), (weighted, copies)):
        a, b = curve(make, one), curve(make, other)
        if make is not smooth_diagram:  # whose width depends on the number of rows
            np.testing.assert_allclose(a.x, b.x, rtol=1e-12)
        width = {"bandwidth": 0.1} if make is smooth_diagram else {}
        a, b = curve(make, one, **width), curve(make, other, **width)
        common = np.isin(a.x, b.x)
        np.testing.assert_allclose(a.y[common], b.y[np.isin(b.x, a.x)], rtol=0, atol=1e-12)


@by_kind
@settings(max_examples=15)
@given(data=problems(m=2, weights=st.integers(0, 2)))
def test_any_problem_has_a_curve(make, data):
    series = curve(make, data)
    for each in (series.y, *series.band.pointwise, *series.band.whole, series.band.pvalues):
        assert each.shape == series.x.shape
        assert np.isfinite(each).all()
    assert (series.band.pointwise[0] <= series.band.pointwise[1]).all()
    assert (np.diff(series.x) >= 0).all()
    assert sum(piece.stop - piece.start for piece in series.pieces) == series.x.size


@by_kind
def test_a_lens_looks_first_and_the_default_is_the_top_label(make):
    rng = np.random.default_rng(0)
    data = Predictions(rng.dirichlet(np.ones(4), 300), rng.integers(0, 4, 300))
    for lens in (lenses.TopLabel(), lenses.Marginal(2), lenses.Pooled()):
        seen = lens(data)
        plain = Predictions.trusted(seen.probs, seen.labels, seen.classes, event=seen.event)
        np.testing.assert_array_equal(curve(make, data, lens=lens).y, curve(make, plain).y)
    assert make(data, **FEW).settings["lens"] == "top label"
    assert make(binary(30), **FEW).settings["lens"] == "canonical"


@by_kind
def test_large_data_have_few_points(make):
    data = binary(20_000)
    assert curve(make, data).x.size <= 260
    found = make(data, **FEW)
    json.dumps(found.to_dict(), allow_nan=False)
    assert found.to_dict()["settings"]["seed"] == 0


@by_kind
def test_same_seed_same_band_and_models_side_by_side(make):
    data, other = binary(200), binary(200, seed=1)
    both = make({"a": data, "b": other}, **FEW)
    assert [series.name for series in both.series] == ["a", "b"]
    alone = curve(make, data)
    np.testing.assert_array_equal(both.series[0].band.whole, alone.band.whole)
    np.testing.assert_array_equal(both.series[0].band.pointwise, alone.band.pointwise)


# Bands. Labels are drawn here with NumPy; limits are exact binomial ones.

TRIALS = 600


def trials(trials, law=lambda p: p, n=40):
    """Yield data sets of n rows of which half tie."""
    rng = np.random.default_rng(7)
    for _ in range(trials):
        p = np.where(rng.random(n) < 0.5, rng.integers(0, 11, n) / 10, rng.random(n))
        yield p, wrap(np.stack((1 - p, p), axis=1), rng.random(n) < law(p))


@by_kind
def test_bands_of_a_calibrated_model_hold(make):
    whole = point = rejected = 0
    for seed, (_, data) in enumerate(trials(TRIALS)):
        series = curve(make, data, n_resamples=19, rng=seed)
        inside = [
            (a - 1e-9 <= series.y) & (series.y <= b + 1e-9)
            for a, b in (series.band.whole, series.band.pointwise)
        ]
        whole += inside[0].all()
        point += inside[1][series.x.size // 2]
        rejected += series.pvalue <= 0.05
    assert whole >= fewest(TRIALS, 0.9)
    assert point >= fewest(TRIALS, 0.9)
    assert rejected <= most(TRIALS, 0.05)


@by_kind
def test_bands_of_another_model_are_left(make):
    left = 0
    for seed, (_, data) in enumerate(trials(100, lambda p: 0.5 * p + 0.5)):
        series = curve(make, data, rng=seed)
        lower, upper = series.band.whole
        left += ((series.y < lower) | (series.y > upper)).any()
    assert left > 100 - fewest(100, 0.9)


def test_the_pointwise_band_does_not_hold_for_the_whole_curve():
    inside = 0
    for seed, (_, data) in enumerate(trials(100)):
        series = curve(isotonic_diagram, data, rng=seed)
        lower, upper = series.band.pointwise
        inside += ((lower <= series.y) & (series.y <= upper)).all()
    assert inside < fewest(100, 0.9)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_confidence_band_holds_the_true_curve(weighted):
    def law(p):
        return np.sqrt(p)

    rng, covered, count = np.random.default_rng(0), 0, 200
    for p, data in trials(count, law, n=300):
        weights = rng.random(data.n) + 0.5 if weighted else None
        series = curve(isotonic_diagram, Predictions(p, data.labels, weights=weights))
        truth = law(series.x)
        lower, upper = series.confidence
        covered += ((lower <= truth) & (truth <= upper)).all()
        assert (np.diff(lower) >= 0).all()
        assert (np.diff(upper) >= 0).all()
    assert covered >= fewest(count, 0.9)


def test_the_confidence_band_rules_out_other_curves():
    rng = np.random.default_rng(0)
    p = rng.random(20_000)
    series = curve(isotonic_diagram, Predictions(p, rng.random(20_000) < p))
    lower, upper = series.confidence
    for wrong in (series.x**2, np.sqrt(series.x), np.full_like(series.x, 0.5)):
        assert ((wrong < lower) | (wrong > upper)).any()


def test_confidence_band_by_hand():
    # One prediction, five of ten: the limits of Clopper and Pearson at 95 % on each side.
    series = curve(isotonic_diagram, Predictions([0.5] * 10, [0, 1] * 5))
    assert np.ravel(series.confidence) == pytest.approx([0.22244, 0.77756], abs=1e-5)


# Refusals


@by_kind
def test_refusals(make):
    three = Predictions([[0.2, 0.3, 0.5]] * 4, [0, 1, 2, 0])
    with pytest.raises(ValueError, match=r"A curve needs a problem with two outcomes; found 3\."):
        make(three, lens=lenses.Canonical())
    with pytest.raises(ValueError, match=r"`level` of 0\.9 needs at least 19 resamples; found 9"):
        make(binary(20), n_resamples=9)
    with pytest.raises(ValueError, match="`level` must be between 0 and 1; found 1"):
        make(binary(20), level=1)
    with pytest.raises(ValueError, match="`data` must be at least one model; found none"):
        make({})
    with pytest.raises(ValueError, match="must have the same outcomes"):
        make({"a": binary(20), "b": Predictions([0.5], ["x"], classes=["y", "x"])}, **FEW)


@pytest.mark.parametrize("bandwidth", [0, -1, 1e-6, 2])
def test_a_bandwidth_that_cannot_be_is_refused(bandwidth):
    with pytest.raises(
        ValueError, match=r"`bandwidth` must be (a number above 0|from 0\.001 to 1)"
    ):
        smooth_diagram(binary(20), bandwidth=bandwidth)


def test_a_confidence_band_is_for_isotonic_curves_of_single_rows():
    for found in (
        smooth_diagram(binary(30), **FEW),
        isotonic_diagram(binary(30), lens=lenses.Pooled(), **FEW),
    ):
        for draw in (found.plot, found.figure):
            with pytest.raises(ValueError, match="`confidence` needs an isotonic curve through a"):
                draw(confidence=True)


def test_one_line():
    found = isotonic_diagram({"a": binary(50), "b": binary(50, power=9.0)}, n_resamples=99, rng=0)
    a, b = (f"{series.pvalue:.3f}" for series in found.series)
    assert str(found) == f"isotonic curve (CORP), a: p = {a}, b: p = {b} for the whole curve"
    assert repr(found) == f"<{found}>"
    assert repr(found.series[0]).startswith("CurveSeries(name='a', points=50")
