"""Distances d on the simplex, §3.2.

A distance is a function of two arrays of shape (…, m) that returns (…). Any Python function
of that kind works wherever these do. One that is a norm of p - q says so with `from_norm`; then
compiled loops compute it without laying out p and q.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "ONE",
    "SQUARED",
    "TWO",
    "Distance",
    "euclidean",
    "from_norm",
    "squared_euclidean",
    "total_variation",
]

Array = NDArray[Any]
Distance = Callable[[Array, Array], Array]

ONE, TWO, SQUARED = range(3)  # ‖p - q‖₁, ‖p - q‖₂ and ‖p - q‖₂², as the engine counts them


class Norm(NamedTuple):
    """A multiple of one of the norms that compiled loops compute."""

    kind: int
    scale: float


def from_norm(kind: int, scale: float = 1.0) -> Callable[[Distance], Distance]:
    """Say that the decorated distance is `scale` times a norm of p - q: `ONE`, `TWO` or `SQUARED`.

    Examples
    --------
    >>> @from_norm(ONE)
    ... def manhattan(p, q):
    ...     return np.abs(p - q).sum(axis=-1)
    >>> norm_of(manhattan)
    Norm(kind=0, scale=1.0)
    """

    def mark(distance: Distance) -> Distance:
        distance.norm = Norm(kind, float(scale))  # type: ignore[attr-defined]
        return distance

    return mark


def norm_of(distance: Distance) -> Norm | None:
    """Return which norm a distance is a multiple of; None if it did not say."""
    return getattr(distance, "norm", None)


def name_of(distance: Distance) -> str:
    """Return the name of a distance in words."""
    return getattr(distance, "__name__", "distance").replace("_", " ")


@from_norm(ONE, 0.5)
def total_variation(p: Array, q: Array) -> Array:
    r"""Half the sum of absolute differences, ½ ‖p - q‖₁: the largest difference of an event.

    Examples
    --------
    >>> float(total_variation(np.array([0.5, 0.25, 0.25]), np.array([1.0, 0.0, 0.0])))
    0.5
    """
    return np.asarray(0.5 * np.abs(np.subtract(p, q)).sum(axis=-1))


@from_norm(TWO)
def euclidean(p: Array, q: Array) -> Array:
    """‖p - q‖₂. The tables of the paper call this "squared Euclidean".

    Examples
    --------
    >>> float(euclidean(np.array([0.0, 1.0, 0.0]), np.array([0.6, 0.2, 0.2])))
    1.019803902718557
    """
    return np.sqrt(squared_euclidean(p, q))


@from_norm(SQUARED)
def squared_euclidean(p: Array, q: Array) -> Array:
    """‖p - q‖₂².

    Examples
    --------
    >>> float(squared_euclidean(np.array([0.5, 0.5]), np.array([1.0, 0.0])))
    0.5
    """
    return np.asarray(np.square(np.subtract(p, q)).sum(axis=-1))


def measure(distance: Distance, p: Array, q: Array) -> Array:
    """Return distance(p, q) as float64 (…), or refuse what it returned."""
    found = np.asarray(distance(p, q))
    if found.dtype.kind not in "biuf":
        raise TypeError(f"`distance` must return numbers; it returned {found.dtype}.")
    if found.shape != p.shape[:-1]:
        raise ValueError(
            f"`distance` must turn arrays of shape (…, m) into (…): {p.shape} into"
            f" {p.shape[:-1]}; it returned {found.shape}."
        )
    bad = ~(found >= -1e-9)  # what is a little below 0 by rounding is 0
    if bad.any():
        raise ValueError(
            f"`distance` must be a number from 0 up; it returned {found[bad].flat[0]}."
        )
    return np.asarray(np.maximum(found, 0.0), np.float64)


def __dir__() -> list[str]:
    return __all__
