"""The data-dependent partition of Appendix B, of rows at hand and of rows that are elsewhere.

Elsewhere, a tree grows level by level, to the same bits as in memory. A node is cut at the mean of
the coordinate of largest variance. Both follow from exact sums over its rows: one pass adds up the
predictions of all nodes of a level, and, if there are coordinates to choose from, another one the
squares of their deviations from the means; where variances tie, two more add up higher powers.
"""

from collections.abc import Generator
from dataclasses import dataclass, field
from itertools import compress
from typing import Any, Literal, NamedTuple, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.checks.parameters import one_of, positive
from calibrant.partitions.partition import Alike, Cells, Fitted, Partition, points
from calibrant.predictions import Predictions
from calibrant.rows import Batch

Floats = NDArray[np.float64]
T = TypeVar("T")
Asks = Generator["NodeSums", "NodeState", T]  # yields reductions, is sent their states


@final
@dataclass(frozen=True, slots=True)
class FittedTree(Alike):
    """The nodes of a grown tree, the root first."""

    nodes: NDArray[np.int32]  # (nodes, 3): coordinate, left and right child; -1, cell, -1 of a leaf
    thresholds: NDArray[np.float64]  # (nodes,): left is below
    m: int  # outcomes

    @property
    def n_cells(self) -> int:  # type: ignore[override]
        return int((self.nodes[:, 0] < 0).sum())

    def assign(self, probs: NDArray[Any]) -> Cells:
        return engine.tree.walk(points(probs, self.m), self.nodes, self.thresholds)


class NodeState(NamedTuple):
    """Weight of nodes, and limbs of sums over their rows."""

    mass: Floats  # (nodes,)
    limbs: NDArray[np.int64]  # (3, nodes, coordinates)


@final
@dataclass(frozen=True, slots=True)
class NodeSums:
    """Sums over the rows of those leaves of a tree that may be split: its first cells."""

    tree: FittedTree  # so far
    columns: tuple[int, int]  # the first coordinate that may be cut, and how many
    power: int  # 1 to add up predictions, more for powers of their deviations
    means: Floats  # (leaves, coordinates) that deviations are from
    unit: float  # of weights

    def zero(self) -> NodeState:
        return NodeState(np.zeros(len(self.means)), np.zeros((3, *self.means.shape), np.int64))

    def add(self, state: NodeState, batch: Batch) -> NodeState:
        """Add the rows of a batch."""
        nodes = self.tree.assign(batch.seen.probs)
        about = engine.tree.About(self.power, self.means)
        rows = batch.seen.rows
        found = engine.tree.node_sums(rows, self.columns, nodes, about, self.unit)
        return self.merge(state, NodeState(*found))

    def merge(self, a: NodeState, b: NodeState) -> NodeState:
        return NodeState(a.mass + b.mass, a.limbs + b.limbs)


