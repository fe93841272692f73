"""Clinical numbers: by hand, against second implementations and published values, and by chance."""

import numpy as np
import pytest
from chance import fewest
from scipy.optimize import brentq, minimize
from scipy.special import expit, logit
from scipy.stats import norm

import calibrant as cal
from calibrant import Predictions, conventions, statistics
from calibrant.conventions.curves import Lowess
from calibrant.risks.curve import flexible_curve
from calibrant.risks.discrimination import _variance, area, placements
from calibrant.risks.logistic import in_the_large, observed_expected, slope_and_intercept
from calibrant.risks.parts import brier, scaled_brier
from calibrant.risks.sample import Bin, Risks, limits_of_count, limits_of_share, number
from calibrant.risks.utility import net_benefit

NAMES = ("observed_expected", "in_the_large", "slope", "intercept", "auc", "brier", "scaled_brier")


def drawn(n=300, seed=0, centre=-1.0, **more):
    rng = np.random.default_rng(seed)
    x = rng.normal(centre, 1.2, n)
    labels = (rng.random(n) < expit(x)).astype(int)
    return Predictions(expit(0.3 + 1.2 * x), labels, **more)


def risks_of(data):
    return Risks.of(data, "canonical", 0.95, "clinical")


def test_values_by_hand():
    found = cal.clinical([0.1, 0.2, 0.6, 0.7], [0, 1, 0, 1], thresholds=0.5)
    assert found.observed_expected.value == pytest.approx(2 / 1.6)
    assert found.auc.value == 0.75
    assert found.brier.value == pytest.approx((0.01 + 0.64 + 0.36 + 0.09) / 4)
    assert found.scaled_brier.value == pytest.approx(1 - 0.275 / 0.25)
    assert found.benefits.value.tolist() == [0.0]  # one hit and one alarm, at odds of 1
    assert (found.n, found.events, found.rate) == (4, 2, 0.5)


def test_slope_intercept_and_curve_are_those_of_cox_and_val_prob():
    data = drawn()
    found, fit = cal.clinical(data), statistics.Cox().fit(data)
    assert found.slope.value == pytest.approx(fit.slope, abs=1e-9)
    assert found.intercept.value == pytest.approx(fit.intercept, abs=1e-9)
    assert found.in_the_large.value == pytest.approx(fit.in_the_large, abs=1e-9)
    curve = found.curve
    for name, value in (("ICI", curve.ici), ("E50", curve.e50), ("E90", curve.e90)):
        assert value == pytest.approx(conventions.val_prob(name)(data), abs=1e-12)


def test_ici_of_a_calibrated_model_is_what_draws_give():
    data = drawn(400)
    null = cal.calibration_test(data, conventions.val_prob("ICI"), n_resamples=399, rng=0).null
    assert cal.clinical(data).curve.expected_ici == pytest.approx(null.mean(), rel=0.08)


def likelihood(data, intercept, slope):
    x, y = logit(data.probs[:, 1]), data.labels
    eta = intercept + slope * x
    return float((y * eta - np.logaddexp(0, eta)).sum())


def modified_root(data, slope):
    """r* of a slope in plain terms: profile by a general optimiser, information by differences."""
    x = logit(data.probs[:, 1])

    def worst(theta):
        return -likelihood(data, *theta)

    best = minimize(worst, (0.0, 1.0), method="BFGS", options={"gtol": 1e-10}).x
    other = minimize(lambda a: -likelihood(data, a[0], slope), (best[0],), tol=1e-12).x[0]
    r = np.sign(best[1] - slope) * np.sqrt(
        2 * (likelihood(data, *best) - likelihood(data, other, slope))
    )
    p = expit(best[0] + best[1] * x)
    design = np.stack((np.ones_like(x), x))
    full = np.linalg.det((design * p * (1 - p)) @ design.T)
    q = expit(other + slope * x)
    u = (best[1] - slope) * np.sqrt(full / (q * (1 - q)).sum())
    return r + np.log(u / r) / r


def test_ends_of_the_slope_are_those_of_the_modified_likelihood():
    data = Predictions([0.1, 0.2, 0.3, 0.35, 0.4, 0.6, 0.7, 0.9] * 4, [0, 1, 0, 0, 1, 0, 1, 1] * 4)
    risks = risks_of(data)
    slope, _ = slope_and_intercept(risks)
    # Rows scatter as such a model implies here, or less: nothing is stretched.
    for end, sign in zip(slope.interval, (1, -1), strict=True):
        assert modified_root(data, end) == pytest.approx(sign * norm.ppf(0.975), abs=2e-3)


