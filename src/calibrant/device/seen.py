"""Cells of few rows and many outcomes: norms through the outcomes that occur."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from calibrant.device import fused
from calibrant.device.sums import sums_in_order
from calibrant.device.totals import Totals

if TYPE_CHECKING:
    from calibrant.device.many import Part

ENTRIES = 1 << 26  # of a table of counts


def add_seen(part: "Part", drawn: Tensor, totals: Totals, at: slice) -> None:
    """Add cells whose rows drew these labels (k, size), as `engine.null.seen_norms` does.

    Outcomes that are predicted less than half the smallest weight of a row add a constant, and
    those of them that occur what they differ by.
    """
    predicted, least, scale = part.predictions, _least(part), 1.0 / part.mass
    small = predicted < least[:, None]
    one, two = sums_in_order(predicted.where(small, 0.0))
    if fused.usable(predicted):
        known = torch.stack((one, two, least, scale))
        totals.add(*fused.seen_norms(part, drawn, small, known), part.shares, at)
        return
    step = max(1, ENTRIES // (predicted.shape[1] * drawn.shape[1]))
    for first in range(0, len(predicted), step):
        some = slice(first, first + step)
        constants = one[some, None], two[some, None]
        found = _norms(part, drawn, some, (predicted[some], small[some]), constants)
        s = scale[some, None]
        totals.add(found[0] * s, found[1] * (s * s), part.shares[some], at)


def _least(part: "Part") -> Tensor:
    """Return half the smallest weight of a row of each cell, rows of weight 0 left out (cells,)."""
    if part.weights is None:
        return torch.full_like(part.mass, 0.5)
    halves = torch.where(part.weights > 0, 0.5 * part.weights, torch.inf)
    out = torch.full_like(part.mass, torch.inf)
    return out.scatter_reduce_(0, part.of_rows, halves, "amin")


def _norms(
    part: "Part",
    drawn: Tensor,
    some: slice,
    predictions: tuple[Tensor, Tensor],
    constants: tuple[Tensor, Tensor],
) -> tuple[Tensor, Tensor]:
    """Return the norms (cells, size) of the sums' deviations, in units of weight."""
    predicted, small = predictions
    bounds = part.starts[some.start : some.start + len(predicted) + 1]
    sizes, weights = bounds.diff(), part.row_weights
    shape = (*predicted.shape, drawn.shape[1])
    counts = predicted.new_zeros(shape)
    held = [(sizes > s).nonzero()[:, 0] for s in range(int(sizes.max()))]
    for s, cells in enumerate(held):
        rows = bounds[cells] + s
        w = weights[rows, None, None].expand(-1, 1, shape[2])
        counts[cells] = counts[cells].scatter_add(1, drawn[rows].long()[:, None], w)
    one, two = (found.repeat(1, shape[2]) for found in constants)
    for j in range(shape[1]):
        few = small[:, j, None]
        d = torch.where(few, 0.0, counts[:, j] - predicted[:, j, None])
        one += d.abs()
        two += d * d
        counts[:, j] = torch.where(few, counts[:, j], 0.0)
    for s, cells in enumerate(held):
        label = drawn[bounds[cells] + s].long()[:, None]
        count = counts[cells].gather(1, label)[:, 0]
        extra = count - 2.0 * predicted[cells].gather(1, label[:, 0])
        one[cells] += torch.where(count != 0, extra, 0.0)
        two[cells] += torch.where(count != 0, count * extra, 0.0)
        counts[cells] = counts[cells].scatter(1, label, 0.0)
    return one, two
