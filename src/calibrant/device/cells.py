"""Cells of rows on a device, of the data and under redrawn labels."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
import torch
from torch import Tensor

from calibrant.device import events, fused, many
from calibrant.device.draws import event_cuts, replicate_keys, row_keys
from calibrant.device.grid import Groups, group, group_boxes, group_simplices
from calibrant.device.rows import Origin, Rows
from calibrant.device.sums import cell_sums, segment_sums
from calibrant.device.totals import Totals


@final
@dataclass(frozen=True, eq=False)
class Cells:
    """Rows sorted by cell.

    Parameters
    ----------
    rows : Rows
        The problem, as a lens shows it.
    groups : Groups
        Which rows are in which cell.
    """

    rows: Rows
    groups: Groups

    @cached_property
    def sizes(self) -> Tensor:
        """Number of rows of each cell (cells,)."""
        return self.groups.starts.diff()

    @cached_property
    def of_sorted(self) -> Tensor:
        """The cell of each row, in the order of `groups.rows` (n,)."""
        return torch.repeat_interleave(self.sizes, output_size=self.rows.shape[0])

    @cached_property
    def weights(self) -> Tensor | None:
        """Weights of the rows in this order (n,); None if all are 1."""
        found = self.rows.weights
        return None if found is None else found[self.groups.rows]

    @cached_property
    def mass(self) -> Tensor:
        """Number of rows of each cell, or their weight (cells,)."""
        if self.weights is None:
            return self.sizes.double()
        return segment_sums(self.weights, self.groups.starts)

    @cached_property
    def shares(self) -> Tensor:
        """Share of the rows (or weight) in each cell (cells,)."""
        return self.mass / self.mass.sum()

    @cached_property
    def event_sums(self) -> Tensor:
        """Sums of the event's predictions, of a problem of two outcomes (cells,)."""
        p = self.rows.probs[:, self.rows.event][self.groups.rows]
        return cell_sums(p[:, None], self.weights, self.groups.starts, self.rows.unit)[:, 0]

    @cached_property
    def _parts(self) -> list[many.Part]:
        return list(many.parts(self))

    def parts(self) -> Iterable[many.Part]:
        """Return the cells by kinds: kept while they are few enough to be three parts."""
        kept = (
            self.rows.probs.numel() <= many.ENTRIES and len(self.sizes) <= many.ENTRIES // many.SIDE
        )
        return self._parts if kept else many.parts(self)

    def totals(self) -> Any:
        """Return norms of the deviations of the data, summed over the cells and largest."""
        out = Totals(1, (0, 3), self.mass.device)
        side = many if self.rows.event < 0 else events
        side.add_observed(self, out)
        return out.on_host()

    def null_totals(self, key: np.uint64, span: tuple[int, int], wanted: tuple[int, int]) -> Any:
        """Return the totals of replicates span[0] … span[1] - 1, a draw for each row and one.

        wanted : the norms that are needed, as in ``range(*wanted)``
        """
        out = Totals(span[1] - span[0], wanted, self.mass.device)
        rows = row_keys(int(key), self.groups.rows)
        cuts = None if self.rows.event < 0 else self._cuts()
        for start in range(span[0], span[1], many.SIDE):
            stop = min(start + many.SIDE, span[1])
            keys = replicate_keys(int(key), start, stop, self.mass.device)
            at = slice(start - span[0], stop - span[0])
            if cuts is None:
                many.add_drawn(self, (rows, keys), out, at)
            else:
                events.add_drawn(self, cuts, (rows, keys), out, at)
        return out.on_host()

    def _cuts(self) -> Tensor:
        """Return when each row draws the event of a binary problem (2, n), in sorted order."""
        origin, order = self.rows.origin, self.groups.rows
        if origin is None:
            origin = Origin(self.rows.probs, self.rows.all_of(self.rows.event))
        find = fused.event_cuts if fused.usable(order) else event_cuts
        return find(*origin, order)


def boxes(rows: Rows, columns: tuple[int, int], k: int) -> Cells | None:
    """Return the cells of `EqualWidth(k)` along some columns; None if the host has to find them."""
    groups = group_boxes(rows.probs, columns, k)
    return None if groups is None else Cells(rows, groups)


def simplices(rows: Rows, columns: tuple[int, int], k: int) -> Cells | None:
    """Return the cells of `SimplexCells(k)`; None if the host has to find them."""
    groups = group_simplices(rows.probs, columns, k)
    return None if groups is None else Cells(rows, groups)


def from_host(rows: Rows, of_rows: np.ndarray[Any, Any]) -> Cells:
    """Return cells that were found on the host: the number of each row's (n,)."""
    return Cells(rows, group(torch.from_numpy(of_rows).to(rows.probs.device)))
