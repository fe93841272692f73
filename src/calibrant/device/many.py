"""Problems of three outcomes or more: norms of the deviations of every cell."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

import torch
from torch import Tensor

from calibrant.device import fused
from calibrant.device.draws import labels, thresholds
from calibrant.device.norms import dense_norms, single_norms
from calibrant.device.sums import cell_sums, short_sums
from calibrant.device.totals import Totals
from calibrant.engine.norms import IN_ORDER

if TYPE_CHECKING:
    from calibrant.device.cells import Cells

ENTRIES = 1 << 26  # of the arrays that are laid out at a time
SIDE = 1024  # replicates that are drawn together
SINGLE, SHORT, LONG = range(3)  # cells of one row, of fewer than outcomes, and of more


@final
@dataclass(frozen=True, eq=False)
class Part:
    """Some cells, with their rows one after another.

    Parameters
    ----------
    probs : tensor of shape (k, m)
        Predictions of the rows.
    rows : tensor of shape (k,)
        Their numbers in the data.
    places : tensor of shape (k,)
        Where they are among all rows in sorted order.
    starts : tensor of shape (cells + 1,)
        Where cells begin, and the end.
    mass, shares : tensors of shape (cells,)
        Weight of each cell, and its share of all.
    weights : tensor of shape (k,), optional
        Of the rows.
    unit : float
        The smallest power of 2 that no weight exceeds.
    kind : int
        SINGLE, SHORT or LONG.
    """

    probs: Tensor
    rows: Tensor
    places: Tensor
    starts: Tensor
    mass: Tensor
    shares: Tensor
    weights: Tensor | None
    unit: float
    kind: int

    @cached_property
    def predictions(self) -> Tensor:
        """Sums of predictions (cells, m)."""
        add_up = cell_sums if self.kind == LONG else short_sums
        return add_up(self.probs, self.weights, self.starts, self.unit)

    @cached_property
    def of_rows(self) -> Tensor:
        """The cell of each row (k,)."""
        if self.kind == SINGLE:
            return self.starts[:-1]
        return torch.repeat_interleave(self.starts.diff(), output_size=len(self.rows))

    @cached_property
    def row_weights(self) -> Tensor:
        """The weight of each row (k,)."""
        if self.weights is None:
            return torch.ones_like(self.rows, dtype=torch.float64)
        return self.weights


def parts(cells: "Cells") -> Iterator[Part]:
    """Yield all cells that have weight, those of one kind after those of another."""
    m = cells.rows.shape[1]
    by_rows = m > IN_ORDER and fused.usable(cells.rows.probs)
    few = m // 2 if by_rows else 2  # rows from which all outcomes are looked at
    several = cells.sizes > 1
    kinds = several.long() + (several & (cells.sizes >= few)).long()
    kinds, order = torch.where(cells.mass > 0, kinds, 3).sort(stable=True)
    ends = cells.sizes[order].cumsum(0)
    counts = torch.searchsorted(kinds, torch.arange(3, device=kinds.device), right=True)
    bounds, host = [0, *counts.tolist()], ends.cpu()
    most = max(1, ENTRIES // max(m, SIDE))
    limits = {LONG: (16 * most, max(1, ENTRIES // (m * SIDE)))}
    for kind in (SINGLE, SHORT, LONG):
        for first, last in _cut(host, bounds[kind : kind + 2], *limits.get(kind, (most, most))):
            before = int(host[first - 1]) if first else 0
            yield _part(cells, order[first:last], kind, int(host[last - 1]) - before)


def _cut(ends: Tensor, span: list[int], rows: int, cells: int) -> Iterator[tuple[int, int]]:
    """Cut a span of cells, which end after so many rows, into at most so many rows and cells."""
    first, stop = span
    while first < stop:
        before = int(ends[first - 1]) if first else 0
        fit = int(torch.searchsorted(ends, before + rows, right=True))
        last = min(max(first + 1, fit), first + cells, stop)
        yield first, last
        first = last


def _part(cells: "Cells", chosen: Tensor, kind: int, count: int) -> Part:
    places = cells.groups.starts[chosen]
    starts = torch.arange(count + 1, device=places.device)
    if kind != SINGLE:
        sizes, numbers = cells.sizes[chosen], starts[:-1]
        starts = torch.nn.functional.pad(sizes.cumsum(0), (1, 0))
        shift = torch.repeat_interleave(places - starts[:-1], sizes, output_size=count)
        places = numbers + shift
    rows = cells.groups.rows[places]
    return Part(
        cells.rows.probs[rows],
        rows,
        places,
        starts,
        cells.mass[chosen],
        cells.shares[chosen],
        None if cells.weights is None else cells.weights[places],
        cells.rows.unit,
        kind,
    )


def add_observed(cells: "Cells", totals: Totals) -> None:
    """Add the deviations of the data."""
    m = cells.rows.shape[1]
    found = []
    for part in cells.parts():
        flat = part.of_rows * m + cells.rows.labels[part.rows]
        counts = torch.zeros(len(part.mass) * m, dtype=torch.float64, device=flat.device)
        counts.index_add_(0, flat, part.row_weights)
        norms = dense_norms(counts.view(-1, m, 1), part.predictions, 1.0 / part.mass)
        found.append((*norms, part.shares))
    one, two, shares = (torch.cat(column) for column in zip(*found, strict=True))
    totals.add(one, two, shares)


def add_drawn(cells: "Cells", keys: tuple[Tensor, Tensor], totals: Totals, at: slice) -> None:
    """Add the deviations of replicates `at`, whose labels are drawn.

    keys : hashes of the rows, in sorted order, and of the replicates
    """
    for part in cells.parts():
        if part.kind == SINGLE:
            _add_single(part, keys, totals, at)
        elif part.kind == SHORT:
            totals.add(*fused.seen_norms(part, draw(part, keys, slice(None))), part.shares, at)
        else:
            one, two = dense_norms(_counts(part, keys), part.predictions, 1.0 / part.mass)
            totals.add(one, two, part.shares, at)


def draw(part: Part, keys: tuple[Tensor, Tensor], some: slice) -> Tensor:
    """Return the labels of some rows of the part: (k, size)."""
    rows, replicates = keys[0][part.places[some]], keys[1]
    if fused.usable(rows):
        return fused.labels(fused.thresholds(part.probs[some]), rows, replicates)
    return labels(thresholds(part.probs[some]), rows, replicates)


def _add_single(part: Part, keys: tuple[Tensor, Tensor], totals: Totals, at: slice) -> None:
    """Add cells of one row: there are only m possible norms."""
    predicted = part.predictions
    if predicted.shape[1] > IN_ORDER and fused.usable(predicted):
        totals.merge(fused.single_totals(part, keys, totals.wanted), at)
        return
    one, two = single_norms(predicted, part.mass)
    drawn = draw(part, keys, slice(None)).long()
    totals.add(one.gather(1, drawn), two.gather(1, drawn), part.shares, at)


def _counts(part: Part, keys: tuple[Tensor, Tensor]) -> Tensor:
    """Return the weight of each outcome in every cell and replicate: (cells, m, size)."""
    m, size = part.probs.shape[1], len(keys[1])
    counts = torch.zeros((len(part.mass), m, size), dtype=torch.float64, device=part.probs.device)
    step = max(1, ENTRIES // max(m, size))
    cells, weights = part.of_rows, part.row_weights
    for start in range(0, len(part.rows), step):
        some = slice(start, start + step)
        drawn = draw(part, keys, some)
        if fused.usable(counts):
            fused.add_counts(drawn, cells[some], weights[some], counts)
            continue
        flat = (
            (cells[some, None] * m + drawn) * size + torch.arange(size, device=drawn.device)
        ).view(-1)
        counts.view(-1).index_add_(0, flat, weights[some, None].expand(-1, size).reshape(-1))
    return counts
