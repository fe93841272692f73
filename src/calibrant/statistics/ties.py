"""The different predictions of a problem of two outcomes, in order, with the rows of each.

Equal predictions are taken together, so the order of rows does not matter, and a value that depends
on these rows alone is added up in one order.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.calibration import Block, Gathered, View, observed
from calibrant.partitions import FromFunction
from calibrant.partitions.from_function import FittedFunction
from calibrant.predictions import Predictions
from calibrant.statistics.statistic import Statistic

Array = NDArray[Any]
Floats = NDArray[np.float64]

BATCH = 1 << 20  # numbers in a block of events


def first_outcome(probs: Array) -> Array:
    """Return the predictions of outcome 0 (n,)."""
    return probs[:, 0]


def second_outcome(probs: Array) -> Array:
    """Return the predictions of outcome 1 (n,)."""
    return probs[:, 1]


BY_EVENT = FromFunction(first_outcome), FromFunction(second_outcome)


@final
@dataclass(frozen=True, eq=False)
class Ties:
    """The different predictions of the event, and the rows that share each."""

    cells: Gathered  # one for each value, in increasing order
    event: int  # the outcome that the problem is about

    @classmethod
    def of(cls, statistic: Statistic, view: View) -> Self:
        """Sort the rows of a problem of two outcomes by their predictions; refuse another one."""
        event = view.event
        if event is None:
            raise ValueError(
                f"`{type(statistic).__name__}()` needs a problem with two outcomes; found"
                f" {view.m}. Look through a lens such as `TopLabel()` or `Marginal(…)`."
            )
        _ = view.data  # rows elsewhere refuse, before they are read for their values
        return cls(view.cells(BY_EVENT[event]), event)

    @cached_property
    def _tallied(self) -> tuple[Floats, Floats, Floats]:
        """The predictions, and the weight of the rows and of the events at each (cells,).

        Without weights they are found by sorting, before any row is asked for its cell.
        """
        data = self.cells.data
        occurred = data.labels == self.event
        if not data.weighted:
            found: tuple[Floats, Floats, Floats] = engine.isotonic.tally(
                data.probs[:, self.event], occurred
            )
            return found
        fitted = self.cells.fitted
        assert isinstance(fitted, FittedFunction)
        events = np.bincount(self.cells.of_rows, data.weights * occurred, fitted.n_cells)
        return fitted.names.astype(np.float64), self.cells.mass, events.astype(np.float64)

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
        found: Floats = engine.line.running_totals(self.predicted)
        return found

    @cached_property
    def variance(self) -> Floats:
        """Variance of the number of events at each value, if calibrated (cells,)."""
        return self.predicted * (1.0 - self.values)

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
        paths = engine.arrays.blank(engine.line.Paths, size=block.size)
        for part, events in self.events(block):
            first = part.start or 0
            engine.line.extend(events, first, self.predicted_so_far, self.values, paths)
        return paths

    def pools(self, block: Block, losses: Floats) -> Any:
        """Pool values until the frequencies of each replicate rise: `engine.isotonic.Pools`.

        losses : (2, cells) of a row at each value, if the event occurs and if not
        """
        pools = engine.isotonic.Pools.start(block.size)
        for part, events in self.events(block):
            first = part.start or 0
            pools = engine.isotonic.pool(events, self.mass[part], losses[:, part], first, pools)
        return pools

    def sums(self, block: Block, factors: Floats) -> Floats:
        """Return sums over the rows of (y - p) times factors (k, cells): (k, size)."""
        out = np.zeros((factors.shape[0], block.size))
        for part, events in self.events(block):
            engine.line.add_residuals(events, self.predicted[part], factors[:, part], out)
        return out


def ties_of(statistic: Statistic, data: Predictions) -> tuple[Ties, Floats]:
    """Return the ties of data, and the weight of the events at each value (cells,)."""
    ties = Ties.of(statistic, View.of(data))
    ((_, events),) = ties.events(observed(data))
    return ties, events[:, 0]
