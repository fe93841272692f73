"""What blocks of replicates have in common."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.engine.tuples import Replicates

Floats = NDArray[np.float64]


class Replicated(ABC):
    """Consecutive replicates, whose rows stay unless a block says otherwise."""

    __slots__ = ()

    replicates: Replicates

    @property
    def size(self) -> int:
        """Number of replicates."""
        return self.replicates.size

    @property
    def rows_change(self) -> bool:
        """Whether rows are drawn again: no."""
        return False

    @property
    def refit(self) -> bool:
        """Whether partitions are fitted again: no, predictions stay."""
        return False

    @abstractmethod
    def counts(self, cells: Any, first: int, last: int) -> Floats:
        """Return the weight of each outcome in cells first … last - 1: (size, cells, m)."""

    def events(self, cells: Any, first: int, last: int) -> Floats:
        """Return the weight of the event of two outcomes in these cells: (cells, size)."""
        return np.ascontiguousarray(self.counts(cells, first, last)[:, :, cells.data.event].T)
