"""Before and after recalibration: by hand, by plain loops, and what is refused."""

import json
from dataclasses import replace

import numpy as np
import pytest
from chance import TRIALS, agrees, fewest

import calibrant as cal
from calibrant import Predictions, recalibrate
from calibrant.cross_fitting import Change
from calibrant.cross_fitting.change import foreseen
from calibrant.partitions import EqualWidth
from calibrant.recalibration import Beta, Dirichlet, Histogram, Isotonic, Temperature, Vector

RNG = np.random.default_rng(3)


def too_sure(n, m, power=2.0, weights=None, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.ones(m), n)
    labels = (rng.random((n, 1)) > truth.cumsum(axis=1)[:, :-1]).sum(axis=1)
    probs = truth**power
    return Predictions(probs / probs.sum(axis=1, keepdims=True), labels, weights=weights)


BINARY = too_sure(300, 2)
THREE = too_sure(300, 3)
QUICK = {"n_resamples": 99, "rng": 1}


def test_columns_of_the_table_have_different_names():
    header, _ = recalibrate(BINARY, [Temperature()], **QUICK).lines()
    assert len(set(header)) == len(header)


def test_the_mean_change_and_its_error_by_hand():
    found = Change.of(np.array([1.0, 3.0]), np.array([1.0, 1.0]))
    assert found.value == 2.0
    assert found.standard_error == pytest.approx(1.0)  # sd √2, over √2
    low, high = found.interval  # Student's t with one degree of freedom
    assert (low, high) == pytest.approx((2 - 12.7062047, 2 + 12.7062047))
    weighted = Change.of(np.array([1.0, 3.0, 7.0]), np.array([3.0, 1.0, 0.0]))
    assert weighted.value == 1.5
    assert weighted.standard_error == pytest.approx(np.sqrt(2 * (9 * 0.25 + 2.25) / 16))
    assert weighted.n == 2


def test_the_interval_of_normal_differences_is_exact_but_for_their_skewness():
    draws = np.random.default_rng(0).standard_normal((TRIALS, 12))
    intervals = [replace(Change.of(row, np.ones(12)), skewness=0.0).interval for row in draws]
    covered = sum(low <= 0 <= high for low, high in intervals)
    assert agrees(covered, TRIALS, 0.95)
    # a wrong twin: the quantile of 90 %
    means, errors = draws.mean(axis=1), draws.std(axis=1, ddof=1) / np.sqrt(12)
    assert not agrees(int((np.abs(means) <= 1.64 * errors).sum()), TRIALS, 0.95)


def test_clusters_are_added_up_before_the_error_is_found():
    d, w = np.array([1.0, 3.0, 5.0, 7.0]), np.ones(4)
    found = Change.of(d, w, np.array([0, 0, 1, 1]))
    assert found.value == 4.0
    assert found.n == 2
    assert found.standard_error == pytest.approx(np.sqrt(2 * (16 + 16)) / 4)


@pytest.mark.parametrize("weights", [None, RNG.integers(0, 3, 40)])
def test_the_error_that_predictions_foresee_is_that_of_plain_loops(weights):
    before = too_sure(40, 3, weights=weights)
    after = Temperature().fit(before)(before)
    expected = []
    for k in range(2):
        sums = [0.0, 0.0]
        for w, p, q in zip(before.weights, before.probs, after.probs, strict=True):
            brier = [((q - e) ** 2).sum() - ((p - e) ** 2).sum() for e in np.eye(3)]
            d = np.array((np.log(p / q), brier)[k])
            for number, law in enumerate((p, q)):
                sums[number] += w**2 * (law @ d**2 - (law @ d) ** 2)
        expected.append(np.sqrt(max(sums)) / before.weights.sum())
    assert foreseen(before, after) == pytest.approx(expected)
    least = float(foreseen(before, after)[0])
    assert Change.of(np.zeros(40), before.weights, least=least).standard_error == least


