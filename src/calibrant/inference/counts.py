"""Exact distributions of the number of events in each cell of a binary problem.

The number of events among independent rows with probabilities p_i is Poisson-binomial. Its
distribution is built by blocks: within a block row by row, then by convolving neighbours.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.calibration import Cells

Floats = NDArray[np.float64]

BLOCK = 128  # rows that are added one by one
CHUNK = BLOCK << 8  # rows whose blocks are laid out together
DIRECT = 1 << 13  # lengths up to which the plain sum is faster than the Fourier transform
NEGLIGIBLE = 1e-25  # ends of a distribution below this are dropped; a draw resolves 1e-16


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
    def of(cls, cells: Cells, p: Floats) -> "CountDistributions":
        """Return the distributions for rows in these cells with probabilities p (n,)."""
        parts = []
        order = cells.order
        for first, last in cells.blocks(CHUNK):
            starts = order.starts[first : last + 1]
            mine = p[order.rows[starts[0] : starts[-1]]]
            parts += [cell_counts(mine[a:b]) for a, b in pairwise(starts - starts[0])]
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


def cell_counts(p: Floats) -> tuple[int, Floats]:
    """Return (low, pmf) with pmf[k] = P(low + k events) for independent events p (n,).

    Examples
    --------
    >>> low, pmf = cell_counts(np.array([0.5, 0.5]))
    >>> low, pmf.tolist()
    (0, [0.25, 0.5, 0.25])
    """
    parts = [
        part for start in range(0, p.size, CHUNK) for part in _by_block(p[start : start + CHUNK])
    ]
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=False)
        parts = [_sum(a, b) for a, b in pairs] + ([parts[-1]] if len(parts) % 2 else [])
    return parts[0] if parts else (0, np.ones(1))


def _by_block(p: Floats) -> list[tuple[int, Floats]]:
    found = engine.events.block_counts(p, BLOCK)
    spans = zip(found.lows.tolist(), found.spans.tolist(), strict=True)
    return [(low, found.pmf[a:b].copy()) for low, (a, b) in spans]


def _sum(a: tuple[int, Floats], b: tuple[int, Floats]) -> tuple[int, Floats]:
    short = min(a[1].size, b[1].size)
    if short <= DIRECT:
        pmf = np.convolve(a[1], b[1])
    else:
        from scipy.signal import fftconvolve  # noqa: PLC0415 (slow to import, rarely needed)

        pmf = np.maximum(fftconvolve(a[1], b[1]), 0.0)
    keep = np.flatnonzero(pmf > NEGLIGIBLE)
    return a[0] + b[0] + int(keep[0]), pmf[keep[0] : keep[-1] + 1]
