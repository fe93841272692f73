"""Exact laws of the number of events in each cell of a binary problem.

The number of events among independent rows with probabilities p_i is Poisson-binomial. Its
law is built by blocks: within a block row by row, then by convolving neighbours.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.calibration import Binned, cell_blocks

Floats = NDArray[np.float64]

BLOCK = 128  # rows that are added one by one
CHUNK = BLOCK << 8  # rows whose blocks are laid out together
DIRECT = 1 << 13  # lengths up to which the plain sum is faster than the Fourier transform
NEGLIGIBLE = 1e-25  # ends of a law below this are dropped; a draw resolves no less than 1e-16


@final
@dataclass(frozen=True, slots=True, eq=False)
class CountLaws:
    """The law of the number of events in every cell.

    Parameters
    ----------
    cdf : distribution functions of all cells, end to end
    offsets : (cells + 1,) where each begins
    lows : (cells,) the number of events that its first entry stands for
    """

    cdf: Floats
    offsets: NDArray[np.int64]
    lows: NDArray[np.int64]

    def quantile(self, level: float) -> Floats:
        """Return the smallest number k with P(count ≤ k) ≥ level, for each cell."""
        out = np.empty(self.lows.size)
        for c, low in enumerate(self.lows):
            cdf = self.cdf[self.offsets[c] : self.offsets[c + 1]]
            out[c] = low + min(np.searchsorted(cdf, level * (1 - 1e-12)), cdf.size - 1)
        return out

    def draw(self, key: np.uint64, replicates: NDArray[np.uint64], first: int, last: int) -> Floats:
        """Draw the numbers of events in cells first … last - 1: (cells, replicates)."""
        drawn: Floats = engine.draws.uniforms(key, first, last, replicates)
        for c, numbers in enumerate(drawn, first):
            cdf = self.cdf[self.offsets[c] : self.offsets[c + 1] - 1]
            numbers[:] = self.lows[c] + cdf.searchsorted(numbers, "right")
        return drawn


def count_laws(binned: Binned, law: NDArray[Any]) -> CountLaws:
    """Return the laws of the event's count in each cell, for rows with probabilities law (n, 2)."""
    parts = []
    for first, last in cell_blocks(binned, CHUNK):
        starts = binned.starts[first : last + 1]
        rows = law[binned.rows[starts[0] : starts[-1]]]
        p = rows[:, binned.data.event] / rows.sum(axis=1, dtype=np.float64)
        ends = starts - starts[0]
        parts += [cell_law(p[a:b]) for a, b in pairwise(ends)]
    offsets = np.cumsum([0, *(pmf.size for _, pmf in parts)])
    cdf = np.concatenate([np.cumsum(pmf) / pmf.sum() for _, pmf in parts])
    return CountLaws(cdf, offsets, np.array([low for low, _ in parts], np.int64))


def cell_law(p: Floats) -> tuple[int, Floats]:
    """Return (low, pmf) with pmf[k] = P(low + k events) for independent events p (n,).

    Examples
    --------
    >>> low, pmf = cell_law(np.array([0.5, 0.5]))
    >>> low, pmf.tolist()
    (0, [0.25, 0.5, 0.25])
    """
    laws = [
        law for start in range(0, p.size, CHUNK) for law in _block_laws(p[start : start + CHUNK])
    ]
    while len(laws) > 1:
        pairs = zip(laws[::2], laws[1::2], strict=False)
        laws = [_sum(a, b) for a, b in pairs] + ([laws[-1]] if len(laws) % 2 else [])
    return laws[0] if laws else (0, np.ones(1))


def _block_laws(p: Floats) -> list[tuple[int, Floats]]:
    n_blocks, width = -(-p.size // BLOCK), BLOCK + 1
    pmfs = np.empty(n_blocks * width)
    spans = np.empty((n_blocks, 2), np.int64)
    engine.laws.block_laws(p, BLOCK, pmfs, spans)
    return [(a - i * width, pmfs[a:b].copy()) for i, (a, b) in enumerate(spans.tolist())]


def _sum(a: tuple[int, Floats], b: tuple[int, Floats]) -> tuple[int, Floats]:
    short = min(a[1].size, b[1].size)
    if short <= DIRECT:
        pmf = np.convolve(a[1], b[1])
    else:
        from scipy.signal import fftconvolve  # noqa: PLC0415 (slow to import, rarely needed)

        pmf = np.maximum(fftconvolve(a[1], b[1]), 0.0)
    keep = np.flatnonzero(pmf > NEGLIGIBLE)
    return a[0] + b[0] + int(keep[0]), pmf[keep[0] : keep[-1] + 1]
