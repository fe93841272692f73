"""What a fitted classifier says of rows, as predictions that know their classes."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, column_or_1d

from calibrant.predictions import Predictions


def predictions_of(estimator: Any, X: Any, y: Any, pos_label: Any = None) -> Predictions:  # noqa: N803
    """Return the probabilities of a classifier for rows X, with their labels y.

    Of two classes, the event is `pos_label`; default: the second of ``classes_``.
    """
    check_is_fitted(estimator)
    if not hasattr(estimator, "predict_proba"):
        raise TypeError(
            f"`estimator` must have predict_proba; {type(estimator).__name__} has not. Wrap it:"
            " `Recalibrated(estimator)` has."
        )
    return labelled(estimator.predict_proba(X), y, estimator.classes_, pos_label)


def labelled(probs: Any, y: Any, classes: Any, pos_label: Any = None) -> Predictions:
    """Return probabilities (n, m), or (n,) of the event, with labels y that are among classes."""
    known = np.asarray(classes)
    if pos_label is not None and known.size == 2:
        if pos_label not in known.tolist():
            raise ValueError(f"`pos_label` must be one of the classes; found {pos_label!r}.")
        if known[0] == pos_label:
            known = known[::-1]
            probs = probs[:, ::-1] if np.ndim(probs) == 2 else probs
    labels = column_or_1d(y)
    missing = ~np.isin(labels, known)
    if missing.any():
        raise ValueError(f"`y` must hold classes of the estimator; found {labels[missing][0]!s}.")
    return Predictions(probs, labels, classes=[str(value) for value in known])
