"""Cells of which there are very many: their rows are moved to the worker that owns them.

Tables of all cells would not fit into memory, and the driver never sees the cells. A worker has
all rows of its cells, in their order, so it does with them what is done in memory. Totals over
cells are exact sums, so those of all workers are put together to the same bits.
"""

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.calibration import Cells
from calibrant.calibration.cells import Known, totals_of
from calibrant.calibration.sums import CellSums
from calibrant.calibration.tally import CellTally, Many
from calibrant.engine import threads
from calibrant.engine.tuples import Replicates
from calibrant.inference.label_blocks import LabelBlock, event_totals, joined
from calibrant.inference.problem import Problem
from calibrant.inference.tallies import CountTally
from calibrant.lenses import Lens
from calibrant.partitions import Partition
from calibrant.predictions import Predictions
from calibrant.resampling import Resampler
from calibrant.scanning import Batch, Group
from calibrant.statistics import Shared

Floats = NDArray[np.float64]

TOGETHER = 1024  # replicates whose labels are drawn together
HEAVY = 0  # the bucket of what was counted in heavy cells


class Moved(NamedTuple):
    """What is known of cells whose rows were moved."""

    observed: Any  # engine.totals.Totals of the data
    null: Any  # of all replicates

    def merge(self, other: "Moved") -> "Moved":
        """Return what is known of the cells of both."""
        observed = engine.totals.merged(self.observed, other.observed)
        null = engine.totals.merged(self.null, other.null)
        return Moved(observed, null)

    def some(self, replicates: Replicates) -> Any:
        """Return the totals of some replicates."""
        parts = (part[:, replicates.start : replicates.stop] for part in self.null)
        return engine.totals.Totals(*parts)


class Drawn(NamedTuple):
    """What outcomes are drawn from, and what is wanted of them."""

    lens: Lens
    resampler: Resampler
    key: np.uint64
    m: int  # outcomes
    n_resamples: int
    wanted: tuple[int, int]  # norms
    whole: float  # weight of all rows

    @property
    def replicates(self) -> Replicates:
        """All of them."""
        return Replicates(0, self.n_resamples)


