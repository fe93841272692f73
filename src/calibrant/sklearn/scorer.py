"""Scorers for `cross_validate` and searches: the greater, the better calibrated."""

from dataclasses import dataclass
from typing import Any, final

from calibrant.arguments import as_lens
from calibrant.lenses import Lens
from calibrant.sklearn.responses import predictions_of
from calibrant.statistics.spelled import as_statistic
from calibrant.statistics.statistic import AnyStatistic


@final
@dataclass(frozen=True, slots=True)
class CalibrationScorer:
    """Minus a statistic of miscalibration, as ``scoring`` of scikit-learn's functions.

    Parameters
    ----------
    statistic : Statistic or str, default "ece"
        Such as "ece:10", "mce", "ace", "rms", "classwise_ece", "smooth", or an object of
        `calibrant.statistics`.
    lens : Lens or str, optional
        What aspect is scored; default: that of the statistic, for "ece" the event of two classes
        and the predicted class of more.

    Notes
    -----
    A classifier that says the rates of the classes and nothing else is calibrated, so search by a
    proper score, such as ``"neg_log_loss"``, and look at this one beside it.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import cross_validate
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> scoring = {"ece": CalibrationScorer(), "log": "neg_log_loss"}
    >>> cross_validate(GaussianNB(), X, y, scoring=scoring)["test_ece"].round(3).tolist()
    [-0.076, -0.082, -0.046, -0.052, -0.046]
    """

    statistic: AnyStatistic = "ece"
    lens: Lens | str | None = None

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:  # noqa: N803
        """Return minus the statistic of what a fitted classifier says of rows."""
        data = predictions_of(estimator, X, y)
        seen = data if self.lens is None else as_lens(self.lens, data)(data)
        return -float(as_statistic(self.statistic)(seen))
