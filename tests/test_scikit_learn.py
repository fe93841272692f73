"""Maps, displays and scorers in scikit-learn's world: its own checks, pipelines and searches."""

import gc
import warnings
import weakref

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibrationDisplay, calibration_curve
from sklearn.cluster import KMeans
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from calibrant import Predictions, ece, rms
from calibrant.recalibration import Isotonic, Temperature, Vector
from calibrant.sklearn import CalibrationScorer, Recalibrated, ReliabilityDisplay

X, CODES = make_classification(600, 12, n_informative=4, n_redundant=6, n_classes=3, random_state=0)
Y = np.array(["b", "c", "a"])[CODES]


@pytest.mark.parametrize(
    "model",
    [Recalibrated(LogisticRegression()), Recalibrated(GaussianNB(), Isotonic())],
    ids=str,
)
def test_the_checks_of_scikit_learn_pass(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of the estimator, and of checks that are skipped
        results = check_estimator(model)
    assert [result["check_name"] for result in results if result["status"] == "failed"] == []
    assert sum(result["status"] == "passed" for result in results) >= 54


def test_probabilities_are_those_of_the_map_of_held_out_predictions():
    model = Recalibrated(GaussianNB(), Vector()).fit(X, Y)
    held_out = cross_val_predict(GaussianNB(), X, Y, cv=5, method="predict_proba")
    fitted = Vector().fit(Predictions(held_out, np.unique(Y, return_inverse=True)[1]))
    raw = GaussianNB().fit(X, Y).predict_proba(X)
    assert np.array_equal(model.predict_proba(X), fitted(raw))
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert np.array_equal(model.predict(X), model.classes_[fitted(raw).argmax(axis=1)])


def test_a_classifier_that_is_too_sure_gets_a_better_log_score():
    train, test = np.arange(600) % 2 == 0, np.arange(600) % 2 == 1
    plain = GaussianNB().fit(X[train], Y[train])
    model = Recalibrated(GaussianNB()).fit(X[train], Y[train])
    before, after = (log_loss(Y[test], m.predict_proba(X[test])) for m in (plain, model))
    assert model.map_.temperature > 1.5
    assert after < before


def test_in_pipelines_and_searches():
    pipeline = make_pipeline(StandardScaler(), Recalibrated(GaussianNB()))
    grid = {
        "recalibrated__method": [Temperature(), Isotonic()],
        "recalibrated__estimator__var_smoothing": [1e-9, 1e-3],
    }
    search = GridSearchCV(pipeline, grid, cv=3, scoring="neg_log_loss").fit(X, Y)
    assert search.best_params_["recalibrated__method"] in grid["recalibrated__method"]
    assert search.predict_proba(X).shape == (600, 3)
    around = Recalibrated(make_pipeline(StandardScaler(), LogisticRegression())).fit(X, Y)
    assert around.n_features_in_ == 12


def test_a_fitted_estimator_is_kept():
    plain = GaussianNB().fit(X[:300], Y[:300])
    model = Recalibrated(FrozenEstimator(plain)).fit(X[300:], Y[300:])
    codes = np.unique(Y, return_inverse=True)[1]
    fitted = Temperature().fit(Predictions(plain.predict_proba(X[300:]), codes[300:]))
    assert model.map_.temperature == pytest.approx(fitted.temperature, rel=1e-12)


def test_decisions_are_logits():
    model = Recalibrated(Perceptron(random_state=0), Vector()).fit(X, Y)
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(1.0)
    two = Recalibrated(Perceptron(random_state=0)).fit(X, Y == "a")
    assert two.predict_proba(X).shape == (600, 2)


def test_weights_reach_the_estimator_and_the_map():
    weights = np.where(np.arange(600) < 400, 1.0, 0.0)
    model = Recalibrated(GaussianNB(), Temperature()).fit(X, Y, sample_weight=weights)
    plain = GaussianNB().fit(X, Y, sample_weight=weights)
    assert np.array_equal(model.estimator_.theta_, plain.theta_)
    params = {"sample_weight": weights}
    held_out = cross_val_predict(GaussianNB(), X, Y, cv=5, method="predict_proba", params=params)
    codes = np.unique(Y, return_inverse=True)[1]
    fitted = Temperature().fit(Predictions(held_out, codes, weights=weights))
    assert model.map_.temperature == fitted.temperature
    with pytest.raises(
        ValueError, match="`sample_weight` must be above 0 for rows of at least two"
    ):
        Recalibrated(GaussianNB()).fit(X, Y, sample_weight=(Y == "a").astype(float))


def test_clones_have_the_method():
    model = Recalibrated(GaussianNB(), Vector(), cv=3)
    assert clone(model).method == Vector()
    assert clone(model).cv == 3


def test_an_estimator_without_probabilities_is_refused():
    with pytest.raises(TypeError, match="predict_proba or decision_function; KMeans has neither"):
        Recalibrated(KMeans()).fit(X, Y)


# The display


def binary(y, prob, **kwargs):
    return ReliabilityDisplay.from_predictions(y, prob, n_resamples=99, **kwargs)


@pytest.fixture(autouse=True)
def no_figures():
    yield
    plt.close("all")


RNG = np.random.default_rng(0)
PROB = RNG.beta(1, 1, 500)
EVENT = (RNG.random(500) < PROB**2).astype(int)


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_a_display_has_the_points_of_scikit_learn(strategy):
    display = binary(EVENT, PROB, n_bins=5, strategy=strategy)
    expected = calibration_curve(EVENT, PROB, n_bins=5, strategy=strategy)
    for mine, theirs in zip((display.prob_true, display.prob_pred), expected, strict=True):
        assert mine[0] == pytest.approx(theirs, rel=1e-12)
    own = CalibrationDisplay.from_predictions(EVENT, PROB, n_bins=5, strategy=strategy)
    for name in ("ax_", "figure_", "plot", "prob_true", "prob_pred"):
        assert hasattr(display, name)
        assert hasattr(own, name)
    assert display.figure_ is display.ax_.figure


def test_the_line_of_a_calibrated_model_can_be_left_out():
    drawn = [binary(EVENT, PROB, ref_line=line).ax_ for line in (True, False)]
    parts = [len(ax.collections) + len(ax.lines) for ax in drawn]
    assert parts[0] == parts[1] + 1


def test_several_displays_share_an_axes_and_one_legend():
    first = binary(EVENT, PROB, name="a")
    first.ax_.set_title("kept")
    second = binary(EVENT, PROB**2, name="b", ax=first.ax_)
    third = binary(EVENT, PROB**3, name="b", ax=first.ax_)
    assert first.ax_ is second.ax_ is third.ax_
    assert first.ax_.get_title() == "kept"
    texts = [text.get_text() for text in first.ax_.get_legend().get_texts()]
    assert [text.split(":")[0] for text in texts[:3]] == ["a", "b", "b"]
    assert len(third.prob_true) == 1
    assert repr(third).startswith("<ReliabilityDisplay of b: ")
    together = len(first.ax_.collections) + len(first.ax_.lines)
    first.ax_.clear()
    binary(EVENT, PROB, name="a", ax=first.ax_)  # what was cleared does not come back
    assert len(first.ax_.collections) + len(first.ax_.lines) < together
    with pytest.raises(ValueError, match="displays on one Axes must be about the same outcome"):
        binary(np.where(EVENT, "x", "y"), PROB, ax=first.ax_)


def test_displays_on_one_axes_may_have_other_bins_and_ranges():
    rare = PROB / 20
    for strategy, other in (("quantile", PROB), ("uniform", rare)):
        first = binary(EVENT, PROB, name="a", n_bins=5)
        second = binary(EVENT, other, name="b", strategy=strategy, ax=first.ax_)
        assert second.ax_.get_xlim() == pytest.approx((-0.02, 1.02))  # all of both is seen
        texts = [text.get_text() for text in first.ax_.get_legend().get_texts()]
        assert "(5 bins)" in texts[0]
        assert {"quantile": "(10 bins of equal mass)", "uniform": "(10 bins)"}[strategy] in texts[1]
    with pytest.raises(ValueError, match=r"at the same level; found .* at level 0\.9 and .* 0\.5"):
        binary(EVENT, PROB, level=0.5, ax=first.ax_)


def test_a_figure_that_is_closed_is_forgotten():
    display = binary(EVENT, PROB)
    axes = weakref.ref(display.ax_)
    plt.close(display.figure_)
    del display
    gc.collect()
    assert axes() is None


@pytest.mark.parametrize("labels", [(0, 1), (-1, 1), (1, 2), (0.0, 2.0), (False, True), ("a", "b")])
def test_labels_may_be_any_two_values(labels):
    y = np.array(labels)[EVENT]
    same = binary(EVENT, PROB)
    assert np.array_equal(binary(y, PROB).prob_true[0], same.prob_true[0])
    other = binary(y, PROB, pos_label=labels[0])
    expected = calibration_curve(1 - EVENT, PROB, n_bins=10)
    assert other.prob_true[0] == pytest.approx(expected[0], rel=1e-12)
    model = GaussianNB().fit(PROB[:, None], y)
    predicted = model.predict_proba(PROB[:, None])
    how = {"n_resamples": 19, "pos_label": labels[0]}
    first = ReliabilityDisplay.from_estimator(model, PROB[:, None], y, **how)
    expected = calibration_curve(1 - EVENT, predicted[:, 0], n_bins=10)
    assert first.prob_true[0] == pytest.approx(expected[0], rel=1e-12)
    assert CalibrationScorer()(model, PROB[:, None], y) == -ece(predicted[:, 1], EVENT)


def test_a_fold_may_lack_a_class():
    y = np.array([1, 2, 3])[CODES]
    model, rows = GaussianNB().fit(X, y), y > 1
    found = -ece(model.predict_proba(X[rows]), y[rows] - 1)
    assert CalibrationScorer()(model, X[rows], y[rows]) == found


def test_a_display_of_an_estimator_draws_its_predictions():
    model = GaussianNB().fit(X[:300], Y[:300])
    two = GaussianNB().fit(X[:300], Y[:300] == "a")
    how = {"n_resamples": 19}
    display = ReliabilityDisplay.from_estimator(two, X[300:], Y[300:] == "a", **how)
    same = binary(Y[300:] == "a", two.predict_proba(X[300:])[:, 1])
    assert np.array_equal(display.prob_true[0], same.prob_true[0])
    assert display.diagram.series[0].name == "GaussianNB"
    other = ReliabilityDisplay.from_estimator(two, X[300:], Y[300:] == "a", pos_label=False, **how)
    assert other.prob_pred[0] == pytest.approx(1 - display.prob_pred[0][::-1], rel=1e-9)
    many = ReliabilityDisplay.from_estimator(model, X[300:], Y[300:], style="bars", **how)
    assert many.diagram.subject == "the predicted class"
    with pytest.raises(TypeError, match="`estimator` must have predict_proba; Perceptron has not"):
        ReliabilityDisplay.from_estimator(Perceptron().fit(X, Y), X, Y)
    with pytest.raises(ValueError, match="`pos_label` must be one of the classes; found 3"):
        ReliabilityDisplay.from_estimator(two, X, Y == "a", pos_label=3)
    with pytest.raises(ValueError, match="`y` must hold classes of the estimator; found d"):
        ReliabilityDisplay.from_estimator(model, X[:1], ["d"])


def test_a_display_of_folds_has_a_curve_for_each():
    y = Y == "a"
    results = cross_validate(GaussianNB(), X, y, cv=3, return_estimator=True, return_indices=True)
    display = ReliabilityDisplay.from_cv_results(results, X, y, n_resamples=19)
    assert [one.name for one in display.diagram.series] == ["fold 0", "fold 1", "fold 2"]
    model, rows = results["estimator"][1], results["indices"]["test"][1]
    alone = binary(y[rows], model.predict_proba(X[rows])[:, 1])
    assert np.array_equal(display.prob_true[1], alone.prob_true[0])
    with pytest.raises(ValueError, match="`name` must name the 3 folds; found 'a', 'b'"):
        ReliabilityDisplay.from_cv_results(results, X, y, name=["a", "b"])
    with pytest.raises(ValueError, match="`n_bins` must be"):
        binary(EVENT, PROB, n_bins=0)
    with pytest.raises(ValueError, match="must have 'estimator' and 'indices'"):
        ReliabilityDisplay.from_cv_results({"estimator": []}, X, y)


def test_labels_of_one_kind_are_events_or_not():
    assert binary(np.ones(20, int), np.full(20, 0.9)).diagram.classes == ("0", "1")
    three = binary(np.zeros(20, int), np.full((20, 3), 1 / 3), lens="top")
    assert three.diagram.n_outcomes == 2


# The scorer


def test_the_scorer_is_minus_the_error_of_each_fold():
    scoring = {"ece": CalibrationScorer(), "a": CalibrationScorer("rms:10", "class:a")}
    options = {"cv": 3, "return_estimator": True, "return_indices": True}
    results = cross_validate(GaussianNB(), X, Y, scoring=scoring, **options)
    for i, (model, rows) in enumerate(
        zip(results["estimator"], results["indices"]["test"], strict=True)
    ):
        codes = np.searchsorted(model.classes_, Y[rows])
        probs = model.predict_proba(X[rows])
        assert results["test_ece"][i] == -ece(probs, codes)
        expected = -rms(probs[:, 0], (codes == 0).astype(int), bins=10)
        assert results["test_a"][i] == pytest.approx(expected, rel=1e-12)  # 1 - p twice rounds
    grid = {"var_smoothing": [1e-9, 1.0]}
    search = GridSearchCV(GaussianNB(), grid, scoring=CalibrationScorer()).fit(X, Y)
    assert search.best_score_ < 0
