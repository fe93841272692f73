"""Models of any number of classes, calibrated or with a chosen miscalibration."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.checks.parameters import brief, finite, whole
from calibrant.checks.seeds import Rng, generator
from calibrant.datasets import draw
from calibrant.predictions import Predictions

LEAST_ALPHA = 1e-3  # smaller ones leave the range of floating-point numbers


def dirichlet(
    n: int,
    m: int,
    *,
    alpha: ArrayLike = 1.0,
    temperature: float = 1.0,
    rng: Rng = None,
) -> Predictions:
    r"""Draw n rows of m classes: labels from Dirichlet rows, predictions at another temperature.

    For each row, p is drawn from the Dirichlet distribution and the label from p. The
    prediction is

    .. math:: g_j = p_j^{1/T} / \sum_k p_k^{1/T},

    what the softmax makes of the logits log(p) divided by the temperature T. With T = 1 the
    prediction is p itself and the model is calibrated. With T < 1 predictions are sharpened:
    the model is too sure of itself. With T > 1 they are flattened: it is not sure enough.

    Parameters
    ----------
    n : int
        Number of rows.
    m : int
        Number of classes, at least 2.
    alpha : float or array (m,), default 1.0
        Parameters of the Dirichlet distribution: one positive number for all classes, or one
        for each. Small ones give rows near the vertices of the simplex.
    temperature : float, default 1.0
        T, a positive number.
    rng : int, numpy.random.Generator or None, default None
        Seed, generator, or None for fresh entropy. The same seed gives the same rows p and the
        same labels whatever the temperature.

    Returns
    -------
    Predictions
        Classes "0", …, "m - 1".

    Examples
    --------
    >>> calibrated = dirichlet(1000, 3, rng=0)
    >>> overconfident = dirichlet(1000, 3, temperature=0.5, rng=0)
    >>> bool((calibrated.labels == overconfident.labels).all())
    True
    >>> bool((overconfident.probs.max(axis=1) >= calibrated.probs.max(axis=1)).all())
    True
    """
    n, m = whole("n", n, least=1), whole("m", m, least=2)
    inverse = 1 / _positive("temperature", temperature)
    parameters = _alpha(alpha, m)
    source = generator(rng)
    rows = source.dirichlet(parameters, n)
    labels = draw.labels(rows, source)
    return Predictions.trusted(_tempered(rows, inverse), labels, _names(m), event=1)


def _tempered(rows: NDArray[np.float64], inverse: float) -> NDArray[np.float64]:
    probs = rows
    if inverse != 1:
        probs = (rows / rows.max(axis=1, keepdims=True)) ** inverse  # no row underflows to zeros
    return np.asarray(probs / probs.sum(axis=1, keepdims=True), np.float64)


def _alpha(alpha: ArrayLike, m: int) -> NDArray[np.float64]:
    try:
        array = np.asarray(alpha, np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"`alpha` must be a number or {m} numbers; found {brief(alpha)}.") from None
    if array.shape not in ((), (m,)):
        raise ValueError(f"`alpha` must be a number or {m} numbers; found shape {array.shape}.")
    bad = array[~((array >= LEAST_ALPHA) & np.isfinite(array))]
    if bad.size:
        raise ValueError(f"`alpha` must be finite and at least {LEAST_ALPHA}; found {bad.flat[0]}.")
    return np.broadcast_to(array, m)


def _positive(name: str, value: Any) -> float:
    found = finite(name, value)
    if found <= 0:
        raise ValueError(f"`{name}` must be positive; found {brief(value)}.")
    return found


def _names(m: int) -> tuple[str, ...]:
    return tuple(str(j) for j in range(m))
