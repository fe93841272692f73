"""The penalised log loss of a map that is linear in log-probabilities, and its derivatives."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import final

import numpy as np
from numpy.typing import NDArray

from calibrant.recalibration.blocks import Block, Blocks
from calibrant.recalibration.designs import Design
from calibrant.recalibration.newton import Expansion, NearInverse, solve_by_products, solve_dense
from calibrant.recalibration.penalty import Penalty
from calibrant.recalibration.softmax import over_classes

Floats = NDArray[np.float64]

LARGE = 1000  # parameters beyond which the matrix of second derivatives is not laid out


@final
@dataclass(frozen=True, slots=True, eq=False)
class Likelihood:
    """Mean log loss of softmax(J theta) plus a penalty: what Newton's method minimises.

    Parameters
    ----------
    blocks : Blocks
        Log-probabilities and outcomes.
    design : Design
        J.
    penalty : Penalty
        Of theta.
    """

    blocks: Blocks
    design: Design
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
