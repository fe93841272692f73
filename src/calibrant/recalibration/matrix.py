"""Matrix scaling: every class looks at all of them."""

from dataclasses import dataclass
from typing import final

from calibrant.predictions import Predictions
from calibrant.recalibration.designs import AllClasses
from calibrant.recalibration.log_linear import LogLinearMap
from calibrant.recalibration.method import present_rows
from calibrant.recalibration.penalty import off_diagonal_and_intercept
from calibrant.recalibration.regression import regress


@final
@dataclass(frozen=True, slots=True)
class Matrix:
    r"""Matrix scaling: logistic regression on all log-probabilities (Guo et al. 2017).

    .. math:: g(x) \mapsto \operatorname{softmax}(W \log g(x) + b)

    with the W and b of least mean log loss; m (m + 1) parameters. It needs many rows for each of
    them: with 10 classes thousands, with 100 use `Dirichlet` or `Vector`.

    Notes
    -----
    Zeros are raised as `Vector` says. To the mean log loss 1e-20 (|W - I|² + |b|²)/2 is added,
    and the answer is finite where classes are separable or never occur, as for `Vector`. Of the W
    and b that give the same map, those are chosen whose columns sum to 1, and to 0.

    Newton's method, on exact second derivatives up to 31 classes and with conjugate gradients
    beyond.

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger, "On calibration of modern neural networks",
    ICML 2017.

    Examples
    --------
    >>> probs = [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]] * 4
    >>> data = Predictions(probs, [0, 1, 2, 0, 1, 2, 1, 1, 2, 2, 2, 2])
    >>> Matrix().fit(data)(probs[:2]).round(4).tolist()
    [[0.5, 0.25, 0.25], [0.0, 0.75, 0.25]]
    """

    def fit(self, data: Predictions) -> LogLinearMap:
        """Find the matrix and the intercepts of least log loss.

        Parameters
        ----------
        data : Predictions
            Predictions and outcomes.

        Returns
        -------
        LogLinearMap
        """
        return fit_matrix(present_rows(data), 0.0, 0.0)

    def __str__(self) -> str:
        return "matrix"


def fit_matrix(rows: Predictions, off_diagonal: float, intercept: float) -> LogLinearMap:
    """Find the matrix and the intercepts of least log loss with an ODIR penalty."""
    design = AllClasses(rows.m)
    penalty = off_diagonal_and_intercept(design.identity, off_diagonal, intercept)
    theta, floor, _ = regress(rows, design, penalty)
    return LogLinearMap(rows.classes, theta[:, :-1], theta[:, -1], floor)
