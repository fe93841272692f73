"""Beta calibration of two classes."""

from dataclasses import dataclass
from typing import final

from calibrant.predictions import Predictions
from calibrant.recalibration.designs import OwnClass
from calibrant.recalibration.log_linear import LogLinearMap
from calibrant.recalibration.method import present_rows
from calibrant.recalibration.penalty import of_own_class
from calibrant.recalibration.regression import Regression, regress

ALL_BUT_NONE = ((0,), (1,), (0, 1))


@final
@dataclass(frozen=True, slots=True)
class Beta:
    r"""Beta calibration: an increasing function of two slopes and an intercept (Kull et al. 2017).

    .. math:: \operatorname{logit} q = a \log p - b \log(1 - p) + c, \qquad a, b \ge 0

    with the a, b, c of least mean log loss. For two classes.

    Notes
    -----
    This is `Vector` for two classes with slopes that are not negative. The map holds a as the
    weight of the class that p is of, b as that of the other, and c is the difference of their
    biases. log(1 - p) is taken from the other column, which has more digits where p is near 1.
    Zeros are raised as `Vector` says; then ones have a finite logit too.

    The loss is convex: if the best slopes are not negative they are the answer, otherwise it is
    the best with one or both at 0.

    References
    ----------
    M. Kull, T. Silva Filho, P. Flach, "Beta calibration: a well-founded and easily implemented
    improvement on logistic calibration for binary classifiers", AISTATS 2017.

    Examples
    --------
    >>> data = Predictions([0.9] * 4 + [0.5] * 4 + [0.1] * 4, [1, 1, 1, 0] * 2 + [0, 0, 0, 1])
    >>> Beta().fit(data)([0.9, 0.5, 0.1])[:, 1].round(4).tolist()
    [0.8013, 0.68, 0.2687]
    """

    def fit(self, data: Predictions) -> LogLinearMap:
        """Find the slopes and the intercept of least log loss.

        Parameters
        ----------
        data : Predictions
            Predictions and outcomes, of two classes.

        Returns
        -------
        LogLinearMap
        """
        rows = present_rows(data)
        if rows.m != 2:
            raise ValueError(
                f"`Beta()` needs a problem with two classes; found {rows.m}. Look through a lens"
                " such as `Marginal(…)`, or use `Dirichlet()`."
            )
        best = _fit(rows, ())
        if best.theta[:, 0].min() < 0:
            others = [_fit(rows, flat) for flat in ALL_BUT_NONE]
            allowed = [found for found in others if found.theta[:, 0].min() >= 0]
            best = min(allowed, key=lambda found: found.objective)
        return LogLinearMap(rows.classes, best.theta[:, 0], best.theta[:, 1], best.floor)

    def __str__(self) -> str:
        return "beta"


def _fit(rows: Predictions, flat: tuple[int, ...]) -> Regression:
    """Find the best slopes and intercepts (2, 2) if the slopes of some classes are 0."""
    design = OwnClass(2, flat)
    found = regress(rows, design, of_own_class(design.identity))
    found.theta[list(flat), 0] = 0.0
    return found
