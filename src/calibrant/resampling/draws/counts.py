"""Numbers of events that are drawn by the cell, from their exact distributions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.calibration import Cells, Draws
from calibrant.engine.arrays import Replicates
from calibrant.resampling.draws.distributions import CountDistributions
from calibrant.resampling.draws.labels import Labels, both_outcomes, event_totals

Floats = NDArray[np.float64]


@final
class Counts(Draws):
    """Replicates in which the number of events is drawn, by the cell.

    Rows are needed for nothing but the distributions, so tables of rows elsewhere do as well.

    Parameters
    ----------
    labels : Labels
        Of the rows; of rows that are elsewhere, of a sample.
    allowed : bool
        Whether the distribution of a cell's count is known.
    """

    def __init__(self, labels: Labels, *, allowed: bool) -> None:
        self.hypothesis, self._allowed = labels, allowed
        self._known: dict[Cells, CountDistributions] = {}

    def prepare(self, cells: list[Any]) -> None:
        """Work out the distributions, before there are threads."""
        for one in cells if self._allowed else ():
            self.distributions(one)

    def check(self) -> None:
        """Refuse problems whose counts have no known distribution."""
        if not (self._allowed and self.hypothesis.by_cuts):
            refuse_counts()

    def distributions(self, cells: Cells) -> CountDistributions:
        """Return the exact distributions of the number of events, worked out once."""
        if cells not in self._known:
            self.check()
            sums = cells.event_sums(lambda: self.hypothesis.event_probs)
            self._known[cells] = CountDistributions.of(sums)
        return self._known[cells]

    def totals(self, cells: Cells, some: Replicates) -> Any:
        """Return norms of the cells' deviations, summed and largest."""
        return event_totals(partial(self.events, cells, some), cells, some.size)

    def events(self, cells: Cells, some: Replicates, first: int, last: int) -> Floats:
        """Return the number of events in cells first … last - 1: (cells, size)."""
        counts, key = self.distributions(cells), self.hypothesis.key
        keys = engine.draws.replicate_keys(key, some)
        return counts.draw(key, keys, first, last)

    def counts(self, cells: Cells, some: Replicates, first: int, last: int) -> Floats:
        """Return the number of each outcome in cells first … last - 1: (size, cells, 2)."""
        events = self.events(cells, some, first, last).T
        return both_outcomes(events, cells.mass[first:last], cells.event)

    def labels(self, some: Replicates) -> Iterator[NDArray[np.int32]]:  # noqa: ARG002
        """Refuse: there are no labels."""
        raise ValueError("`draws` must be 'labels' for a statistic that looks at labels.")

    def data_sets(self, some: Replicates) -> Iterator[Any]:
        """Refuse: there are no labels."""
        yield from self.labels(some)


@final
@dataclass(frozen=True, slots=True)
class CountsAway:
    """Counts of rows that are elsewhere: nothing but the tables is needed."""

    counts: Counts

    rows_change = False
    entries = 0  # numbers that a replicate adds up for each cell

    def reduction(self, tables: Sequence[Any], some: Replicates) -> None:
        """Return what is added up in some replicates: nothing."""

    def over(self, tables: Mapping[Any, Any], some: Replicates) -> Draws:  # noqa: ARG002
        """Return the replicates."""
        return self.counts


def refuse_counts() -> NoReturn:
    """Say where counts can be drawn."""
    raise ValueError(
        "`draws` must be 'labels' here: counts are drawn only for two outcomes without weights,"
        " through a lens about one class such as TopLabel()."
    )
