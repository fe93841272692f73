"""A classifier of scikit-learn whose probabilities are recalibrated."""

from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.model_selection import check_cv, cross_val_predict
from sklearn.utils import get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from calibrant.predictions import Predictions
from calibrant.recalibration import Map, Method, Temperature

Array = NDArray[Any]
Floats = NDArray[np.float64]


@final
class Recalibrated(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose probabilities are recalibrated.

    `fit` predicts each row by a clone of the estimator that has not seen it, fits the map to these
    predictions, and then fits the estimator to all rows. `predict_proba` is the map of what the
    estimator predicts.

    Parameters
    ----------
    estimator : classifier
        With `predict_proba`; or with `decision_function`, whose values are taken as logits. For one
        that is fitted already, wrap it in `sklearn.frozen.FrozenEstimator` and give `fit` rows that
        it was not fitted to.
    method : Method, optional
        A method of `calibrant.recalibration`; default: `Temperature()`.
    cv : int or cross-validation splitter, default 5
        How rows are held out.

    Attributes
    ----------
    classes_ : array of shape (m,)
        The labels.
    estimator_ : classifier
        Fitted to all rows.
    map_ : Map
        What recalibrates its predictions.

    Notes
    -----
    `fit` hands further arguments on to `fit` of the estimator; `sample_weight` also gives the rows
    their weights when the map is fitted.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = Recalibrated(GaussianNB()).fit(X[::2], y[::2])
    >>> model.map_
    <temperature 8.749>
    >>> model.predict_proba(X[1:2]).shape
    (1, 2)
    """

    classes_: Array
    estimator_: Any
    map_: Map

    def __init__(self, estimator: Any, method: Method | None = None, cv: Any = 5) -> None:
        self.estimator = estimator
        self.method = method
        self.cv = cv

    def fit(self, X: Any, y: Any, **params: Any) -> "Recalibrated":  # noqa: N803
        """Fit the estimator and the map.

        Parameters
        ----------
        X : array_like of shape (n, features)
            The rows.
        y : array_like of shape (n,)
            Their labels.
        **params
            Further arguments of `fit` of the estimator.
        """
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        weights = params.get("sample_weight")
        if weights is not None and np.unique(y[np.asarray(weights) > 0]).size < 2:
            raise ValueError("`sample_weight` must be above 0 for rows of at least two classes.")
        folds = check_cv(self.cv, y, classifier=True)
        held_out = cross_val_predict(
            clone(self.estimator), X, y, cv=folds, method=_answer(self.estimator), params=params
        )
        self.estimator_ = clone(self.estimator).fit(X, y, **params)
        self.classes_ = self.estimator_.classes_
        labels = np.searchsorted(self.classes_, y)
        method = Temperature() if self.method is None else self.method
        self.map_ = method.fit(self._predictions(held_out, labels, weights))
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return self

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        """Return the recalibrated probabilities (k, m).

        Parameters
        ----------
        X : array_like of shape (k, features)
            The rows.
        """
        check_is_fitted(self)
        found = getattr(self.estimator_, _answer(self.estimator_))(X)
        return self.map_(self._predictions(found, np.zeros(len(found), int), None)).probs

    def predict(self, X: Any) -> Array:  # noqa: N803
        """Return the most probable class of each row (k,).

        Parameters
        ----------
        X : array_like of shape (k, features)
            The rows.
        """
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def _predictions(self, found: Array, labels: Array, weights: Any) -> Predictions:
        """Return what the estimator said of rows, with labels 0, …, m-1."""
        if _answer(self.estimator_) == "decision_function":
            return Predictions.from_logits(found, labels, weights=weights)
        return Predictions(found, labels, weights=weights)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags


def _answer(estimator: Any) -> str:
    """Return the name of what the estimator says of rows."""
    for name in ("predict_proba", "decision_function"):
        if hasattr(estimator, name):
            return name
    raise TypeError(
        "`estimator` must have predict_proba or decision_function;"
        f" {type(estimator).__name__} has neither."
    )
