"""Simplices of equal size."""

from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant import device, engine
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
    k : int
        Number of parts along an edge.

    Examples
    --------
    >>> from calibrant import Predictions
    >>> data = Predictions([[0.9, 0.05, 0.05], [0.3, 0.3, 0.4], [0.25, 0.35, 0.4]], [0, 1, 2])
    >>> SimplexCells(2).fit(data).assign(data.probs).tolist()
    [1, 0, 0]
    """

    k: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", whole("k", self.k, least=1, most=grid.MOST))

    @property
    def fixed(self) -> bool:
        """Whether equal predictions always share a cell: yes."""
        return True

    def fit(self, data: Predictions) -> grid.FittedGrid:
        """Find the simplices that hold predictions."""
        return self.locate(data)[0]

    def locate(self, data: Predictions) -> tuple[grid.FittedGrid, Cells]:
        """Return the fitted form and the cell of every row."""
        columns = axes(data)
        return grid.locate(data, partial(_simplex_keys, columns, self._digits(columns[1]), self.k))

    def locate_there(self, data: Predictions) -> "device.cells.Cells | None":
        """Return the cells of rows on a device, found there; None if the host has to do it."""
        assert data.there is not None
        return device.cells.simplices(data.there, axes(data), self.k)

    def _digits(self, count: int) -> "engine.grid.Digits":
        """Return how keys of so many coordinates are packed: integer parts, then ranks."""
        return engine.grid.Digits.of(2 * count, max(self.k, count))

    def vertices(self, fitted: Any) -> NDArray[np.float64]:
        """Return the corners of each cell as points of the simplex: (cells, m corners, m).

        Cell (f, order): start at c = f and add 1 to its coordinates one after the other, the
        one with the largest fractional part first. Then p_i = (c_i - c_{i-1}) / k.
        """
        m, count = fitted.m, fitted.m - 1
        digits = self._digits(count).unpack(fitted.keys)
        whole, rank = digits[:, :count], digits[:, count:]
        steps = np.arange(m)[:, None] > count - 1 - rank[:, None, :]  # (cells, m, count)
        c = (whole[:, None, :] + steps) / self.k
        corners = np.diff(c, axis=-1, prepend=0.0, append=1.0)
        turned = corners if fitted.first == 0 else corners[..., ::-1]  # two classes, about class 1
        return np.asarray(turned)

    def __str__(self) -> str:
        return f"{self.k} simplex cells an edge"


def _simplex_keys(
    columns: tuple[int, int], digits: "engine.grid.Digits", k: int, probs: NDArray[Any]
) -> grid.Keys:
    """Return the keys of the simplices of probs (n, m)."""
    keys: grid.Keys = engine.grid.simplex_keys(probs, columns, engine.grid.edges(k), digits)
    return keys
