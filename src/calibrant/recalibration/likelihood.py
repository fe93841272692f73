"""The log loss of maps linear in log-probabilities: sums over blocks of rows, on threads."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Self, final

import numpy as np
from numpy.typing import NDArray

from calibrant.engine import threads
from calibrant.predictions import Predictions
from calibrant.recalibration.designs import ALONE, Design, Penalty
from calibrant.recalibration.log_linear import floor_of, log_probabilities, over_classes
from calibrant.recalibration.newton import Expansion, NearInverse, solve_by_products, solve_dense

Floats = NDArray[np.float64]

KEPT = 1 << 24  # numbers up to which logarithms are kept from one sweep to the next
LANES = 8  # spans of rows that are added up side by side, whatever the number of threads
FEWEST = 32  # rows that are worth a call
LARGE = 1000  # parameters beyond which the matrix of second derivatives is not laid out


class Block(NamedTuple):
    """Some rows."""

    start: int  # number of the first
    x: Floats  # (rows, m) log-probabilities
    labels: NDArray[np.int32]  # (rows,)
    weights: Floats  # (rows,)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """Predictions, cut into blocks of rows."""

    data: Predictions
    floor: float  # the smallest probability
    size: int  # rows of a block
    logs: Floats | None  # (n, m) log-probabilities, if there are not too many to be kept

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


@final
@dataclass(frozen=True, slots=True, eq=False)
class Likelihood:
    """Mean log loss of softmax(J theta) plus a penalty: what Newton's method minimises."""

    blocks: Blocks
    design: Design  # J
    penalty: Penalty

    def value(self, theta: Floats) -> float:
        """Return the function at theta (m k,)."""
        table = theta.reshape(self.design.shape)

        def losses(block: Block) -> tuple[Floats]:
            loss, _ = self._softmax(table, block)
            return (block.weights @ loss,)

        (loss,) = self.blocks.mean(losses)
        return float(loss) + self.penalty.value(table)

    def expand(self, theta: Floats) -> Expansion:
        """Return value, gradient and curvature at theta (m k,)."""
        table = theta.reshape(self.design.shape)
        if theta.size <= LARGE:
            loss, gradient, hessian = self.blocks.mean(partial(self._dense, table))
            solve = partial(solve_dense, hessian + self.penalty.matrix)
        else:
            kept: dict[int, Floats] = {}
            work = partial(self._sparse, table, kept)
            loss, gradient, means, squares = self.blocks.mean(work)
            near = NearInverse.of(means, squares, self.penalty.diagonal)
            solve = partial(solve_by_products, self._products(table, kept), near)
        gradient = gradient + self.penalty.gradient(table)
        return Expansion(float(loss) + self.penalty.value(table), gradient.ravel(), solve)

    def _dense(self, table: Floats, block: Block) -> tuple[Floats, Floats, Floats]:
        """Return loss, gradient and second derivatives of a block."""
        loss, q = self._softmax(table, block)
        hessian = self.design.hessian(q, block.x, block.weights)
        return block.weights @ loss, self._gradient(q, block), hessian

    def _sparse(
        self, table: Floats, kept: dict[int, Floats], block: Block
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Return loss, gradient, and sums of x and x² times the variances, of a block."""
        loss, q = self._softmax(table, block)
        if self.blocks.small:
            kept[block.start] = q
        spread = block.weights[:, None] * q * (1 - q)
        means = self.design.adjoint(spread, block.x)
        squares = self.design.adjoint(spread, block.x * block.x)
        return block.weights @ loss, self._gradient(q.copy(), block), means, squares

    def _gradient(self, q: Floats, block: Block) -> Floats:
        """Return the gradient of a block; q is overwritten."""
        q[np.arange(len(q)), block.labels] -= 1
        q *= block.weights[:, None]
        return self.design.adjoint(q, block.x)

    def _products(self, table: Floats, kept: dict[int, Floats]) -> Callable[[Floats], Floats]:
        """Return the function that multiplies the second derivatives by a vector (m k,)."""

        def times(vector: Floats) -> Floats:
            direction = vector.reshape(self.design.shape)

            def product(block: Block) -> tuple[Floats]:
                q = kept.get(block.start)
                if q is None:
                    _, q = self._softmax(table, block)
                moved = q * self.design.logits(direction, block.x)
                moved -= q * moved.sum(axis=1, keepdims=True)
                moved *= block.weights[:, None]
                return (self.design.adjoint(moved, block.x),)

            (found,) = self.blocks.mean(product)
            return np.asarray(found + self.penalty.times(direction)).ravel()

        return times

    def _softmax(self, table: Floats, block: Block) -> tuple[Floats, Floats]:
        """Return the log loss (rows,) and the probabilities (rows, m) of a block."""
        logits = self.design.logits(table, block.x)
        logits -= over_classes(np.maximum, logits)[:, None]
        own = np.take_along_axis(logits, block.labels[:, None], axis=1)[:, 0]
        np.exp(logits, out=logits)
        total = over_classes(np.add, logits)
        logits /= total[:, None]
        return np.log(total) - own, logits
