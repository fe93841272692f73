"""Vector scaling: a slope and an intercept for every class."""

from dataclasses import dataclass
from typing import final

from calibrant.predictions import Predictions
from calibrant.recalibration.designs import OwnClass
from calibrant.recalibration.log_linear import LogLinearMap
from calibrant.recalibration.method import present_rows
from calibrant.recalibration.penalty import of_own_class
from calibrant.recalibration.regression import regress


@final
@dataclass(frozen=True, slots=True)
class Vector:
    r"""Vector scaling: a slope and an intercept for every class (Guo et al. 2017).

    .. math:: g(x) \mapsto \operatorname{softmax}(w \circ \log g(x) + b)

    with the w and b of least mean log loss; 2 m parameters.

    Notes
    -----
    Zeros, and what is below half the smallest probability above 0 of the data, are raised to
    that half, or to 0.001 if that is less. To the mean log loss 1e-20 (|w - 1|² + |b|²)/2 is added,
    and the search ends when a step promises to lower it by less than 1e-15; so the answer is finite
    where classes are separable or never occur. Of the b that give the same map, the one that sums
    to 0 is chosen.

    Newton's method, on exact second derivatives up to 500 classes and with conjugate gradients
    beyond.

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger, "On calibration of modern neural networks",
    ICML 2017.

    Examples
    --------
    >>> data = Predictions([0.9] * 4 + [0.5] * 4 + [0.1] * 4, [1, 1, 1, 0] * 2 + [0, 0, 1, 1])
    >>> Vector().fit(data)([0.9, 0.5, 0.1])[:, 1].round(4).tolist()
    [0.75, 0.75, 0.5]
    """

    def fit(self, data: Predictions) -> LogLinearMap:
        """Find the slopes and intercepts of least log loss.

        Parameters
        ----------
        data : Predictions
            Predictions and outcomes.

        Returns
        -------
        LogLinearMap
        """
        rows = present_rows(data)
        design = OwnClass(rows.m)
        theta, floor, _ = regress(rows, design, of_own_class(design.identity))
        return LogLinearMap(rows.classes, theta[:, 0], theta[:, 1], floor)

    def __str__(self) -> str:
        return "vector"
