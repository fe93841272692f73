"""Intervals for the squared miscalibration, from the pieces that `SquaredMiscalibration` returns.

Each is a pure function of the pieces, never below 0, and describes how far the value that the
cells would have with any number of rows may be from its estimate.
"""

from math import sqrt

from calibrant.checks.parameters import fraction
from calibrant.statistics.squared_pieces import Pieces

Interval = tuple[float, float]


def _quantile(level: float) -> float:
    """Return the normal quantile."""
    from scipy.special import ndtri  # noqa: PLC0415

    return float(ndtri(level))


def covering_interval(pieces: Pieces, level: float = 0.95) -> Interval:
    r"""Return the interval that `SquaredMiscalibration.interval` gives.

    .. math:: (T - v)^2 \le z^2 (a v + b), \quad v \ge 0, \quad
              b = \min(remainder, null\_sd^2) + between / n

    The variance of T grows with v, at a rate a that depends on where the deviations are. Here it
    lies between that of deviations in all cells alike, `slope`, and in the worst one, `steepest`:
    a quarter of the one and three of the other. Measured coverage is in `docs/inference.md`.

    Examples
    --------
    >>> pieces = Pieces(0.03, 0.04, 0.0, 0.01, 1e-4, 1e-3, 2e-3, 0.1, 0.02, 100.0, 1.0)
    >>> [round(v, 4) for v in covering_interval(pieces)]
    [0.0, 0.0703]
    """
    constant = min(pieces.remainder, pieces.null_sd**2) + pieces.between / pieces.mass
    rate = (pieces.slope + 3 * pieces.steepest) / 4
    return score_interval(pieces._replace(remainder=constant, slope=rate), level)


def score_interval(pieces: Pieces, level: float = 0.95) -> Interval:
    r"""Return all values v that the estimate T does not speak against.

    .. math:: (T - v)^2 \le z^2 (slope \cdot v + remainder), \quad v \ge 0

    The variance is that which T would have if v were true, at most. If no value will do, because T
    is far below 0, the interval is 0 alone.

    Examples
    --------
    >>> pieces = Pieces(0.03, 0.04, 0.0, 0.01, 1e-4, 1e-3, 2e-3, 0.1, 0.02, 100.0, 1.0)
    >>> [round(v, 4) for v in score_interval(pieces)]
    [0.0095, 0.0544]
    """
    z = _quantile((1 + fraction("level", level)) / 2)
    middle = pieces.unbiased + z * z * pieces.slope / 2
    square = middle**2 - pieces.unbiased**2 + z * z * pieces.remainder
    half = sqrt(max(square, 0.0))
    return max(0.0, middle - half), max(0.0, middle + half)


def sun_interval(pieces: Pieces, level: float = 0.95) -> Interval:
    r"""Return the interval of Sun, Chaudhari, Barnett and Dobriban (2024).

    With T+ = max(T, 0), s² = sigma2 / n, z the two-sided and z1 the one-sided quantile it reaches
    up to T+ + z s, and down to T+ - z s if T+ ≥ 2 z s, T+/2 if 2 z1 s ≤ T+ < 2 z s, else
    max(0, T+ - z1 s).

    Examples
    --------
    >>> pieces = Pieces(0.03, 0.04, 0.0, 0.01, 1e-4, 1e-3, 2e-3, 0.1, 0.02, 100.0, 1.0)
    >>> [round(v, 4) for v in sun_interval(pieces)]
    [0.0, 0.092]
    """
    level = fraction("level", level)
    z, one_sided = _quantile((1 + level) / 2), _quantile(level)
    value = max(pieces.unbiased, 0.0)
    s = sqrt(max(pieces.sigma2, 0.0) / pieces.mass)
    if value >= 2 * z * s:
        low = value - z * s
    elif value >= 2 * one_sided * s:
        low = value / 2
    else:
        low = max(0.0, value - one_sided * s)
    return low, value + z * s
