"""What every statistic is: it prepares what it can, and asks a block of replicates for the rest.

Those that look at pairs of rows or at logarithms read `Outcomes`, a few replicates at a time. Where
they are exact sums over rows of what outcomes bring, `Summed`, those of several statistics are
added up together: labels are drawn once for all. Those that sort rows by the prediction of an event
take its `Ties`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from operator import itemgetter
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.calibration import Block, Gathered, View, observed
from calibrant.calibration.view import TIES
from calibrant.checks.parameters import brief, short
from calibrant.engine import threads
from calibrant.engine.arrays import Replicates
from calibrant.engine.threads import Progress
from calibrant.partitions import FromFunction
from calibrant.partitions.partition import FittedFunction
from calibrant.predictions import Predictions

Array = NDArray[Any]
Floats = NDArray[np.float64]
Evaluate = Callable[[Block], Floats]
Sums = tuple[Array, ...]  # of some replicates; whole numbers, or others that are added exactly

STORED = 1 << 21  # labels that are laid out at a time where they cannot be drawn by the row
READ = 1 << 19  # outcomes that are read at a time: they stay in the processor's cache
BATCH = 1 << 16  # numbers in a block of events: they stay in the processor's cache


class Statistic(ABC):
    """A number that is large if calibration is bad.

    Law: ``prepare`` looks at predictions and weights, never at labels, and what it returns
    gives for the data themselves what calling the statistic gives.
    """

    __slots__ = ()

    # Whether what `prepare` returns can also handle rows that stand several times. If not, the
    # statistic is called on each data set in which rows were drawn again.
    takes_changed_rows = False
    threaded = True  # whether blocks may be evaluated on several threads at once
    from_totals: bool = False  # whether a block is asked for nothing but totals of cells

    @abstractmethod
    def prepare(self, view: View) -> Evaluate:
        """Do what depends on the predictions alone; return the function of a block: (size,)."""

    def interval(self, data: Predictions, level: float) -> tuple[float, float] | None:  # noqa: ARG002
        """Return an interval for what the statistic of `data` estimates; None if none is known."""
        return None

    def __call__(self, data: Predictions) -> float:
        """Return the statistic of `data`."""
        return float(observed(data).numbers(self.prepare(View.of(data)))[0])


AnyStatistic = Statistic | str | Callable[[Predictions], float]


@final
@dataclass(frozen=True, slots=True)
class OfFunction(Statistic):
    """Any function of `Predictions` as a statistic.

    Parameters
    ----------
    function : callable
        Takes `Predictions` and returns a number.

    Examples
    --------
    >>> OfFunction(lambda data: abs(data.probs[:, 1].mean() - data.labels.mean()))(
    ...     Predictions([0.25, 0.75], [1, 1])
    ... )
    0.5
    """

    function: Callable[[Predictions], float]

    takes_changed_rows = True  # they are laid out
    threaded = False  # nobody has said that it may run on several

    def prepare(self, view: View) -> Evaluate:  # noqa: ARG002
        return lambda block: np.array([_as_float(self.function(one)) for one in block.data_sets()])

    def __str__(self) -> str:
        return str(getattr(self.function, "__name__", "a function"))


def _as_float(value: Any) -> float:
    """Return what a function gave for a data set as a float, or refuse it."""
    must = "`statistic` must return a number; for a data set it returned"
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        found = None
    if found is None or isinstance(value, str | bytes):
        raise TypeError(f"{must} {short(brief(value))}.")
    if np.isnan(found):
        raise ValueError(f"{must} nan.")
    return found


@final
@dataclass(frozen=True, slots=True, eq=False)
class Stored:
    """Outcomes of a few replicates that were laid out."""

    labels: Array  # (size, n)

    @property
    def size(self) -> int:
        """Number of replicates."""
        return int(self.labels.shape[0])

    def of(self, rows: Array) -> NDArray[np.int32]:
        """Return the outcomes of the rows with these numbers (k,): (k, size)."""
        return np.ascontiguousarray(self.labels[:, rows].T)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """Outcomes of a few replicates that are drawn when asked for: the same ones every time."""

    drawing: Any  # engine.draws.OutcomeSource: what they are drawn from
    replicates: Replicates
    labels: Array | None = None  # (n,) those of the data, which come after the replicates

    @property
    def size(self) -> int:
        return self.replicates.size + (self.labels is not None)

    def of(self, rows: Array) -> Array:
        """Return the outcomes of the rows with these numbers (k,): (k, size)."""
        drawn = np.asarray(engine.draws.draw_rows(self.drawing, rows, self.replicates))
        if self.labels is None:
            return drawn
        return np.hstack((drawn, self.labels[rows, None].astype(drawn.dtype)))


Outcomes = Stored | Drawn


def batches(block: Block, most: int) -> Iterator[Outcomes]:
    """Yield the replicates of a block, at most so many at a time."""
    if block.drawing is not None:
        first, last = block.replicates
        for start in range(first, last, most):
            yield Drawn(block.drawing, Replicates(start, min(start + most, last)))
        return
    labels = block.labels()
    while found := list(islice(labels, 1)):
        step = min(most, max(1, STORED // found[0].size))
        yield Stored(np.stack([*found, *islice(labels, step - 1)]))


def spans(n: int, size: int) -> Iterator[tuple[int, int]]:
    """Cut n rows into spans whose outcomes in so many replicates are read at a time."""
    step = max(1, READ // size)
    for start in range(0, n, step):
        yield start, min(start + step, n)


def unit_for(largest: float) -> float:
    """Return a power of 2 in which numbers up to `largest` are counted in 62 bits."""
    return float(2.0 ** (np.ceil(np.log2(largest)) - 62))


class RowSums(ABC):
    """What is added up over rows."""

    n: int  # rows
    step: int  # rows that are added up at a time
    most: int  # replicates of whose sums there is room

    @abstractmethod
    def start(self, size: int) -> Sums:
        """Return the sums of no rows."""

    @abstractmethod
    def add(self, sums: Sums, first: int, last: int, outcomes: Array) -> None:
        """Add rows first … last - 1 with their outcomes (rows, size)."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Summed:
    """A statistic of sums over rows, as a function of a block."""

    rows: RowSums
    finish: Callable[[Sums], Floats]  # turns sums into statistics (size,)
    otherwise: Evaluate | None = None  # what a block is given to that comes alone

    def __call__(self, block: Block) -> Floats:
        """Return the statistic of each replicate."""
        if self.otherwise is not None:
            return self.otherwise(block)
        parts = batches(block, self.rows.most)
        return np.concatenate([self.finish(*add_up([self.rows], some)) for some in parts])


