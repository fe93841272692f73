"""What parameters of a map cost: nothing but uniqueness, or ODIR."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from calibrant.recalibration.method import RIDGE

Floats = NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Penalty:
    r"""A quadratic function of the parameters' distance d (m, k) from those that change nothing.

    .. math:: \tfrac12 \sum_{jk} c_{jk} d_{jk}^2
              + \tfrac{1}{2m} \sum_k f_k \Big(\sum_j d_{jk}\Big)^2

    The second sum costs nothing: adding the same number to all entries of a column of theta
    changes no probability. It chooses one theta among the equal ones.

    Parameters
    ----------
    centre : array of shape (m, k)
        The parameters that change nothing.
    own : array of shape (m, k)
        c, of every parameter.
    common : array of shape (k,)
        f: 1 for a column of which nothing else is penalised, 0 for others.
    """

    centre: Floats
    own: Floats
    common: Floats

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
