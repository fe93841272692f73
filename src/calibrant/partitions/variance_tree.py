"""The data-dependent partition of Appendix B."""

from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.checks.parameters import one_of, positive
from calibrant.partitions.partition import Cells, points
from calibrant.predictions import Predictions


@final
@dataclass(frozen=True, slots=True)
class VarianceTree:
    """Cut at the mean of the coordinate of highest variance, again and again; Appendix B.

    A node with at least `min_size` rows is split: left is ``p_j < threshold``. Children may be
    smaller than `min_size`. A node whose split would leave one side empty is a leaf.

    Parameters
    ----------
    min_size : float, default 1000
        The fewest rows (or weight) that are split.
    split : {"mean", "median"}
        Where to cut.

    Notes
    -----
    Variances that agree up to rounding count as equal; then the coordinate of the largest third
    central moment is cut, of those that agree too that of the largest fourth moment, then of the
    largest mean, then the lowest. So cells do not depend on the order of classes unless the
    predictions look the same with two classes exchanged. Of two outcomes, whose variances are
    equal, it is the one that the problem is about. Leaves are numbered from left to right, so
    in one dimension by their predictions.

    Examples
    --------
    >>> from calibrant import Predictions
    >>> data = Predictions([0.1, 0.2, 0.3, 0.9], [0, 0, 1, 1])
    >>> VarianceTree(3).fit(data).assign(data.probs).tolist()
    [0, 1, 1, 2]
    """

    min_size: float = 1000
    split: Literal["mean", "median"] = "mean"

    def __post_init__(self) -> None:
        object.__setattr__(self, "min_size", positive("min_size", self.min_size))
        one_of("split", self.split, ("mean", "median"))

    @property
    def fixed(self) -> bool:
        """Whether equal predictions always share a cell: no, the cells follow the data."""
        return False

    def fit(self, data: Predictions) -> "FittedTree":
        """Grow the tree."""
        return self.locate(data)[0]

    def locate(self, data: Predictions) -> tuple["FittedTree", Cells]:
        """Return the fitted form and the cell of every row."""
        columns = coordinates(data.event, data.m)
        medians = self.split == "median"
        grown = engine.tree.grow(data.rows, columns, self.splits_from, medians=medians)
        return _fitted(grown, columns[0], data.m)

    @property
    def splits_from(self) -> float:
        """The weight from which nodes are split; weights are rounded."""
        return self.min_size * (1 - 1e-9)

    def __str__(self) -> str:
        at = "" if self.split == "mean" else f", {self.split}"
        return f"tree of {self.min_size}{at}"


def coordinates(event: int | None, m: int) -> tuple[int, int]:
    """Return the first coordinate that may be cut, and how many: of two outcomes the event."""
    return (0, m) if event is None else (event, 1)


def _fitted(tree: "engine.tree.Tree", first: int, m: int) -> tuple["FittedTree", Cells]:
    """Return a tree, its leaves numbered from left to right, and the leaf of every row.

    first : what its coordinates are counted from
    """
    grown, thresholds, rows = tree
    leaf = grown[:, 0] < 0
    numbers = np.cumsum(leaf, dtype=np.int32) - np.int32(1)
    sizes = grown[leaf, 1]
    sizes[1:] -= sizes[:-1].copy()
    cells = np.empty(rows.size, np.int32)
    cells[rows] = np.repeat(numbers[leaf], sizes)
    left = np.arange(1, leaf.size + 1)
    nodes = np.empty((leaf.size, 3), np.int32)
    nodes[:, 0] = np.where(leaf, -1, grown[:, 0] + first)
    nodes[:, 1] = np.where(leaf, numbers, left)
    nodes[:, 2] = np.where(leaf, -1, grown[:, 1])
    return FittedTree(nodes, np.where(leaf, 0.0, thresholds), m), cells


@final
@dataclass(frozen=True, slots=True)
class FittedTree:
    """The nodes of a grown tree, the root first.

    Parameters
    ----------
    nodes : array of int32 of shape (nodes, 3)
        The coordinate that is cut, the left and the right child; of a leaf, -1, its cell, -1.
    thresholds : array of shape (nodes,)
        Left is below it.
    m : int
        Number of outcomes.
    """

    nodes: NDArray[np.int32]
    thresholds: NDArray[np.float64]
    m: int

    @property
    def n_cells(self) -> int:
        """Number of leaves."""
        return int((self.nodes[:, 0] < 0).sum())

    def assign(self, probs: NDArray[Any]) -> Cells:
        """Return the leaf of each row of probs (n, m)."""
        return engine.tree.walk(points(probs, self.m), self.nodes, self.thresholds)

    def join(self, other: "FittedTree") -> tuple["FittedTree", Cells, Cells]:
        """Return the cells of both, and where those of each are among them: they are the same."""
        alike = np.array_equal(self.nodes, other.nodes)
        if not (alike and np.array_equal(self.thresholds, other.thresholds)):
            raise ValueError("`other` must be the same tree; its cells depend on the rows.")
        same = np.arange(self.n_cells, dtype=np.int32)
        return self, same, same

    @property
    def marks(self) -> NDArray[np.uint64]:
        """A number for each cell (cells,): all rows have the same cells."""
        return np.arange(self.n_cells, dtype=np.uint64)
