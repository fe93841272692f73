"""Newton's method for smooth convex functions of several variables."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol, Self, final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ITERATIONS = 500  # never reached
GRADIENT = 1e-11  # largest entry of the gradient at which there is nothing left to do
DECREASE = 1e-15  # of the function, that a step still promises
ROUNDING = 1e-14  # by which two values of the function may differ though they are equal
HALVINGS = 50


class Expansion(NamedTuple):
    """Value, gradient and curvature of a function at a point.

    ``solve(b)`` is the x with H x = b, where H is the matrix of second derivatives, or nearly so:
    closer the smaller the gradient is.
    """

    value: float
    gradient: Floats  # (k,)
    solve: Callable[[Floats], Floats]


class Objective(Protocol):
    """A convex function of k variables."""

    def value(self, theta: Floats) -> float:
        """Return the function at theta (k,)."""
        ...

    def expand(self, theta: Floats) -> Expansion:
        """Return value, gradient and curvature at theta (k,)."""
        ...


def minimise(objective: Objective, start: Floats) -> Floats:
    """Return the point of the smallest value.

    A step is cut in half until the function falls as much as its slope promises. The search ends
    when gradient and promised decrease vanish, or when only rounding is left of them.
    """
    theta, here = start, objective.expand(start)
    last = np.inf
    for _ in range(ITERATIONS):
        step = -here.solve(here.gradient)
        slope = float(here.gradient @ step)
        size = float(np.abs(here.gradient).max())
        if -slope <= DECREASE and (size <= GRADIENT or size > last / 2):
            break
        found = _next(objective, theta, here.value, step, slope)
        if found is None:
            break
        theta, here = found
        last = size
    return theta


def _next(
    objective: Objective, theta: Floats, value: float, step: Floats, slope: float
) -> tuple[Floats, Expansion] | None:
    """Take a step, or 1/2, 1/4, … of it; None if nothing helps.

    A whole step is nearly always taken, so the function is expanded there at once.
    """
    if slope >= 0:
        return None
    whole = objective.expand(theta + step)
    if _falls(value, whole.value, slope):
        return theta + step, whole
    length = 0.5
    for _ in range(HALVINGS):
        point = theta + length * step
        if _falls(value, objective.value(point), length * slope):
            return point, objective.expand(point)
        length /= 2
    return None


def _falls(before: float, after: float, promised: float) -> bool:
    """Whether a function falls by at least a bit of what its slope promises, but for rounding."""
    return after <= before + 1e-4 * promised + ROUNDING * (1 + abs(before))


def solve_dense(hessian: Floats, b: Floats) -> Floats:
    """Solve H x = b for a positive definite H, by Cholesky's method.

    H is scaled so that its diagonal is 1, and to that as little is added as makes it positive
    definite in spite of rounding.
    """
    from scipy.linalg.lapack import dposv  # noqa: PLC0415 (half a second to import)

    scale = 1.0 / np.sqrt(np.diag(hessian))
    scaled = hessian * scale * scale[:, None]
    added = 1e-15 * len(b)
    while True:
        scaled[np.diag_indices_from(scaled)] = 1.0 + added
        _, found, info = dposv(scaled, scale * b)
        if info == 0:
            return np.asarray(scale * found)
        added *= 100


@final
@dataclass(frozen=True, slots=True, eq=False)
class NearInverse:
    """Nearly the inverse of second derivatives by slopes and an intercept of every class.

    Of each class it knows the diagonal, and how slopes and intercept go together: it is exact if
    there is one slope and classes are apart. A slope turns about the mean of what it multiplies,
    without moving the intercept.
    """

    centres: Floats  # (m, k - 1) means of what slopes multiply
    curvature: Floats  # (m, k) second derivatives by slopes that turn so, and by the intercept

    @classmethod
    def of(cls, means: Floats, squares: Floats, penalty: Floats) -> Self:
        """Take sums of inputs and of their squares (m, k), the last column of ones."""
        mass = means[:, -1:] + penalty[:, -1:]
        centres = means[:, :-1] / mass
        curvature = squares + penalty
        curvature[:, :-1] -= (1 - 1e-9) * centres * means[:, :-1]
        return cls(centres, curvature)

    def __call__(self, b: Floats) -> Floats:
        """Return the near-inverse times b (m k,)."""
        found = b.reshape(self.curvature.shape).copy()
        found[:, :-1] -= self.centres * found[:, -1:]
        found /= self.curvature
        found[:, -1] -= (self.centres * found[:, :-1]).sum(axis=1)
        return found.ravel()


def solve_by_products(
    times: Callable[[Floats], Floats], near: Callable[[Floats], Floats], b: Floats
) -> Floats:
    """Solve H x = b by conjugate gradients, preconditioned by what is nearly the inverse of H.

    The residual falls to min(0.1, √|b|) of |b|, so that Newton's steps become exact fast enough.
    """
    x = np.zeros_like(b)
    residual = b.copy()
    direction = near(residual)
    product = float(residual @ direction)
    size = float(np.linalg.norm(b))
    for _ in range(4 * len(b)):
        if np.linalg.norm(residual) <= min(0.1, np.sqrt(size)) * size:
            break
        image = times(direction)
        length = product / float(direction @ image)
        x += length * direction
        residual -= length * image
        solved = near(residual)
        product, before = float(residual @ solved), product
        direction = solved + product / before * direction
    return x
