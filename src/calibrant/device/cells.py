"""Cells of rows on a device, of the data and under redrawn labels."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
import torch
from torch import Tensor

from calibrant.device import draws, fused, norms
from calibrant.device.grid import SortedRows, group, group_boxes, group_simplices
from calibrant.device.rows import DeviceRows, Origin
from calibrant.engine.norms import IN_ORDER

ENTRIES = 1 << 26  # of the arrays that are laid out at a time
EVENTS = 1 << 22  # events that are laid out at a time
SIDE = 1024  # replicates that are drawn together
ROWS, LONG = 128, 1024  # rows and replicates of a program that draws events
CELLS, PROGRAMS = 32, 1024  # cells of few rows of a program, where there are enough programs

Keys = tuple[Tensor, Tensor]  # hashes of the rows, in sorted order, and of the replicates


@final
@dataclass(frozen=True, eq=False)
class DeviceCells:
    """Rows sorted by cell."""

    rows: DeviceRows  # as a lens shows them
    groups: SortedRows

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
        return norms.segment_sums(self.weights, self.groups.starts)

    @cached_property
    def shares(self) -> Tensor:
        """Share of the rows (or weight) in each cell (cells,)."""
        return self.mass / self.mass.sum()

    @cached_property
    def event_sums(self) -> Tensor:
        """Sums of the event's predictions, of a problem of two outcomes (cells,)."""
        p = self.rows.probs[:, self.rows.event][self.groups.rows]
        return norms.cell_sums(p[:, None], self.weights, self.groups.starts, self.rows.unit)[:, 0]

    @cached_property
    def _parts(self) -> list["SomeCells"]:
        return list(_cut(self))

    def parts(self) -> Iterable["SomeCells"]:
        """Return the cells in parts: kept while they are few enough to be two."""
        kept = self.rows.probs.numel() <= ENTRIES and len(self.sizes) <= ENTRIES // SIDE
        return self._parts if kept else _cut(self)

    def totals(self) -> Any:
        """Return norms of the deviations of the data, summed over the cells and largest."""
        out = norms.DeviceTotals(1, (0, 3), self.mass.device)
        if self.rows.event < 0:
            _add_observed(self, out)
        else:
            order = self.groups.rows
            occurs = (self.rows.labels[order] == self.rows.event).double()
            if self.weights is not None:
                occurs = occurs * self.weights
            _add_events(self, norms.segment_sums(occurs, self.groups.starts)[:, None], out)
        return out.on_host()

    def null_totals(self, key: np.uint64, span: tuple[int, int], wanted: tuple[int, int]) -> Any:
        """Return the totals of a span of replicates, a draw for each row: norms range(*wanted)."""
        out = norms.DeviceTotals(span[1] - span[0], wanted, self.mass.device)
        rows = draws.row_keys(int(key), self.groups.rows)
        cuts = None if self.rows.event < 0 else self._cuts()
        for start in range(span[0], span[1], SIDE):
            stop = min(start + SIDE, span[1])
            keys = rows, draws.replicate_keys(int(key), start, stop, self.mass.device)
            at = slice(start - span[0], stop - span[0])
            if cuts is None:
                for part in self.parts():
                    _add_drawn(part, keys, out, at)
            else:
                _add_events(self, event_counts(self, cuts, keys), out, at)
        return out.on_host()

    def _cuts(self) -> Tensor:
        """Return when each row draws the event of a binary problem (2, n), in sorted order."""
        origin = self.rows.origin
        if origin is None:
            origin = Origin(self.rows.probs, self.rows.all_of(self.rows.event))
        return draws.event_cuts(*origin)[:, self.groups.rows]


# Two outcomes: how often the event occurs


