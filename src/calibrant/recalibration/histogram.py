"""Histogram regression: the outcome frequencies of a bin, and its bins as fields of a file.

Bins of a grid are written as their digits: which interval along which coordinate. They are found
again by fitting the partition to a point in each of them.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.arguments import as_partition
from calibrant.calibration import calibration_function
from calibrant.checks.parameters import brief, whole
from calibrant.partitions import (
    EqualMass,
    EqualWidth,
    FittedPartition,
    Partition,
    SimplexBins,
    VarianceTree,
)
from calibrant.partitions.equal_mass import FittedIntervals
from calibrant.partitions.variance_tree import FittedTree
from calibrant.predictions import Predictions
from calibrant.recalibration.map import (
    Fields,
    Map,
    check_prior,
    distributions,
    integers,
    numbers,
    present_rows,
)

Array = NDArray[Any]
Floats = NDArray[np.float64]
Fitted = tuple[Partition, FittedPartition]


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class HistogramMap(Map):
    """The outcome frequencies of the bin that a prediction is in.

    Parameters
    ----------
    classes : tuple of str
        Names of the m classes.
    partition : Partition
        What the bins were made by.
    fitted : FittedPartition
        The bins.
    observed : array of shape (bins, m)
        Outcome frequencies of each bin, r-hat. Where no row was, the prediction itself is
        returned, divided by its sum.
    """

    kind = "histogram"

    classes: tuple[str, ...]
    partition: Partition
    fitted: FittedPartition
    observed: Floats

    def __post_init__(self) -> None:
        Map.__post_init__(self)
        shape = (self.fitted.n_cells, self.m)
        object.__setattr__(self, "observed", distributions("observed", self.observed, shape))

    def rows(self, probs: Array) -> Floats:
        found = self.fitted.assign(probs)
        out = self.observed[found]
        outside = found < 0
        if outside.any():
            kept = probs[outside].astype(np.float64)
            out[outside] = kept / kept.sum(axis=1, keepdims=True)
        return out

    def fields(self) -> dict[str, Any]:
        for name, (made_by, write, _) in KINDS.items():
            if isinstance(self.partition, made_by):
                cells = {"partition": name} | write(self.partition, self.fitted)
                return {"cells": cells, "observed": self.observed.tolist()}
        raise TypeError(
            f"A map of {self.partition} cannot be saved: its bins are known to a function only. Use"
            f" {', '.join(made_by.__name__ for made_by, _, _ in KINDS.values())}."
        )

    @classmethod
    def from_fields(cls, classes: tuple[str, ...], fields: Fields) -> Self:
        cells = fields.inside("cells")
        name = cells["partition"]
        if name not in KINDS:
            raise ValueError(f"`partition` must be one of {', '.join(KINDS)}; found {brief(name)}.")
        read = KINDS[name][2]
        return cls(classes, *read(cells, len(classes)), fields["observed"])

    def __str__(self) -> str:
        return f"histogram on {self.partition}"


@final
@dataclass(frozen=True, slots=True, init=False)
class Histogram:
    r"""Histogram regression, the paper's r-hat: the outcome frequencies of a bin (§4.1).

    .. math:: g(x) \mapsto \hat r^{(c)} \quad \text{for } g(x) \in \Phi^{(c)}

    and g(x) itself where a bin held no row.

    Parameters
    ----------
    partition : Partition
        The bins.
    prior : float, optional
        How much the mean prediction of a bin counts beside its outcomes (`Method`).

    Notes
    -----
    A map of a user's own partition or of `FromFunction` cannot be saved. A frequency can be 0, so
    a new row may have an infinite log loss.

    References
    ----------
    B. Zadrozny, C. Elkan, "Obtaining calibrated probability estimates from decision trees and
    naive Bayesian classifiers", ICML 2001.

    Examples
    --------
    >>> data = Predictions([0.1, 0.3, 0.6, 0.7], [0, 1, 1, 1])
    >>> Histogram(EqualWidth(4)).fit(data)([0.2, 0.4, 0.6, 0.9])[:, 1].tolist()
    [0.0, 1.0, 1.0, 0.9]
    """

    partition: Partition
    prior: float | None = field(default=None, kw_only=True)

    def __init__(self, partition: Partition | str, *, prior: float | None = None) -> None:
        object.__setattr__(self, "partition", as_partition(partition))
        object.__setattr__(self, "prior", prior)
        check_prior(self)

    def fit(self, data: Predictions) -> HistogramMap:
        """Find the outcome frequencies of every bin."""
        found = calibration_function(present_rows(data), self.partition)
        prior = self.prior or 0.0
        observed = (found.observed + prior * found.predicted) / (1 + prior)
        return HistogramMap(data.classes, self.partition, found.fitted, observed)

    def __str__(self) -> str:
        return f"histogram on {self.partition}"


def _write_boxes(partition: EqualWidth, fitted: Any) -> dict[str, Any]:
    digits = engine.grid.Digits.of(fitted.m - 1, partition.k).unpack(fitted.keys)
    return {"k": partition.k, "first": fitted.first, "intervals": digits.tolist()}


def _read_boxes(fields: Fields, m: int) -> Fitted:
    partition = EqualWidth(fields["k"])
    digits = _digits("intervals", fields["intervals"], m - 1, partition.k)
    return _refitted(partition, (digits + 0.5) / partition.k, fields, m)


def _write_simplices(partition: SimplexBins, fitted: Any) -> dict[str, Any]:
    wholes, ranks = (digits.tolist() for digits in partition.digits(fitted))
    return {"k": partition.k, "first": fitted.first, "wholes": wholes, "ranks": ranks}


def _read_simplices(fields: Fields, m: int) -> Fitted:
    partition = SimplexBins(fields["k"])
    count = m - 1
    wholes = _digits("wholes", fields["wholes"], count, partition.k)
    ranks = _digits("ranks", fields["ranks"], count, count)
    c = wholes + (ranks + 1) / (count + 1)
    return _refitted(partition, np.diff(c, axis=1, prepend=0.0) / partition.k, fields, m)


def _write_intervals(partition: EqualMass, fitted: FittedIntervals) -> dict[str, Any]:
    lows = fitted.lows.astype(np.float64).tolist()
    return {"k": partition.k, "column": fitted.coordinate, "lows": lows}


def _read_intervals(fields: Fields, m: int) -> Fitted:
    lows = numbers("lows", fields["lows"], (None,))
    column = whole("column", fields["column"], least=0)
    if not lows.size or (np.diff(lows) <= 0).any() or m != 2 or column > 1:
        raise ValueError(
            f"`lows` must rise, for one of two classes; found {brief(fields['lows'])}."
        )
    return EqualMass(fields["k"]), FittedIntervals(lows, column)


def _write_tree(partition: VarianceTree, fitted: FittedTree) -> dict[str, Any]:
    return {
        "min_size": partition.min_size,
        "split": partition.split,
        "nodes": fitted.nodes.tolist(),
        "thresholds": fitted.thresholds.tolist(),
    }


def _read_tree(fields: Fields, m: int) -> Fitted:
    nodes = integers("nodes", fields["nodes"], (None, 3))
    thresholds = numbers("thresholds", fields["thresholds"], (len(nodes),))
    if not _is_tree(nodes, m):
        raise ValueError(f"`nodes` must be those of a tree; found {brief(fields['nodes'])}.")
    partition = VarianceTree(fields["min_size"], fields["split"])
    return partition, FittedTree(nodes, thresholds, m)


def _is_tree(nodes: NDArray[np.int32], m: int) -> bool:
    """Whether every cut is of one of m coordinates, and leads to later nodes; leaves are cells."""
    leaf = nodes[:, 0] < 0
    children = nodes[~leaf, 1:]
    later = children > np.flatnonzero(~leaf)[:, None]
    inside = (children < len(nodes)).all() and (nodes[:, 0] < m).all()
    cells_in_order = np.array_equal(nodes[leaf, 1], np.arange(leaf.sum()))
    return bool(len(nodes) and later.all() and inside and cells_in_order)


# How the cells of each kind of partition are written and read.
KINDS: dict[str, tuple[type, Callable[[Any, Any], dict[str, Any]], Callable[[Fields, int], Fitted]]]
KINDS = {
    "equal_width": (EqualWidth, _write_boxes, _read_boxes),
    "simplex_bins": (SimplexBins, _write_simplices, _read_simplices),
    "equal_mass": (EqualMass, _write_intervals, _read_intervals),
    "variance_tree": (VarianceTree, _write_tree, _read_tree),
}


def _digits(name: str, value: Any, count: int, base: int) -> Floats:
    """Return digits (cells, count) from 0 to base - 1."""
    digits = integers(name, value, (None, count))
    if not ((digits >= 0) & (digits < base)).all():
        raise ValueError(f"`{name}` must be at least 0 and below {base}; found {brief(value)}.")
    return digits.astype(np.float64)


def _refitted(partition: Any, coordinates: Floats, fields: Fields, m: int) -> Fitted:
    """Fit a partition to a point in each of its cells, given by the coordinates that are cut."""
    first = whole("first", fields["first"], least=0)  # coordinate that is cut
    if first > (1 if m == 2 else 0):
        raise ValueError(f"`first` must be 0, or 1 for two classes; found {first}.")
    probs = np.zeros((len(coordinates), m))
    probs[:, first : first + coordinates.shape[1]] = coordinates
    labels = np.zeros(len(probs), np.int32)
    names = tuple(str(j) for j in range(m))
    return partition, partition.fit(Predictions.trusted(probs, labels, names, None, first))
