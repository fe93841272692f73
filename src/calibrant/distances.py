"""Distances d on the simplex, §3.2.

A distance is a function of two arrays of shape (…, m) that returns (…). Any Python function
of that kind works wherever these do, more slowly.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Distance = Callable[[Array, Array], Array]


def total_variation(p: Array, q: Array) -> Array:
    r"""Half the sum of absolute differences, ½ ‖p - q‖₁: the largest difference of an event.

    Examples
    --------
    >>> float(total_variation(np.array([0.5, 0.25, 0.25]), np.array([1.0, 0.0, 0.0])))
    0.5
    """
    return np.asarray(0.5 * np.abs(np.subtract(p, q)).sum(axis=-1))


def euclidean(p: Array, q: Array) -> Array:
    """‖p - q‖₂. The tables of the paper call this "squared Euclidean".

    Examples
    --------
    >>> float(euclidean(np.array([0.0, 1.0, 0.0]), np.array([0.6, 0.2, 0.2])))
    1.019803902718557
    """
    return np.sqrt(squared_euclidean(p, q))


def squared_euclidean(p: Array, q: Array) -> Array:
    """‖p - q‖₂².

    Examples
    --------
    >>> float(squared_euclidean(np.array([0.5, 0.5]), np.array([1.0, 0.0])))
    0.5
    """
    return np.asarray(np.square(np.subtract(p, q)).sum(axis=-1))


_FROM_NORMS: tuple[tuple[Distance, Callable[[Array], Array]], ...] = (
    (total_variation, lambda norms: 0.5 * norms[0]),
    (euclidean, lambda norms: np.sqrt(norms[1])),
    (squared_euclidean, lambda norms: norms[1]),
)


def from_norms(distance: Distance) -> Callable[[Array], Array] | None:
    """Return how `distance` follows from the 1-norm and squared 2-norm of p - q, if it does.

    The function takes an array (2, …) of these norms. Kernels compute them without laying
    out p and q. None for a distance of the user's.
    """
    return next((convert for known, convert in _FROM_NORMS if known is distance), None)


def measure(distance: Distance, p: Array, q: Array) -> Array:
    """Return distance(p, q) as float64 (…), or refuse what it returned."""
    found = np.asarray(distance(p, q), np.float64)
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
    return np.maximum(found, 0.0)
