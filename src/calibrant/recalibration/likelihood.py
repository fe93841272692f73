"""The penalised log loss of a map that is linear in log-probabilities, and its derivatives."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import final

import numpy as np
from numpy.typing import NDArray

from calibrant.engine import threads
from calibrant.predictions import Predictions
from calibrant.recalibration.designs import ALONE, Design
from calibrant.recalibration.log_linear import log_probabilities
from calibrant.recalibration.newton import Expansion, solve_by_products, solve_dense
from calibrant.recalibration.penalty import Penalty

Floats = NDArray[np.float64]
Block = tuple[Floats, NDArray[np.int32], Floats]  # log-probabilities, outcomes, weights

LARGE = 1000  # parameters beyond which the matrix of second derivatives is not laid out
LANES = 8  # spans of rows that are added up side by side, whatever the number of threads


@final
@dataclass(frozen=True, slots=True, eq=False)
class Likelihood:
    """Mean log loss of softmax(J theta) plus a penalty: what Newton's method minimises.

    Parameters
    ----------
    data : Predictions
        Predictions and outcomes.
    floor : float
        The smallest probability.
    design : Design
        J.
    penalty : Penalty
        Of theta.
    """

    data: Predictions
    floor: float
    design: Design
    penalty: Penalty

    def value(self, theta: Floats) -> float:
        """Return the function at theta (m k,)."""
        table = theta.reshape(self.design.shape)

        def losses(block: Block) -> tuple[Floats]:
            x, labels, weights = block
            loss, _ = _softmax(self.design.logits(table, x), labels)
            return (weights @ loss,)

        (loss,) = self._mean(losses)
        return float(loss) + self.penalty.value(table)

    def expand(self, theta: Floats) -> Expansion:
        """Return value, gradient and curvature at theta (m k,)."""
        table = theta.reshape(self.design.shape)
        dense = theta.size <= LARGE

        def derivatives(block: Block) -> tuple[Floats, ...]:
            x, labels, weights = block
            loss, q = _softmax(self.design.logits(table, x), labels)
            if dense:
                curvature = self.design.hessian(q, x, weights)
            else:
                curvature = self.design.adjoint(weights[:, None] * q * (1 - q), x * x)
            q[np.arange(len(q)), labels] -= 1
            return weights @ loss, self.design.adjoint(weights[:, None] * q, x), curvature

        loss, gradient, curvature = self._mean(derivatives)
        gradient = gradient + self.penalty.gradient(table)
        if dense:
            solve = partial(solve_dense, curvature + self.penalty.matrix)
        else:
            diagonal = (curvature + self.penalty.diagonal).ravel()
            solve = partial(solve_by_products, self._products(table), diagonal)
        return Expansion(float(loss) + self.penalty.value(table), gradient.ravel(), solve)

    def _products(self, table: Floats) -> Callable[[Floats], Floats]:
        """Return the function that multiplies the second derivatives by a vector (m k,)."""

        def times(vector: Floats) -> Floats:
            direction = vector.reshape(self.design.shape)

            def product(block: Block) -> tuple[Floats]:
                x, labels, weights = block
                _, q = _softmax(self.design.logits(table, x), labels)
                moved = q * self.design.logits(direction, x)
                moved -= q * moved.sum(axis=1, keepdims=True)
                return (self.design.adjoint(weights[:, None] * moved, x),)

            (found,) = self._mean(product)
            return np.asarray(found + self.penalty.times(direction)).ravel()

        return times

    def _mean(self, work: Callable[[Block], tuple[Floats, ...]]) -> list[Floats]:
        """Add up what `work` gives for blocks of rows, and divide by the weight of all."""
        m, k = self.design.shape
        size = ALONE // (m * k) if m * k <= LARGE else threads.ENTRIES // m
        blocks = threads.blocks(self.data.n, max(1, size))
        lanes = threads.blocks(len(blocks), -(-len(blocks) // LANES))
        parts: list[list[Floats]] = [[] for _ in lanes]

        def add(first: int, last: int) -> None:
            sums: list[Floats] = []
            for span in blocks[first:last]:
                sums = _added(sums, work(self._block(slice(*span))))
            parts[first // lanes[0][1]] = sums

        threads.run(add, lanes)
        total: list[Floats] = []
        for part in parts:
            total = _added(total, part)
        mass = float(self.data.weights.sum())
        return [each / mass for each in total]

    def _block(self, rows: slice) -> Block:
        x = log_probabilities(self.data.probs[rows], self.floor)
        return x, self.data.labels[rows], self.data.weights[rows]


def _added(sums: list[Floats], others: Iterable[Floats]) -> list[Floats]:
    """Return sums with others added to them, one by one; the others if there are none yet."""
    if not sums:
        return [np.asarray(other) for other in others]
    return [mine + theirs for mine, theirs in zip(sums, others, strict=True)]


def _softmax(logits: Floats, labels: NDArray[np.int32]) -> tuple[Floats, Floats]:
    """Return the log loss (rows,) and the probabilities (rows, m); logits are overwritten."""
    logits -= logits.max(axis=1, keepdims=True)
    own = np.take_along_axis(logits, labels[:, None], axis=1)[:, 0]
    np.exp(logits, out=logits)
    total = logits.sum(axis=1)
    logits /= total[:, None]
    return np.log(total) - own, logits
