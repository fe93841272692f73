r"""An interval for the mean bias that holds at all times at once.

With e = y - p, S = sum e and V = sum e^2 of t rows, and any number d that is the mean of the true
biases so far, exp(lambda (S - t d) - psi(lambda) V) is a supermartingale for 0 < lambda < 1, where
psi(lambda) = -log(1 - lambda) - lambda. The interval is all d at which the mean over 28 values of
lambda, for both signs, is at most 2 / alpha.
"""

import numpy as np

from calibrant.engine.arrays import Floats

RATES: Floats = 0.5 * 2.0 ** (-np.arange(28) / 2)
PSI: Floats = -np.log1p(-RATES) - RATES
STEPS = 200  # halvings, at most; it ends when floating-point numbers do


def reach(squares: float, alpha: float) -> float:
    """Return the largest x with mean over lambda of exp(lambda x - psi(lambda) V) <= 2 / alpha."""
    limit = np.log(2 / alpha) + np.log(RATES.size)
    low, high = 0.0, 1.0
    while _evidence(high, squares) <= limit:
        low, high = high, 2 * high
    for _ in range(STEPS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if _evidence(middle, squares) <= limit else (low, middle)
    return high


def _evidence(x: float, squares: float) -> float:
    """Return the logarithm of the sum over lambda."""
    each = RATES * x - PSI * squares
    most = float(each.max())
    return most + float(np.log(np.exp(each - most).sum()))


def interval(residual: float, squares: float, rows: int, alpha: float) -> tuple[float, float]:
    """Return the interval of the mean of p - y over rows, with sums of y - p and its square."""
    far = reach(squares, alpha)
    return max((-residual - far) / rows, -1.0), min((-residual + far) / rows, 1.0)