def event_counts(cells: DeviceCells, cuts: Tensor, keys: Keys) -> Tensor:
    """Return the weight of the event, which sorted rows draw between cuts (2, n): (cells, size)."""
    rows, replicates = keys
    n, size, weighted = len(rows), len(replicates), cells.weights is not None
    out = torch.zeros((len(cells.sizes), size), dtype=torch.float64, device=cuts.device)
    if fused.usable(cuts):
        out = out if weighted else out.int()
        arrays = cuts, rows, cells.weights if weighted else out, cells.of_sorted, replicates, out
        grid = fused.blocks(n, ROWS), fused.blocks(size, LONG)
        fused.run("event_counts", grid, *arrays, n, size, weighted, ROWS, LONG)
        return out.double()
    step = max(1, EVENTS // size)
    for start in range(0, n, step):
        some = slice(start, start + step)
        u = draws.uniforms(rows[some], replicates)
        drawn = ((u >= cuts[0, some, None]) & (u < cuts[1, some, None])).double()
        if cells.weights is not None:
            drawn *= cells.weights[some, None]
        out.index_add_(0, cells.of_sorted[some], drawn)
    return out


def _add_events(
    cells: DeviceCells, off: Tensor, totals: norms.DeviceTotals, at: slice = slice(None)
) -> None:
    """Add cells with counts (cells, size) of the event, which are written over."""
    off -= cells.event_sums[:, None]
    off *= (1.0 / torch.where(cells.mass > 0, cells.mass, 1.0))[:, None]
    off.abs_()
    totals.add(2 * off, 2 * (off * off), cells.shares, at)


# More outcomes: cells in parts


@final
@dataclass(frozen=True, eq=False)
class SomeCells:
    """Some cells, with their rows one after another."""

    probs: Tensor  # (k, m) predictions of the rows
    rows: Tensor  # (k,) their numbers in the data
    places: Tensor  # (k,) where they are among all rows in sorted order
    starts: Tensor  # (cells + 1,) where cells begin, and the end
    mass: Tensor  # (cells,) weight of each cell
    shares: Tensor  # (cells,) its share of all
    weights: Tensor | None  # (k,) of the rows
    unit: float  # the smallest power of 2 that no weight exceeds
    short: bool  # whether cells have few rows

    @cached_property
    def predictions(self) -> Tensor:
        """Sums of predictions (cells, m)."""
        add_up = norms.short_sums if self.short else norms.cell_sums
        return add_up(self.probs, self.weights, self.starts, self.unit)

    @cached_property
    def of_rows(self) -> Tensor:
        """The cell of each row (k,)."""
        return torch.repeat_interleave(self.starts.diff(), output_size=len(self.rows))

    @cached_property
    def row_weights(self) -> Tensor:
        """The weight of each row (k,)."""
        if self.weights is None:
            return torch.ones_like(self.rows, dtype=torch.float64)
        return self.weights

    def drawing(self, keys: Keys, some: slice = slice(None)) -> tuple[Tensor, Tensor, Tensor]:
        """Return what some rows draw their labels from."""
        return draws.thresholds(self.probs[some]), keys[0][self.places[some]], keys[1]


def _by_rows(probs: Tensor) -> bool:
    """Whether cells of few rows are measured through the outcomes that occur."""
    return probs.shape[1] > IN_ORDER and fused.usable(probs)


def _cut(cells: DeviceCells) -> Iterator[SomeCells]:
    """Yield all cells that have weight, in parts of a bounded size: first those of few rows."""
    m = cells.rows.shape[1]
    few = m // 2 if _by_rows(cells.rows.probs) else 2
    most = max(1, ENTRIES // max(m, SIDE))
    for short, rows, count in ((True, most, most), (False, 16 * most, ENTRIES // (m * SIDE))):
        held = (cells.mass > 0) & ((cells.sizes < few) == short)
        numbers = held.nonzero()[:, 0]
        ends = cells.sizes[numbers].cumsum(0).cpu()
        first, before = 0, 0
        while first < len(numbers):
            fit = int(torch.searchsorted(ends, before + rows, right=True))
            last = max(first + 1, min(fit, first + count))
            yield _part(cells, numbers[first:last], int(ends[last - 1]) - before, short=short)
            first, before = last, int(ends[last - 1])


def _part(cells: DeviceCells, chosen: Tensor, count: int, *, short: bool) -> SomeCells:
    """Bring together the cells with these numbers, which have so many rows."""
    sizes, begin = cells.sizes[chosen], cells.groups.starts[chosen]
    starts = torch.nn.functional.pad(sizes.cumsum(0), (1, 0))
    shift = torch.repeat_interleave(begin - starts[:-1], sizes, output_size=count)
    places = torch.arange(count, device=shift.device) + shift
    rows = cells.groups.rows[places]
    return SomeCells(
        cells.rows.probs[rows],
        rows,
        places,
        starts,
        cells.mass[chosen],
        cells.shares[chosen],
        None if cells.weights is None else cells.weights[places],
        cells.rows.unit,
        short,
    )


def _add_observed(cells: DeviceCells, totals: norms.DeviceTotals) -> None:
    """Add the deviations of the data."""
    m = cells.rows.shape[1]
    for part in cells.parts():
        flat = part.of_rows * m + cells.rows.labels[part.rows]
        counts = torch.zeros(len(part.mass) * m, dtype=torch.float64, device=flat.device)
        counts.index_add_(0, flat, part.row_weights)
        found = norms.dense_norms(counts.view(-1, m, 1), part.predictions, 1.0 / part.mass)
        totals.add(*found, part.shares)


def _add_drawn(part: SomeCells, keys: Keys, totals: norms.DeviceTotals, at: slice) -> None:
    """Add the deviations of replicates `at`, whose labels are drawn."""
    if not part.short:
        found = norms.dense_norms(_counts(part, keys), part.predictions, 1.0 / part.mass)
        totals.add(*found, part.shares, at)
    elif _by_rows(part.probs):
        drawn = draws.labels(*part.drawing(keys))
        totals.merge(_seen_totals(part, drawn, totals.wanted), at)
    else:  # cells of one row, which have only m possible norms
        drawn = draws.labels(*part.drawing(keys)).long()
        one, two = norms.single_norms(part.predictions, part.mass)
        totals.add(one.gather(1, drawn), two.gather(1, drawn), part.shares, at)


def _counts(part: SomeCells, keys: Keys) -> Tensor:
    """Return the weight of each outcome in every cell and replicate: (cells, m, size)."""
    m, size = part.probs.shape[1], len(keys[1])
    counts = torch.zeros((len(part.mass), m, size), dtype=torch.float64, device=part.probs.device)
    step = max(1, ENTRIES // max(m, size))
    for start in range(0, len(part.rows), step):
        some = slice(start, start + step)
        rows = part.of_rows[some], part.row_weights[some]
        draws.count_labels(part.drawing(keys, some), *rows, counts)
    return counts


def _seen_totals(part: SomeCells, drawn: Tensor, wanted: tuple[int, int]) -> Tensor:
    """Return sums in two parts and largest norms of cells of few rows: (3, norms, size)."""
    (n_cells, m), size = part.predictions.shape, drawn.shape[1]
    side = min(CELLS, max(1, n_cells // PROGRAMS))
    n_blocks, scale = fused.blocks(n_cells, side), 1.0 / part.mass
    sums = norms.term_sums(None, part.predictions, scale).view(6, n_cells)
    known = torch.stack((*sums, scale, part.shares))
    out = known.new_empty((3, 3, n_blocks, size))
    weights = out if part.weights is None else part.weights
    arrays = drawn, part.starts, weights, part.predictions, known, out
    chosen = part.weights is not None, 1 in range(*wanted), side, fused.SIDE
    fused.run("seen_totals", (n_blocks, fused.blocks(size)), *arrays, n_cells, m, size, *chosen)
    high, low, most = out[:, slice(*wanted)]
    return torch.stack((high.sum(1), low.sum(1), most.amax(1)))


def boxes(rows: DeviceRows, columns: tuple[int, int], k: int) -> DeviceCells | None:
    """Return the cells of `EqualWidth(k)` along some columns; None if the host has to find them."""
    groups = group_boxes(rows.probs, columns, k)
    return None if groups is None else DeviceCells(rows, groups)


def simplices(rows: DeviceRows, columns: tuple[int, int], k: int) -> DeviceCells | None:
    """Return the cells of `SimplexBins(k)`; None if the host has to find them."""
    groups = group_simplices(rows.probs, columns, k)
    return None if groups is None else DeviceCells(rows, groups)


def from_host(rows: DeviceRows, of_rows: np.ndarray[Any, Any]) -> DeviceCells:
    """Return cells that were found on the host: the number of each row's (n,)."""
    return DeviceCells(rows, group(torch.from_numpy(of_rows).to(rows.probs.device)))
