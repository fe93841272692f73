"""Boxes of equal width."""

from dataclasses import dataclass
from functools import partial
from typing import Any, final

from numpy.typing import NDArray

from calibrant import device, engine
from calibrant.checks.parameters import whole
from calibrant.partitions import grid
from calibrant.partitions.partition import Cells, axes
from calibrant.predictions import Predictions


@final
@dataclass(frozen=True, slots=True)
class EqualWidth:
    """k intervals [j/k, (j+1)/k) along each of the first m - 1 coordinates; the last is closed.

    Two-class data as a user gives them are cut along P(class 1). Only cells that hold rows
    exist, so the k^(m-1) possible ones cost nothing.

    Parameters
    ----------
    k : int
        Number of intervals.

    Notes
    -----
    With more than two outcomes the cells depend on the order of the classes, since the last
    coordinate is not cut. Cells are numbered by their intervals, first coordinate first.

    Examples
    --------
    >>> from calibrant import Predictions
    >>> data = Predictions([0.0, 0.05, 0.1, 0.95, 1.0], [0, 0, 1, 1, 1])
    >>> EqualWidth(10).fit(data).assign(data.probs).tolist()
    [0, 0, 1, 2, 2]
    """

    k: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", whole("k", self.k, least=1, most=grid.MOST))

    @property
    def fixed(self) -> bool:
        """Whether equal predictions always share a cell: yes."""
        return True

    def fit(self, data: Predictions) -> grid.FittedGrid:
        """Find the boxes that hold predictions."""
        return self.locate(data)[0]

    def locate(self, data: Predictions) -> tuple[grid.FittedGrid, Cells]:
        """Return the fitted form and the cell of every row."""
        make_keys = partial(_box_keys, axes(data), self.k)
        if axes(data)[1] == 1 and self.k <= grid.SMALL:
            return grid.locate_intervals(data, self.k, make_keys)
        return grid.locate(data, make_keys)

    def add_up(self, data: Predictions) -> "engine.sums.Sums | None":
        """Add up the rows of k intervals, empty ones too; None if more coordinates are cut."""
        if data.event is None or self.k > grid.SMALL:
            return None
        edges = engine.grid.edges(self.k)
        if data.ranked is None or data.weighted:
            return engine.sums.add_intervals(data.rows, edges)
        return engine.sums.add_ranked_intervals(data.ranked, edges)

    def locate_there(self, data: Predictions) -> "device.cells.Cells | None":
        """Return the cells of rows on a device, found there; None if the host has to do it."""
        assert data.there is not None
        return device.cells.boxes(data.there, axes(data), self.k)

    def __str__(self) -> str:
        return "one cell" if self.k == 1 else f"{self.k} equal widths"


def _box_keys(columns: tuple[int, int], k: int, probs: NDArray[Any]) -> grid.Keys:
    """Return the keys of the boxes of probs (n, m)."""
    keys: grid.Keys = engine.grid.box_keys(probs, columns, engine.grid.edges(k))
    return keys