@dataclass(slots=True, eq=False)
class Node:
    """A node of a tree that grows: a leaf, as long as it has no children."""

    coordinate: int = -1
    threshold: float = 0.0
    children: list["Node"] = field(default_factory=list)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Growth:
    """A tree that grows over rows that are elsewhere: it asks for sums, a pass at a time."""

    m: int  # outcomes
    columns: tuple[int, int]  # the first coordinate that may be cut, and how many
    unit: float  # of weights
    root: Node = field(default_factory=Node)

    def grow(self, min_size: float) -> Asks[FittedTree]:
        """Split nodes of this weight or more, until there are none."""
        parents: list[Node] = []
        waiting = [self.root]
        while waiting:
            mass, means = yield from self._means(waiting)
            large = _kept(parents, mass) & (mass >= min_size) & (mass > 0)
            parents = list(compress(waiting, large))
            yield from self._split(parents, means[large])
            waiting = [child for node in parents for child in node.children]
        return self._fitted([])

    def _means(self, nodes: list[Node]) -> Asks[tuple[Floats, Floats]]:
        """Return the weight of leaves (k,), and the means of their rows (k, coordinates)."""
        nothing = np.zeros((len(nodes), self.columns[1]))
        mass, sums = yield from self._sums(nodes, 1, nothing)
        size = np.where(mass > 0, mass, 1.0)[:, None] * (1.0 / self.unit)
        return mass, sums / size

    def _split(self, nodes: list[Node], means: Floats) -> Asks[None]:
        """Cut leaves at the mean of the coordinate of largest variance."""
        widest = yield from self._widest(nodes, means)
        for node, j, mean in zip(nodes, widest.argmax(axis=1).tolist(), means, strict=True):
            node.coordinate = self.columns[0] + j
            node.threshold = float(mean[j])
            node.children = [Node(), Node()]

    def _widest(self, nodes: list[Node], means: Floats) -> Asks[NDArray[np.bool_]]:
        """Return which coordinates may be cut, (leaves, coordinates), as `engine.tree` does.

        Powers beyond squares are added up only over leaves of which several coordinates tie.
        """
        left = np.ones(means.shape, bool)
        for power in (2, 3, 4):
            tied = np.flatnonzero(left.sum(axis=1) > 1)
            if tied.size:
                _, sums = yield from self._sums([nodes[i] for i in tied], power, means[tied])
                left[tied] = _largest(sums, left[tied], engine.tree.CLOSE if power == 2 else 0.0)
        return _largest(means, left, 0.0)

    def _sums(self, nodes: list[Node], power: int, means: Floats) -> Asks[tuple[Floats, Floats]]:
        """Ask for the weight of leaves, and powers of the deviations of their rows."""
        mass, limbs = yield NodeSums(self._fitted(nodes), self.columns, power, means, self.unit)
        return mass, engine.sums.value(limbs)

    def _fitted(self, first: list[Node]) -> FittedTree:
        """Return the tree, a node followed by its left child; `first` are its first leaves.

        The others are numbered after them, from left to right.
        """
        numbers = {node: i for i, node in enumerate(first)}
        nodes: list[list[int]] = []
        thresholds = []
        stack = [(self.root, -1)]  # nodes, and whose right child they are
        while stack:
            node, parent = stack.pop()
            if parent >= 0:
                nodes[parent][2] = len(nodes)
            if node.children:
                left, right = node.children
                stack += [(right, len(nodes)), (left, -1)]
                nodes.append([node.coordinate, len(nodes) + 1, -1])
            else:
                nodes.append([-1, numbers.setdefault(node, len(numbers)), -1])
            thresholds.append(node.threshold if node.children else 0.0)
        return FittedTree(np.array(nodes, np.int32), np.array(thresholds), self.m)


def _largest(values: Floats, left: NDArray[np.bool_], close: float) -> NDArray[np.bool_]:
    """Return which of the coordinates that are left have the largest value of a node, nearly."""
    known = np.where(left, values, -np.inf)
    largest = known.max(axis=1, keepdims=True, initial=-np.inf) * (1.0 - close)
    return np.asarray(left & ~(known < largest))


def _kept(parents: list[Node], mass: Floats) -> NDArray[np.bool_]:
    """Return which children stay; those of a node are cut off if one of them has no weight.

    mass : weight of all children, those of a node beside each other; or that of the root
    """
    if not parents:
        return np.ones(1, bool)
    full = np.asarray((mass.reshape(-1, 2) > 0).all(axis=1))
    for node in compress(parents, ~full):
        node.children = []
    return np.repeat(full, 2)


@final
@dataclass(frozen=True, slots=True)
class VarianceTree(Partition):
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
    >>> data = Predictions([0.1, 0.2, 0.3, 0.9], [0, 0, 1, 1])
    >>> VarianceTree(3).fit(data).assign(data.probs).tolist()
    [0, 1, 1, 2]
    """

    min_size: float = 1000
    split: Literal["mean", "median"] = "mean"

    fixed = False  # the cells follow the data

    def __post_init__(self) -> None:
        object.__setattr__(self, "min_size", positive("min_size", self.min_size))
        one_of("split", self.split, ("mean", "median"))

    def locate(self, data: Predictions) -> tuple[FittedTree, Cells]:
        columns, medians = _columns(data), self.split == "median"
        grown = engine.tree.grow(data.rows, columns, self._splits_from, medians=medians)
        return _fitted(grown, columns[0], data.m)

    def fitting(self, seen: Any, unit: float) -> Generator[Any, Any, Fitted]:
        """Grow the tree of rows that are elsewhere: that of the same rows in memory."""
        if self.split == "median":
            raise ValueError(
                "`partition` must split at means for scanned data: medians would take several"
                " passes over the rows for each level of a tree. Use VarianceTree(…), EqualMass(…),"
                " or scan.load() if the rows fit into memory."
            )
        tree = yield from Growth(seen.m, _columns(seen), unit).grow(self._splits_from)
        return Fitted(tree, str(self))

    @property
    def _splits_from(self) -> float:
        return self.min_size * (1 - 1e-9)  # weights are rounded

    def __str__(self) -> str:
        at = "" if self.split == "mean" else f", {self.split}"
        return f"tree of {self.min_size}{at}"


def _columns(data: Any) -> tuple[int, int]:
    """Return the first coordinate that may be cut, and how many: of two outcomes the event."""
    return (0, data.m) if data.event is None else (data.event, 1)


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
