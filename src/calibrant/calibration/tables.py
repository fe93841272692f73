"""Cells of rows that are elsewhere: tables that a fold over the rows fills in."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from calibrant.calibration.cells import Cells, CellSums, EventSums
from calibrant.partitions import FittedPartition, Partition
from calibrant.partitions.partition import check_partition
from calibrant.predictions import Predictions
from calibrant.rows import MEMORY, Batch

Floats = NDArray[np.float64]

HEAVIEST = 1024  # cells of which it is known, nearly, how many rows they have, where there are many


class Heaviest(NamedTuple):
    """The heaviest of cells that are too many to be added up one by one.

    Which these are is known nearly, and depends on the order of merging: it decides how rows are
    shuffled, and changes no result.
    """

    fitted: Any
    rows: Floats  # (cells,)

    @classmethod
    def of(cls, state: "CellState | Heaviest") -> "Heaviest":
        """Keep the heaviest cells."""
        if isinstance(state, Heaviest):
            return state
        return cls(state.fitted, np.asarray(state.sums.sums.mass)).limited()

    def limited(self) -> "Heaviest":
        """Keep the heaviest cells, if they can be told apart from others."""
        if self.fitted.n_cells <= HEAVIEST or not hasattr(self.fitted, "keep"):
            return self
        first = np.sort(np.argpartition(-self.rows, HEAVIEST)[:HEAVIEST])
        return Heaviest(self.fitted.keep(first), self.rows[first])

    def merge(self, other: "Heaviest") -> "Heaviest":
        """Return the heaviest cells of both."""
        fitted, mine, theirs = self.fitted.join(other.fitted)
        rows = np.zeros(fitted.n_cells)
        rows[mine] += self.rows
        rows[theirs] += other.rows
        return Heaviest(fitted, rows).limited()

    def above(self, most: float, count: int) -> Any:
        """Return the cells that have more than `most` rows, at most so many; None if none do."""
        if not hasattr(self.fitted, "keep"):
            return None
        first = np.argsort(-self.rows, kind="stable")[:count]
        found = first[self.rows[first] > most]
        return self.fitted.keep(found) if found.size else None


class CellState(NamedTuple):
    """The cells that were seen, and sums over their rows."""

    fitted: Any  # a fitted partition with `join`
    sums: CellSums
    events: EventSums | None  # of two outcomes, if they were asked for

    def merge(self, other: "CellState") -> "CellState":
        """Return the cells and sums of both."""
        fitted, mine, theirs = self.fitted.join(other.fitted)
        size = fitted.n_cells
        sums = self.sums.placed(mine, size).merge(other.sums.placed(theirs, size))
        events = None
        if self.events is not None and other.events is not None:
            events = self.events.placed(mine, size).merge(other.events.placed(theirs, size))
        return CellState(fitted, sums, events)


State = CellState | Heaviest | None


@final
@dataclass(frozen=True, slots=True)
class TableReduction:
    """Weight, predictions and outcomes in the cells of partitions."""

    partitions: tuple[Partition, ...]
    unit: float  # of the limbs of predictions
    event_probs: Callable[[Batch], Floats] | None = None  # that rows draw the event (n,)
    most: Sequence[int | None] = ()  # cells of each beyond which the heaviest alone are kept

    def zero(self) -> list[State]:
        """Return the state of no rows."""
        return [None] * len(self.partitions)

    def add(self, state: list[State], batch: Batch) -> list[State]:
        """Add up the rows of a batch."""
        p = None if self.event_probs is None else self.event_probs(batch)
        found: list[State] = []
        for partition in self.partitions:
            fitted, cells = partition.locate(batch.seen)
            sums = CellSums.of(batch.seen, cells, fitted.n_cells, self.unit)
            events = None if p is None else EventSums.of(p, cells, fitted.n_cells)
            found.append(CellState(fitted, sums, events))
        return self.merge(state, found)

    def merge(self, a: list[State], b: list[State]) -> list[State]:
        """Return the cells and sums of the rows of both."""
        most = self.most or (None,) * len(a)
        return [_merged(x, y, limit) for x, y, limit in zip(a, b, most, strict=True)]


def _merged(a: State, b: State, most: int | None) -> State:
    """Return the cells and sums of the rows of both: the heaviest alone if there are too many."""
    found = _both(a, b)
    if isinstance(found, CellState) and most is not None and found.fitted.n_cells > most:
        return Heaviest.of(found)
    return found


def _both(a: State, b: State) -> State:
    if a is None or b is None:
        return b if a is None else a
    if isinstance(a, CellState) and isinstance(b, CellState):
        return a.merge(b)
    return Heaviest.of(a).merge(Heaviest.of(b))


@final
class Tabled(Cells):
    """The cells of rows that are elsewhere, filled with all tables that are open by `fill`.

    outcomes : how many there are, and the event
    whole : the weight of all rows, if these are some of them
    """

    def __init__(
        self,
        partition: Partition,
        outcomes: tuple[int, int | None],
        fill: Callable[[], None],
        whole: float | None = None,
    ) -> None:
        super().__init__(partition, *outcomes, whole)
        self._fill = fill
        self.cut = partition  # what rows are located with: bins that depend on rows, once found
        self.state: State = None
        self.exchanged: Any = None  # totals of data and replicates, once rows were exchanged

    @property
    def open(self) -> bool:  # type: ignore[override]
        """Whether a fold over the rows has to come first."""
        return self.state is None

    @property
    def found(self) -> CellState:
        """The cells and their sums."""
        if self.state is None:
            self._fill()
        if not isinstance(self.state, CellState):
            raise ValueError(
                f"{self.partition} has too many cells to be looked at one by one in scanned data;"
                f" use a coarser partition. {MEMORY}"
            )
        return self.state

    @property
    def heaviest(self) -> Heaviest | None:
        """The heaviest cells, if there are too many to be added up one by one."""
        return self.state if isinstance(self.state, Heaviest) else None

    @property
    def fitted(self) -> FittedPartition:
        """The cells that hold rows."""
        fitted: FittedPartition = self.found.fitted
        return fitted

    def sums(self) -> CellSums:
        """Return weight, predictions and outcomes, added up in every cell."""
        return self.found.sums

    def totals(self) -> Any:
        """Return norms of the deviations, summed over the cells and largest."""
        return super().totals() if self.exchanged is None else self.exchanged.observed

    def event_sums(self, probs: Any) -> EventSums:  # noqa: ARG002
        """Return what distributions of the number of events follow from: found by the fold."""
        assert self.found.events is not None
        return self.found.events


def check_foldable(partition: Partition, seen: Any) -> None:
    """Refuse a partition whose cells cannot be put together from parts, before rows are read.

    seen : has `m` and `event` as a lens shows the rows
    """
    check_partition(partition)
    if not partition.fixed:
        fitting = getattr(partition, "fitting", None)
        if fitting is None:
            raise ValueError(
                f"`partition` must not depend on the rows for scanned data; {partition} does. Use"
                f" EqualWidth(…), SimplexBins(…), EqualMass(…) or VarianceTree(…). {MEMORY}"
            )
        next(fitting(seen, 1.0))  # it would refuse here
    m = seen.m
    row = Predictions.trusted(np.full((1, m), 1.0 / m), np.zeros(1, np.int32), ("",) * m)
    if not hasattr(partition.fit(row), "join"):
        raise ValueError(
            "cells of scanned data must be put together from parts, with `join`, as those of"
            f" EqualWidth(…) are; {partition} cannot. {MEMORY}"
        )
