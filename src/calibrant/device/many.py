"""Problems of three outcomes or more: norms of the deviations of every cell.

Terms are added in the order in which `engine.null` adds them, so that every bit is the same: the
outcomes one after the other, then those that occur, row by row.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

import torch
from torch import Tensor

from calibrant.device import fused
from calibrant.device.draws import labels, thresholds
from calibrant.device.seen import add_seen
from calibrant.device.sums import cell_sums, short_sums, sums_in_order
from calibrant.device.totals import Totals
from calibrant.engine.draws import FEW

if TYPE_CHECKING:
    from calibrant.device.cells import Cells

ENTRIES = 1 << 26  # of the arrays that are laid out at a time
SIDE = 1024  # replicates that are drawn together
SINGLE, SHORT, LONG = range(3)  # cells of one row, of few, and of so many that all outcomes count


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
    few = m // 2 if m > FEW else 2  # rows from which all outcomes are looked at
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


def dense_norms(counts: Tensor, predicted: Tensor, scale: Tensor) -> tuple[Tensor, Tensor]:
    """Return 1-norms and squared 2-norms (cells, size) of (counts - predicted) scale.

    counts : (cells, m, size); predicted : (cells, m); scale : (cells,)
    """
    if fused.usable(counts):
        return fused.dense_norms(counts, predicted, scale)
    one, two = counts.new_zeros((2, len(counts), counts.shape[2]))
    for j in range(counts.shape[1]):
        d = (counts[:, j] - predicted[:, j, None]) * scale[:, None]
        one += d.abs()
        two += d * d
    return one, two


def add_drawn(cells: "Cells", keys: tuple[Tensor, Tensor], totals: Totals, at: slice) -> None:
    """Add the deviations of replicates `at`, whose labels are drawn.

    keys : hashes of the rows, in sorted order, and of the replicates
    """
    for part in cells.parts():
        if part.kind == SINGLE:
            _add_single(part, keys, totals, at)
        elif part.kind == SHORT:
            add_seen(part, draw(part, keys, slice(None)), totals, at)
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
    if predicted.shape[1] > FEW and fused.usable(predicted):
        known = torch.stack((*_of_top(predicted), part.mass, 1.0 / part.mass, part.shares))
        totals.merge(fused.single_totals(part, keys, known, totals.wanted), at)
        return
    table = _single_norms if predicted.shape[1] <= FEW else _single_norms_of_many
    one, two = table(predicted, part.mass)
    drawn = draw(part, keys, slice(None)).long()
    totals.add(one.gather(1, drawn), two.gather(1, drawn), part.shares, at)


def _of_top(predicted: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the outcome predicted most, its prediction, and sums of the others and of squares."""
    g, top = predicted.max(1)
    one, two = sums_in_order(predicted.scatter(1, top[:, None], 0.0))
    return top.double(), g, one, two


def _single_norms(predicted: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    """Return the norms of cells of one row, of weight w (cells,), for each label: (cells, m)."""
    one, two = predicted.new_zeros((2, *predicted.shape))
    scale = (1.0 / w)[:, None]
    for j in range(predicted.shape[1]):
        counts = torch.zeros_like(predicted)
        counts[:, j] = w
        d = (counts - predicted[:, j, None]) * scale
        one += d.abs()
        two += d * d
    return one, two


def _single_norms_of_many(predicted: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    """Do the same for many outcomes, as `engine.null.single_norms_of_many`."""
    top, g, one, two = (found[:, None] for found in _of_top(predicted))
    w, top = w[:, None], top.long()
    scale = 1.0 / w
    first = (g + (one + ((w - predicted).abs() - predicted))) * scale
    second = (g * g + (two + w * (w - 2.0 * predicted))) * scale * scale
    first.scatter_(1, top, (one + (w - g).abs()) * scale)
    second.scatter_(1, top, (two + (w - g) * (w - g)) * scale * scale)
    return first, second


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
