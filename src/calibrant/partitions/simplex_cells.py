"""Simplices of equal size."""

from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.checks.parameters import whole
from calibrant.partitions import grid
from calibrant.partitions.partition import Cells, axes
from calibrant.predictions import Predictions


@final
@dataclass(frozen=True, slots=True)
class SimplexCells:
    """The simplex cut into k^(m-1) simplices of equal volume: the triangles of Figure 1.

    With c_i = k (p_1 + … + p_i), the integer parts of c_1, …, c_{m-1} and the order of their
    fractional parts name the cell (the edgewise subdivision). For two outcomes these are k
    intervals, for three k² triangles, for four k³ tetrahedra.

    Parameters
    ----------
    k : number of parts along an edge

    Examples
    --------
    >>> from calibrant import Predictions
    >>> data = Predictions([[0.9, 0.05, 0.05], [0.3, 0.3, 0.4], [0.25, 0.35, 0.4]], [0, 1, 2])
    >>> SimplexCells(2).fit(data).assign(data.probs).tolist()
    [1, 0, 0]
    """

    k: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", whole("k", self.k, least=1))

    @property
    def fixed(self) -> bool:
        """Whether equal predictions always share a cell: yes."""
        return True

    def fit(self, data: Predictions) -> grid.FittedGrid:
        """Find the simplices that hold predictions."""
        return self.locate(data)[0]

    def locate(self, data: Predictions) -> tuple[grid.FittedGrid, Cells]:
        """Return the fitted form and the cell of every row."""
        first, count = axes(data)
        space = max(self.k, count) ** (2 * count)
        return grid.locate(data, partial(_simplex_keys, first, count, self.k), space)

    def vertices(self, fitted: grid.FittedGrid) -> NDArray[np.float64]:
        """Return the corners of each cell as points of the simplex: (cells, m corners, m).

        Cell (f, order): start at c = f and add 1 to its coordinates one after the other, the
        one with the largest fractional part first. Then p_i = (c_i - c_{i-1}) / k.
        """
        m, count = fitted.m, fitted.m - 1
        digits = _digits(fitted.keys, 2 * count, max(self.k, count))
        whole, rank = digits[:, :count], digits[:, count:]
        steps = np.arange(m)[:, None] > count - 1 - rank[:, None, :]  # (cells, m, count)
        c = (whole[:, None, :] + steps) / self.k
        corners = np.diff(c, axis=-1, prepend=0.0, append=1.0)
        return corners if fitted.first == 0 else corners[..., ::-1]  # two classes, about class 1

    def __str__(self) -> str:
        return f"{self.k} simplex cells an edge"


def _simplex_keys(first: int, count: int, k: int, probs: NDArray[Any]) -> grid.Keys:
    """Return the keys of the simplices of probs (n, m)."""
    edges = grid.edges(k)
    base = max(k, count)
    per_word, keys = grid.empty_keys(probs.shape[0], 2 * count, base)
    whole, fraction = np.empty(count, np.int64), np.empty(count)
    engine.grid.simplex_keys(probs, first, count, edges, base, per_word, whole, fraction, keys)
    return keys


def _digits(keys: grid.Keys, digits: int, base: int) -> NDArray[np.int64]:
    """Unpack keys (cells, words) into their digits (cells, digits)."""
    per_word, words = grid.empty_keys(keys.shape[0], digits, base)
    out = np.empty((keys.shape[0], digits), np.int64)
    words[:] = keys
    for d in reversed(range(digits)):
        word = d // per_word
        out[:, d] = words[:, word] % np.uint64(base)
        words[:, word] //= np.uint64(base)
    return out