def test_the_unit_of_weights_is_no_matter():
    weights = RNG.integers(1, 4, 300)
    a, b = (too_sure(300, 3, weights=w) for w in (weights, 100 * weights))
    one, other = (recalibrate(data, [Vector(), Isotonic()], **QUICK) for data in (a, b))
    assert one.recommended == other.recommended
    for left, right in zip(one.rows, other.rows, strict=True):
        assert left.log_score == pytest.approx(right.log_score, rel=1e-12)
        assert left.log_change.interval == pytest.approx(right.log_change.interval, rel=1e-9)


def test_a_prior_that_was_chosen_stays_and_a_method_may_have_none():
    class Plain:
        def fit(self, data):
            return Temperature().fit(data)

        def __str__(self):
            return "plain"

    found = recalibrate(BINARY, [Temperature(prior=0), Plain(), Beta()], **QUICK)
    assert [getattr(row.method, "prior", "none") for row in found.rows[1:]] == [0, "none", 0.2]
    same = found.map("temperature").to_dict()
    assert same == found.map("plain").to_dict() == Temperature().fit(BINARY).to_dict()


def test_a_model_that_no_method_helps_is_left_as_it_is():
    # 0.4 should be 0.5 and 0.6 should be 0.7: confidences of 60 % are right in the mean
    data = Predictions([0.4] * 500 + [0.6] * 500, [0, 1] * 250 + [0] * 150 + [1] * 350)
    found = recalibrate(data, [Temperature()], **QUICK)
    assert found.rows[0].pvalue <= 0.05
    assert "but no method improves the log loss" in found.recommendation
    assert found.recommended == "as it is"


def test_intervals_of_skew_differences_cover():
    """One row in ten makes all of a gain, as an error that a calibrator foresaw."""
    draws = np.random.default_rng(0).random((TRIALS, 200)) < 0.1
    changes = [Change.of(-row.astype(float), np.ones(200)) for row in draws]
    covered = sum(low <= -0.1 <= high for low, high in (each.interval for each in changes))
    assert covered >= fewest(TRIALS, 0.95)
    hit = Change.of(np.array([0.0, 0.0, 0.0, 4.0]), np.ones(4))
    assert hit.skewness == pytest.approx((27 - 3) / 12**1.5)
    t = 3.18244631
    high = 1 + hit.standard_error * (t + hit.skewness * (1 + 2 * t**2) / 6)
    assert hit.interval == pytest.approx((1 - t * hit.standard_error, high))


@pytest.mark.parametrize("data", [BINARY, THREE, too_sure(200, 3, weights=RNG.integers(0, 3, 200))])
def test_scores_and_changes_are_those_of_plain_loops(data):
    found = recalibrate(data, [Temperature(), Isotonic()], **QUICK)
    for row in found.rows[1:]:
        probs = np.empty(data.probs.shape)
        for fold in range(5):
            kept = np.flatnonzero(found.folds != fold)
            fitted = row.method.fit(data.take(kept))
            for i in np.flatnonzero(found.folds == fold):
                probs[i] = fitted(data.probs[i : i + 1])[0]
        assert np.array_equal(found.predictions(row.name).probs, probs)
        with np.errstate(divide="ignore"):
            logs = -np.log(probs[np.arange(data.n), data.labels])
            before = -np.log(data.probs[np.arange(data.n), data.labels])
        held = data.weights > 0
        w = data.weights[held]
        assert row.log_score == pytest.approx(np.average(logs[held], weights=w))
        if np.isfinite(row.log_score):
            assert row.log_change.value == pytest.approx(
                np.average((logs - before)[held], weights=w)
            )
        hot = np.eye(data.m)[data.labels]
        brier = ((probs - hot) ** 2).sum(axis=1)
        assert row.brier_score == pytest.approx(np.average(brier[held], weights=w))
        assert row.refinement + row.miscalibration == pytest.approx(row.brier_score)


