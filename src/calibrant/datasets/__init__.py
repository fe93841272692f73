"""Data sets to try things on: predictions of real networks, and models whose truth is known.

Shipped with the package: the predictions of three networks on the test images of CIFAR-10.
Generated: the examples of the paper and Dirichlet models with a chosen miscalibration; the
same `rng` gives the same data.
"""

from collections.abc import Callable
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.checks.parameters import Rng, brief, finite, generator, listed, whole
from calibrant.predictions import Predictions

__all__ = [
    "cifar10",
    "dirichlet",
    "example1",
    "example3",
    "gaussian_mixture",
    "gaussian_mixture_truth",
    "names",
]

NETWORKS = ("lenet", "resnet", "densenet")
EXAMPLE_CLASSES = ("1", "2", "3")
MIXTURE_CLASSES = ("-1", "1")
LEAST_ALPHA = 1e-3  # smaller ones leave the range of floating-point numbers

# (g(X), P[Y | g(X)]), each row with equal probability
TABLE_1 = (
    ((0.1, 0.3, 0.6), (0.2, 0.2, 0.6)),
    ((0.1, 0.6, 0.3), (0.0, 0.7, 0.3)),
    ((0.3, 0.1, 0.6), (0.2, 0.2, 0.6)),
    ((0.3, 0.6, 0.1), (0.4, 0.5, 0.1)),
    ((0.6, 0.1, 0.3), (0.7, 0.0, 0.3)),
    ((0.6, 0.3, 0.1), (0.5, 0.4, 0.1)),
)
TABLE_2 = (
    ((0.6, 0.1, 0.3), (0.7, 0.2, 0.1)),
    ((0.4, 0.6, 0.0), (0.3, 0.5, 0.2)),
)


def names() -> tuple[str, ...]:
    """Return the names of the networks whose predictions ship with the package.

    Examples
    --------
    >>> names()
    ('lenet', 'resnet', 'densenet')
    """
    return NETWORKS


def cifar10(name: str) -> Predictions:
    """Return what a network predicts for the 10,000 test images of CIFAR-10.

    Parameters
    ----------
    name : {"lenet", "resnet", "densenet"}
        Which network.

    Returns
    -------
    Predictions
        10,000 rows of ten classes.

    Examples
    --------
    >>> data = cifar10("lenet")
    >>> data.n, data.m, data.classes[5]
    (10000, 10, 'dog')
    """
    if name not in NETWORKS:
        raise ValueError(f"`name` must be one of {listed(NETWORKS)}; found {brief(name)}.")
    file = files("calibrant.datasets").joinpath(f"{name}.npz")
    if not file.is_file():
        raise FileNotFoundError(
            f"The predictions of {name!r} are not in this installation of calibrant; install it"
            " again."
        )
    with file.open("rb") as opened, np.load(opened, allow_pickle=False) as found:
        probs, labels, classes = found["probs"], found["labels"], found["classes"]
    probs.flags.writeable = False  # ours alone, so it need not be copied
    return Predictions(probs, labels.astype(np.int32), [str(one) for one in classes])


def example1(n: int, rng: Rng = None) -> Predictions:
    """Draw n rows of Example 1: calibrated for the top class and each class, but not calibrated.

    One of the six predictions of Table 1 is drawn with equal probability, then the class from
    the conditional distribution beside it. The expected miscalibration in total variation is
    0.1, and 0 for the top class and for every class by itself.

    Parameters
    ----------
    n : int
        Number of rows.
    rng : int, numpy.random.Generator or None, default None
        Seed, generator, or None for fresh entropy.

    Returns
    -------
    Predictions
        Three classes.

    Examples
    --------
    >>> example1(1000, rng=0)
    Predictions(n=1000, m=3, classes=('1', '2', '3'))
    """
    return _from_table(TABLE_1, n, rng)


