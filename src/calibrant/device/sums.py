"""Sums over the rows of a cell that do not depend on their order: `engine.sums` on a device."""

import torch
from torch import Tensor

from calibrant.device import fused

LIMBS = ((1.5 * 2.0**24, 28), (1.5 * 2.0**-4, 56), (1.5 * 2.0**-32, 84))
ENTRIES = 1 << 24  # of a block of rows whose columns are cut into limbs


def limbs(x: Tensor) -> Tensor:
    """Return the limbs of numbers (…) of at most 1, as whole numbers of their units: (3, …)."""
    out = torch.empty((3, *x.shape), dtype=torch.int64, device=x.device)
    for limb, (constant, bits) in zip(out, LIMBS, strict=True):
        part = (x + constant) - constant
        x = x - part
        limb.copy_(part * 2.0**bits)
    return out


def value(parts: Tensor) -> Tensor:
    """Return what limbs (3, …) amount to."""
    scales = [2.0**-bits for _, bits in LIMBS]
    high, middle, low = (part * scale for part, scale in zip(parts.double(), scales, strict=True))
    return high + (middle + low)


def segment_sums(x: Tensor, starts: Tensor) -> Tensor:
    """Add up consecutive entries of x (…, n), whose sums never round: (…, segments).

    All of x is one line, whose sums are fast. Integers may wrap around on it: differences do not.
    """
    sums = torch.nn.functional.pad(x.reshape(-1).cumsum(0), (1, 0))
    lines = torch.arange(0, max(1, x.numel()), max(1, x.shape[-1]), device=x.device)
    return sums[lines[:, None] + starts].diff().view(*x.shape[:-1], -1)


def cell_sums(probs: Tensor, weights: Tensor | None, starts: Tensor, unit: float) -> Tensor:
    """Return the sums of predictions (k, m) of rows that are sorted by cell: (cells, m)."""
    out = torch.empty((len(starts) - 1, probs.shape[1]), dtype=torch.float64, device=probs.device)
    step = max(1, ENTRIES // max(1, len(probs)))
    for first in range(0, probs.shape[1], step):
        columns = slice(first, first + step)
        terms = probs[:, columns].T.double().contiguous()
        if weights is not None:
            terms = weights * (1.0 / unit) * terms
        out[:, columns] = value(segment_sums(limbs(terms), starts)).T * unit
    return out


def short_sums(probs: Tensor, weights: Tensor | None, starts: Tensor, unit: float) -> Tensor:
    """Return what `cell_sums` does, for cells of few rows."""
    add = fused.cell_sums if fused.usable(probs) else cell_sums
    return add(probs, weights, starts, unit)

