"""What statistics see: rows as a lens shows them, with their cells, and blocks of replicates."""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, NoReturn, Self, cast, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.calibration.cells import Cells, Gathered
from calibrant.calibration.tables import Tabled, TableReduction, check_foldable
from calibrant.engine.arrays import Replicates
from calibrant.partitions import Partition
from calibrant.predictions import Predictions
from calibrant.rows import Batch, Memory, Part, Rows
from calibrant.rows.rows import Lens, Progress, refuse_rows

Floats = NDArray[np.float64]
EventProbs = Callable[[Batch], Floats]


TIES = "ties"  # what a view remembers the different predictions of two outcomes as


@final
class Talk:
    """Questions to rows, each of which follows from the answers to those before.

    questions : yields reductions, is sent what was added up, and returns what was found
    lens : what rows are seen through
    """

    def __init__(
        self, questions: Generator[Any, Any, Any], rows: Rows, lens: Lens | None = None
    ) -> None:
        self._questions, self._rows, self._lens = questions, rows, lens
        self.open = True
        self.found: Any = None
        self._asked = next(questions)

    @property
    def part(self) -> Part:
        """What is asked next, as a part of a pass."""
        return self._rows.part(self._asked, self._lens)

    def take(self, answer: Any) -> None:
        """Take the answer, and ask on or be done."""
        try:
            self._asked = self._questions.send(answer)
        except StopIteration as done:
            self.found, self.open = done.value, False


def fold(
    talks: Iterable[Talk], parts: Sequence[Part], rows: Rows, progress: Progress | None = None
) -> list[Any]:
    """Add up the parts in one pass over rows, which also answers all who talk to them."""
    waiting = [talk for talk in talks if talk.open]
    states = rows.fold([*parts, *(talk.part for talk in waiting)], progress)
    for talk, answer in zip(waiting, states[len(parts) :], strict=True):
        talk.take(answer)
    return states[: len(parts)]


def finish(talks: Sequence[Talk], rows: Rows) -> None:
    """Answer all questions, in as many passes as it takes."""
    while any(talk.open for talk in talks):
        fold(talks, (), rows)


@final
class View:
    """Rows, at hand or elsewhere, as a lens shows them, and their cells."""

    # The probability that each row of a batch draws the event (n,), if distributions of counts are
    # going to be asked for.
    event_probs: EventProbs | None = None

    def __init__(self, rows: Rows, lens: Lens | None = None) -> None:
        self.rows, self.lens = rows, lens
        self._cells: list[Cells] = []
        self.talks: list[Talk] = []  # whose questions are asked in passes that are made anyway
        self._known: dict[Any, Any] = {}
        if rows.held:
            seen = self.data
            self.n, self.weighted = seen.n, seen.weighted
        else:
            seen = self.sample.seen
            self.n, self.weighted = rows.n * seen.n, rows.weighted
        self.classes, self.m, self.event = seen.classes, seen.m, seen.event
        self.of_confidences = seen.of_confidences
        self.clusters = seen.clusters  # (n,) number of each row's; None if rows are independent

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
            check_foldable(partition, self)
            found = Tabled(partition, (self.m, self.event), lambda: fill([self]))
        self._cells.append(found)
        return found

    def through(self, lens: Any) -> "View":
        """Return the same rows, as a further lens sees them; refuse rows elsewhere."""
        _ = self.batch
        first = self.lens
        return View(self.rows, lens if first is None or self.unchanged else first >> lens)

    @property
    def unchanged(self) -> bool:
        """Whether the rows at hand are seen as they were given."""
        return self.batch.seen is self.batch.given

    @property
    def asked(self) -> list[Any]:
        """The cells that were asked for."""
        return list(self._cells)

    @property
    def open(self) -> list[Tabled]:
        """The tables that were asked for and are not filled yet."""
        return [cast(Tabled, one) for one in self._cells if one.open]

    def filling(self, most: Mapping[Cells, int | None]) -> Part:
        """Return what fills the open tables, as a part of a pass over the rows."""
        cuts = tuple(table.cut for table in self.open)
        limits = [most.get(table) for table in self.open]
        work = TableReduction(cuts, self.rows.unit, self.event_probs, limits)
        return self.rows.part(work, self.lens)

    def keep(self, states: Sequence[Any]) -> None:
        """Fill the open tables with what was added up."""
        for table, state in zip(self.open, states, strict=True):
            table.state = state

    def remember(self, key: Any, make: Callable[[], Any]) -> Any:
        """Return what is known under a key, or make it."""
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]

    def forget_rows(self) -> None:
        """Drop what is as large as the rows at hand and soon found again: cells, and their order.

        What else was remembered stays.
        """
        if self.rows.held:
            self._cells.clear()
            self._known.pop(TIES, None)


