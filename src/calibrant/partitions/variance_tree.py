"""The data-dependent partition of Appendix B."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np

from calibrant import engine
from calibrant.checks.parameters import one_of, positive
from calibrant.partitions.partition import Cells, Fitted
from calibrant.partitions.trees import FittedTree, Growth
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

    def fit(self, data: Predictions) -> FittedTree:
        """Grow the tree."""
        return self.locate(data)[0]

    def locate(self, data: Predictions) -> tuple[FittedTree, Cells]:
        """Return the fitted form and the cell of every row."""
        columns = coordinates(data.event, data.m)
        medians = self.split == "median"
        grown = engine.tree.grow(data.rows, columns, self.splits_from, medians=medians)
        return _fitted(grown, columns[0], data.m)

    def fitting(self, seen: Any, unit: float) -> Generator[Any, Any, Fitted]:
        """Grow the tree of rows that are elsewhere: that of the same rows in memory."""
        if self.split == "median":
            raise ValueError(
                "`partition` must split at means for scanned data: medians would take several"
                " passes over the rows for each level of a tree. Use VarianceTree(…), EqualMass(…),"
                " or scan.load() if the rows fit into memory."
            )
        growth = Growth(seen.m, coordinates(seen.event, seen.m), unit)
        tree = yield from growth.grow(self.splits_from)
        return Fitted(tree, str(self))

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


def _fitted(tree: "engine.tree.Tree", first: int, m: int) -> tuple[FittedTree, Cells]:
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