def example3(n: int, rng: Rng = None) -> Predictions:
    """Draw n rows of Example 3: calibrated for the top class, but for no class by itself.

    Drawn as in `example1`, from the two predictions of Table 2. The expected miscalibration in
    total variation is 0.2, that of the three classes 0.1, 0.1 and 0.2, and that of the top class 0.

    Parameters
    ----------
    n, rng
        As in `example1`.

    Returns
    -------
    Predictions
        Three classes.

    Examples
    --------
    >>> example3(1000, rng=0)
    Predictions(n=1000, m=3, classes=('1', '2', '3'))
    """
    return _from_table(TABLE_2, n, rng)


def _from_table(
    table: tuple[tuple[tuple[float, ...], tuple[float, ...]], ...], n: int, rng: Rng
) -> Predictions:
    source = generator(rng)
    predicted, true = np.swapaxes(np.array(table), 0, 1)
    rows = source.integers(0, len(table), whole("n", n, least=1))
    return Predictions.trusted(
        predicted[rows], draw_labels(true[rows], source), EXAMPLE_CLASSES, event=1
    )


def gaussian_mixture(n: int, beta0: float, beta1: float, rng: Rng = None) -> Predictions:
    r"""Draw n rows of a logistic model of two overlapping normal distributions.

    Y is -1 or 1 with probability 1/2 each, X given Y = y is normal with mean y and variance 1,
    and the model predicts

    .. math:: g_1(x) = 1 / (1 + \exp(-(\beta_0 + \beta_1 x)))

    for Y = -1 and 1 - g_1(x) for Y = 1. The classes are ("-1", "1") in this order, so
    ``probs[:, 0]`` is g_1, and the event of the two-class problem is Y = 1.

    Parameters
    ----------
    beta0, beta1 : float
        Parameters of the model.
    n, rng
        As in `example1`.

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
    source = generator(rng)
    labels = source.integers(0, 2, n, dtype=np.int32)
    x = 2 * labels - 1 + source.standard_normal(n)
    score = beta0 + beta1 * x
    probs = np.stack([_logistic(score), _logistic(-score)], axis=1)
    return Predictions.trusted(probs, labels, MIXTURE_CLASSES, event=1)


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


def dirichlet(
    n: int, m: int, *, alpha: ArrayLike = 1.0, temperature: float = 1.0, rng: Rng = None
) -> Predictions:
    r"""Draw n rows of m classes: labels from Dirichlet rows, predictions at another temperature.

    For each row, p is drawn from the Dirichlet distribution and the label from p. The
    prediction is

    .. math:: g_j = p_j^{1/T} / \sum_k p_k^{1/T},

    what the softmax makes of the logits log(p) divided by the temperature T. With T = 1 the
    prediction is p itself and the model is calibrated. With T < 1 predictions are sharpened:
    the model is overconfident. With T > 1 they are flattened: it is underconfident.

    Parameters
    ----------
    m : int
        Number of classes, at least 2.
    alpha : float or array (m,), default 1.0
        Parameters of the Dirichlet distribution: one positive number for all classes, or one
        for each. Small ones give rows near the vertices of the simplex.
    temperature : float, default 1.0
        T, a positive number.
    n, rng
        As in `example1`. The same seed gives the same rows p and labels at every temperature.

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
    if finite("temperature", temperature) <= 0:
        raise ValueError(f"`temperature` must be positive; found {brief(temperature)}.")
    inverse = 1 / float(temperature)
    parameters = _alpha(alpha, m)
    source = generator(rng)
    rows = source.dirichlet(parameters, n)
    labels = draw_labels(rows, source)
    if inverse != 1:
        rows = (rows / rows.max(axis=1, keepdims=True)) ** inverse  # none underflows to zeros
    probs = rows / rows.sum(axis=1, keepdims=True)
    return Predictions.trusted(probs, labels, tuple(map(str, range(m))), event=1)


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


def draw_labels(probs: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int32]:
    """Draw Y_i from row i of probs: the first class whose cumulated probability exceeds u.

    A class of probability 0 is never drawn.
    """
    cumulated = np.cumsum(probs, axis=1, dtype=np.float64)
    total = cumulated[:, -1]
    target = np.minimum(rng.random(len(probs)) * total, np.nextafter(total, 0))
    return np.asarray((cumulated <= target[:, None]).sum(axis=1), np.int32)


def __dir__() -> list[str]:
    return __all__
