"""Dirichlet calibration: matrix scaling that is drawn towards scaling each class by itself."""

from dataclasses import dataclass
from typing import final

from calibrant.checks.parameters import finite
from calibrant.predictions import Predictions
from calibrant.recalibration.log_linear import LogLinearMap
from calibrant.recalibration.matrix import fit_matrix
from calibrant.recalibration.method import present_rows


@final
@dataclass(frozen=True, slots=True)
class Dirichlet:
    r"""Dirichlet calibration with off-diagonal and intercept regularisation (Kull et al. 2019).

    .. math:: g(x) \mapsto \operatorname{softmax}(W \log g(x) + b)

    with the W and b of the least

    .. math:: \text{mean log loss} + \frac{\lambda}{m (m - 1)} \sum_{j \ne k} W_{jk}^2
              + \frac{\mu}{m} \sum_j b_j^2 .

    Parameters
    ----------
    off_diagonal : float, default 0.01
        λ, at least 0.
    intercept : float, default 0.01
        μ, at least 0. With both 0 this is `Matrix`.

    Notes
    -----
    If the predictions of each class have a Dirichlet distribution, r is such a function. Zeros
    are raised as `Vector` says, and 1e-20 (|W - I|² + |b|²)/2 is added as well, as for `Matrix`.

    References
    ----------
    M. Kull, M. Perelló Nieto, M. Kängsepp, T. Silva Filho, H. Song, P. Flach, "Beyond
    temperature scaling: Obtaining well-calibrated multiclass probabilities with Dirichlet
    calibration", NeurIPS 2019.

    Examples
    --------
    >>> probs = [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]] * 4
    >>> data = Predictions(probs, [0, 1, 2, 0, 1, 2, 1, 1, 2, 2, 2, 2])
    >>> Dirichlet(off_diagonal=0.1).fit(data)(probs[:2]).round(4).tolist()
    [[0.4948, 0.2149, 0.2902], [0.0021, 0.7771, 0.2208]]
    """

    off_diagonal: float = 0.01
    intercept: float = 0.01

    def __post_init__(self) -> None:
        for name in ("off_diagonal", "intercept"):
            number = finite(name, getattr(self, name))
            if number < 0:
                raise ValueError(f"`{name}` must be at least 0; found {number}.")
            object.__setattr__(self, name, number)

    def fit(self, data: Predictions) -> LogLinearMap:
        """Find the matrix and the intercepts of least penalised log loss.

        Parameters
        ----------
        data : Predictions
            Predictions and outcomes.

        Returns
        -------
        LogLinearMap
        """
        return fit_matrix(present_rows(data), self.off_diagonal, self.intercept)

    def __str__(self) -> str:
        return "Dirichlet"