@final
@dataclass(frozen=True, slots=True)
class CellExchange:
    """Moves rows to buckets by their cell, and works out the totals of each bucket.

    A cell that has more rows than a bucket should have is heavy: its outcomes are counted where
    its rows are, and the counts are put together.

    Parameters
    ----------
    reader : Reader
        How fragments are read.
    group : Group or None
        Which rows; None for all.
    cut : Partition
        The cells.
    heavy : FittedPartition or None
        Cells whose rows stay.
    n_owners : int
        Number of buckets that rows are moved to.
    drawn : Drawn
        What is worked out.
    """

    reader: Any
    group: Group | None
    cut: Partition
    heavy: Any
    n_owners: int
    drawn: Drawn

    @property
    def names(self) -> list[str]:
        """The columns that are read."""
        names: list[str] = self.reader.columns.names
        return names

    @property
    def n_buckets(self) -> int:
        """How many buckets there are: that of heavy cells, and those of the others."""
        return self.n_owners + 1

    def split(self, fragments: Iterable[Any]) -> Iterator[tuple[int, bytes]]:
        """Yield pieces of the rows of fragments, and what was counted in heavy cells."""
        states: list[Any] = []
        for whole in self.reader.batches(fragments):
            batch = whole if self.group is None else self.group.of(whole)
            if batch.data.n:
                for bucket, rows in self._owners(batch.data):
                    some = batch.take(rows)
                    if bucket == HEAVY:
                        states = self._count(states, some)
                    else:
                        yield bucket, _packed(some)
        if states:
            yield HEAVY, pickle.dumps(states, pickle.HIGHEST_PROTOCOL)

    def _owners(self, data: Predictions) -> Iterator[tuple[int, NDArray[np.intp]]]:
        """Yield every bucket that has rows among these, and which."""
        fitted, cells = self.cut.locate(self.drawn.lens(data))
        marks = engine.draws.mix(fitted.marks)  # type: ignore[attr-defined]
        owners = (marks % np.uint64(self.n_owners)).astype(np.int32) + 1
        if self.heavy is not None:
            _, mine, heavy = fitted.join(self.heavy)  # type: ignore[attr-defined]
            owners[np.isin(mine, heavy)] = HEAVY
        buckets = owners[cells]
        order = np.argsort(buckets, kind="stable")
        found, starts = np.unique(buckets[order], return_index=True)
        yield from zip(found.tolist(), np.split(order, starts[1:]), strict=True)

    def _tallies(self) -> tuple[Any, Any]:
        """Return what adds up heavy cells."""
        drawn, cells = self.drawn, ((self.cut, self.heavy),)
        place = drawn.lens, drawn.resampler, drawn.key, cells, drawn.m
        return CellTally(drawn.lens, (self.cut,), 1.0), CountTally(*place, drawn.replicates)

    def _count(self, states: list[Any], batch: Batch) -> list[Any]:
        """Add up further rows of heavy cells."""
        tallies = self._tallies()
        states = states or [tally.zero() for tally in tallies]
        return [t.update(state, batch) for t, state in zip(tallies, states, strict=True)]

    def finish(self, bucket: int, pieces: Iterable[bytes]) -> Moved:
        """Return the totals of all cells of a bucket."""
        found = [pickle.loads(piece) for piece in pieces]  # what our own workers packed
        return self._heavy(found) if bucket == HEAVY else self._light(found)

    def _light(self, pieces: list[Any]) -> Moved:
        """Draw the outcomes of rows, and return the totals of their cells."""
        drawn = self.drawn
        batch = _unpacked(pieces, self.reader.columns.known.names)
        seen = drawn.lens(batch.data)
        shared = Shared(seen)
        cells = Cells(seen, Known(*self.cut.locate(seen)), drawn.whole)
        for norm in range(*drawn.wanted):
            shared.want(cells, norm)
        place = drawn.lens, drawn.resampler, drawn.key, shared, 0, batch.numbers
        problem = Problem(batch.data, *place)
        spans = threads.blocks(drawn.n_resamples, TOGETHER)
        null = [LabelBlock(problem, Replicates(*span), {}).totals(cells) for span in spans]
        return Moved(cells.totals(), joined(null))

    def _heavy(self, pieces: list[Any]) -> Moved:
        """Return the totals of heavy cells from what was counted."""
        drawn, (cells, counts) = self.drawn, self._tallies()
        (state,) = reduce(cells.merge, (piece[0] for piece in pieces))
        (table,) = reduce(counts.merge, (piece[1] for piece in pieces))
        sums = state.sums.placed(self.heavy.join(state.fitted)[2], self.heavy.n_cells)
        heavy = _Heavy(sums, table, drawn.whole)
        if drawn.m == 2:
            null = event_totals(heavy, heavy, drawn.wanted)  # type: ignore[arg-type]
        else:
            place = table, heavy.predictions, heavy.mass, drawn.wanted, drawn.whole
            null = engine.counted.table_totals(*place)
        one, two = sums.norms()
        return Moved(totals_of(heavy.mass, one, two, drawn.whole), null)

    def merge(self, a: Moved, b: Moved) -> Moved:
        """Return the totals of both."""
        return a.merge(b)


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Heavy:
    """Heavy cells and what was counted in them, as `event_totals` asks for both."""

    sums: CellSums
    table: Floats
    whole: float

    @property
    def data(self) -> CellSums:
        """What knows the event."""
        return self.sums

    @property
    def size(self) -> int:
        """Number of replicates."""
        return int(self.table.shape[-1])

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return int(self.mass.size)

    @property
    def mass(self) -> Floats:
        """Number of rows of each cell (cells,)."""
        return np.asarray(self.sums.sums.mass)

    @property
    def proportions(self) -> Floats:
        """Share of all rows in each cell (cells,)."""
        return np.asarray(self.mass / self.whole)

    @property
    def predictions(self) -> Floats:
        """Sums of the predictions of every cell (cells, m)."""
        return self.sums.predictions()

    def events(self, _: Any, first: int, last: int) -> Floats:
        """Return the weight of the event in cells first … last - 1: (cells, size)."""
        return self.table[first:last].copy()


def heavy_cells(many: Many, most: float, room: int) -> Any:
    """Return the cells that have more than `most` rows, no more than there is room for."""
    if not hasattr(many.fitted, "keep"):
        return None
    first = np.argsort(-many.rows, kind="stable")[:room]
    found = first[many.rows[first] > most]
    return many.fitted.keep(found) if found.size else None


def _packed(batch: Batch) -> bytes:
    data = batch.data
    return pickle.dumps((data.probs, data.labels, batch.numbers), pickle.HIGHEST_PROTOCOL)


def _unpacked(pieces: list[Any], classes: tuple[str, ...]) -> Batch:
    """Put pieces together, their rows in the order of their numbers."""
    probs, labels, numbers = (np.concatenate(part) for part in zip(*pieces, strict=True))
    order = np.argsort(numbers, kind="stable")
    data = Predictions.trusted(probs[order], labels[order], classes, None, 1)
    return Batch(data, 0, numbers[order])
