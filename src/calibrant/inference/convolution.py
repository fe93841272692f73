"""The distribution of the number of events among few rows: block by block, then convolved."""

import numpy as np
from numpy.typing import NDArray

from calibrant import engine

Floats = NDArray[np.float64]

BLOCK = 128  # rows that are added one by one
CHUNK = BLOCK << 8  # rows whose blocks are laid out together
DIRECT = 1 << 13  # lengths up to which the plain sum is faster than the Fourier transform
NEGLIGIBLE = 1e-25  # ends of a distribution below this are dropped; a draw resolves 1e-16


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
        parts = [sum_of(a, b) for a, b in pairs] + ([parts[-1]] if len(parts) % 2 else [])
    return parts[0] if parts else (0, np.ones(1))


def _by_block(p: Floats) -> list[tuple[int, Floats]]:
    found = engine.events.block_counts(p, BLOCK)
    spans = zip(found.lows.tolist(), found.spans.tolist(), strict=True)
    return [(low, found.pmf[a:b].copy()) for low, (a, b) in spans]


def sum_of(a: tuple[int, Floats], b: tuple[int, Floats]) -> tuple[int, Floats]:
    """Return the distribution of the sum of two independent counts."""
    short = min(a[1].size, b[1].size)
    if short <= DIRECT:
        pmf = np.convolve(a[1], b[1])
    else:
        from scipy.signal import fftconvolve  # noqa: PLC0415 (slow to import, rarely needed)

        pmf = np.maximum(fftconvolve(a[1], b[1]), 0.0)
    keep = np.flatnonzero(pmf > NEGLIGIBLE)
    return a[0] + b[0] + int(keep[0]), pmf[keep[0] : keep[-1] + 1]
