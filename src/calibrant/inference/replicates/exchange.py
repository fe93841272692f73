"""Cells of which there are very many: all rows of a cell come together, and totals are merged.

Tables of all cells would not fit into memory, and the driver never sees the cells. An owner has all
rows of its cells, in their order, so it does with them what is done in memory. Totals over cells
are exact sums, so those of all owners are put together to the same bits.
"""

from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.calibration import Gathered, Tabled
from calibrant.calibration.tables import CellState, TableReduction
from calibrant.engine import threads
from calibrant.engine.arrays import Replicates
from calibrant.resampling.draws.labels import Redraw, joined
from calibrant.resampling.draws.tables import CountReduction, table_totals
from calibrant.rows import STAYS, Batch, Part
from calibrant.rows.passes import Pass

TOGETHER = 1024  # replicates whose labels are drawn together


class Exchanged(NamedTuple):
    """Totals of cells whose rows came together."""

    observed: Any  # engine.norms.Totals of the data
    null: Any  # of all replicates

    def some(self, replicates: Replicates) -> Any:
        """Return the totals of some replicates."""
        parts = (part[:, replicates.start : replicates.stop] for part in self.null)
        return engine.norms.Totals(*parts)


@final
class CellTotals:
    """Work on all rows of a cell: totals of the data and of replicates.

    A cell that has more rows than an owner should have is heavy: its outcomes are counted where its
    rows are, and the counts are put together.
    """

    def __init__(
        self,
        redraw: Redraw,
        table: Tabled,
        heavy: Any,
        n_owners: int,
        n_resamples: int,
        whole: float,
    ) -> None:
        self.redraw, self.heavy, self.n_owners, self.whole = redraw, heavy, n_owners, whole
        self.cut, self.wanted = table.cut, table.wanted
        self.outcomes = table.m, table.event
        self.replicates = Replicates(0, n_resamples)

    @property
    def staying(self) -> Pass:
        """What is added up over rows of heavy cells."""
        counts = ((self.cut, self.heavy),), self.outcomes[0], self.replicates
        sums = TableReduction((self.cut,), 1.0)
        return Pass([Part(sums), Part(CountReduction(self.redraw, *counts))])

    def owners(self, batch: Batch) -> NDArray[np.int32]:
        """Return the owner of each row (n,), by its cell."""
        fitted, cells = self.cut.locate(batch.seen)
        marks = engine.draws.mix(fitted.marks)  # type: ignore[attr-defined]
        owners = (marks % np.uint64(self.n_owners)).astype(np.int32)
        if self.heavy is not None:
            _, mine, heavy = fitted.join(self.heavy)  # type: ignore[attr-defined]
            owners[np.isin(mine, heavy)] = STAYS
        return np.asarray(owners[cells])

    def finish(self, batch: Batch) -> Exchanged:
        """Draw the outcomes of rows, and return the totals of their cells."""
        seen = batch.seen
        cells = Gathered(seen, self.cut, self.cut.locate(seen), self.whole)
        cells.wanted = self.wanted
        draws = self.redraw.resampler.redraw(batch, self.redraw)
        spans = threads.blocks(self.replicates.size, TOGETHER)
        null = [draws.totals(cells, Replicates(*span)) for span in spans]
        return Exchanged(cells.totals(), joined(null))

    def finish_staying(self, state: Any) -> Exchanged:
        """Return the totals of heavy cells from what was counted."""
        (found,), (counts,) = state
        cells = Tabled(self.cut, self.outcomes, _filled, self.whole)
        cells.wanted = self.wanted
        sums = found.sums.placed(self.heavy.join(found.fitted)[2], self.heavy.n_cells)
        cells.state = CellState(self.heavy, sums, None)
        return Exchanged(cells.totals(), table_totals(cells, counts))

    def merge(self, a: Exchanged, b: Exchanged) -> Exchanged:
        """Return the totals of both."""
        return Exchanged(*(engine.norms.merged(x, y) for x, y in zip(a, b, strict=True)))


def _filled() -> None:
    """Do nothing: the table has its state."""
