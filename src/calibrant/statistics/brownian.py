"""How far Brownian motion on [0, 1] gets: what cumulative residuals look like if rows are many."""

from math import erfc, exp, pi, sqrt

TERMS = 12  # of series whose terms fall like exp(-k^2)


def modulus_pvalue(x: float) -> float:
    r"""Return the chance that the largest modulus of Brownian motion on [0, 1] reaches x.

    .. math:: P(\max |W| \ge x) = 4 \sum_{k \ge 0} (-1)^k \bar\Phi((2k + 1) x)

    For small x the series of the complement in exp(-(2k + 1)² π² / (8 x²)) is used.

    Examples
    --------
    >>> round(modulus_pvalue(2.241402728), 6)
    0.05
    """
    if x <= 0.0:
        return 1.0
    odd = range(1, 2 * TERMS, 2)
    signs = [1.0 if k % 4 == 1 else -1.0 for k in odd]
    if x > 1.0:
        return 4.0 * sum(sign * _above(k * x) for sign, k in zip(signs, odd, strict=True))
    terms = [sign * _decay(0.5 * k / x) / k for sign, k in zip(signs, odd, strict=True)]
    return 1.0 - 4.0 / pi * sum(terms)


def range_pvalue(x: float) -> float:
    r"""Return the chance that the range of Brownian motion on [0, 1] reaches x.

    .. math:: P(\max W - \min W \ge x) = 8 \sum_{k \ge 1} (-1)^{k - 1} k \bar\Phi(k x)

    For small x the series of the complement in exp(-(2k + 1)² π² / (2 x²)) is used.

    References
    ----------
    Feller (1951), "The asymptotic distribution of the range of sums of independent random
    variables".

    Examples
    --------
    >>> round(range_pvalue(2.497672), 6)
    0.05
    """
    if x <= 0.0:
        return 1.0
    if x > 1.5:
        terms = [(1.0 if k % 2 else -1.0) * k * _above(k * x) for k in range(1, 2 * TERMS)]
        return 8.0 * sum(terms)
    odd = range(1, 2 * TERMS, 2)
    return 1.0 - 8.0 * sum(_decay(k / x) * (1.0 / (x * x) + 1.0 / (k * pi) ** 2) for k in odd)


def _above(x: float) -> float:
    """Return the chance that a standard normal number exceeds x."""
    return 0.5 * erfc(x / sqrt(2.0))


def _decay(x: float) -> float:
    """Return exp(-(π x)² / 2)."""
    return exp(-0.5 * (pi * x) ** 2)
