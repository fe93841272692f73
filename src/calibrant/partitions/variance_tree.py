"""The data-dependent partition of Appendix B."""

from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.checks.parameters import positive
from calibrant.engine import threads
from calibrant.partitions.partition import Cells, points
from calibrant.predictions import Predictions

Rows = NDArray[np.integer[Any]]


@final
@dataclass(frozen=True, slots=True)
class VarianceTree:
    """Cut at the mean of the coordinate of highest variance, again and again; Appendix B.

    A node with at least `min_size` rows is split: left is ``p_j < threshold``. Children may be
    smaller than `min_size`. A node whose split would leave one side empty is a leaf.

    Parameters
    ----------
    min_size : the fewest rows (or weight) that are split
    split : cut at the "mean" or at the "median"

    Notes
    -----
    Variances that agree up to rounding count as equal and the lower coordinate is cut. Of two
    outcomes, whose variances are equal, it is the one that the problem is about. Leaves are
    numbered from left to right, so in one dimension by their predictions.

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
        if self.split not in ("mean", "median"):
            raise ValueError(f"`split` must be 'mean' or 'median'; found {self.split!r}.")

    @property
    def fixed(self) -> bool:
        """Whether equal predictions always share a cell: no, the cells follow the data."""
        return False

    def fit(self, data: Predictions) -> "FittedTree":
        """Grow the tree."""
        return self.locate(data)[0]

    def locate(self, data: Predictions) -> tuple["FittedTree", Cells]:
        """Return the fitted form and the cell of every row."""
        first, coordinates = (data.event, 1) if data.m == 2 else (0, data.m)
        probs = np.ascontiguousarray(data.probs[:, first : first + coordinates])
        probs.flags.writeable = False
        rows: Rows = np.arange(data.n, dtype=np.int32 if data.n < 2**31 else np.int64)
        # Memory that is not written to costs nothing.
        nodes = np.empty((2 * data.n, 3), rows.dtype)
        thresholds = np.empty(2 * data.n)
        count = engine.tree.fit(
            probs,
            *data.kernel_weights,
            self.min_size * (1 - 1e-9),  # sums of weights are rounded
            None if self.split == "mean" else tuple(np.empty((2, data.n))),
            rows,
            np.empty_like(rows),
            np.empty((2, coordinates)),
            nodes,
            thresholds,
        )
        return _fitted(nodes[:count], thresholds[:count], rows, first, data.m)

    def __str__(self) -> str:
        at = "" if self.split == "mean" else f", {self.split}"
        return f"variance tree of {self.min_size}{at}"


def _fitted(
    grown: Rows, thresholds: NDArray[np.float64], rows: Rows, first: int, m: int
) -> tuple["FittedTree", Cells]:
    """Return a tree, its leaves numbered from left to right, and the leaf of every row.

    grown, rows : as the kernel leaves them, with coordinates counted from `first`
    """
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
    nodes : (nodes, 3) the coordinate that is cut, the left and the right child; of a leaf,
        -1, its cell and -1
    thresholds : (nodes,) left is below it
    m : number of outcomes
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
        probs = points(probs, self.m)
        cells = np.empty(probs.shape[0], np.int32)
        threads.run(
            lambda start, stop: engine.tree.assign(
                probs, start, stop, self.nodes, self.thresholds, cells
            ),
            threads.row_blocks(probs.shape),
        )
        return cells
