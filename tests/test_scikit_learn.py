"""Maps in scikit-learn's world: its own checks, pipelines and searches."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from calibrant import Predictions
from calibrant.recalibration import Isotonic, Temperature, Vector
from calibrant.sklearn import Recalibrated

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
    assert sum(result["status"] == "passed" for result in results) > 45


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
