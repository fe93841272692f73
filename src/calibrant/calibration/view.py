"""What statistics see: rows as a lens shows them, with their cells, and blocks of replicates."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple, Self, cast, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.calibration.cells import Cells, Gathered
from calibrant.calibration.tables import Tabled, TableReduction, check_foldable
from calibrant.engine.arrays import Replicates
from calibrant.partitions import Partition
from calibrant.predictions import Predictions
from calibrant.rows import Batch, Memory, Rows
from calibrant.rows.rows import Lens, Progress, refuse_rows

Floats = NDArray[np.float64]
EventProbs = Callable[[Batch], Floats]


class Outline(NamedTuple):
    """What is known of rows that are elsewhere, as a lens shows them."""

    n: int
    classes: tuple[str, ...]
    event: int | None
    weighted: bool
    clusters: None = None

    @property
    def m(self) -> int:
        """Number of outcomes."""
        return len(self.classes)


@final
class View:
    """Rows as a lens shows them, and their cells.

    Parameters
    ----------
    rows : Rows
        At hand or elsewhere.
    lens : callable, optional
        What they are seen through; default: as they are.
    event_probs : callable, optional
        The probability that each row of a batch draws the event (n,), if distributions of counts
        are going to be asked for.
    """

    def __init__(
        self, rows: Rows, lens: Lens | None = None, event_probs: EventProbs | None = None
    ) -> None:
        self.rows, self.lens, self.event_probs = rows, lens, event_probs
        self._cells: list[Cells] = []
        self._known: dict[Any, Any] = {}

    @classmethod
    def of(cls, data: Predictions) -> Self:
        """Look at rows in memory as they are."""
        return cls(Memory(data))

    @cached_property
    def batch(self) -> Batch:
        """All rows, as they were given and as the lens shows them; refused of rows elsewhere."""
        return self.rows.at_hand("`statistic`").through(self.lens)

    @property
    def data(self) -> Predictions:
        """All rows, as the lens shows them; refused of rows elsewhere."""
        return self.batch.seen

    @cached_property
    def sample(self) -> Batch:
        """A row of equal probabilities, as such rows would be given and seen."""
        row = np.full((1, self.rows.m), 1.0 / self.rows.m)
        one = Predictions.trusted(row, np.zeros(1, np.int32), self.rows.classes, None, 1)
        return Batch(one, one).through(self.lens)

    @cached_property
    def outline(self) -> Any:
        """What is known of the rows without reading them."""
        if self.rows.held:
            return self.data
        one = self.sample.seen
        return Outline(self.rows.n * one.n, one.classes, one.event, self.rows.weighted)

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.outline.n)

    @property
    def m(self) -> int:
        """Number of outcomes."""
        return int(self.outline.m)

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the outcomes."""
        return cast(tuple[str, ...], self.outline.classes)

    @property
    def event(self) -> int | None:
        """The one of two outcomes that the problem is about."""
        return cast(int | None, self.outline.event)

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return bool(self.outline.weighted)

    @property
    def clusters(self) -> NDArray[np.int32] | None:
        """Number of the cluster of each row (n,); None if rows are independent."""
        return cast(NDArray[np.int32] | None, self.outline.clusters)

    @property
    def unit(self) -> float:
        """The smallest power of 2 that no weight exceeds."""
        return float(engine.sums.unit_of(self.data.rows)) if self.rows.held else self.rows.unit

    def cells(self, partition: Partition) -> Any:
        """Return the cells of a partition; the same object to all who ask for an equal one."""
        for known in self._cells:
            if known.partition is partition or known.partition == partition:
                return known
        found: Cells
        if self.rows.held:
            found = Gathered(self.data, partition)
        else:
            check_foldable(partition, self.outline)
            found = Tabled(partition, (self.m, self.event), lambda: fill([self]))
        self._cells.append(found)
        return found

    @property
    def asked(self) -> list[Any]:
        """The cells that were asked for."""
        return list(self._cells)

    @property
    def open(self) -> list[Tabled]:
        """The tables that were asked for and are not filled yet."""
        return [one for one in self._cells if isinstance(one, Tabled) and one.state is None]

    def remember(self, key: Any, make: Callable[[], Any]) -> Any:
        """Return what is known under a key, or make it."""
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]


def fill(
    views: Sequence[View],
    progress: Progress | None = None,
    most: Mapping[Cells, int | None] = MappingProxyType({}),
) -> None:
    """Fill all open tables of views of the same rows: the only place that does.

    most : for tables, how many cells are added up one by one; None, or nothing, for all
    """
    waiting = [view for view in views if view.open]
    if not waiting:
        return
    rows = waiting[0].rows
    _fit([(view, table) for view in waiting for table in view.open])
    parts = []
    for view in waiting:
        cuts = tuple(table.cut for table in view.open)
        limits = [most.get(table) for table in view.open]
        reduction = TableReduction(cuts, rows.unit, view.event_probs, limits)
        parts.append(view.rows.part(reduction, view.lens))
    for view, states in zip(waiting, rows.fold(parts, progress), strict=True):
        for table, state in zip(view.open, states, strict=True):
            table.state = state


def _fit(tables: Sequence[tuple[View, Tabled]]) -> None:
    """Find the bins that depend on rows: all at a time ask for what they need in each pass."""
    asked = []
    for view, table in tables:
        if not table.partition.fixed:
            talk = table.partition.fitting(view.outline, view.rows.unit)  # type: ignore[attr-defined]
            asked.append((view, table, talk, next(talk)))
    while asked:
        parts = [view.rows.part(reduction, view.lens) for view, _, _, reduction in asked]
        states = asked[0][0].rows.fold(parts)
        going = []
        for (view, table, talk, _), state in zip(asked, states, strict=True):
            try:
                going.append((view, table, talk, talk.send(state)))
            except StopIteration as done:
                table.cut = done.value
        asked = going


Labels = Iterator[NDArray[np.int32]]


class Draws:
    """Replicates of a problem, as a resampler draws them.

    Law: what is asked of some replicates does not depend on which others are asked for. Draws are
    complete before threads start (`prepare`), and only read from then on.
    """

    rows_change = False  # whether rows are drawn again, not only labels
    refit = False  # whether a partition that looks at the data is fitted to each replicate
    hypothesis: Any = None  # what labels are drawn from
    drawing: Any = None  # engine.draws.Outcomes of outcomes by the row; None if there is none

    def prepare(self, cells: list[Any]) -> None:
        """Work out, before there are threads, what all replicates need of these cells."""

    def totals(self, cells: Any, some: Replicates) -> Any:
        """Return `engine.norms.Totals`: norms of the cells' deviations, summed and largest."""
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
        """Return `engine.norms.Totals`: norms of the cells' deviations, summed and largest."""
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
