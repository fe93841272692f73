"""What the distribution of the number of events in every cell follows from: sums that merge."""

from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine

Floats = NDArray[np.float64]

ENOUGH = 200.0  # variance from which twelve cumulants tell the distribution to 1e-15


@final
@dataclass(frozen=True, slots=True, eq=False)
class LawSums:
    """Sums of powers in each cell, and the moderate rows of cells of small variance.

    Once the variance of a cell is large, its rows are dropped for good. The variance is a sum of
    terms that are not negative, so what remains does not depend on the order of merging.

    Parameters
    ----------
    powers : engine.laws.PowerSums
        Sums over all rows.
    cells : array of int32
        The cell of each row that is kept.
    p : array
        Its probability.
    """

    powers: Any
    cells: NDArray[np.int32]
    p: Floats

    @classmethod
    def of(cls, p: Floats, cells: NDArray[np.int32], n_cells: int) -> Self:
        """Add up rows with probabilities p (n,) of the event, whose cells (n,) are known."""
        powers = engine.laws.power_sums(p, cells, n_cells)
        small = _variance(powers) < ENOUGH
        kept = np.flatnonzero(small[cells]) if small.any() else np.empty(0, np.int64)
        mine = p[kept]
        moderate = mine * (1.0 - mine) >= engine.laws.MODERATE
        return cls(powers, cells[kept[moderate]], mine[moderate])

    def placed(self, at: NDArray[np.int32], n_cells: int) -> Self:
        """Return the same sums among more cells: cell c at place at[c], others without rows."""
        rows = np.zeros((n_cells, 2), np.int64)
        limbs = np.zeros((3, n_cells, engine.laws.COLUMNS), np.int64)
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
