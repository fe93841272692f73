"""What a statistic may ask of replicates of the data, and the data themselves as one."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant.calibration.cells import Cells
from calibrant.engine.tuples import Replicates
from calibrant.predictions import Predictions
from calibrant.rows.protocol import refuse_rows

Floats = NDArray[np.float64]
Labels = Iterator[NDArray[np.int32]]


class Draws:
    """Replicates of a problem, as a resampler draws them.

    Law: what is asked of some replicates does not depend on which others are asked for. Draws are
    complete before threads start (`prepare`), and only read from then on.
    """

    rows_change = False  # whether rows are drawn again, not only labels
    refit = False  # whether a partition that looks at the data is fitted to each replicate
    hypothesis: Any = None  # what labels are drawn from
    drawing: Any = None  # engine.drawn.Drawing of outcomes by the row; None if there is none

    def prepare(self, cells: list[Any]) -> None:
        """Work out, before there are threads, what all replicates need of these cells."""

    def totals(self, cells: Any, some: Replicates) -> Any:
        """Return `engine.totals.Totals`: norms of the cells' deviations, summed and largest."""
        raise NotImplementedError

    def counts(self, cells: Any, some: Replicates, first: int, last: int) -> Floats:
        """Return the weight of each outcome in cells first … last - 1: (size, cells, m)."""
        raise NotImplementedError

    def events(self, cells: Any, some: Replicates, first: int, last: int) -> Floats:
        """Return the weight of the event of two outcomes in these cells: (cells, size)."""
        return np.ascontiguousarray(self.counts(cells, some, first, last)[:, :, cells.event].T)

    def labels(self, some: Replicates) -> Labels:  # noqa: ARG002
        """Yield the labels (n,) of each replicate; refused of rows that are elsewhere."""
        refuse_rows("`statistic`")

    def data_sets(self, some: Replicates) -> Iterator[Predictions]:  # noqa: ARG002
        """Yield each replicate as a data set; refused of rows that are elsewhere."""
        refuse_rows("`statistic`")


@final
@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Consecutive replicates of the problem that a statistic was prepared for.

    Labels differ between replicates. If `rows_change`, so does how often each row stands in
    one; and then `refit` says whether partitions are fitted again.
    """

    draws: Draws
    replicates: Replicates
    _totals: dict[Cells, Any] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Number of replicates."""
        return self.replicates.size

    @property
    def rows_change(self) -> bool:
        """Whether rows are drawn again, not only labels."""
        return self.draws.rows_change

    @property
    def refit(self) -> bool:
        """Whether a partition that looks at the data is fitted to each replicate."""
        return self.draws.refit

    @property
    def data(self) -> Predictions | None:
        """The data, if they are what is looked at; None of replicates."""
        return self.draws.data if isinstance(self.draws, Observed) else None

    def totals(self, cells: Any) -> Any:
        """Return `engine.totals.Totals`: norms of the cells' deviations, summed and largest."""
        if cells not in self._totals:
            self._totals[cells] = self.draws.totals(cells, self.replicates)
        return self._totals[cells]

    def counts(self, cells: Any, first: int, last: int) -> Floats:
        """Return the weight of each outcome in cells first … last - 1: (size, cells, m)."""
        return self.draws.counts(cells, self.replicates, first, last)

    def events(self, cells: Any, first: int, last: int) -> Floats:
        """Return the weight of the event of two outcomes in these cells: (cells, size)."""
        return self.draws.events(cells, self.replicates, first, last)

    @property
    def drawing(self) -> Any:
        """What outcomes are drawn from, row by row; None if labels have to be laid out."""
        return self.draws.drawing

    def labels(self) -> Labels:
        """Yield the labels (n,) of each replicate."""
        return self.draws.labels(self.replicates)

    def data_sets(self) -> Iterator[Predictions]:
        """Yield each replicate as a data set."""
        return self.draws.data_sets(self.replicates)


@final
class Observed(Draws):
    """The data themselves, as the only replicate; None of rows that are elsewhere."""

    def __init__(self, data: Predictions | None) -> None:
        self.data = data

    def _of_rows(self) -> tuple[Predictions, ...]:
        """Return the data as an argument to cells, none of rows that are elsewhere."""
        return () if self.data is None else (self.data,)

    def totals(self, cells: Any, some: Replicates) -> Any:  # noqa: ARG002
        """Return the totals of the data."""
        return cells.totals(*self._of_rows())

    def counts(self, cells: Any, some: Replicates, first: int, last: int) -> Floats:  # noqa: ARG002
        """Return the weight of each outcome in cells first … last - 1: (1, cells, m)."""
        found: Floats = cells.sums_of(first, last, *self._of_rows()).observed
        return found[None]

    def labels(self, some: Replicates) -> Labels:
        """Yield the labels."""
        for data in self.data_sets(some):
            yield data.labels

    def data_sets(self, some: Replicates) -> Iterator[Predictions]:  # noqa: ARG002
        """Yield the data."""
        if self.data is None:
            refuse_rows("`statistic`")
        yield self.data


def observed(data: Predictions | None) -> Block:
    """Return the data themselves, as a block of one; None of rows that are elsewhere."""
    return Block(Observed(data), Replicates(0, 1))