@pytest.mark.parametrize(
    ("events", "rows", "ends"),
    [
        (81, 263, (0.2544, 0.3658)),
        (15, 148, (0.0601, 0.1581)),
        (0, 20, (0.0, 0.1391)),
        (1, 29, (0.0017, 0.1585)),
    ],
)
def test_limits_of_a_share_are_published_ones(events, rows, ends):
    # Newcombe (1998), "Two-sided confidence intervals for the single proportion", table I, mid-p.
    found = limits_of_share(events / rows, float(rows), norm.ppf(0.975))
    assert [round(float(end), 4) for end in found] == pytest.approx(list(ends), abs=1.01e-4)
    same = limits_of_count(Bin(np.array([0.5]), np.array([float(rows)]), events), norm.ppf(0.975))
    close = 1e-6 if rows < 100 else 1e-4  # from a variance of 25 on, a corrected normal one
    assert expit(same) == pytest.approx([float(end) for end in found], abs=close)


def test_limits_in_the_large_invert_the_exact_distribution_of_the_number_of_events():
    p, labels = np.array([0.05, 0.1, 0.2, 0.3, 0.15] * 4), np.array([0, 0, 0, 1, 0] * 3 + [0] * 5)

    def mid_p(constant):
        chances = np.array([1.0])
        for q in expit(logit(p) + constant):
            chances = np.convolve(chances, (1 - q, q))
        k = int(labels.sum())
        return chances[k + 1 :].sum() + chances[k] / 2

    low, high = in_the_large(risks_of(Predictions(p, labels))).interval
    assert low == pytest.approx(brentq(lambda a: mid_p(a) - 0.025, -20, 20), abs=1e-5)
    assert high == pytest.approx(brentq(lambda a: mid_p(a) - 0.975, -20, 20), abs=1e-5)
    ratio = observed_expected(risks_of(Predictions(p, labels))).interval
    assert ratio[1] == pytest.approx(expit(logit(p) + high).sum() / p.sum(), abs=1e-5)


def test_area_and_its_variance_in_plain_loops():
    data = drawn(60)
    p, y = data.probs[:, 1].round(1), data.labels
    data = Predictions(p, y)
    kernel = np.array([[(a > b) + 0.5 * (a == b) for b in p[y == 0]] for a in p[y == 1]])
    value, influence = placements(risks_of(data))
    assert value == pytest.approx(kernel.mean())
    de_long = kernel.mean(axis=1).var(ddof=1) / len(kernel)
    de_long += kernel.mean(axis=0).var(ddof=1) / kernel.shape[1]
    assert influence @ influence == pytest.approx(de_long)


def test_standard_error_of_an_area_is_the_published_one():
    # Hanley and McNeil (1982): 51 abnormal and 58 normal images, area 0.893, standard error 0.032.
    assert round(np.sqrt(_variance(0.893, 51, 58)), 3) == 0.032


def test_an_area_of_one_has_a_lower_limit():
    low, high = area(risks_of(Predictions([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1]))).interval
    assert high == pytest.approx(1.0)
    assert 0.2 < low < 0.7


def test_net_benefit_of_a_calibrated_model_has_a_closed_form():
    # Uniform risks p: the integral of p - (1 - p) t / (1 - t) from t to 1 is (1 - t) / 2.
    p = (np.arange(2000) + 0.5) / 2000
    labels = np.zeros(2000, int)
    data = Predictions(np.repeat(p, 2), np.stack((labels, labels + 1), axis=1).ravel())
    weighted = Predictions(
        data.probs[:, 1], data.labels, weights=np.stack((1 - p, p), axis=1).ravel()
    )
    thresholds = np.array([0.1, 0.25, 0.5, 0.9])
    found = net_benefit(risks_of(weighted), thresholds)
    assert found.value == pytest.approx((1 - thresholds) / 2, abs=1e-3)
    assert (found.low < found.value).all()
    assert found.shown.tolist() == [True] * 4


def test_treating_everybody_is_treating_all():
    found = cal.clinical([0.3, 0.4, 0.5, 0.9], [0, 1, 0, 1], thresholds=0.1).benefits
    assert found.value == pytest.approx(found.treat_all)
    assert not found.shown.any()


