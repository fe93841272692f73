"""Newton's method for smooth convex functions of several variables."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ITERATIONS = 500  # never reached
GRADIENT = 1e-11  # largest entry of the gradient at which there is nothing left to do
DECREASE = 1e-15  # of the function, that a step still promises
ROUNDING = 1e-14  # by which two values of the function may differ though they are equal
HALVINGS = 50


@final
@dataclass(frozen=True, slots=True, eq=False)
class Expansion:
    """Value, gradient and curvature of a function at a point.

    Parameters
    ----------
    value : float
        Of the function.
    gradient : array of shape (k,)
        Its first derivatives.
    solve : callable
        Gives x with H x = b for b (k,), where H is the matrix of second derivatives, or nearly
        so; then closer the smaller the gradient is.
    """

    value: float
    gradient: Floats
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
    theta = start
    last = np.inf
    for _ in range(ITERATIONS):
        here = objective.expand(theta)
        step = -here.solve(here.gradient)
        slope = float(here.gradient @ step)
        size = float(np.abs(here.gradient).max())
        if -slope <= DECREASE and (size <= GRADIENT or size > last / 2):
            break
        length = _length(objective, theta, here.value, step, slope)
        if length == 0.0:
            break
        theta = theta + length * step
        last = size
    return theta


def _length(objective: Objective, theta: Floats, value: float, step: Floats, slope: float) -> float:
    """Return how much of a step to take: 1, 1/2, 1/4, …, or 0 if none helps."""
    if slope >= 0:
        return 0.0
    length = 1.0
    for _ in range(HALVINGS):
        found = objective.value(theta + length * step)
        if found <= value + 1e-4 * length * slope + ROUNDING * (1 + abs(value)):
            return length
        length /= 2
    return 0.0


def solve_dense(hessian: Floats, b: Floats) -> Floats:
    """Solve H x = b for a positive definite H, scaled so that its diagonal is 1."""
    scale = 1.0 / np.sqrt(np.diag(hessian))
    scaled = hessian * scale * scale[:, None]
    scaled[np.diag_indices_from(scaled)] += 1e-15 * len(b)
    return np.asarray(scale * np.linalg.solve(scaled, scale * b))


def solve_by_products(times: Callable[[Floats], Floats], diagonal: Floats, b: Floats) -> Floats:
    """Solve H x = b by conjugate gradients, preconditioned by the diagonal of H.

    The residual falls to min(0.1, √|b|) of |b|, so that Newton's steps become exact fast enough.
    """
    x = np.zeros_like(b)
    residual = b.copy()
    solved = residual / diagonal
    direction = solved
    product = float(residual @ solved)
    size = float(np.linalg.norm(b))
    for _ in range(4 * len(b)):
        if np.linalg.norm(residual) <= min(0.1, np.sqrt(size)) * size:
            break
        image = times(direction)
        length = product / float(direction @ image)
        x += length * direction
        residual -= length * image
        solved = residual / diagonal
        product, before = float(residual @ solved), product
        direction = solved + product / before * direction
    return x
