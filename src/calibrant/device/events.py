"""Binary problems: how often the event occurs in each cell, and how far off that is."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from calibrant.device import fused
from calibrant.device.draws import uniforms
from calibrant.device.sums import segment_sums
from calibrant.device.totals import Totals

if TYPE_CHECKING:
    from calibrant.device.cells import Cells

ENTRIES = 1 << 22  # draws that are laid out at a time


def add_observed(cells: "Cells", totals: Totals) -> None:
    """Add the deviations of the data."""
    rows, order = cells.rows, cells.groups.rows
    occurs = (rows.labels[order] == rows.event).double()
    if cells.weights is not None:
        occurs = occurs * cells.weights
    counts = segment_sums(occurs, cells.groups.starts)
    off = (counts - cells.event_sums) * _inverse(cells)
    totals.add((off.abs() * 2)[:, None], (off * off * 2)[:, None], cells.shares)


def _inverse(cells: "Cells") -> Tensor:
    return 1.0 / torch.where(cells.mass > 0, cells.mass, 1.0)


def add_drawn(
    cells: "Cells", cuts: Tensor, keys: tuple[Tensor, Tensor], totals: Totals, at: slice
) -> None:
    """Add the deviations of replicates `at`, whose events are drawn.

    cuts : (2, n) when each row, in sorted order, draws the event
    keys : hashes of the rows, in sorted order, and of the replicates
    """
    count = fused.event_counts if fused.usable(cuts) else event_counts
    off = count(cells, cuts, keys)
    off -= cells.event_sums[:, None]
    off *= _inverse(cells)[:, None]
    off.abs_()
    totals.add(2 * off, 2 * (off * off), cells.shares, at)


def event_counts(cells: "Cells", cuts: Tensor, keys: tuple[Tensor, Tensor]) -> Tensor:
    """Return the weight of the event in every cell and replicate: (cells, size) float64."""
    rows, replicates = keys
    shape = len(cells.sizes), len(replicates)
    out = torch.zeros(shape, dtype=torch.float64, device=cuts.device)
    step = max(1, ENTRIES // len(replicates))
    for start in range(0, len(rows), step):
        some = slice(start, start + step)
        u = uniforms(rows[some], replicates)
        drawn = ((u >= cuts[0, some, None]) & (u < cuts[1, some, None])).double()
        if cells.weights is not None:
            drawn *= cells.weights[some, None]
        out.index_add_(0, cells.of_sorted[some], drawn)
    return out
