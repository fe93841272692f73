"""Sums over blocks of rows of log-probabilities, on several threads."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple, Self, final

import numpy as np
from numpy.typing import NDArray

from calibrant.engine import threads
from calibrant.predictions import Predictions
from calibrant.recalibration.designs import ALONE
from calibrant.recalibration.log_linear import floor_of, log_probabilities

Floats = NDArray[np.float64]

KEPT = 1 << 24  # numbers up to which logarithms are kept from one sweep to the next
LANES = 8  # spans of rows that are added up side by side, whatever the number of threads
FEWEST = 32  # rows that are worth a call


class Block(NamedTuple):
    """Some rows."""

    start: int  # number of the first
    x: Floats  # (rows, m) log-probabilities
    labels: NDArray[np.int32]  # (rows,)
    weights: Floats  # (rows,)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """Predictions, cut into blocks of rows.

    Parameters
    ----------
    data : Predictions
        The rows.
    floor : float
        The smallest probability.
    size : int
        Number of rows of a block.
    logs : array of shape (n, m) or None
        All log-probabilities, if there are not too many to be kept.
    """

    data: Predictions
    floor: float
    size: int
    logs: Floats | None

    @classmethod
    def of(cls, data: Predictions, shape: tuple[int, int]) -> Self:
        """Cut rows for a map with parameters of this shape.

        Products of a block with the parameters are small enough for one thread of BLAS, unless
        blocks would be too short.
        """
        floor = floor_of(data)
        size = ALONE // (shape[0] * shape[1])
        if size < FEWEST:
            size = max(1, threads.ENTRIES // data.m)
        small = data.probs.size <= KEPT
        return cls(data, floor, size, log_probabilities(data.probs, floor) if small else None)

    @property
    def small(self) -> bool:
        """Whether there are so few numbers that tables of their size may be kept."""
        return self.logs is not None

    def mean(self, work: Callable[[Block], Iterable[Floats]]) -> list[Floats]:
        """Add up what `work` gives for every block, and divide by the weight of all rows."""
        spans = threads.blocks(self.data.n, self.size)
        lanes = threads.blocks(len(spans), -(-len(spans) // LANES))
        parts: list[list[Floats]] = [[] for _ in lanes]

        def add(first: int, last: int) -> None:
            sums: list[Floats] = []
            for span in spans[first:last]:
                sums = _added(sums, work(self._block(slice(*span))))
            parts[first // lanes[0][1]] = sums

        run = threads.run if self.data.probs.size > threads.ENTRIES else threads.run_here
        run(add, lanes)
        total: list[Floats] = []
        for part in parts:
            total = _added(total, part)
        mass = float(self.data.weights.sum())
        return [each / mass for each in total]

    def _block(self, rows: slice) -> Block:
        if self.logs is not None:
            x = self.logs[rows]
        else:
            x = log_probabilities(self.data.probs[rows], self.floor)
        return Block(rows.start, x, self.data.labels[rows], self.data.weights[rows])


def _added(sums: list[Floats], others: Iterable[Floats]) -> list[Floats]:
    """Return sums with others added to them, one by one; the others if there are none yet."""
    if not sums:
        return [np.asarray(other) for other in others]
    return [mine + theirs for mine, theirs in zip(sums, others, strict=True)]
