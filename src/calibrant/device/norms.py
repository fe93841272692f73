"""Norms of the deviations of cells: `engine.norms` on a device."""

import torch
from torch import Tensor

from calibrant.device import fused
from calibrant.engine.norms import HIGH, IN_ORDER, LOW, MIDDLE

ENTRIES = 1 << 22  # terms that are cut into limbs at a time


def limbs(terms: Tensor) -> Tensor:
    """Return the three limbs of terms (…): (3, …)."""
    found = []
    for constant in (HIGH, MIDDLE, LOW):
        found.append((terms + constant) - constant)
        terms = terms - found[-1]
    return torch.stack(found)


def value(sums: Tensor) -> Tensor:
    """Return what sums of limbs (3, …) amount to."""
    high, middle, low = sums
    return high + (middle + low)


def dense_norms(counts: Tensor, predicted: Tensor, scale: Tensor) -> tuple[Tensor, Tensor]:
    """Return 1-norms and squared 2-norms (cells, size) of (counts - predicted) scale.

    counts : (cells, m, size); predicted : (cells, m); scale : (cells,)
    """
    if fused.usable(counts):
        return fused.dense_norms(counts, predicted, scale)
    n_cells, m, size = counts.shape
    if m > IN_ORDER:
        step = max(1, ENTRIES // (n_cells * size))
        sums = counts.new_zeros((2, 3, n_cells, size))
        for first in range(0, m, step):
            some = slice(first, first + step)
            d = (counts[:, some] - predicted[:, some, None]) * scale[:, None, None]
            sums[0] += limbs(d.abs()).sum(2)
            sums[1] += limbs(d * d).sum(2)
        return value(sums[0]), value(sums[1])
    one, two = counts.new_zeros((2, n_cells, size))
    for j in range(m):
        d = (counts[:, j] - predicted[:, j, None]) * scale[:, None]
        one += d.abs()
        two += d * d
    return one, two


def single_norms(predicted: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    """Return the norms of cells of one row, of weight w (cells,), for each label: (cells, m)."""
    scale = (1.0 / w)[:, None]
    if predicted.shape[1] > IN_ORDER:
        old, new = predicted * scale, (w[:, None] - predicted) * scale
        one, two = limbs(old), limbs(old * old)
        one = one.sum(2, keepdim=True) + (limbs(new.abs()) - one)
        two = two.sum(2, keepdim=True) + (limbs(new * new) - two)
        return value(one), value(two)
    one, two = predicted.new_zeros((2, *predicted.shape))
    for j in range(predicted.shape[1]):
        counts = torch.zeros_like(predicted)
        counts[:, j] = w
        d = (counts - predicted[:, j, None]) * scale
        one += d.abs()
        two += d * d
    return one, two
