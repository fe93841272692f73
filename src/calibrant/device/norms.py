"""Sums that do not depend on their order, and norms: `engine.sums`, `engine.norms` on a device."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from calibrant import engine
from calibrant.device import fused
from calibrant.engine.norms import HIGH, IN_ORDER, LOW, MIDDLE
from calibrant.engine.sums import C1, C2, C3, LIMBS

COLUMNS = 1 << 24  # entries of a block of columns that are cut into limbs
TERMS = 1 << 22  # terms that are cut into limbs at a time
UNITS = (HIGH, MIDDLE, LOW)
LEAST = 32  # replicates of a program that has one to measure


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
    step = max(1, COLUMNS // max(1, len(probs)))
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


def dense_norms(counts: Tensor, predicted: Tensor, scale: Tensor) -> tuple[Tensor, Tensor]:
    """Return both norms (cells, size) of (counts - predicted) scale; counts (cells, m, size)."""
    n_cells, m, size = counts.shape
    if fused.usable(counts):
        return _norms_by_kernel(counts, predicted, scale)
    if m > IN_ORDER:
        sums = counts.new_zeros((2, 3, n_cells, size))
        step = max(1, TERMS // (n_cells * size))
        for first in range(0, m, step):
            some = slice(first, first + step)
            d = (counts[:, some] - predicted[:, some, None]) * scale[:, None, None]
            sums[0] += torch.stack(limbs(d.abs(), UNITS)).sum(2)
            sums[1] += torch.stack(limbs(d * d, UNITS)).sum(2)
        return _value(*sums[0]), _value(*sums[1])
    one, two = counts.new_zeros((2, n_cells, size))
    for j in range(m):
        d = (counts[:, j] - predicted[:, j, None]) * scale[:, None]
        one += d.abs()
        two += d * d
    return one, two


def _norms_by_kernel(counts: Tensor, predicted: Tensor, scale: Tensor) -> tuple[Tensor, Tensor]:
    n_cells, m, size = counts.shape
    if size == 1 and m > IN_ORDER:
        one, two = _value(*term_sums(counts, predicted, scale))[:, :, None]
        return one, two
    out = counts.new_empty((2, n_cells, size))
    side = fused.SIDE if size > 1 else LEAST
    arrays, grid = (counts, predicted, scale, out), (n_cells, fused.blocks(size, side))
    fused.run("dense_norms", grid, *arrays, n_cells, m, size, m > IN_ORDER, side)
    return out[0], out[1]


def term_sums(counts: Tensor | None, predicted: Tensor, scale: Tensor) -> Tensor:
    """Return the limbs of both norms in one data set, of counts or of none: (3, 2, cells)."""
    n_cells, m = predicted.shape
    out = predicted.new_empty((3, 2, n_cells))
    arrays = predicted if counts is None else counts, predicted, scale, out
    width = min(fused.SIDE, 1 << fused.bits(m))
    fused.run("term_sums", (n_cells,), *arrays, n_cells, m, counts is not None, width)
    return out


def _value(high: Tensor, middle: Tensor, low: Tensor) -> Tensor:
    return high + (middle + low)


def single_norms(predicted: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    """Return the norms of cells of one row, of weight w (cells,), for each label: (cells, m)."""
    if predicted.shape[1] > IN_ORDER:
        scale = (1.0 / w)[:, None]
        old, new = predicted * scale, (w[:, None] - predicted) * scale
        return _replaced(old, new.abs()), _replaced(old * old, new * new)
    each = torch.diag_embed(w[:, None].expand_as(predicted))
    return dense_norms(each, predicted, 1.0 / w)


def _replaced(old: Tensor, new: Tensor) -> Tensor:
    """Return the sums of old terms (cells, m), each time with one of them replaced: (cells, m)."""
    pairs = zip(limbs(old, UNITS), limbs(new, UNITS), strict=True)
    return _value(*(a.sum(1, keepdim=True) + (b - a) for a, b in pairs))


class DeviceTotals:
    """What is known of the cells so far; sums never round, so their order does not show."""

    def __init__(self, size: int, wanted: tuple[int, int], device: torch.device) -> None:
        self.wanted = wanted  # a span of norms; others stay 0
        self.parts = torch.zeros((3, 3, size), dtype=torch.float64, device=device)

    def add(self, one: Tensor, two: Tensor, shares: Tensor, at: slice = slice(None)) -> None:
        """Add cells with 1-norms and squared 2-norms (cells, size), and shares (cells,)."""
        if not len(shares):
            return
        first, last = self.wanted
        values = torch.stack(
            [one if n == 0 else root(two) if n == 1 else two for n in range(first, last)]
        )
        high, low = limbs(values * shares[:, None], (HIGH, MIDDLE))
        self.merge(torch.stack((high.sum(1), low.sum(1), values.amax(1))), at)

    def merge(self, found: Tensor, at: slice) -> None:
        """Add totals (3, norms, size) of other cells in replicates `at`."""
        mine = self.parts[:, slice(*self.wanted), at]
        mine[:2] += found[:2]
        torch.maximum(mine[2], found[2], out=mine[2])

    def on_host(self) -> Any:
        """Return `engine.norms.Totals`."""
        return engine.norms.Totals(*self.parts.cpu().numpy())


def root(x: Tensor) -> Tensor:
    """Return square roots, rounded correctly, which torch's are on a GPU but not on every CPU."""
    return x.sqrt() if x.is_cuda else torch.from_numpy(np.sqrt(x.numpy()))
