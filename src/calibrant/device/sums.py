"""Sums that do not depend on their order: `engine.sums` on a device."""

from collections.abc import Iterable

import torch
from torch import Tensor

from calibrant.device import fused
from calibrant.engine.sums import C1, C2, C3, LIMBS

ENTRIES = 1 << 24  # of a block of rows whose columns are cut into limbs


def limbs(x: Tensor, units: Iterable[float]) -> list[Tensor]:
    """Cut numbers (…) into multiples of the last digits of constants, one after the other."""
    found = []
    for unit in units:
        found.append((x + unit) - unit)
        x = x - found[-1]
    return found


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
        high, middle, low = (
            segment_sums((limb * 2.0**bits).long(), starts).double() * 2.0**-bits
            for limb, bits in zip(limbs(terms, (C1, C2, C3)), LIMBS, strict=True)
        )
        out[:, columns] = (high + (middle + low)).T * unit
    return out


def short_sums(probs: Tensor, weights: Tensor | None, starts: Tensor, unit: float) -> Tensor:
    """Return what `cell_sums` does, for cells of few rows."""
    if not fused.usable(probs):
        return cell_sums(probs, weights, starts, unit)
    m, n_cells = probs.shape[1], len(starts) - 1
    out = torch.empty((n_cells, m), dtype=torch.float64, device=probs.device)
    scaled = probs if weights is None else weights * (1.0 / unit)
    arrays, grid = (probs, scaled, starts, out), (n_cells, fused.blocks(m))
    fused.run("cell_sums", grid, *arrays, m, weights is not None, fused.SIDE)
    return out.mul_(unit)
