"""Examples 1 and 3 of the paper: a few predictions, and what really happens after each."""

import numpy as np

from calibrant.checks.parameters import whole
from calibrant.checks.seeds import Rng, generator
from calibrant.datasets import draw
from calibrant.predictions import Predictions

CLASSES = ("1", "2", "3")

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

    One of the two predictions of Table 2 is drawn with equal probability, then the class from
    the conditional distribution beside it. The expected miscalibration in total variation is
    0.2, that of the three classes 0.1, 0.1 and 0.2, and that of the top class 0.

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
    return Predictions.trusted(predicted[rows], draw.labels(true[rows], source), CLASSES, event=1)
