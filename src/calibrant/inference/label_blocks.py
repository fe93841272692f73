"""Blocks of replicates whose rows stay: labels drawn by the row, or counts by the cell."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.calibration import Cells
from calibrant.engine.tuples import Replicates
from calibrant.inference.counts import CountDistributions
from calibrant.inference.problem import Problem
from calibrant.inference.replicated import Replicated
from calibrant.predictions import Predictions

Floats = NDArray[np.float64]

ROOM = 1 << 21  # labels that are laid out at a time
TABLE = 1 << 15  # numbers of a table of cells and replicates that stays in the processor's cache


class Binary(Protocol):
    """A block of a problem of two outcomes that can draw the event."""

    @property
    def size(self) -> int:
        """Number of replicates."""
        ...

    def events(self, cells: Cells, first: int, last: int) -> Floats:
        """Return the weight of the event in cells first … last - 1: (cells, size)."""
        ...


def event_totals(block: Binary, cells: Cells, wanted: tuple[int, int]) -> Any:
    """Return the totals of a problem of two outcomes: both are off by the same."""
    mass = np.where(cells.mass > 0, cells.mass, 1.0)[:, None]
    predicted = cells.predictions[:, cells.data.event, None]
    shares = cells.proportions[:, None]
    totals = engine.totals.Totals.zeros(block.size)
    step = max(1, TABLE // block.size)
    for first in range(0, cells.n_cells, step):
        part = slice(first, min(first + step, cells.n_cells))
        off = block.events(cells, part.start, part.stop)
        off -= predicted[part]
        off *= 1.0 / mass[part]
        np.abs(off, out=off)
        for norm in range(*wanted):
            norms = engine.totals.event_norm(off, norm)
            engine.totals.add_cells(totals, norm, norms, shares[part])
    return totals


@final
@dataclass(frozen=True, slots=True, eq=False)
class LabelBlock(Replicated):
    """Replicates in which labels are drawn again, by the row.

    Parameters
    ----------
    problem : Problem
        What is drawn.
    replicates : Replicates
        Which ones.
    found : dict
        Totals by the cells that were asked for.
    """

    problem: Problem
    replicates: Replicates
    found: dict[int, Any]

    @property
    def drawing(self) -> Any:
        """What rows draw their outcomes from, one by one; None if a lens takes them apart."""
        problem = self.problem
        if not problem.lens.rowwise:
            return None
        event = problem.seen.event
        if event is not None and problem.cuts is not None:
            return engine.drawn.Drawing(problem.source, problem.cuts, event)
        return engine.drawn.Drawing(problem.source)

    def totals(self, cells: Cells) -> Any:
        """Return norms of the cells' deviations, summed and largest."""
        if id(cells) not in self.found:
            self.found[id(cells)] = self._totals(cells)
        return self.found[id(cells)]

    def _totals(self, cells: Cells) -> Any:
        problem = self.problem
        wanted = problem.shared.wanted(cells)
        if problem.there:
            key = problem.resampler.label_key(problem.key)
            return cells.there.null_totals(key, self.replicates, wanted)
        if not problem.lens.rowwise:
            return joined([cells.totals(data) for data in self.data_sets()])
        if problem.seen.m == 2:
            return event_totals(self, cells, wanted)
        return engine.null.null_totals(
            problem.seen.rows, cells.by_order, problem.source, self.replicates, wanted
        )

    def events(self, cells: Cells, first: int, last: int) -> Floats:
        """Return the weight of the event in cells first … last - 1: (cells, size)."""
        problem, cuts = self.problem, self.problem.cuts
        if cuts is None or not problem.lens.rowwise:
            return Replicated.events(self, cells, first, last)
        rows, key = problem.rows, problem.source.key
        keys = key, engine.draws.replicate_keys(key, self.replicates)
        found: Floats = engine.events.event_counts(rows, cells.order, cuts, keys, (first, last))
        return found

    def _counts(self, cells: Cells, first: int, last: int) -> Floats:
        problem, span = self.problem, (first, last)
        found: Floats = engine.counted.cell_counts(
            problem.rows, cells.order, problem.source, self.replicates, span
        )
        return found

    def counts(self, cells: Cells, first: int, last: int) -> Floats:
        """Return the weight of each outcome in cells first … last - 1: (size, cells, m)."""
        if not self.problem.lens.rowwise:
            sets = self.data_sets()
            return np.stack([cells.sums_of(first, last, data).observed for data in sets])
        if self.problem.seen.m != 2 or self.problem.cuts is None:
            return self._counts(cells, first, last)
        events = self.events(cells, first, last).T
        return both_outcomes(events, cells.mass[first:last], self.problem.seen.event)

    def add_counts(self, cells: Cells, at: NDArray[np.int32], table: Floats) -> None:
        """Add what is counted in these cells to those at other places of a table.

        table : (places, size) of the event of two outcomes, else (places, m, size)
        """
        problem = self.problem
        if problem.seen.m == 2 and problem.lens.rowwise:
            table[at] += self.events(cells, 0, cells.n_cells)
        elif problem.lens.rowwise:
            places = at.astype(np.int64)
            engine.counted.add_counts(
                problem.rows, cells.order, problem.source, self.replicates, (places, table)
            )
        else:
            counts = self.counts(cells, 0, cells.n_cells).transpose(1, 2, 0)
            table[at] += counts if problem.seen.m > 2 else counts[:, problem.seen.event]

    def labels(self) -> Iterator[NDArray[np.int32]]:
        """Yield the labels (n,) of each replicate."""
        problem = self.problem
        step = max(1, ROOM // problem.data.n)
        plain = problem.source._replace(table=None)
        for start in range(self.replicates.start, self.replicates.stop, step):
            some = Replicates(start, min(start + step, self.replicates.stop))
            for drawn in engine.draws.draw_labels(plain, some):
                if problem.lens.rowwise:
                    yield problem.outcomes.of(drawn)
                else:
                    yield problem.lens.relabel(problem.data, drawn)

    def data_sets(self) -> Iterator[Predictions]:
        """Yield each replicate as a data set."""
        for labels in self.labels():
            yield self.problem.seen.with_labels(labels)


@final
@dataclass(frozen=True, slots=True, eq=False)
class CountBlock(Replicated):
    """Replicates in which the number of events is drawn, by the cell.

    Parameters
    ----------
    problem : Problem
        What is drawn.
    replicates : Replicates
        Which ones.
    """

    problem: Problem
    replicates: Replicates

    def totals(self, cells: Cells) -> Any:
        """Return norms of the cells' deviations, summed and largest."""
        return event_totals(self, cells, self.problem.shared.wanted(cells))

    def events(self, cells: Cells, first: int, last: int) -> Floats:
        """Return the number of events in cells first … last - 1: (cells, size)."""
        counts = self.distributions(cells)
        key = self.problem.key
        keys = engine.draws.replicate_keys(key, self.replicates)
        drawn: Floats = counts.draw(key, keys, first, last)
        return drawn

    def distributions(self, cells: Cells) -> CountDistributions:
        """Return the exact distributions of the number of events, worked out once."""
        shared = self.problem.shared
        found: CountDistributions = shared.remember(
            (id(cells), "counts"), lambda: self._counts_of(cells)
        )
        return found

    def _counts_of(self, cells: Cells) -> CountDistributions:
        if not (self.problem.exact_counts and self.problem.drawn_by_cuts):
            refuse_counts()
        return self.problem.event_distributions(cells)

    def counts(self, cells: Cells, first: int, last: int) -> Floats:
        """Return the number of each outcome in cells first … last - 1: (size, cells, 2)."""
        events = self.events(cells, first, last).T
        return both_outcomes(events, cells.mass[first:last], self.problem.seen.event)

    def labels(self) -> Iterator[NDArray[np.int32]]:
        """Refuse: there are no labels."""
        raise ValueError("`draws` must be 'labels' for a statistic that looks at labels.")

    def data_sets(self) -> Iterator[Predictions]:
        """Refuse: there are no labels."""
        yield from self.labels()  # type: ignore[misc]


def refuse_counts() -> NoReturn:
    """Say where counts can be drawn."""
    raise ValueError(
        "`draws` must be 'labels' here: counts are drawn only for two outcomes without weights,"
        " through a lens about one class such as TopLabel()."
    )


def joined(totals: list[Any]) -> Any:
    """Lay the totals of single replicates side by side."""
    parts = zip(*totals, strict=True)
    return engine.totals.Totals(*(np.concatenate(part, axis=1) for part in parts))


def both_outcomes(events: Floats, mass: Floats, event: int | None) -> Floats:
    """Return the weight of both outcomes (…, cells, 2) from that of the event (…, cells)."""
    out = np.empty((*events.shape, 2))
    out[..., event] = events
    out[..., 1 - (event or 0)] = mass - events
    return out
