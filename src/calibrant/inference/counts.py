"""Exact distributions of the number of events in each cell of a binary problem.

The number of events among independent rows with probabilities p_i is Poisson-binomial. Its
distribution is a function of sums over the rows: see `laws`.
"""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.calibration.law_sums import LawSums
from calibrant.inference.laws import laws

Floats = NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True, eq=False)
class CountDistributions:
    """The distribution of the number of events in every cell.

    Parameters
    ----------
    cdf : array
        Distribution functions of all cells, end to end.
    offsets : array of shape (cells + 1,)
        Where each begins.
    lows : array of shape (cells,)
        The number of events that its first entry stands for.
    """

    cdf: Floats
    offsets: NDArray[np.int64]
    lows: NDArray[np.int64]

    @classmethod
    def of(cls, sums: LawSums) -> "CountDistributions":
        """Return the distributions that follow from sums over the rows of every cell."""
        parts = laws(sums)
        offsets = np.cumsum([0, *(pmf.size for _, pmf in parts)])
        cdf = np.concatenate([np.cumsum(pmf) / pmf.sum() for _, pmf in parts])
        return cls(cdf, offsets, np.array([low for low, _ in parts], np.int64))

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
        from scipy.special import ndtri  # noqa: PLC0415

        out = np.empty(events.shape)
        for c in range(events.shape[-1]):
            cdf = self.cdf[self.offsets[first + c] : self.offsets[first + c + 1]]
            above = np.concatenate(([1.0], 1.0 - cdf[:-1]))
            known = np.maximum(0.0, -ndtri(np.minimum(np.minimum(cdf, above), 0.5)))
            place = np.rint(events[..., c]).astype(np.int64) - self.lows[first + c]
            inside = (place >= 0) & (place < cdf.size)
            out[..., c] = np.where(inside, known[np.clip(place, 0, cdf.size - 1)], np.inf)
        return out

    def draw(self, key: np.uint64, replicates: NDArray[np.uint64], first: int, last: int) -> Floats:
        """Draw the numbers of events in cells first … last - 1: (cells, replicates)."""
        drawn: Floats = engine.draws.uniforms(key, (first, last), replicates)
        for c, numbers in enumerate(drawn, first):
            cdf = self.cdf[self.offsets[c] : self.offsets[c + 1] - 1]
            numbers[:] = self.lows[c] + cdf.searchsorted(numbers, "right")
        return drawn
