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
from calibrant.checks.parameters import make_key
from calibrant.diagrams import bands
from calibrant.diagrams.bands import Binomial
from calibrant.resampling import Exact
from calibrant.statistics import KolmogorovMiscalibration, SmoothMiscalibration
from calibrant.statistics.smooth import squared_mass

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


def test_replicates_of_very_many_predictions_see_groups_of_those_next_to_the_same(monkeypatch):
    data = binary(400, power=2.0)
    exact = curve(isotonic_diagram, data)
    monkeypatch.setattr(bands, "FINEST", 32)
    series, p = curve(isotonic_diagram, data), np.sort(data.probs[:, 1])
    np.testing.assert_array_equal(series.y, exact.y)
    inside = np.clip(data.probs[:, 1], 32.0**-2, 1 - 32.0**-2)
    groups = np.floor(data.probs[:, 1] * 32) + np.floor(np.log(inside / (1 - inside)))
    share = 0.25 + 0.5 * (groups - groups.min()) / np.ptp(groups)
    rows = np.argsort(data.probs[:, 1])[np.searchsorted(p, series.x)]
    drawn = []
    for b in range(FEW["n_resamples"]):
        labels = Exact().draw(data, make_key(FEW["rng"]), b).labels
        found = isotonic(Predictions(share, labels), 1)
        drawn.append(found.fitted[np.searchsorted(found.values, share[rows])])
    low, high = series.band.pointwise  # of 19 replicates, all of them
    np.testing.assert_allclose(low, np.min(drawn, axis=0), rtol=1e-12)
    np.testing.assert_allclose(high, np.max(drawn, axis=0), rtol=1e-12)
    assert (low != exact.band.pointwise[0]).any()


def kernel(t, p, s):
    """Return the density of a Gaussian reflected at 0 and 1, image by image."""
    images = [p + 2 * j for j in range(-4, 5)] + [-p + 2 * j for j in range(-4, 5)]
    return sum(np.exp(-0.5 * ((t - q) / s) ** 2) for q in images) / (s * np.sqrt(2 * np.pi))


@pytest.mark.parametrize("width", [0.03, 0.2, 1.0])
def test_the_smooth_curve_is_that_of_the_formula(width):
    data = binary(60, power=2.0)
    series = curve(smooth_diagram, data, bandwidth=width)
    p, y = data.probs[:, 1], data.labels
    t = np.arange(257) / 256
    weights = kernel(t[:, None], p, width)
    weights = weights[weights.sum(axis=1) * 2 * np.sqrt(np.pi) * width >= 1]
    weights /= weights.sum(axis=1, keepdims=True)
    if series.x.size > 1:
        np.testing.assert_allclose(series.x, weights @ p, rtol=0, atol=1e-9)
        np.testing.assert_allclose(series.y, weights @ y, rtol=0, atol=1e-9)
    else:  # too short to be seen as a line
        assert np.ptp(weights @ p) < 0.002
        assert np.abs(weights @ p - series.x).min() < 1e-9
        assert np.abs(weights @ y - series.y).min() < 1e-9
    assert series.density.sum() == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("width", [0.03, 0.2])
def test_the_square_of_the_kernel_is_that_of_the_formula(width):
    rng = np.random.default_rng(0)
    p, mass = np.sort(rng.random(50)), rng.random(50)
    expected = kernel((np.arange(257) / 256)[:, None], p, width) ** 2 @ mass
    found = squared_mass(p, mass, width, 256)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * expected.max())


@pytest.mark.parametrize("n", [50, 1000])
def test_what_the_smooth_curve_shows_as_a_frequency_is_one(n):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        p = 1 - rng.random(n) ** 8
        series = curve(smooth_diagram, Predictions(p, rng.random(n) < p**3), rng=seed)
        for each in (series.x, series.y, *series.band.pointwise, *series.band.whole):
            assert (each >= 0).all()
            assert (each <= 1).all()


def sharp_network(seed=0):
    """Return 2,000 rows, nine of ten above 0.95: predicted 99.7 %, observed 95 %."""
    rng = np.random.default_rng(seed)
    p = np.where(rng.random(2000) < 0.92, 1 - 0.05 * rng.random(2000) ** 15, rng.random(2000))
    return Predictions(p, rng.random(2000) < np.where(p > 0.95, 0.95, p))


