r"""Numbers of events that are drawn by the cell of a binary problem, from exact distributions.

The number of events among independent rows with probabilities p_i is Poisson-binomial. The
characteristic function of a sum of independent variables has the logarithm

.. math:: \log \varphi(t) = \sum_r \kappa_r (it)^r / r!

with the sums κ_r of their cumulants. For a variance of 200 or more, twelve of them give the
distribution function to 1e-15; below, moderate rows are convolved one by one, and rows near the
ends enter through the sums of powers of p: log(1 + p z) = Σ (-1)^(k+1) p^k z^k / k.
"""

from dataclasses import dataclass
from functools import cache, partial
from math import ceil, factorial
from typing import Any, NoReturn, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.calibration import Cells, Draws, EventSums
from calibrant.calibration.cells import ENOUGH
from calibrant.engine.arrays import Replicates
from calibrant.resampling.draws.labels import Labels, event_totals

Floats = NDArray[np.float64]
Pmf = tuple[int, Floats]  # the number of events that the first entry stands for, and the pmf

ORDER = 12
REACH = 10  # standard deviations on either side that are laid out
SEEN = 9.5  # standard deviations of the spectrum that are not negligible
BLOCK = 128  # rows that are added one by one
CHUNK = BLOCK << 8  # rows whose blocks are laid out together
DIRECT = 1 << 13  # lengths up to which the plain sum is faster than the Fourier transform
NEGLIGIBLE = 1e-25  # ends of a distribution below this are dropped; a draw resolves 1e-16


@final
@dataclass(frozen=True, slots=True, eq=False)
class CountDistributions:
    """The distribution of the number of events in every cell."""

    cdf: Floats  # P(count ≤ k) of all cells, end to end
    tails: Floats  # P(count ≥ k), added up from the other end, so that the last digits are right
    offsets: NDArray[np.int64]  # (cells + 1,) where each begins
    lows: NDArray[np.int64]  # (cells,) the number of events that its first entry stands for

    @classmethod
    def of(cls, sums: EventSums) -> "CountDistributions":
        """Return the distributions that follow from sums over the rows of every cell."""
        parts = distributions(sums)
        offsets = np.cumsum([0, *(pmf.size for _, pmf in parts)])
        cdf = np.concatenate([np.cumsum(pmf) / pmf.sum() for _, pmf in parts])
        tails = np.concatenate([np.cumsum(pmf[::-1])[::-1] / pmf.sum() for _, pmf in parts])
        return cls(cdf, tails, offsets, np.array([low for low, _ in parts], np.int64))

    def quantile(self, level: float) -> Floats:
        """Return the smallest number k with P(count ≤ k) ≥ level, for each cell."""
        out = np.empty(self.lows.size)
        for c, low in enumerate(self.lows):
            cdf = self.cdf[self.offsets[c] : self.offsets[c + 1]]
            out[c] = low + min(np.searchsorted(cdf, level * (1 - 1e-12)), cdf.size - 1)
        return out

    def scores(self, events: Floats, first: int = 0) -> Floats:
        """Return normal scores of numbers of events (…, cells) in cells from `first` on.

        The score z has Φ(-z) = the smaller of P(count ≤ k) and P(count ≥ k), and is at least 0:
        what a standardised deviation would be if counts were normal.
        """
        from scipy.special import ndtri  # noqa: PLC0415 (slow to import)

        out = np.empty(events.shape)
        for c in range(events.shape[-1]):
            mine = slice(self.offsets[first + c], self.offsets[first + c + 1])
            smaller = np.minimum(self.cdf[mine], self.tails[mine])
            known = np.maximum(0.0, -ndtri(np.minimum(smaller, 0.5)))
            place = np.rint(events[..., c]).astype(np.int64) - self.lows[first + c]
            inside = (place >= 0) & (place < known.size)
            out[..., c] = np.where(inside, known[np.clip(place, 0, known.size - 1)], np.inf)
        return out

    def draw(self, key: np.uint64, replicates: NDArray[np.uint64], first: int, last: int) -> Floats:
        """Draw the numbers of events in cells first … last - 1: (cells, replicates)."""
        drawn: Floats = engine.draws.uniforms(key, (first, last), replicates)
        for c, numbers in enumerate(drawn, first):
            cdf = self.cdf[self.offsets[c] : self.offsets[c + 1] - 1]
            numbers[:] = self.lows[c] + cdf.searchsorted(numbers, "right")
        return drawn


