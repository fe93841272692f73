"""What every statistic is, and what it may ask of a block of replicates."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, final

import numpy as np
from numpy.typing import NDArray

from calibrant.calibration import Cells, find_cells
from calibrant.partitions import Partition
from calibrant.predictions import Predictions

Array = NDArray[Any]
Floats = NDArray[np.float64]


class Block(Protocol):
    """Consecutive replicates of the problem that a statistic was prepared for.

    Labels differ between replicates. If `rows_change`, so does how often each row stands in
    one; and then `refit` says whether partitions are fitted again.
    """

    @property
    def size(self) -> int:
        """Number of replicates."""
        ...

    @property
    def rows_change(self) -> bool:
        """Whether rows are drawn again, not only labels."""
        ...

    @property
    def refit(self) -> bool:
        """Whether a partition that looks at the data is fitted to each replicate."""
        ...

    def totals(self, cells: Cells) -> Any:
        """Return `engine.totals.Totals`: norms of the cells' deviations, summed and largest."""
        ...

    def counts(self, cells: Cells, first: int, last: int) -> Floats:
        """Return the weight of each outcome in cells first … last - 1: (size, cells, m)."""
        ...

    def events(self, cells: Cells, first: int, last: int) -> Floats:
        """Return the weight of the event of two outcomes in these cells: (cells, size)."""
        ...

    def labels(self) -> Iterator[NDArray[np.int32]]:
        """Yield the labels (n,) of each replicate."""
        ...

    def data_sets(self) -> Iterator[Predictions]:
        """Yield each replicate as a data set."""
        ...


Evaluate = Callable[[Block], Floats]


class Shared:
    """What the statistics of one call share: the predictions, and their cells.

    Parameters
    ----------
    data : Predictions
        The problem, as a lens shows it.
    find : callable, default find_cells
        Finds the cells of a partition.
    """

    __slots__ = ("_cells", "_find", "_known", "_norms", "data")

    def __init__(
        self, data: Predictions, find: Callable[[Predictions, Partition], Cells] = find_cells
    ) -> None:
        self.data = data
        self._find = find
        self._cells: list[tuple[Partition, Cells]] = []
        self._norms: dict[int, set[int]] = {}
        self._known: dict[Any, Any] = {}

    def cells(self, partition: Partition) -> Cells:
        """Return the cells of a partition; the same object to all who ask for an equal one."""
        for known, cells in self._cells:
            if known is partition or known == partition:
                return cells
        cells = self._find(self.data, partition)
        self._cells.append((partition, cells))
        return cells

    @property
    def asked(self) -> list[Cells]:
        """The cells that were asked for."""
        return [cells for _, cells in self._cells]

    def settle(self) -> None:
        """Work out what all replicates need of the cells, before there are threads."""
        for cells in self.asked:
            _ = cells.order, cells.mass, self.data.m == 2 and cells.predictions

    def remember(self, key: Any, make: Callable[[], Any]) -> Any:
        """Return what is known under a key, or make it."""
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]

    def want(self, cells: Cells, norm: int) -> None:
        """Say that a norm of these cells is going to be asked for, so that all come at once."""
        self._norms.setdefault(id(cells), set()).add(norm)

    def wanted(self, cells: Cells) -> tuple[int, int]:
        """Return the span that holds the norms that are going to be asked for."""
        norms = self._norms.get(id(cells), {0, 2})
        return min(norms), max(norms) + 1


class Statistic(ABC):
    """A number that is large if calibration is bad.

    Law: ``prepare`` looks at predictions and weights, never at labels, and what it returns
    gives for the data themselves what calling the statistic gives.
    """

    __slots__ = ()

    @property
    def takes_changed_rows(self) -> bool:
        """Whether what `prepare` returns can also handle rows that stand several times.

        If not, the statistic is called on each data set in which rows were drawn again.
        """
        return False

    @property
    def threaded(self) -> bool:
        """Whether blocks may be evaluated on several threads at once."""
        return True

    @property
    def from_totals(self) -> bool:
        """Whether a block is asked for nothing but totals of cells, which a GPU can give."""
        return False

    @abstractmethod
    def prepare(self, shared: Shared) -> Evaluate:
        """Do what depends on the predictions alone; return the function of a block: (size,)."""

    def interval(self, data: Predictions, level: float) -> tuple[float, float] | None:  # noqa: ARG002
        """Return an interval for what the statistic of `data` estimates; None if none is known."""
        return None

    def __call__(self, data: Predictions) -> float:
        """Return the statistic of `data`."""
        return float(self.prepare(Shared(data))(Observed(data))[0])


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

    @property
    def takes_changed_rows(self) -> bool:
        """Whether rows may stand several times: yes, they are laid out."""
        return True

    @property
    def threaded(self) -> bool:
        """Whether the function may run on several threads: who knows."""
        return False

    def prepare(self, shared: Shared) -> Evaluate:  # noqa: ARG002
        """Prepare nothing: the function takes whole data sets."""
        return lambda block: np.array(
            [as_float(self.function(data), "a data set") for data in block.data_sets()]
        )

    def __str__(self) -> str:
        return str(getattr(self.function, "__name__", "a function"))


@final
@dataclass(frozen=True, slots=True, eq=False)
class Observed:
    """The data themselves, as a block of one.

    Parameters
    ----------
    data : Predictions
        What was observed.
    """

    data: Predictions

    @property
    def size(self) -> int:
        """Number of replicates: one."""
        return 1

    @property
    def rows_change(self) -> bool:
        """Whether rows are drawn again: no."""
        return False

    @property
    def refit(self) -> bool:
        """Whether partitions are fitted again: no."""
        return False

    def totals(self, cells: Cells) -> Any:
        """Return the totals of the data."""
        return cells.totals(self.data)

    def counts(self, cells: Cells, first: int, last: int) -> Floats:
        """Return the weight of each outcome in cells first … last - 1: (1, cells, m)."""
        return cells.sums_of(first, last, self.data).observed[None]

    def events(self, cells: Cells, first: int, last: int) -> Floats:
        """Return the weight of the event of two outcomes in these cells: (cells, 1)."""
        return cells.sums_of(first, last, self.data).observed[:, self.data.event, None]

    def labels(self) -> Iterator[NDArray[np.int32]]:
        """Yield the labels."""
        yield self.data.labels

    def data_sets(self) -> Iterator[Predictions]:
        """Yield the data."""
        yield self.data


def as_float(value: Any, where: str) -> float:
    """Return what a statistic gave as a float, or refuse it."""
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        found = None
    if found is None or isinstance(value, str | bytes):
        raise TypeError(
            f"`statistic` must return a number; for {where} it returned {_on_a_line(value)}."
        )
    if np.isnan(found):
        raise ValueError(f"`statistic` must return a number; for {where} it returned nan.")
    return found


def _on_a_line(value: Any) -> str:
    """Write a value of any kind for a sentence."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:60] + "…"
