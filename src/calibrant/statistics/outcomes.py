"""Outcomes of the replicates of a block, read a few rows and a few replicates at a time."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.calibration import Block
from calibrant.engine.arrays import Replicates

Array = NDArray[Any]

STORED = 1 << 21  # labels that are laid out at a time where they cannot be drawn by the row
READ = 1 << 17  # outcomes that are read at a time: they stay in the processor's cache


class Outcomes(Protocol):
    """The outcomes of a few replicates."""

    @property
    def size(self) -> int:
        """Number of replicates."""
        ...

    def of(self, rows: Array) -> NDArray[np.int32]:
        """Return the outcomes of the rows with these numbers (k,): (k, size)."""
        ...


@final
@dataclass(frozen=True, slots=True, eq=False)
class Stored:
    """Outcomes that were laid out.

    Parameters
    ----------
    labels : array of int of shape (size, n)
        The outcomes of each replicate.
    """

    labels: Array

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
    """Outcomes that are drawn when they are asked for: the same ones every time.

    Parameters
    ----------
    drawing : engine.draws.Outcomes
        What they are drawn from.
    replicates : Replicates
        Which ones.
    """

    drawing: Any
    replicates: Replicates

    @property
    def size(self) -> int:
        """Number of replicates."""
        return self.replicates.size

    def of(self, rows: Array) -> NDArray[np.int32]:
        """Return the outcomes of the rows with these numbers (k,): (k, size)."""
        found: NDArray[np.int32] = engine.draws.draw_rows(self.drawing, rows, self.replicates)
        return found


def batches(block: Block, most: int) -> Iterator[Outcomes]:
    """Yield the replicates of a block, at most so many at a time."""
    drawing = block.drawing
    if drawing is None:
        yield from _stored(block, most)
        return
    first, last = block.replicates
    for start in range(first, last, most):
        yield Drawn(drawing, Replicates(start, min(start + most, last)))


def _stored(block: Block, most: int) -> Iterator[Outcomes]:
    """Lay out the labels of a few replicates after another."""
    labels = block.labels()
    found = list(islice(labels, 1))
    while found:
        step = min(most, max(1, STORED // found[0].size))
        found += islice(labels, step - len(found))
        yield Stored(np.stack(found))
        found = list(islice(labels, 1))


def spans(n: int, size: int) -> Iterator[tuple[int, int]]:
    """Cut n rows into spans whose outcomes in so many replicates are read at a time."""
    step = max(1, READ // size)
    for start in range(0, n, step):
        yield start, min(start + step, n)


def unit_for(largest: float) -> float:
    """Return a power of 2 in which numbers up to `largest` are counted in 62 bits."""
    return float(2.0 ** (np.ceil(np.log2(largest)) - 62))