@pytest.mark.parametrize("method", [Temperature(), Vector(), Isotonic(), Histogram(EqualWidth(4))])
def test_the_outcome_of_a_row_has_no_say_in_its_own_prediction(method):
    found = recalibrate(THREE, [method], **QUICK)
    probs = found.predictions(str(method)).probs
    method = found.rows[1].method  # with its prior
    for i in (0, 17, 111):
        labels = THREE.labels.copy()
        labels[i] = (labels[i] + 1) % 3
        other = THREE.with_labels(labels)
        maps = [method.fit(other.take(np.flatnonzero(found.folds != fold))) for fold in range(5)]
        assert np.array_equal(maps[found.folds[i]](THREE.probs[i : i + 1])[0], probs[i])
        assert not np.array_equal(
            maps[(found.folds[i] + 1) % 5](THREE.probs),
            found.row(str(method)).fold_maps[(found.folds[i] + 1) % 5](THREE.probs),
        )


def test_the_model_as_it_is_comes_first_and_its_test_is_that_of_the_data():
    found = recalibrate(BINARY, [Beta()], **QUICK)
    first = found.rows[0]
    assert first.name == "as it is"
    assert first.log_score == cal.log_score(BINARY)
    assert first.log_change.value == 0.0
    assert first.method is None
    assert found.predictions("as it is") is BINARY
    assert found.map("as it is")(BINARY.probs) == pytest.approx(BINARY.probs, abs=1e-15)
    again = cal.calibration_test(found.predictions("beta"), **QUICK)
    assert np.array_equal(again.null, found.row("beta").test.null)
    assert again.pvalue == found.row("beta").pvalue


def test_maps_are_fitted_to_all_rows():
    found = recalibrate(BINARY, [Temperature(), Beta()], **QUICK)
    fitted = Temperature(prior=60 / BINARY.n).fit(BINARY)
    assert found.map("temperature").to_dict() == fitted.to_dict()
    assert found.map().to_dict() == found.map(found.recommended).to_dict()


def test_the_same_seed_gives_the_same_numbers_and_another_one_others():
    a, b, c = (recalibrate(THREE, [Vector()], n_resamples=19, rng=s).to_dict() for s in (4, 4, 5))
    assert a == b
    assert a["rows"][1]["log_score"] != c["rows"][1]["log_score"]


def candidates(scores, spread):
    """Return data of which each method of constant shifts has these mean log scores."""
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((len(scores), 400))
    noise -= noise.mean(axis=1, keepdims=True)
    return np.array(scores)[:, None] + spread * noise


def test_a_further_method_must_beat_a_simpler_one_by_a_standard_error():
    from calibrant.cross_fitting.before_after import _recommended

    ones = np.ones(400)

    def chosen(scores, spread):
        return _recommended(candidates(scores, spread), ones)

    # the error of a difference of two independent columns is √2 spread / √400, about 0.07 spread
    assert chosen([1.0, 0.9, 0.85], 0.1) == 2
    assert chosen([1.0, 0.9, 0.899], 0.1) == 1
    assert chosen([1.0, 0.9, 0.85], 3.0) == 1
    assert chosen([1.0, 0.99, 1.0], 3.0) == 1  # the simplest need only improve the mean
    assert chosen([1.0, 1.1, 0.99], 3.0) == 0  # any other must do so by an error
    assert chosen([1.0, 1.1, 0.7], 3.0) == 2
    assert chosen([1.0, 0.9, 0.85, 0.6], 3.0) == 3
    assert chosen([0.8, 0.9, 0.85], 0.1) == 0
    assert chosen([np.inf, 0.9, 0.85], 0.1) == 2
    assert chosen([np.inf, np.inf, np.inf], 0.1) == 0
    assert chosen([1.0, np.inf, 0.9], 0.1) == 2
    assert chosen([1.0, 1.0, 1.0], 0.0) == 0


def test_a_model_that_is_too_sure_is_repaired_by_the_simplest():
    found = recalibrate(too_sure(2000, 3), **QUICK)
    assert found.recommended == "temperature"
    assert found.map().temperature == pytest.approx(2.0, abs=0.2)
    low, high = found.row().log_change.interval
    assert high < 0
    assert found.row().miscalibration < found.rows[0].miscalibration / 5
    assert found.recommendation.endswith(
        f"by {-found.row().log_change.value:.4f} (95 % interval {-high:.4f} to {-low:.4f})."
    )


