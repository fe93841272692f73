r"""The distribution of the number of events in a cell, from sums over its rows.

The characteristic function of a sum of independent variables has the logarithm

.. math:: \log \varphi(t) = \sum_r \kappa_r (it)^r / r!

with the sums κ_r of their cumulants. For a variance of 200 or more, twelve of them give the
distribution function to 1e-15; below, moderate rows are convolved one by one, and rows near the
ends enter through the sums of powers of p: log(1 + p z) = Σ (-1)^(k+1) p^k z^k / k.
"""

from functools import cache
from math import ceil, factorial

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.calibration.law_sums import ENOUGH, LawSums
from calibrant.inference.convolution import cell_counts, sum_of

Floats = NDArray[np.float64]
Law = tuple[int, Floats]  # the number of events that the first entry stands for, and the pmf

ORDER = 12
REACH = 10  # standard deviations on either side that are laid out
SEEN = 9.5  # standard deviations of the spectrum that are not negligible


def laws(sums: LawSums) -> list[Law]:
    """Return the distribution of the number of events in every cell."""
    values: Floats = engine.sums.value(sums.powers.limbs)
    kept = sums.rows_of()
    found = []
    for c, (n, sure) in enumerate(sums.powers.rows.tolist()):
        if values[c, 1] >= ENOUGH:
            found.append(from_cumulants(_exact(sums, c), _cumulants(values[c]), n))
        else:
            rare, certain = values[c, engine.laws.RARE :].reshape(2, engine.laws.ENDS)
            some = sum_of(cell_counts(kept[c]), (0, near_zero(rare)))
            missing = near_zero(certain)
            found.append(sum_of(some, (sure - missing.size + 1, missing[::-1])))
    return found


def _exact(sums: LawSums, c: int) -> tuple[int, float]:
    """Return the mean number of events of a cell: the nearest integer, and the exact rest."""
    high, middle, low = (int(limb) for limb in sums.powers.limbs[:, c, 0])
    total = (high << 56) + (middle << 28) + low  # in units of 2^-84
    nearest = (total + (1 << 83)) >> 84
    return nearest, float(total - (nearest << 84)) * 2.0**-84


def _cumulants(sums: Floats) -> Floats:
    """Return the cumulants of orders 2 … 12 from the sums of powers of a cell."""
    powers = engine.laws.POWERS
    even, odd = sums[1 : powers + 1], sums[powers + 1 : 2 * powers]
    return np.array(
        [
            np.dot(weights, (odd if order % 2 else even)[: len(weights)])
            for order, weights in _polynomials().items()
        ]
    )


@cache
def _polynomials() -> dict[int, Floats]:
    """Return κ_2 … κ_12 of a Bernoulli variable: coefficients of v, v², …, of odd orders times w.

    κ_{r+1} = v dκ_r/dp, where dv/dp = w, dw/dp = -2 and w² = 1 - 4v.
    """
    found, poly = {2: [1]}, [0, 1]
    for order in range(2, ORDER):
        slope = [i * a for i, a in enumerate(poly)][1:]
        if order % 2 == 0:
            poly = [0, *slope]
        else:
            inner = [0] * max(len(poly), len(slope) + 1)
            for i, a in enumerate(poly):
                inner[i] -= 2 * a
            for i, a in enumerate(slope):
                inner[i] += a
                inner[i + 1] -= 4 * a
            poly = [0, *inner]
        while poly[-1] == 0:
            poly.pop()
        found[order + 1] = poly[1:]
    return {order: np.array(weights, float) for order, weights in found.items()}


def from_cumulants(mean: tuple[int, float], cumulants: Floats, n: int) -> Law:
    """Return the distribution of a count of at most n, by one inverse Fourier transform.

    Parameters
    ----------
    mean : (int, float)
        The nearest integer, and what the mean exceeds it by.
    cumulants : array
        Of orders 2 … 12.
    n : int
        Number of rows.
    """
    middle, rest = mean
    deviation = float(cumulants[0]) ** 0.5
    half = ceil(REACH * deviation) + 8
    length = 2 * half
    size = min(ceil(SEEN / deviation * length / (2 * np.pi)) + 1, half)
    t = 2 * np.pi * np.arange(size) / length
    exponent = 1j * t * rest
    for order, cumulant in enumerate(cumulants, 2):
        exponent += cumulant * (1j * t) ** order / factorial(order)
    spectrum = np.zeros(half + 1, complex)
    spectrum[:size] = np.conj(np.exp(exponent))
    pmf = np.roll(np.fft.irfft(spectrum, length), half)
    low = max(0, half - middle)
    return max(0, middle - half), pmf[low : n - middle + half + 1].clip(0.0)


def near_zero(sums: Floats) -> Floats:
    """Return the pmf of the number of events of rows of small p, from the sums of p^k, k ≤ 7."""
    length = ceil(sums[0] + 12 * sums[0] ** 0.5 + 40)
    z = np.exp(-2j * np.pi * np.arange(length // 2 + 1) / length) - 1
    log = sum((-1) ** (k + 1) * z**k / k * power for k, power in enumerate(sums.tolist(), 1))
    pmf = np.fft.irfft(np.exp(log), length).clip(0.0)
    return np.trim_zeros(np.where(pmf > 1e-18, pmf, 0.0), "b")
