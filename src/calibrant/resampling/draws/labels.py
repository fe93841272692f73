"""Labels that are drawn again, by the row: at hand, and elsewhere as counts of cells."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.calibration import Draws, Gathered, Tabled, View
from calibrant.engine.arrays import Replicates, Source
from calibrant.lenses import Lens, Outcomes
from calibrant.predictions import Predictions
from calibrant.resampling.draws import Away
from calibrant.rows import Batch

Array = NDArray[Any]
Floats = NDArray[np.float64]

LAID_OUT = 1 << 21  # labels that are laid out at a time
TABLE = 1 << 15  # numbers of a table of cells and replicates that stays in the processor's cache


class Redraw(NamedTuple):
    """How labels are drawn again, and what a lens sees of them; it travels to workers."""

    lens: Lens
    resampler: Any
    key: np.uint64

    def event_probs(self, batch: Batch) -> Floats:
        """Return the probability that each row of a batch draws the event (n,)."""
        return Labels(batch, self).event_probs


@final
class Labels(Draws):
    """Replicates in which rows stay and labels are drawn again, by the row.

    Labels are drawn for the rows as they were given; the lens then sees what it makes of them. So
    one key gives every statistic, through every lens, the same labels.
    """

    def __init__(self, batch: Batch, redraw: Redraw) -> None:
        self.batch, self.given, self.seen = batch, batch.given, batch.seen
        self.lens, self.resampler, self.key = redraw

    @property
    def hypothesis(self) -> "Labels":
        """What labels are drawn from."""
        return self

    @cached_property
    def probs(self) -> Array | None:
        """What labels are drawn from (n, classes); None if they stay."""
        if self.resampler.identity:
            return self.given.probs
        found: Array | None = self.resampler.checked_distributions(self.given)
        return found

    @property
    def own(self) -> bool:
        """Whether labels are drawn from the predictions: the hypothesis is that of calibration."""
        return bool(self.resampler.identity) or self.probs is self.given.probs

    @property
    def on_device(self) -> bool:
        """Whether labels are drawn on the device that the rows are on."""
        return bool(self.resampler.identity) and self.seen.on_device is not None

    @cached_property
    def outcomes(self) -> Outcomes:
        """What the lens makes of every class."""
        return self.lens.outcomes(self.given)

    @cached_property
    def source(self) -> Source:
        """What the engine draws outcomes from."""
        table = self.outcomes.table if self.lens.rowwise else None
        assert self.probs is not None
        return Source(self.probs, table, self._label_key, self.batch.first, self.batch.numbers)

    @property
    def _label_key(self) -> np.uint64:
        return self.key if self.resampler.identity else self.resampler.label_key(self.key)

    @property
    def by_cuts(self) -> bool:
        """Whether the event is one class of each row."""
        return self.lens.rowwise and self.outcomes.table is None

    @cached_property
    def cuts(self) -> NDArray[np.int64] | None:
        """For two outcomes, when a row draws the event: (n, 2); None if a table must tell."""
        if not self.by_cuts:
            return None
        found: NDArray[np.int64] = engine.draws.event_cuts(self.source.probs, self._events)
        return found

    @property
    def _events(self) -> Array:
        """The class of the predictions that is the event of each row (n,), or of all (1,)."""
        event = self.outcomes.event
        return np.array([self.seen.event]) if event is None else event

    @property
    def event_probs(self) -> Floats:
        """The probability that a row draws the event (n,)."""
        if not self.by_cuts:
            assert self.seen.event is not None
            return self.seen_probs[:, self.seen.event].astype(float)
        found: Floats = engine.draws.event_probs(self.source.probs, self._events)
        return found

    @property
    def seen_probs(self) -> Array:
        """What outcomes are drawn from (n, outcomes)."""
        if self.own:
            return self.seen.probs
        name = type(self.resampler).__name__
        if self.probs is None:
            raise ValueError(
                "`resampler` must say with `distributions` what labels are drawn from, as Exact"
                f" does; {name} does not. Use it in calibration_test()."
            )
        if not self.lens.rowwise:
            raise ValueError(
                f"`resampler` must draw labels from the predictions through the lens {self.lens},"
                f" which takes a row apart; {name} has another hypothesis."
            )
        return self.outcomes.distributions(self.probs, self.seen.m)

    @property
    def drawing(self) -> Any:
        """What rows draw their outcomes from, one by one; None if a lens takes them apart."""
        if not self.lens.rowwise:
            return None
        event = self.seen.event
        if event is not None and self.cuts is not None:
            return engine.draws.OutcomeSource(self.source, self.cuts, event)
        return engine.draws.OutcomeSource(self.source)

    def through(self, view: View) -> Draws:
        """Return the same replicates, as another view of the rows shows them."""
        assert isinstance(view.lens, Lens)
        redraw = Redraw(view.lens, self.resampler, self.key)
        found: Draws = self.resampler.redraw(view.batch, redraw)
        return found

    def prepare(self, cells: list[Any]) -> None:
        """Work out, before there are threads, what all replicates need."""
        if not self.lens.rowwise:
            return
        for one in cells:
            one.prepare()
        if self.seen.m == 2:
            _ = self.cuts
        _ = self.source

    def totals(self, cells: Gathered, some: Replicates) -> Any:
        """Return norms of the cells' deviations, summed and largest."""
        wanted = cells.norms_wanted
        if self.on_device:
            return cells.on_device.null_totals(self._label_key, some, wanted)
        if not self.lens.rowwise:
            return joined([cells.totals(data) for data in self.data_sets(some)])
        if self.seen.m == 2:
            return event_totals(partial(self.events, cells, some), cells, some.size)
        return engine.null.null_totals(self.seen.rows, cells.by_order, self.source, some, wanted)

    def events(self, cells: Gathered, some: Replicates, first: int, last: int) -> Floats:
        """Return the weight of the event in cells first … last - 1: (cells, size)."""
        if self.cuts is None or not self.lens.rowwise:
            return Draws.events(self, cells, some, first, last)
        key = self.source.key
        keys = key, engine.draws.replicate_keys(key, some)
        place = self.batch.rows, cells.order, self.cuts, keys, (first, last)
        found: Floats = engine.null.event_counts(*place)
        return found

    def residuals(
        self, cells: Gathered, some: Replicates, terms: tuple[Floats, Floats]
    ) -> Floats | None:
        """Return sums over cells of events less what was predicted, times factors: (k, size)."""
        if self.cuts is None or not self.lens.rowwise:
            return None
        key = self.source.key
        keys = key, engine.draws.replicate_keys(key, some)
        place = self.batch.rows, cells.order, self.cuts, keys, terms
        found: Floats = engine.null.event_residuals(*place)
        return found

    def counts(self, cells: Gathered, some: Replicates, first: int, last: int) -> Floats:
        """Return the weight of each outcome in cells first … last - 1: (size, cells, m)."""
        if not self.lens.rowwise:
            sets = self.data_sets(some)
            return np.stack([cells.sums_of(first, last, data).observed for data in sets])
        if self.seen.m == 2 and self.cuts is not None:
            return self.counts_of_events(cells, some, first, last)
        place = self.batch.rows, cells.order, self.source, some, (first, last)
        found: Floats = engine.null.cell_counts(*place)
        return found

    def add_counts(
        self, cells: Gathered, at: NDArray[np.int32], table: Floats, some: Replicates
    ) -> None:
        """Add what is counted in these cells to those at other places of a table.

        table : (places, size) of the event of two outcomes, else (places, m, size)
        """
        if self.seen.m == 2 and self.lens.rowwise:
            table[at] += self.events(cells, some, 0, cells.n_cells)
        elif self.lens.rowwise:
            places = at.astype(np.int64), table
            engine.null.add_counts(self.batch.rows, cells.order, self.source, some, places)
        else:
            counts = self.counts(cells, some, 0, cells.n_cells).transpose(1, 2, 0)
            table[at] += counts if self.seen.m > 2 else counts[:, self.seen.event]

    def labels(self, some: Replicates) -> Iterator[NDArray[np.int32]]:
        """Yield the labels (n,) of each replicate."""
        step = max(1, LAID_OUT // self.given.n)
        plain = self.source._replace(table=None)
        for start in range(some.start, some.stop, step):
            few = Replicates(start, min(start + step, some.stop))
            for drawn in engine.draws.draw_labels(plain, few):
                if self.lens.rowwise:
                    yield self.outcomes.of(drawn)
                else:
                    yield self.lens.relabel(self.given, drawn)

    def data_sets(self, some: Replicates) -> Iterator[Predictions]:
        """Yield each replicate as a data set."""
        for labels in self.labels(some):
            yield self.seen.with_labels(labels)


@final
class FromCounts(Draws):
    """Replicates of rows that are elsewhere, from tables of what was counted."""

    def __init__(self, tables: Mapping[Tabled, Floats], some: Replicates) -> None:
        self._tables, self._some = tables, some  # (cells, size) of the event, else (cells, m, size)

    def totals(self, cells: Tabled, some: Replicates) -> Any:
        """Return norms of the cells' deviations, summed and largest."""
        if cells.exchanged is not None:
            return cells.exchanged.some(some)
        return table_totals(cells, self._tables[cells])

    def events(self, cells: Tabled, some: Replicates, first: int, last: int) -> Floats:
        """Return the weight of the event in cells first … last - 1: (cells, size)."""
        return self._tables[cells][first:last, self._span(some)].copy()

    def counts(self, cells: Tabled, some: Replicates, first: int, last: int) -> Floats:
        """Return the weight of each outcome in cells first … last - 1: (size, cells, m)."""
        if cells.m > 2:
            return self._tables[cells][first:last, :, self._span(some)].transpose(2, 0, 1)
        return self.counts_of_events(cells, some, first, last)

    def _span(self, some: Replicates) -> slice:
        return slice(some.start - self._some.start, some.stop - self._some.start)


@final
@dataclass(frozen=True, slots=True)
class CountReduction:
    """Outcomes that are drawn in the cells of partitions, in some replicates."""

    redraw: Redraw
    cells: tuple[tuple[Any, Any], ...]  # partitions, and all their cells
    m: int  # outcomes
    replicates: Replicates

    def zero(self) -> list[Floats]:
        """Return empty tables: (cells, size) of two outcomes, else (cells, m, size)."""
        inner = () if self.m == 2 else (self.m,)
        sizes = [(fitted.n_cells, *inner, self.replicates.size) for _, fitted in self.cells]
        return [np.zeros(size) for size in sizes]

    def add(self, state: list[Floats], batch: Batch) -> list[Floats]:
        """Draw the outcomes of a batch, each row by its number in the whole data set.

        What is drawn in the finest cells is also counted in coarser ones that they lie in.
        """
        labels = Labels(batch, self.redraw)
        located = [_Located.of(batch.seen, *pair) for pair in self.cells]
        if len(located) == 1:
            labels.add_counts(*located[0], state[0], self.replicates)
            return state
        finest = max(located, key=lambda one: one.cells.n_cells)
        counts = np.zeros((finest.cells.n_cells, *state[0].shape[1:]))
        all_of_them = np.arange(len(counts), dtype=np.int32)
        labels.add_counts(finest.cells, all_of_them, counts, self.replicates)
        for one, table in zip(located, state, strict=True):
            within = finest.within(one)
            if within is None:
                labels.add_counts(*one, table, self.replicates)
            else:
                np.add.at(table, one.at[within], counts)
        return state

    def merge(self, a: list[Floats], b: list[Floats]) -> list[Floats]:
        """Return the counts of the rows of both."""
        return [mine + theirs for mine, theirs in zip(a, b, strict=True)]


class _Located(NamedTuple):
    """The cells of the rows of a batch, and where they are among all cells."""

    cells: Gathered
    at: NDArray[np.int32]  # (cells,)

    @classmethod
    def of(cls, seen: Predictions, partition: Any, fitted: Any) -> "_Located":
        """Find the cells of rows."""
        located = partition.locate(seen)
        return cls(Gathered(seen, partition, located), fitted.join(located[0])[2])

    def within(self, other: "_Located") -> NDArray[np.int32] | None:
        """Return the cell of another partition that each cell lies in; None if some lie in two."""
        found = np.zeros(self.cells.n_cells, np.int32)
        found[self.cells.of_rows] = other.cells.of_rows
        nested = np.array_equal(found[self.cells.of_rows], other.cells.of_rows)
        return found if nested else None


def labels_away(redraw: Redraw, m: int) -> Away:
    """Return how labels of rows that are elsewhere are drawn: counts of cells are added up."""
    entries = 1 if m == 2 else m
    return Away(entries, lambda cells, some: CountReduction(redraw, cells, m, some), FromCounts)


def table_totals(cells: Tabled, table: Floats) -> Any:
    """Return the totals of cells in replicates from what was counted in them."""
    if cells.m == 2:
        return event_totals(lambda first, last: table[first:last].copy(), cells, table.shape[-1])
    place = table, cells.predictions, cells.mass, cells.norms_wanted, cells.total
    return engine.null.table_totals(*place)


def event_totals(events: Callable[[int, int], Floats], cells: Any, size: int) -> Any:
    """Return the totals of a problem of two outcomes: both are off by the same.

    events : gives the weight of the event in cells first … last - 1: (cells, size)
    """
    mass = np.where(cells.mass > 0, cells.mass, 1.0)[:, None]
    predicted = cells.predictions[:, cells.event, None]
    shares = cells.proportions[:, None]
    totals = engine.norms.Totals.zeros(size)
    step = max(1, TABLE // size)
    for first in range(0, cells.n_cells, step):
        part = slice(first, min(first + step, cells.n_cells))
        off = events(part.start, part.stop)
        off -= predicted[part]
        off *= 1.0 / mass[part]
        np.abs(off, out=off)
        for norm in range(*cells.norms_wanted):
            norms = engine.norms.event_norm(off, norm)
            engine.norms.add_cells(totals, norm, norms, shares[part])
    return totals


def joined(totals: list[Any]) -> Any:
    """Lay the totals of single replicates side by side."""
    parts = zip(*totals, strict=True)
    return engine.norms.Totals(*(np.concatenate(part, axis=1) for part in parts))