@final
class Counts(Draws):
    """Replicates in which the number of events is drawn, by the cell.

    Rows are needed for nothing but the distributions, so tables of rows elsewhere do as well:
    `labels` are then those of a sample. `allowed` says whether the distribution of a cell's count
    is known.
    """

    def __init__(self, labels: Labels, *, allowed: bool) -> None:
        self.hypothesis, self._allowed = labels, allowed
        self._known: dict[Cells, CountDistributions] = {}

    def prepare(self, cells: list[Any]) -> None:
        """Work out the distributions, before there are threads."""
        for one in cells if self._allowed else ():
            self.distributions(one)

    def check(self) -> None:
        """Refuse problems whose counts have no known distribution."""
        if not (self._allowed and self.hypothesis.by_cuts):
            raise ValueError(
                "`draws` must be 'labels' here: counts are drawn only for two outcomes without"
                " weights, through a lens about one class such as TopLabel()."
            )

    def distributions(self, cells: Cells) -> CountDistributions:
        """Return the exact distributions of the number of events, worked out once."""
        if cells not in self._known:
            self.check()
            sums = cells.event_sums(lambda: self.hypothesis.event_probs)
            self._known[cells] = CountDistributions.of(sums)
        return self._known[cells]

    def totals(self, cells: Cells, some: Replicates) -> Any:
        """Return norms of the cells' deviations, summed and largest."""
        return event_totals(partial(self.events, cells, some), cells, some.size)

    def events(self, cells: Cells, some: Replicates, first: int, last: int) -> Floats:
        """Return the number of events in cells first … last - 1: (cells, size)."""
        counts, key = self.distributions(cells), self.hypothesis.key
        keys = engine.draws.replicate_keys(key, some)
        return counts.draw(key, keys, first, last)

    def counts(self, cells: Cells, some: Replicates, first: int, last: int) -> Floats:
        """Return the number of each outcome in cells first … last - 1: (size, cells, 2)."""
        return self.counts_of_events(cells, some, first, last)

    def refuse_labels(self) -> NoReturn:
        """Say that there are no labels."""
        raise ValueError("`draws` must be 'labels' for a statistic that looks at labels.")


def distributions(sums: EventSums) -> list[Pmf]:
    """Return the distribution of the number of events in every cell."""
    values: Floats = engine.sums.value(sums.powers.limbs)
    kept = sums.rows_of()
    found = []
    for c, (n, sure) in enumerate(sums.powers.rows.tolist()):
        if values[c, 1] >= ENOUGH:
            found.append(from_cumulants(_exact(sums, c), _cumulants(values[c]), n))
        else:
            ends = values[c, engine.poisson_binomial.RARE :]
            rare, certain = ends.reshape(2, engine.poisson_binomial.ENDS)
            some = sum_of(cell_counts(kept[c]), (0, near_zero(rare)))
            missing = near_zero(certain)
            found.append(sum_of(some, (sure - missing.size + 1, missing[::-1])))
    return found


def _exact(sums: EventSums, c: int) -> tuple[int, float]:
    """Return the mean number of events of a cell: the nearest integer, and the exact rest."""
    high, middle, low = (int(limb) for limb in sums.powers.limbs[:, c, 0])
    total = (high << 56) + (middle << 28) + low  # in units of 2^-84
    nearest = (total + (1 << 83)) >> 84
    return nearest, float(total - (nearest << 84)) * 2.0**-84


def _cumulants(sums: Floats) -> Floats:
    """Return the cumulants of orders 2 … 12 from the sums of powers of a cell."""
    powers = engine.poisson_binomial.POWERS
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


def from_cumulants(mean: tuple[int, float], cumulants: Floats, n: int) -> Pmf:
    """Return the distribution of a count of at most n, by one inverse Fourier transform.

    mean : the nearest integer, and what the mean exceeds it by
    cumulants : of orders 2 … 12
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


def cell_counts(p: Floats) -> Pmf:
    """Return (low, pmf) with pmf[k] = P(low + k events) for independent events p (n,)."""
    parts = [
        part for start in range(0, p.size, CHUNK) for part in _by_block(p[start : start + CHUNK])
    ]
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=False)
        parts = [sum_of(a, b) for a, b in pairs] + ([parts[-1]] if len(parts) % 2 else [])
    return parts[0] if parts else (0, np.ones(1))


def _by_block(p: Floats) -> list[Pmf]:
    found = engine.poisson_binomial.block_counts(p, BLOCK)
    spans = zip(found.lows.tolist(), found.spans.tolist(), strict=True)
    return [(low, found.pmf[a:b].copy()) for low, (a, b) in spans]


def sum_of(a: Pmf, b: Pmf) -> Pmf:
    """Return the distribution of the sum of two independent counts."""
    short = min(a[1].size, b[1].size)
    if short <= DIRECT:
        pmf = np.convolve(a[1], b[1])
    else:
        from scipy.signal import fftconvolve  # noqa: PLC0415 (slow to import, rarely needed)

        pmf = np.maximum(fftconvolve(a[1], b[1]), 0.0)
    keep = np.flatnonzero(pmf > NEGLIGIBLE)
    return a[0] + b[0] + int(keep[0]), pmf[keep[0] : keep[-1] + 1]