def talks_of(views: Iterable[View]) -> list[Talk]:
    """Return who talks to the rows of views."""
    return [talk for view in views for talk in view.talks]


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
    _fit(waiting)
    states = fold(
        talks_of(views), [view.filling(most) for view in waiting], views[0].rows, progress
    )
    for view, found in zip(waiting, states, strict=True):
        view.keep(found)


def _fit(views: Sequence[View]) -> None:
    """Find the bins that depend on rows: all at a time ask for what they need in each pass."""
    open_ = [(view, table) for view in views for table in view.open]
    fitting = [(view, table) for view, table in open_ if not table.partition.fixed]
    talks = [
        Talk(table.partition.fitting(view, view.rows.unit), view.rows, view.lens)  # type: ignore[attr-defined]
        for view, table in fitting
    ]
    if talks:
        finish(talks, fitting[0][0].rows)
    for (_, table), talk in zip(fitting, talks, strict=True):
        table.cut = talk.found


Labels = Iterator[NDArray[np.int32]]


class Draws:
    """Replicates of a problem, as a resampler draws them.

    Law: what is asked of some replicates does not depend on which others are asked for. Draws are
    complete before threads start (`prepare`), and only read from then on.
    """

    rows_change = False  # whether rows are drawn again, not only labels
    refit = False  # whether a partition that looks at the data is fitted to each replicate
    hypothesis: Any = None  # what labels are drawn from
    drawing: Any = None  # engine.draws.OutcomeSource of outcomes by the row; None if there is none
    data: Predictions | None = None  # the data, if they are what is looked at

    def prepare(self, cells: list[Any]) -> None:
        """Work out, before there are threads, what all replicates need of these cells."""

    def totals(self, cells: Any, some: Replicates) -> Any:
        """Return `engine.norms.Totals`: norms of the cells' deviations, summed and largest."""
        raise NotImplementedError

    def counts(self, cells: Any, some: Replicates, first: int, last: int) -> Floats:  # noqa: ARG002
        """Return the weight of each outcome in cells first … last - 1: (size, cells, m).

        Where rows change, so do the means of cells, and counts alone say nothing.
        """
        raise ValueError("`counts` are for replicates whose rows stay.")

    def events(self, cells: Any, some: Replicates, first: int, last: int) -> Floats:
        """Return the weight of the event of two outcomes in these cells: (cells, size)."""
        return np.ascontiguousarray(self.counts(cells, some, first, last)[:, :, cells.event].T)

    def residuals(
        self,
        cells: Any,  # noqa: ARG002
        some: Replicates,  # noqa: ARG002
        terms: tuple[Floats, Floats],  # noqa: ARG002
    ) -> Floats | None:
        """Return sums over cells of events less what was predicted, times factors: (k, size).

        None if events must be asked for, some cells at a time.

        terms : what was predicted (cells,), and factors (k, cells)
        """
        return None

    def counts_of_events(self, cells: Any, some: Replicates, first: int, last: int) -> Floats:
        """Return the weight of both of two outcomes, of which one is the event: as `counts`."""
        events = self.events(cells, some, first, last).T
        out = np.empty((*events.shape, 2))
        out[..., cells.event] = events
        out[..., 1 - cells.event] = cells.mass[first:last] - events
        return out

    def refuse_labels(self) -> NoReturn:
        """Say why there are no labels to look at: rows are elsewhere."""
        refuse_rows("`statistic`")

    def through(self, view: View) -> "Draws":
        """Return the same replicates of rows at hand, as another view of them shows them."""
        if self.hypothesis is None:
            self.refuse_labels()
        found: Draws = self.hypothesis.through(view)
        return found

    def labels(self, some: Replicates) -> Labels:
        """Yield the labels (n,) of each replicate, if there are any."""
        for data in self.data_sets(some):
            yield data.labels

    def data_sets(self, some: Replicates) -> Iterator[Predictions]:  # noqa: ARG002
        """Yield each replicate as a data set, if it has labels."""
        self.refuse_labels()