def test_certain_and_wrong_is_an_infinite_score_that_a_method_can_repair():
    data = Predictions([1.0, 0.0, 0.9, 0.2] * 30, ([1, 0, 1, 0] * 29) + [0, 1, 0, 1])
    found = recalibrate(data, [Temperature(), Beta()], **QUICK)
    assert [np.isfinite(row.log_score) for row in found.rows] == [False, False, True]
    assert found.recommended == "beta"
    assert found.row("beta").log_change.value == -np.inf
    score = found.row().log_score
    assert found.recommendation == (
        f"Use {found.recommended}: on rows it has not seen, its log loss is {score:.4f}. The"
        " model's own is infinite, since outcomes occurred to which it gives probability 0."
    )
    assert np.isnan(found.row("temperature").log_change.value)
    lines = found.table().splitlines()
    assert "-∞" in lines[-1]
    assert "∞" in lines[-2]
    none = recalibrate(data, [Temperature()], **QUICK)
    assert none.recommended == "as it is"
    assert "infinite" in none.recommendation


def test_what_a_result_says():
    found = recalibrate(THREE, rng=0, n_resamples=19)
    assert len(repr(found)) < 500
    assert len(str(found)) < 500
    assert repr(found).startswith("<recalibration of 300 rows and 3 classes by 4 methods.")
    assert [row.name for row in found.rows[1:]] == found.settings["methods"]
    assert found.settings["folds"] == 5
    assert found.settings["seed"] == 0
    plain = found.to_dict()
    assert json.loads(json.dumps(plain)) is not None
    assert plain["map"] == found.map().to_dict()
    frame = found.to_frame(backend="polars")
    assert frame["method"].to_list() == [row.name for row in found.rows]
    assert frame["log_change_low"].to_list()[1] == found.rows[1].log_change.interval[0]
    assert len(found.table().splitlines()) == 7
    assert "<table>" in found._repr_html_()


@pytest.mark.parametrize(
    ("n", "m", "names"),
    [
        (199, 2, ["temperature", "beta"]),
        (200, 2, ["temperature", "beta", "isotonic"]),
        (500, 5, ["temperature", "vector", "Dirichlet", "isotonic"]),
        (300, 5, ["temperature", "vector", "Dirichlet"]),
        (299, 5, ["temperature", "vector"]),
        (99, 5, ["temperature"]),
    ],
)
def test_defaults_need_ten_rows_for_each_number_that_is_fitted(n, m, names):
    from calibrant.cross_fitting.before_after import default_methods

    assert [str(method) for method in default_methods(too_sure(n, m))] == names


def test_methods_of_the_same_words_are_told_apart():
    found = recalibrate(THREE, [Dirichlet(0.1, 0.1), Dirichlet(1.0, 1.0)], **QUICK)
    assert found.rows[1].name == "Dirichlet(off_diagonal=0.1, intercept=0.1, prior=None)"


def test_progress_rises_to_its_end():
    calls = []
    recalibrate(BINARY, **QUICK, progress=lambda *call: calls.append(call))
    done = [one for one, _ in calls]
    assert done == sorted(done)
    assert calls[-1][0] == calls[-1][1]


@pytest.mark.parametrize(
    ("methods", "error", "match"),
    [
        ([], ValueError, "`methods` must be at least one"),
        ([Temperature(), Temperature()], ValueError, "and differ"),
        ("temperature", TypeError, "`methods` must be a list of methods; found 'temperature'"),
        (Temperature(), TypeError, "`methods` must be a list"),
        ([Temperature], TypeError, r"such as Temperature\(\); found <class"),
        (["vector"], TypeError, "found 'vector'"),
        ([Beta()], ValueError, r"`Beta\(\)` needs a problem with two classes; found 3"),
    ],
)
def test_what_is_no_method_is_refused(methods, error, match):
    with pytest.raises(error, match=match):
        recalibrate(THREE, methods, **QUICK)


def test_an_unknown_name_is_refused():
    with pytest.raises(
        ValueError, match="`name` must be one of 'as it is', 'beta'; found 'vector'"
    ):
        recalibrate(BINARY, [Beta()], **QUICK).map("vector")
