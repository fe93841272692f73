"""Sums over the rows of every cell: exact, so that they can be added in any order."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Self, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.predictions import Predictions

Floats = NDArray[np.float64]

ENOUGH = 200.0  # variance from which twelve cumulants tell a distribution to 1e-15


class Means(NamedTuple):
    """Weight, mean prediction and outcome frequencies of every cell."""

    mass: Floats  # (cells,)
    predicted: Floats  # (cells, m)
    observed: Floats  # (cells, m)


@final
@dataclass(frozen=True, slots=True, eq=False)
class CellSums:
    """Weight, predictions and outcomes, added up in each cell.

    Sums of blocks of rows, merged in any order, have the same bits as the sums of all rows:
    predictions are added as whole numbers of very small units, and weights are rounded so that
    their sums are exact.

    Parameters
    ----------
    sums : engine.sums.Sums
        Tables of the engine.
    unit : float
        The power of 2 that the limbs of the predictions are counted in.
    event : int or None
        The outcome of two whose predictions are added up; those of the other follow.

    Examples
    --------
    >>> data = Predictions([0.1, 0.3, 0.8], [0, 1, 1])
    >>> cells = np.array([0, 0, 1], np.int32)
    >>> whole = CellSums.of(data, cells, 2)
    >>> parts = [CellSums.of(data.take(np.array([i])), cells[[i]], 2) for i in (2, 0, 1)]
    >>> merged = parts[0].merge(parts[1]).merge(parts[2])
    >>> bool((merged.finish().predicted == whole.finish().predicted).all())
    True
    """

    sums: Any
    unit: float
    event: int | None

    @classmethod
    def of(
        cls,
        data: Predictions,
        cells: NDArray[np.int32],
        n_cells: int,
        unit: float | None = None,
    ) -> Self:
        """Add up rows whose cells (n,) are known; `unit` is that of all rows, if these are some."""
        rows = data.rows
        unit = engine.sums.unit_of(rows) if unit is None else unit
        return cls(engine.sums.add_up(rows, cells, n_cells, unit), unit, data.event)

    def placed(self, at: NDArray[np.int32], n_cells: int) -> Self:
        """Return the same sums among more cells: cell c at place at[c], others without rows."""
        mass, observed, limbs = self.sums
        wide = type(self.sums)(
            np.zeros(n_cells),
            np.zeros((n_cells, observed.shape[1])),
            np.zeros((3, n_cells, limbs.shape[2]), np.int64),
        )
        wide.mass[at], wide.observed[at], wide.limbs[:, at] = mass, observed, limbs
        return type(self)(wide, self.unit, self.event)

    def merge(self, other: Self) -> Self:
        """Return the sums over the rows of both."""
        if self.unit != other.unit or self.event != other.event:
            raise ValueError("`other` must be sums of the same problem, with weights of one unit.")
        return type(self)(engine.sums.merged(self.sums, other.sums), self.unit, self.event)

    def predictions(self) -> Floats:
        """Return the sums of predictions (cells, m)."""
        found = engine.sums.value(self.sums.limbs) * self.unit
        if self.event is None:
            return np.asarray(found)
        both = np.empty((found.shape[0], 2))
        both[:, self.event] = found[:, 0]
        both[:, 1 - self.event] = self.sums.mass - found[:, 0]
        return both

    def finish(self) -> Means:
        """Divide by the weight of each cell; a cell without weight has means of 0."""
        mass = np.where(self.sums.mass > 0, self.sums.mass, 1.0)[:, None]
        return Means(self.sums.mass, self.predictions() / mass, self.sums.observed / mass)

    def norms(self) -> tuple[Floats, Floats]:
        """Return the 1-norm and the squared 2-norm of the mean deviation of each cell (cells,)."""
        inverse = 1.0 / np.where(self.sums.mass > 0, self.sums.mass, 1.0)[:, None]
        off = (self.sums.observed - self.predictions()) * inverse
        if self.event is None:
            return engine.norms.norms(off)
        both = np.abs(off[:, self.event])  # of two outcomes, which are off by the same
        return engine.norms.event_norm(both, 0), engine.norms.event_norm(both, 2)


@final
@dataclass(frozen=True, slots=True, eq=False)
class EventSums:
    """What the distribution of the number of events in each cell of two outcomes follows from.

    Sums of powers, and the moderate rows of cells of small variance. Once the variance of a cell is
    large, its rows are dropped for good. The variance is a sum of terms that are not negative, so
    what remains does not depend on the order of merging.
    """

    powers: Any  # engine.poisson_binomial.PowerSums of all rows
    cells: NDArray[np.int32]  # the cell of each row that is kept,
    p: Floats  # and its probability

    @classmethod
    def of(cls, p: Floats, cells: NDArray[np.int32], n_cells: int) -> Self:
        """Add up rows with probabilities p (n,) of the event, whose cells (n,) are known."""
        powers = engine.poisson_binomial.power_sums(p, cells, n_cells)
        small = _variance(powers) < ENOUGH
        kept = np.flatnonzero(small[cells]) if small.any() else np.empty(0, np.int64)
        mine = p[kept]
        moderate = mine * (1.0 - mine) >= engine.poisson_binomial.MODERATE
        return cls(powers, cells[kept[moderate]], mine[moderate])

    def placed(self, at: NDArray[np.int32], n_cells: int) -> Self:
        """Return the same sums among more cells: cell c at place at[c], others without rows."""
        rows = np.zeros((n_cells, 2), np.int64)
        limbs = np.zeros((3, n_cells, engine.poisson_binomial.COLUMNS), np.int64)
        rows[at], limbs[:, at] = self.powers
        return type(self)(type(self.powers)(rows, limbs), at[self.cells], self.p)

    def merge(self, other: Self) -> Self:
        """Return the sums over the rows of both."""
        pairs = zip(self.powers, other.powers, strict=True)
        powers = type(self.powers)(*(mine + theirs for mine, theirs in pairs))
        cells, p = np.concatenate((self.cells, other.cells)), np.concatenate((self.p, other.p))
        kept = (_variance(powers) < ENOUGH)[cells]
        return type(self)(powers, cells[kept], p[kept])

    @property
    def variances(self) -> Floats:
        """Variance of the number of events in every cell (cells,)."""
        return _variance(self.powers)

    def rows_of(self) -> list[Floats]:
        """Return the sorted probabilities of the rows that are kept, of every cell."""
        order = np.lexsort((self.p, self.cells))
        n_cells = self.powers.rows.shape[0]
        ends = np.searchsorted(self.cells[order], np.arange(1, n_cells))
        return np.split(self.p[order], ends)


def _variance(powers: Any) -> Floats:
    found: Floats = engine.sums.value(powers.limbs[:, :, 1])
    return found