@final
class Block:
    """Consecutive replicates of the problem that a statistic was prepared for.

    Labels differ between replicates. If `rows_change`, so does how often each row stands in
    one; and then `refit` says whether partitions are fitted again. `data` are the data, if they are
    what is looked at; None of replicates.
    """

    def __init__(self, draws: Draws, replicates: Replicates) -> None:
        self.draws, self.replicates, self.size = draws, replicates, replicates.size
        self.rows_change, self.refit, self.data = draws.rows_change, draws.refit, draws.data
        self._totals: dict[Cells, Any] = {}

    def totals(self, cells: Any) -> Any:
        """Return `engine.norms.Totals`: norms of the cells' deviations, summed and largest."""
        if cells not in self._totals:
            self._totals[cells] = self.draws.totals(cells, self.replicates)
        return self._totals[cells]

    def through(self, view: View) -> "Block":
        """Return the same replicates, as another view of their rows shows them."""
        return Block(view.remember(self.draws, lambda: self.draws.through(view)), self.replicates)

    def counts(self, cells: Any, first: int, last: int) -> Floats:
        """Return the weight of each outcome in cells first … last - 1: (size, cells, m)."""
        return self.draws.counts(cells, self.replicates, first, last)

    def events(self, cells: Any, first: int, last: int) -> Floats:
        """Return the weight of the event of two outcomes in these cells: (cells, size)."""
        return self.draws.events(cells, self.replicates, first, last)

    def residuals(self, cells: Any, terms: tuple[Floats, Floats]) -> Floats | None:
        """Return sums over cells of (events - predicted) times factors; None if none are known."""
        return self.draws.residuals(cells, self.replicates, terms)

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

    def numbers(self, evaluate: Callable[["Block"], Any]) -> Floats:
        """Return what a statistic gives for each replicate, or refuse it."""
        return of_replicates(np.asarray(evaluate(self)), self.size)


def of_replicates(found: Floats, size: int) -> Floats:
    """Return numbers of so many replicates, or refuse what a statistic gave."""
    if found.shape != (size,):
        raise ValueError(
            f"`statistic` must give a number for each of {size} replicates; it gave shape"
            f" {found.shape}."
        )
    if found.dtype.kind not in "biuf":
        raise TypeError(f"`statistic` must give numbers; it gave {found.dtype}.")
    if np.isnan(found).any():
        raise ValueError("`statistic` must give numbers; it gave nan.")
    return found


@final
class Observed(Draws):
    """The data themselves, as the only replicate; None of rows that are elsewhere."""

    def __init__(self, data: Predictions | None) -> None:
        self.data = data
        self._rows = () if data is None else (data,)  # as an argument to cells

    def through(self, view: View) -> Draws:
        """Return the data, as another view shows them."""
        return Observed(view.data)

    def totals(self, cells: Any, some: Replicates) -> Any:  # noqa: ARG002
        """Return the totals of the data."""
        return cells.totals(*self._rows)

    def counts(self, cells: Any, some: Replicates, first: int, last: int) -> Floats:  # noqa: ARG002
        """Return the weight of each outcome in cells first … last - 1: (1, cells, m)."""
        found: Floats = cells.sums_of(first, last, *self._rows).observed
        return found[None]

    def data_sets(self, some: Replicates) -> Iterator[Predictions]:  # noqa: ARG002
        """Yield the data."""
        if self.data is None:
            self.refuse_labels()
        yield self.data


def observed(data: Predictions | None) -> Block:
    """Return the data themselves, as a block of one; None of rows that are elsewhere."""
    return Block(Observed(data), Replicates(0, 1))