@pytest.mark.parametrize("name", NAMES)
def test_weights_count_rows_and_their_unit_does_not_matter(name):
    data = drawn(120)
    double = Predictions(
        np.repeat(data.probs[:, 1], 2), np.repeat(data.labels, 2), weights=np.full(240, 0.25)
    )
    twice = Predictions(data.probs[:, 1], data.labels, weights=np.full(120, 7.0))
    found = [getattr(cal.clinical(one), name) for one in (data, twice, double)]
    assert found[1].value == pytest.approx(found[0].value, abs=1e-9)
    assert found[1].interval == pytest.approx(found[0].interval, abs=1e-6)
    assert found[2].value == pytest.approx(found[0].value, abs=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_rows_in_clusters_have_wider_intervals(name):
    data = drawn(150)
    copies = Predictions(
        np.repeat(data.probs[:, 1], 4),
        np.repeat(data.labels, 4),
        clusters=np.repeat(np.arange(150), 4),
    )
    alone, together = (getattr(cal.clinical(one), name).interval for one in (data, copies))
    assert np.ptp(together) == pytest.approx(np.ptp(alone), rel=0.12)


def test_net_benefits_of_rows_in_clusters_and_of_weighted_rows():
    data, thresholds = drawn(150), np.array([0.1, 0.3])
    p, y = np.repeat(data.probs[:, 1], 4), np.repeat(data.labels, 4)
    copies = Predictions(p, y, clusters=np.repeat(np.arange(150), 4))
    alone, together = (net_benefit(risks_of(one), thresholds) for one in (data, copies))
    assert together.value == pytest.approx(alone.value)
    assert together.high - together.low == pytest.approx(alone.high - alone.low, rel=0.12)
    assert together.over_all == pytest.approx(alone.over_all, abs=0.02)
    weighted = Predictions(data.probs[:, 1], data.labels, weights=np.full(150, 7.0))
    assert net_benefit(risks_of(weighted), thresholds).low == pytest.approx(alone.low)


def test_no_events_and_outcomes_that_are_separated():
    found = cal.clinical([0.1, 0.2, 0.3], [0, 0, 0])
    assert found.observed_expected.value == 0
    assert found.observed_expected.interval[0] == 0
    assert np.isnan(found.slope.value)
    assert found.slope.interval == (-np.inf, np.inf)
    assert found.auc.interval == (0.0, 1.0)
    assert "cannot be told" in str(found)
    separated = cal.clinical([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1])
    assert np.isnan(separated.slope.value)
    assert separated.auc.value == 1


def test_predictions_of_0_and_1_are_left_out_of_log_odds_alone():
    data = drawn(200)
    sure = Predictions(np.append(data.probs[:, 1], [0.0, 1.0]), np.append(data.labels, [1, 1]))
    found, without = cal.clinical(sure), cal.clinical(data)
    assert found.certain == 2
    assert found.slope.value == pytest.approx(without.slope.value)
    assert found.events == without.events + 2
    assert "2 rows were given 0 or 1" in str(found)
    assert ["participants", "rows with log-odds (not 0 or 1)", "200", "", ""] in found.lines()[1]
    assert "log-odds (not" not in without.table()


def test_refusals():
    with pytest.raises(ValueError, match=r"`clinical` needs a problem with two outcomes; found 3"):
        cal.clinical(np.full((4, 3), 1 / 3), [0, 1, 2, 0])
    with pytest.raises(ValueError, match="needs at least 6 clusters for intervals; found 2"):
        cal.clinical(Predictions([0.2, 0.4, 0.7], [0, 1, 1], clusters=[0, 0, 1]))
    with pytest.raises(ValueError, match="`thresholds` must be probabilities between 0 and 1"):
        cal.clinical([0.2, 0.4], [0, 1], thresholds=[0.2, 1.0])
    with pytest.raises(ValueError, match="`level` must be"):
        cal.clinical([0.2, 0.4], [0, 1], level=95)


def test_a_lens_makes_two_outcomes_of_more():
    data = cal.datasets.cifar10("lenet").take(np.arange(400))
    found = cal.clinical(data, lens="class:cat")
    assert found.events == int((data.labels == data.index("cat")).sum())


def test_tables_dictionaries_and_numbers():
    found = cal.clinical(drawn(), thresholds=[0.1, 0.3])
    header, rows = found.lines()
    assert header == ("item", "measure", "value", "95\N{NO-BREAK SPACE}% interval", "if calibrated")
    assert [row[0] for row in rows][:3] == ["participants"] * 3
    treat_all = number(found.benefits.treat_all[0])
    assert rows[-2][1] == f"net benefit at 0.1 (treat all {treat_all})"
    assert found.to_dict()["slope"]["interval"] == list(found.slope.interval)
    assert found.to_frame().shape == (7, 4)
    assert [number(v) for v in (1.0, -0.25, 0.00123, 1e-9, np.nan, -np.inf)] == [
        "1.000", "−0.250", "0.00123", "0.000", "–", "−∞",
    ]  # fmt: skip


SETS = 200


def held(rate, n, interval):
    """Count how often an interval of O/E, slope, AUC or scaled Brier holds, of a model too low."""
    centre = {0.3: -1.08, 0.02: -4.57}[rate]
    rng = np.random.default_rng(n)
    big = np.random.default_rng(0).normal(centre, 1.2, 400_000)
    truth = np.array([expit(big).mean() / expit(big - 0.5).mean(), 1.0])
    found = np.zeros(2, int)
    for _ in range(SETS):
        x = rng.normal(centre, 1.2, n)
        data = Predictions(expit(x - 0.5), (rng.random(n) < expit(x)).astype(int))
        for j, (low, high) in enumerate(interval(risks_of(data))):
            found[j] += low <= truth[j] <= high
    return found


def ours(risks):
    return observed_expected(risks).interval, slope_and_intercept(risks)[0].interval


def wald(risks):
    """Intervals of the value plus and minus 1.96 errors, which few events deceive."""
    observed, expected = risks.y.sum(), risks.p.sum()
    half = 1.96 * np.sqrt(observed) / expected
    return (observed / expected - half, observed / expected + half), (0.0, 2.0)


@pytest.mark.parametrize(("rate", "n"), [(0.3, 100), (0.02, 50)])
def test_intervals_hold_also_for_rare_events(rate, n):
    assert (held(rate, n, ours) >= fewest(SETS, 0.95)).all()


def test_intervals_of_textbooks_do_not():
    assert held(0.02, 50, wald)[0] < fewest(SETS, 0.95)


def test_limits_of_the_curve_hold_where_it_bends_and_naive_ones_do_not():
    x = np.linspace(-4, 3, 40)  # log-odds of the truth, of a model that is too extreme
    p, place = expit(1.5 * (x - 0.5)), 3
    curve, held = Lowess.of(p, np.full(40, 50.0)), np.zeros(2, int)
    rng = np.random.default_rng(0)
    for _ in range(SETS):
        events = rng.binomial(50, expit(x))
        labels = (np.arange(50) < events[:, None]).astype(int).ravel()
        found = flexible_curve(risks_of(Predictions(np.repeat(p, 50), labels)))
        share, rows = curve.weights @ events, 1 / (50 * (curve.weights**2).sum(axis=1))
        naive = limits_of_share(share.clip(0, 1), rows, norm.ppf(0.975))
        for j, (at, low, high) in enumerate(((found.x, found.low, found.high), (curve.at, *naive))):
            ends = (np.interp(p[place], at, end) for end in (low, high))
            held[j] += next(ends) <= expit(x[place]) <= next(ends)
    assert held[1] < fewest(SETS, 0.95) <= held[0]


@pytest.mark.parametrize("truth", [lambda p: 0.15 + 0.6 * p, lambda p: expit(0.35 * logit(p))])
def test_limits_of_the_curve_hold_beside_a_gap_whether_the_truth_bends_or_not(truth):
    """Either of the two estimates has limits that miss one of these truths in most data sets."""
    z = np.concatenate((np.linspace(-4.5, -1.6, 900), np.linspace(3, 5, 600)))
    p, at, held = expit(z), np.array([0.96, 0.99]), np.zeros(2, int)
    rng = np.random.default_rng(0)
    for _ in range(SETS):
        labels = (rng.random(p.size) < truth(p)).astype(int)
        found = flexible_curve(risks_of(Predictions(p, labels)))
        low, high = (np.interp(at, found.x, end) for end in (found.low, found.high))
        held += (low <= truth(at)) & (truth(at) <= high)
    assert (held >= fewest(SETS, 0.95)).all()


def test_net_benefit_of_one_expected_event_is_not_always_held():
    # Treated rows with the event decide: 3 or more of them, where 0.6 are expected, are too many.
    rng, thresholds, held = np.random.default_rng(0), np.array([0.02]), 0
    big = expit(np.random.default_rng(1).normal(-4.57, 1.2, 400_000))
    truth = (big * (big >= 0.02) - (1 - big) * (big >= 0.02) * 0.02 / 0.98).mean()
    for _ in range(4 * SETS):
        p = expit(rng.normal(-4.57, 1.2, 50))
        risks = risks_of(Predictions(p, (rng.random(50) < p).astype(int)))
        found = net_benefit(risks, thresholds)
        held += int(found.low[0] <= truth <= found.high[0])
    assert fewest(4 * SETS, 0.95) <= held < 4 * SETS * 0.99


def test_brier_scores_of_few_events_have_limits_within_bounds():
    for seed in range(20):
        risks = risks_of(drawn(40, seed, centre=-3.5))
        low, high = brier(risks).interval
        assert 0 <= low <= brier(risks).value <= high
        assert scaled_brier(risks).interval[1] <= 1