def test_where_most_rows_are_off_the_smooth_curve_is_significant():
    for seed in range(5):
        series = smooth_diagram(sharp_network(seed), rng=seed).series[0]
        top = series.x > 0.985
        assert top.any()
        assert (series.band.pvalues[top] == 0.001).all()
        lower, _ = series.band.whole
        assert (series.y[top] < lower[top]).all()
        assert 0.002 < (series.x - lower)[-1] < 0.02  # chance does little to so many rows


def test_limits_of_frequencies_are_where_they_are_as_far_off():
    standard = Binomial(np.array([0.001, 0.3, 0.999]), np.array([50.0, 200.0, 8000.0]))
    for reach in (0.5, 2.0, 3.0):
        for limit, end in zip(standard.limits(reach), (0, 1), strict=True):
            far = standard.far(limit)
            np.testing.assert_allclose(far[limit != end], reach, rtol=1e-6)
            assert (far[limit == end] <= reach).all()
    # 5 of 10 where 0.3 are expected: 2 · 10 · (0.5 log(5/3) + 0.5 log(5/7)) = 1.7435
    far = Binomial(np.array([0.3]), np.array([10.0])).far(np.array([0.5]))
    assert far**2 == pytest.approx(1.743534, abs=1e-6)


def test_a_forecast_of_certainty_that_failed_is_significant():
    p, y = np.repeat([0.5, 1.0], 100), np.repeat([0, 1, 1], [50, 50, 100])
    calibrated = smooth_diagram(Predictions(p, y), rng=0).series[0]
    assert calibrated.pvalue > 0.5
    y[150] = 0
    found = smooth_diagram(Predictions(p, y), rng=0).series[0]
    assert found.band.pvalues[-1] == 0.001


@by_kind
@pytest.mark.parametrize("times", [100.0, 0.01])
def test_a_multiple_of_all_weights_changes_nothing(make, times):
    data = binary(300, power=1.3, ties=True)
    weights = np.random.default_rng(1).exponential(size=300)
    one, other = (
        make(Predictions(data.probs, data.labels, weights=w), **FEW).series[0]
        for w in (weights, times * weights)
    )
    np.testing.assert_allclose(one.x, other.x, rtol=1e-9)
    np.testing.assert_allclose(one.y, other.y, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(one.band.pvalues, other.band.pvalues)
    np.testing.assert_allclose(one.band.whole, other.band.whole, rtol=0, atol=1e-9)


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
        np.testing.assert_allclose(a.x, b.x, rtol=0, atol=1e-12)
        np.testing.assert_allclose(a.y, b.y, rtol=0, atol=1e-12)


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


HARD = {
    "few rows": lambda rng: (rng.random(8), None),
    "ties": lambda rng: (rng.choice([0.01, 0.2, 0.5, 0.99, 1.0], 100), None),
    "rare events": lambda rng: (0.01 * rng.random(300), None),
    "a sharp network": lambda rng: (1 - rng.random(300) ** 20, None),
    "weights": lambda rng: (rng.random(100) ** 3, rng.pareto(1.5, 100) + 0.01),
}


@pytest.mark.parametrize("setting", HARD.values(), ids=HARD)
def test_the_smooth_curve_rejects_calibrated_models_at_its_level(setting):
    rng, rejected = np.random.default_rng(11), 0
    for seed in range(TRIALS):
        p, weights = setting(rng)
        data = Predictions(p, rng.random(p.size) < p, weights=weights)
        rejected += curve(smooth_diagram, data, rng=seed).pvalue <= 0.05
    assert rejected <= most(TRIALS, 0.05)


@by_kind
def test_bands_of_another_model_are_left(make):
    left = 0
    for seed, (_, data) in enumerate(trials(100, lambda p: 0.5 * p + 0.5)):
        series = curve(make, data, rng=seed)
        lower, upper = series.band.whole
        left += ((series.y < lower) | (series.y > upper)).any()
    assert left > 100 - fewest(100, 0.9)


@pytest.mark.parametrize("make", MAKERS[:2], ids=lambda make: make.__name__)
def test_the_pointwise_band_does_not_hold_for_the_whole_curve(make):
    inside = 0
    for seed, (_, data) in enumerate(trials(100)):
        series = curve(make, data, rng=seed)
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


@pytest.mark.parametrize("unit", [1.0, 100.0, 0.3])
def test_the_confidence_band_of_rows_that_all_weigh_the_same_is_that_of_rows(unit):
    p, data = next(iter(trials(1, n=200)))
    alike = Predictions(p, data.labels, weights=np.full(data.n, unit))
    found, expected = (curve(isotonic_diagram, each).confidence for each in (alike, data))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


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
