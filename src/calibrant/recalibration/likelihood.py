"""The log loss of maps linear in log-probabilities, as a function of their parameters.

Parameters theta (m, k) have a row for each class. A design says what they do, a penalty what they
cost, and the loss is added up over blocks of rows, on threads.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial, reduce
from typing import NamedTuple, Self, final

import numpy as np
from numpy.typing import NDArray

from calibrant.engine import threads
from calibrant.predictions import Predictions
from calibrant.recalibration.map import RIDGE, Array, Floats
from calibrant.recalibration.newton import Expansion, NearInverse, solve_by_products, solve_dense

HIGHEST_FLOOR = 1e-3
FEW = 16  # columns up to which adding one after the other is faster than adding along rows
ALONE = 1 << 18  # multiplications up to which BLAS leaves a product of matrices to one thread
KEPT = 1 << 24  # numbers up to which logarithms are kept from one sweep to the next
LANES = 8  # spans of rows that are added up side by side, whatever the number of threads
FEWEST = 32  # rows that are worth a call
LARGE = 1000  # parameters beyond which the matrix of second derivatives is not laid out


def log_probabilities(probs: Array, floor: float) -> Floats:
    """Return the logarithms of probabilities (k, m); of `floor` where they are smaller."""
    raised = np.maximum(probs, floor, dtype=np.float64)
    return np.asarray(np.log(raised, out=raised))


def floor_of(data: Predictions) -> float:
    """Return half the smallest probability above 0 of any class, or 0.001 if that is less.

    So a zero counts as less than everything that was predicted, and not as much less.
    """
    spans = threads.row_blocks(data.probs.shape)
    least = np.empty(len(spans))

    def work(start: int, stop: int) -> None:
        probs = data.probs[start:stop]
        smallest = probs.min()
        if smallest == 0:
            smallest = probs[probs > 0].min()
        least[start // spans[0][1]] = smallest

    threads.run(work, spans)
    lowest = float(np.finfo(np.float64).tiny)
    return max(min(float(least.min()) / 2, HIGHEST_FLOOR), lowest)


def softmax(logits: Floats) -> Floats:
    """Replace logits (rows, m) by probabilities, in place, and return them."""
    logits -= over_classes(np.maximum, logits)[:, None]
    np.exp(logits, out=logits)
    logits /= over_classes(np.add, logits)[:, None]
    return logits


def over_classes(function: np.ufunc, table: Floats) -> Floats:
    """Return the sum (np.add) or maximum (np.maximum) of each row of a table (rows, m)."""
    if table.shape[1] <= FEW:
        return np.asarray(reduce(function, table.T))
    return np.asarray(function.reduce(table, axis=1))


@final
@dataclass(frozen=True, slots=True)
class OwnClass:
    """Logit j is theta_j0 log p_j + theta_j1, where theta is of shape (m, 2).

    A design is a linear function J of theta that gives the logits of rows; x (rows, m) are their
    log-probabilities. Law: ``adjoint`` is the transpose of ``logits``, and ``hessian`` is the sum
    over rows of Jᵀ (diag(q) - q qᵀ) J.
    """

    def logits(self, theta: Floats, x: Floats) -> Floats:
        """Return J theta: (rows, m)."""
        return np.asarray(x * theta[:, 0] + theta[:, 1])

    def adjoint(self, residuals: Floats, x: Floats) -> Floats:
        """Return Jᵀ of residuals (rows, m), added up: the shape of theta."""
        slopes = np.einsum("ij,ij->j", residuals, x)
        return np.stack((slopes, residuals.sum(axis=0)), axis=1)

    def hessian(self, q: Floats, x: Floats, weights: Floats) -> Floats:
        """Return the second derivatives by theta, of probabilities q (rows, m), added up."""
        ones = q * np.sqrt(weights)[:, None]
        slopes = ones * x
        m = q.shape[1]
        found = np.empty((m, 2, m, 2))
        found[:, 0, :, 0] = -slopes.T @ slopes
        found[:, 0, :, 1] = -slopes.T @ ones
        found[:, 1, :, 0] = found[:, 0, :, 1].T
        found[:, 1, :, 1] = -ones.T @ ones
        each, spread = np.arange(m), weights[:, None] * (q * (1 - q))
        times = spread * x
        found[each, 0, each, 0] = np.einsum("ij,ij->j", times, x)
        found[each, 0, each, 1] = found[each, 1, each, 0] = times.sum(axis=0)
        found[each, 1, each, 1] = spread.sum(axis=0)
        return found.reshape(2 * m, 2 * m)

    def penalty(self, m: int) -> "Penalty":
        """Return the penalty of m classes that only keeps slopes and intercepts finite and unique.

        Ones and zeros change nothing.
        """
        centre = np.tile([1.0, 0.0], (m, 1))
        return Penalty(centre, np.full(centre.shape, RIDGE), np.array([0.0, 1.0]))


@final
@dataclass(frozen=True, slots=True)
class AllClasses:
    """Logit j is the sum over k of theta_jk log p_k, plus theta_jm, of theta (m, m + 1)."""

    def logits(self, theta: Floats, x: Floats) -> Floats:
        return np.asarray(x @ theta[:, :-1].T + theta[:, -1])

    def adjoint(self, residuals: Floats, x: Floats) -> Floats:
        return np.column_stack((residuals.T @ x, residuals.sum(axis=0)))

    def hessian(self, q: Floats, x: Floats, weights: Floats) -> Floats:
        """Return the second derivatives.

        Entry (ja, kb) is the sum over rows of (q_j 1[j = k] - q_j q_k) x_a x_b: symmetric in j and
        k, and in a and b, so it is a product of two matrices with a column for each pair.
        """
        m, k = q.shape[1], q.shape[1] + 1
        inputs = np.column_stack((x, np.ones(len(x))))
        classes, columns = np.triu_indices(m), np.triu_indices(k)
        same = classes[0] == classes[1]
        pairs = np.zeros((len(same), len(columns[0])))
        for rows in _pieces(len(x), pairs.size):
            of_q, of_x = q[rows], inputs[rows] * weights[rows, None]
            left = -of_q[:, classes[0]] * of_q[:, classes[1]]
            left[:, same] += of_q
            pairs += left.T @ (of_x[:, columns[0]] * inputs[rows][:, columns[1]])
        which, where = _pair_numbers(m), _pair_numbers(k)
        return pairs[which[:, None, :, None], where[None, :, None, :]].reshape(m * k, m * k)

    def penalty(self, m: int, off_diagonal: float, intercept: float) -> "Penalty":
        """Return the penalty ODIR of theta = (W, b); the identity and zeros change nothing.

        off_diagonal Σ_{j≠k} W_jk² / (m (m - 1)) + intercept Σ_j b_j² / m
        """
        own = np.full((m, m + 1), RIDGE)
        own[:, :m][~np.eye(m, dtype=bool)] += 2 * off_diagonal / (m * (m - 1))
        own[:, m] += 2 * intercept / m
        free = np.array([off_diagonal == 0] * m + [intercept == 0])
        return Penalty(np.eye(m, m + 1), own, free.astype(np.float64))


Design = OwnClass | AllClasses


def _pair_numbers(size: int) -> NDArray[np.intp]:
    """Return the number of each pair (size, size) in the order of the upper triangle."""
    numbers = np.zeros((size, size), np.intp)
    rows, columns = np.triu_indices(size)
    numbers[rows, columns] = numbers[columns, rows] = np.arange(rows.size)
    return numbers


def _pieces(n: int, products: int) -> list[slice]:
    """Cut n rows so short that BLAS takes one thread, if that leaves pieces worth the while.

    Its threads wait for each other by spinning, which takes long where others want the cores.
    """
    size = ALONE // products
    if size < FEWEST:
        return [slice(0, n)]
    return [slice(start, start + size) for start in range(0, n, size)]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Penalty:
    r"""A quadratic function of the parameters' distance d (m, k) from those that change nothing.

    .. math:: \tfrac12 \sum_{jk} c_{jk} d_{jk}^2
              + \tfrac{1}{2m} \sum_k f_k \Big(\sum_j d_{jk}\Big)^2

    The second sum costs nothing: adding the same number to all entries of a column of theta
    changes no probability. It chooses one theta among the equal ones.
    """

    centre: Floats  # (m, k) the parameters with which the logits are the log-probabilities
    own: Floats  # (m, k) c, of every parameter
    common: Floats  # (k,) f: 1 for a column of which nothing else is penalised, 0 for others

    def value(self, theta: Floats) -> float:
        """Return the penalty of theta (m, k)."""
        away = theta - self.centre
        return 0.5 * float((away * self.times(away)).sum())

    def gradient(self, theta: Floats) -> Floats:
        """Return the first derivatives at theta (m, k)."""
        return self.times(theta - self.centre)

    def times(self, direction: Floats) -> Floats:
        """Return the second derivatives times a direction (m, k)."""
        return np.asarray(self.own * direction + self.common * direction.mean(axis=0))

    @property
    def diagonal(self) -> Floats:
        """The second derivative by every parameter (m, k)."""
        return np.asarray(self.own + self.common / len(self.own))

    @property
    def matrix(self) -> Floats:
        """The second derivatives (m k, m k)."""
        m, k = self.own.shape
        found = np.zeros((m, k, m, k))
        columns = np.arange(k)
        found[:, columns, :, columns] = self.common[:, None, None] / m
        matrix = found.reshape(m * k, m * k)
        matrix[np.diag_indices(m * k)] += self.own.ravel()
        return matrix


class FitBlock(NamedTuple):
    """Some rows; the target of each is its outcome, drawn towards its prediction by the prior."""

    start: int  # number of the first
    x: Floats  # (rows, m) log-probabilities
    probs: Array  # (rows, m) the predictions
    labels: NDArray[np.int32]  # (rows,)
    weights: Floats  # (rows,)
    share: float  # of the prediction in a target: prior / (1 + prior)

    def mean(self, logits: Floats) -> Floats:
        """Return the mean (rows,) of logits (rows, m) over the targets."""
        own = np.take_along_axis(logits, self.labels[:, None], axis=1)[:, 0]
        if not self.share:
            return np.asarray(own)
        predicted = np.einsum("ij,ij->i", self.probs, logits)
        return np.asarray(own + self.share * (predicted - own))

    def subtract(self, q: Floats) -> Floats:
        """Subtract the targets from q (rows, m), in place, and return it."""
        q[np.arange(len(q)), self.labels] -= 1 - self.share
        if self.share:
            q -= self.share * self.probs
        return q


@final
@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """Predictions, cut into blocks of rows."""

    data: Predictions
    prior: float  # weight of a prediction beside its outcome
    floor: float  # the smallest probability
    size: int  # rows of a block
    logs: Floats | None  # (n, m) log-probabilities, if there are not too many to be kept

    @classmethod
    def of(cls, data: Predictions, shape: tuple[int, int], prior: float = 0.0) -> Self:
        """Cut rows for a map with parameters of this shape.

        Products of a block with the parameters are small enough for one thread of BLAS, unless
        blocks would be too short.
        """
        floor = floor_of(data)
        size = ALONE // (shape[0] * shape[1])
        if size < FEWEST:
            size = max(1, threads.ENTRIES // data.m)
        small = data.probs.size <= KEPT
        logs = log_probabilities(data.probs, floor) if small else None
        return cls(data, prior, floor, size, logs)

    def mean(self, work: Callable[[FitBlock], Iterable[Floats]]) -> list[Floats]:
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

    def _block(self, rows: slice) -> FitBlock:
        if self.logs is not None:
            x = self.logs[rows]
        else:
            x = log_probabilities(self.data.probs[rows], self.floor)
        data, share = self.data, self.prior / (1 + self.prior)
        labels, weights = data.labels[rows], data.weights[rows]
        return FitBlock(rows.start, x, data.probs[rows], labels, weights, share)


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
        table = theta.reshape(self.penalty.centre.shape)

        def losses(block: FitBlock) -> tuple[Floats]:
            loss, _ = self._softmax(table, block)
            return (block.weights @ loss,)

        (loss,) = self.blocks.mean(losses)
        return float(loss) + self.penalty.value(table)

    def expand(self, theta: Floats) -> Expansion:
        table = theta.reshape(self.penalty.centre.shape)
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

    def _dense(self, table: Floats, block: FitBlock) -> tuple[Floats, Floats, Floats]:
        """Return loss, gradient and second derivatives of a block."""
        loss, q = self._softmax(table, block)
        hessian = self.design.hessian(q, block.x, block.weights)
        return block.weights @ loss, self._gradient(q, block), hessian

    def _sparse(
        self, table: Floats, kept: dict[int, Floats], block: FitBlock
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Return loss, gradient, and sums of x and x² times the variances, of a block."""
        loss, q = self._softmax(table, block)
        if self.blocks.logs is not None:  # there are so few numbers that these may be kept, too
            kept[block.start] = q
        spread = block.weights[:, None] * q * (1 - q)
        means = self.design.adjoint(spread, block.x)
        squares = self.design.adjoint(spread, block.x * block.x)
        return block.weights @ loss, self._gradient(q.copy(), block), means, squares

    def _gradient(self, q: Floats, block: FitBlock) -> Floats:
        """Return the gradient of a block; q is overwritten."""
        block.subtract(q)
        q *= block.weights[:, None]
        return self.design.adjoint(q, block.x)

    def _products(self, table: Floats, kept: dict[int, Floats]) -> Callable[[Floats], Floats]:
        """Return the function that multiplies the second derivatives by a vector (m k,)."""

        def times(vector: Floats) -> Floats:
            direction = vector.reshape(self.penalty.centre.shape)

            def product(block: FitBlock) -> tuple[Floats]:
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

    def _softmax(self, table: Floats, block: FitBlock) -> tuple[Floats, Floats]:
        """Return the log loss (rows,) and the probabilities (rows, m) of a block."""
        logits = self.design.logits(table, block.x)
        logits -= over_classes(np.maximum, logits)[:, None]
        towards = block.mean(logits)
        np.exp(logits, out=logits)
        total = over_classes(np.add, logits)
        logits /= total[:, None]
        return np.log(total) - towards, logits
