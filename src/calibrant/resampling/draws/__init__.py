"""Replicates as resamplers draw them: labels, counts of cells, rows, signs of clusters.

Each kind answers what a statistic asks of a block of replicates (`calibration.Draws`), of rows at
hand; `Away` says what is added up over rows that are elsewhere, and who answers from that.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from calibrant.calibration import Draws, Tabled
from calibrant.engine.arrays import Replicates


@final
@dataclass(frozen=True, slots=True)
class Away:
    """How replicates of rows that are elsewhere are drawn."""

    entries: int  # numbers that a replicate has for each cell; 0 if nothing is added up
    adding: Callable[[tuple[Any, ...], Replicates], Any] | None  # a reduction on cells
    over: Callable[[Mapping[Tabled, Any], Replicates], Draws]  # replicates from what was added up
    rows_change: bool = False

    def reduction(self, tables: Sequence[Tabled], some: Replicates) -> Any:
        """Return what is added up in some replicates; None if nothing is."""
        cells = tuple((table.cut, table.fitted) for table in tables)
        return None if self.adding is None else self.adding(cells, some)