def add_up(
    parts: Sequence[RowSums], outcomes: Outcomes, progress: Progress | None = None
) -> list[Sums]:
    """Return sums of one or several kinds over all rows, whose outcomes are drawn once."""
    step = min(part.step for part in parts)

    def start() -> list[Sums]:
        return [part.start(outcomes.size) for part in parts]

    def add(states: list[Sums], first: int, last: int) -> None:
        drawn = outcomes.of(np.arange(first, last))
        for part, sums in zip(parts, states, strict=True):
            part.add(sums, first, last, drawn)

    found, *others = threads.fold(start, add, threads.blocks(parts[0].n, step), progress)
    for states in others:
        for mine, theirs in zip(found, states, strict=True):
            for a, b in zip(mine, theirs, strict=True):
                np.add(a, b, out=a)
    return found


@final
class OutcomeCounts(RowSums):
    """The weight of each outcome: (m, size)."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows  # engine.arrays.Rows
        self.n, self.m = rows.probs.shape
        self.step = 1 << 12
        self.most = max(1, (1 << 22) // self.m)

    def start(self, size: int) -> Sums:
        """Return the sums of no rows."""
        return (np.zeros((self.m, size)),)

    def add(self, sums: Sums, first: int, last: int, outcomes: Array) -> None:
        """Count outcomes."""
        engine.null.count_outcomes(self.rows, (first, last), outcomes, *sums)


def counts_of(view: View) -> OutcomeCounts:
    """Return the counts of all rows, which statistics of a view share."""
    found: OutcomeCounts = view.remember("counts", lambda: OutcomeCounts(view.data.rows))
    return found


# The cells of equal predictions of the first or the second of two outcomes.
BY_EVENT = [FromFunction(itemgetter((slice(None), event))) for event in (0, 1)]


@final
@dataclass(frozen=True, eq=False)
class Ties:
    """The different predictions of the event of two outcomes, in order, and the rows of each.

    Equal predictions are taken together, so the order of rows does not matter, and a value that
    depends on these rows alone is added up in one order.
    """

    cells: Gathered  # one for each value, in increasing order
    event: int  # the outcome that the problem is about

    @classmethod
    def of(cls, statistic: object, view: View) -> Self:
        """Sort the rows of a problem of two outcomes by their predictions; refuse another one."""
        event = view.event
        if event is None:
            raise ValueError(
                f"`{type(statistic).__name__}()` needs a problem with two outcomes; found"
                f" {view.m}. Look through a lens such as `TopLabel()` or `Marginal(…)`."
            )
        _ = view.data  # rows elsewhere refuse, before they are read for their values
        found: Self = view.remember(TIES, lambda: cls(view.cells(BY_EVENT[event]), event))
        return found

    @cached_property
    def _tallied(self) -> tuple[Floats, Floats, Floats]:
        """The predictions, and the weight of the rows and of the events at each (cells,).

        Without weights they are found by sorting, before any row is asked for its cell.
        """
        data = self.cells.data
        occurred = data.labels == self.event
        if not data.weighted:
            values, mass, events = engine.line.tally(data.probs[:, self.event], occurred)
            return values, mass, events
        fitted = self.cells.fitted
        assert isinstance(fitted, FittedFunction)
        held = np.bincount(self.cells.of_rows, data.weights * occurred, fitted.n_cells)
        return fitted.names.astype(np.float64), self.cells.mass, held.astype(np.float64)

    @property
    def values(self) -> Floats:
        """The predictions p, each once, in increasing order (cells,)."""
        return self._tallied[0]

    @property
    def mass(self) -> Floats:
        """Number of rows, or their weight, at each value (cells,)."""
        return self._tallied[1]

    @cached_property
    def total(self) -> float:
        """Number of rows, or their weight."""
        return float(self.mass.sum())

    @cached_property
    def predicted(self) -> Floats:
        """Number of events that were predicted at each value (cells,)."""
        return self.mass * self.values

    @cached_property
    def predicted_so_far(self) -> Floats:
        """Number of events that were predicted up to each value (cells,)."""
        return np.asarray(engine.line.running_totals(self.mass * self.values))

    @property
    def variance(self) -> Floats:
        """Variance of the weight of the events at each value, if calibrated (cells,).

        A row has one outcome, whatever its weight: it adds w² p (1 - p).
        """
        data = self.cells.data
        if not data.weighted:
            return self.predicted * (1.0 - self.values)
        squares = np.bincount(self.cells.of_rows, data.weights**2, self.values.size)
        return squares * self.values * (1.0 - self.values)

    @property
    def path_scale(self) -> float:
        """Standard deviation of the mean of y - p, if calibrated: √(Σ p (1 - p)) / n."""
        return float(np.sqrt(self.variance.sum())) / self.total

    def events(self, block: Block) -> Iterator[tuple[slice, Floats]]:
        """Yield some values at a time, with the weight of the events: (values, size)."""
        if block.data is self.cells.data:
            yield slice(None), self._tallied[2][:, None]
            return
        step = max(1, BATCH // block.size)
        for first in range(0, self.values.size, step):
            last = min(first + step, self.values.size)
            yield slice(first, last), block.events(self.cells, first, last)

    def paths(self, block: Block) -> Any:
        """Walk along the cumulative residuals of each replicate: `engine.line.Paths`."""
        paths, so_far = (
            engine.arrays.blank(engine.line.Paths, size=block.size),
            self.predicted_so_far,
        )
        for part, events in self.events(block):
            engine.line.extend(events, part.start or 0, so_far, self.values, paths)
        return paths

    def pools(self, block: Block, losses: Floats) -> Any:
        """Pool values until the frequencies of each replicate rise: `engine.line.Pools`.

        losses : (2, cells) of a row at each value, if the event occurs and if not
        """
        pools = engine.line.Pools.start(block.size)
        for part, events in self.events(block):
            first, mass = part.start or 0, self.mass[part]
            pools = engine.line.pool(events, mass, losses[:, part], first, pools)
        return pools

    def sums(self, block: Block, factors: Floats) -> Floats:
        """Return sums over the rows of (y - p) times factors (k, cells): (k, size)."""
        found = block.residuals(self.cells, (self.predicted, factors))
        if found is not None:
            return found
        out = np.zeros((factors.shape[0], block.size))
        for part, events in self.events(block):
            engine.line.add_residuals(events, self.predicted[part], factors[:, part], out)
        return out
