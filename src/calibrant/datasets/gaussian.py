"""The Gaussian mixture of §5.1 of the paper, and what is true about its models."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.checks.parameters import finite, whole
from calibrant.checks.seeds import Rng, generator
from calibrant.predictions import Predictions

CLASSES = ("-1", "1")


def gaussian_mixture(n: int, beta0: float, beta1: float, rng: Rng = None) -> Predictions:
    r"""Draw n rows of a logistic model of two overlapping normal distributions.

    Y is -1 or 1 with probability 1/2 each, X given Y = y is normal with mean y and variance 1,
    and the model predicts

    .. math:: g_1(x) = 1 / (1 + \exp(-(\beta_0 + \beta_1 x)))

    for Y = -1 and 1 - g_1(x) for Y = 1. The classes are ("-1", "1") in this order, so
    ``probs[:, 0]`` is g_1, and the event of the two-class problem is Y = 1.

    Parameters
    ----------
    n : int
        Number of rows.
    beta0, beta1 : float
        Parameters of the model.
    rng : int, numpy.random.Generator or None, default None
        Seed, generator, or None for fresh entropy.

    Returns
    -------
    Predictions
        Two classes.

    Notes
    -----
    (0, -2) is the true conditional distribution and (0, 0) the constant 1/2; only these two
    are calibrated. The expected miscalibration of (1, 1) in total variation is 0.563751.

    Examples
    --------
    >>> gaussian_mixture(1000, 0, -2, rng=0)
    Predictions(n=1000, m=2, classes=('-1', '1'))
    """
    n, beta0, beta1 = whole("n", n, least=1), finite("beta0", beta0), finite("beta1", beta1)
    draw = generator(rng)
    labels = draw.integers(0, 2, n, dtype=np.int32)
    x = 2 * labels - 1 + draw.standard_normal(n)
    score = beta0 + beta1 * x
    probs = np.stack([_logistic(score), _logistic(-score)], axis=1)
    return Predictions.trusted(probs, labels, CLASSES, event=1)


def gaussian_mixture_truth(
    beta0: float, beta1: float
) -> Callable[[ArrayLike], NDArray[np.float64]]:
    r"""Return the true P(Y = 1 | prediction) of `gaussian_mixture` as a function of the prediction.

    A prediction q of Y = 1 comes from x = -(logit(q) + beta0) / beta1, where Y = 1 has the
    probability 1 / (1 + exp(-2 x)). With beta1 = 0 the prediction says nothing of x: 1/2.

    Parameters
    ----------
    beta0, beta1 : float
        Parameters of the model.

    Returns
    -------
    function
        It turns an array of predicted P(Y = 1), each between 0 and 1, into the true ones.

    Examples
    --------
    >>> gaussian_mixture_truth(0, -2)([0.25, 0.5]).round(6).tolist()
    [0.25, 0.5]
    >>> gaussian_mixture_truth(1, 1)([0.25, 0.5]).round(6).tolist()
    [0.549147, 0.119203]
    """
    beta0, beta1 = finite("beta0", beta0), finite("beta1", beta1)

    def truth(predicted: ArrayLike) -> NDArray[np.float64]:
        q = np.asarray(predicted, np.float64)
        bad = q[~((q >= 0) & (q <= 1))]
        if bad.size:
            raise ValueError(f"`predicted` must be between 0 and 1; found {bad.flat[0]}.")
        if beta1 == 0:
            return np.full(q.shape, 0.5)
        with np.errstate(divide="ignore"):  # 0 and 1 come from x at infinity
            logit = np.log(q) - np.log1p(-q)
        return _logistic(-2 * (logit + beta0) / beta1)

    return truth


def _logistic(score: NDArray[Any]) -> NDArray[np.float64]:
    """Return 1 / (1 + exp(-score)) without overflow."""
    return np.asarray(np.exp(-np.logaddexp(0, -score)), np.float64)
