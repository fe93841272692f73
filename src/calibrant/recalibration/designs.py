"""Parameters theta (m, k) of a map, a row for each class: what they do, and what they cost."""

from dataclasses import dataclass
from typing import Protocol, final

import numpy as np
from numpy.typing import NDArray

from calibrant.recalibration.map import RIDGE

Floats = NDArray[np.float64]

ALONE = 1 << 18  # multiplications up to which BLAS leaves a product of matrices to one thread


class Design(Protocol):
    """A linear function J of the parameters that gives the logits of rows.

    `x` are the log-probabilities of the rows, (rows, m). Law: ``adjoint`` is the transpose of
    ``logits``, and ``hessian`` is the sum over rows of Jᵀ (diag(q) - q qᵀ) J.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """Classes, and parameters of a class."""
        ...

    @property
    def identity(self) -> Floats:
        """The parameters with which the logits are the log-probabilities."""
        ...

    def logits(self, theta: Floats, x: Floats) -> Floats:
        """Return J theta: (rows, m)."""
        ...

    def adjoint(self, residuals: Floats, x: Floats) -> Floats:
        """Return Jᵀ of residuals (rows, m), added up: the shape of theta."""
        ...

    def hessian(self, q: Floats, x: Floats, weights: Floats) -> Floats:
        """Return the second derivatives by theta, of probabilities q (rows, m), added up."""
        ...


@final
@dataclass(frozen=True, slots=True)
class OwnClass:
    """Logit j is theta_j0 log p_j + theta_j1."""

    m: int  # number of classes

    @property
    def shape(self) -> tuple[int, int]:
        """Classes, and parameters of a class."""
        return self.m, 2

    @property
    def identity(self) -> Floats:
        """Ones and zeros."""
        return np.tile([1.0, 0.0], (self.m, 1))

    def logits(self, theta: Floats, x: Floats) -> Floats:
        """Return J theta."""
        return np.asarray(x * theta[:, 0] + theta[:, 1])

    def adjoint(self, residuals: Floats, x: Floats) -> Floats:
        """Return Jᵀ of residuals."""
        slopes = np.einsum("ij,ij->j", residuals, x)
        return np.stack((slopes, residuals.sum(axis=0)), axis=1)

    def hessian(self, q: Floats, x: Floats, weights: Floats) -> Floats:
        """Return the second derivatives."""
        ones = q * np.sqrt(weights)[:, None]
        slopes = ones * x
        found = np.empty((self.m, 2, self.m, 2))
        found[:, 0, :, 0] = -slopes.T @ slopes
        found[:, 0, :, 1] = -slopes.T @ ones
        found[:, 1, :, 0] = found[:, 0, :, 1].T
        found[:, 1, :, 1] = -ones.T @ ones
        each, spread = np.arange(self.m), weights[:, None] * (q * (1 - q))
        times = spread * x
        found[each, 0, each, 0] = np.einsum("ij,ij->j", times, x)
        found[each, 0, each, 1] = found[each, 1, each, 0] = times.sum(axis=0)
        found[each, 1, each, 1] = spread.sum(axis=0)
        return found.reshape(2 * self.m, 2 * self.m)


@final
@final
@dataclass(frozen=True, slots=True)
class AllClasses:
    """Logit j is the sum over k of theta_jk log p_k, plus theta_jm."""

    m: int  # number of classes

    @property
    def shape(self) -> tuple[int, int]:
        """Classes, and parameters of a class."""
        return self.m, self.m + 1

    @property
    def identity(self) -> Floats:
        """The identity matrix, and a column of zeros."""
        return np.eye(self.m, self.m + 1)

    def logits(self, theta: Floats, x: Floats) -> Floats:
        """Return J theta."""
        return np.asarray(x @ theta[:, :-1].T + theta[:, -1])

    def adjoint(self, residuals: Floats, x: Floats) -> Floats:
        """Return Jᵀ of residuals."""
        return np.column_stack((residuals.T @ x, residuals.sum(axis=0)))

    def hessian(self, q: Floats, x: Floats, weights: Floats) -> Floats:
        """Return the second derivatives.

        Entry (ja, kb) is the sum over rows of (q_j 1[j = k] - q_j q_k) x_a x_b: symmetric in j and
        k, and in a and b, so it is a product of two matrices with a column for each pair.
        """
        m, k = self.shape
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
    if size < 32:
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

    centre: Floats  # (m, k) the parameters that change nothing
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


def of_own_class(identity: Floats) -> Penalty:
    """Return the penalty that only keeps slopes and intercepts (m, 2) finite and unique."""
    return Penalty(identity, np.full(identity.shape, RIDGE), np.array([0.0, 1.0]))


def off_diagonal_and_intercept(identity: Floats, off_diagonal: float, intercept: float) -> Penalty:
    """Return the penalty ODIR of (W, b), an array (m, m + 1).

    off_diagonal Σ_{j≠k} W_jk² / (m (m - 1)) + intercept Σ_j b_j² / m
    """
    m = len(identity)
    own = np.full(identity.shape, RIDGE)
    own[:, :m][~np.eye(m, dtype=bool)] += 2 * off_diagonal / (m * (m - 1))
    own[:, m] += 2 * intercept / m
    free = np.array([off_diagonal == 0] * m + [intercept == 0])
    return Penalty(identity, own, free.astype(np.float64))
