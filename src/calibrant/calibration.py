"""Histogram regression of the calibration function, §4.1."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant import engine
from calibrant.checks.arrays import TOLERANCE
from calibrant.distances import Distance, from_norms, measure
from calibrant.engine import threads
from calibrant.partitions import FittedPartition, Partition
from calibrant.predictions import Predictions

Array = NDArray[Any]
Floats = NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Binned:
    """Predictions sorted into cells: all that is needed of them when labels are redrawn.

    Parameters
    ----------
    data : the predictions
    fitted : the cells
    rows : (n,) row numbers sorted by cell; those of cell c are rows[starts[c]:starts[c + 1]]
    starts : (cells + 1,)
    mass : (cells,) number of rows of each cell, or their weight
    """

    data: Predictions
    fitted: FittedPartition
    rows: NDArray[np.integer[Any]]
    starts: NDArray[np.int64]
    mass: Floats

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return int(self.mass.size)

    @property
    def proportions(self) -> Floats:
        """Share of the rows (or weight) in each cell, p-hat."""
        return np.asarray(self.mass / self.mass.sum())


@final
@dataclass(frozen=True, slots=True, eq=False)
class CalibrationFunction:
    r"""The estimate r-hat of the calibration function: constant on every cell.

    .. math:: \hat r^{(c)}_y = \frac{|\{i : g(x_i) \in \Phi^{(c)}, y_i = y\}|}
                                    {|\{i : g(x_i) \in \Phi^{(c)}\}|}

    Parameters
    ----------
    fitted : the cells
    classes : (m,) names of the outcomes
    mass : (cells,) number of rows in each cell, or their weight
    predicted : (cells, m) mean prediction, g-hat
    observed : (cells, m) outcome frequencies, r-hat
    weighted : whether `mass` is a weight

    Examples
    --------
    >>> from calibrant import Predictions, partitions
    >>> data = Predictions([0.25, 0.25, 0.75, 0.75], [0, 1, 1, 1])
    >>> fn = calibration_function(data, partitions.EqualWidth(2))
    >>> fn.observed[:, 1].tolist(), fn.deviations[:, 1].tolist()
    ([0.5, 1.0], [0.25, 0.25])
    >>> fn([0.4, 0.6]).tolist()
    [0.0, 1.0]
    """

    fitted: FittedPartition
    classes: tuple[str, ...]
    mass: Floats
    predicted: Floats
    observed: Floats
    weighted: bool

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return int(self.mass.size)

    @property
    def counts(self) -> Array:
        """Number of rows in each cell (cells,); their weight if there are weights."""
        return self.mass if self.weighted else self.mass.astype(np.int64)

    @property
    def proportions(self) -> Floats:
        """Share of the rows in each cell (cells,), p-hat."""
        return np.asarray(self.mass / self.mass.sum())

    @property
    def deviations(self) -> Floats:
        """Outcome frequency minus mean prediction (cells, m)."""
        return self.observed - self.predicted

    def __call__(self, mu: ArrayLike) -> Floats:
        """Return r-hat at predictions mu (m,) or (k, m); 0 in a cell without rows."""
        points = np.asarray(mu, np.float64)
        m = len(self.classes)
        if points.ndim not in (1, 2) or points.shape[-1] != m:
            raise ValueError(f"`mu` must be of shape ({m},) or (k, {m}); found {points.shape}.")
        off = ~((points >= 0).all(axis=-1) & (np.abs(points.sum(axis=-1) - 1) <= TOLERANCE))
        if off.any():
            found = np.atleast_2d(points)[np.argmax(off)].tolist()
            raise ValueError(f"`mu` must not be negative and sum to 1; found {found}.")
        cells = self.fitted.assign(np.atleast_2d(points))
        values = np.where(cells[:, None] >= 0, self.observed[cells], 0.0)
        return values.reshape(points.shape)

    def __str__(self) -> str:
        return f"calibration function of {len(self.classes)} outcomes on {self.n_cells} cells"


def calibration_function(data: Predictions, partition: Partition) -> CalibrationFunction:
    """Estimate the calibration function of `data` by histogram regression on `partition`.

    Parameters
    ----------
    data : Predictions
    partition : Partition

    Returns
    -------
    CalibrationFunction
    """
    binned = bin_predictions(data, partition)
    predicted, observed = cell_means(binned, data.labels, 0, binned.n_cells)
    return CalibrationFunction(
        binned.fitted, data.classes, binned.mass, predicted, observed, data.weighted
    )


def bin_predictions(data: Predictions, partition: Partition) -> Binned:
    """Fit `partition` and sort the rows by cell."""
    fitted, cells = partition.locate(data)
    starts = np.zeros(fitted.n_cells + 2, np.int64)
    rows: Array = np.empty(data.n, np.int32 if data.n < 2**31 else np.int64)
    engine.cells.sort(cells, starts, rows)
    starts = starts[:-1]
    counts = np.bincount(cells, data.weights, fitted.n_cells) if data.weighted else np.diff(starts)
    mass = counts.astype(np.float64, copy=False)
    return Binned(data, fitted, rows, starts, mass)


def cell_sums(binned: Binned, data: Predictions, first: int, last: int) -> tuple[Floats, Floats]:
    """Return the sums of predictions and outcomes of cells first … last - 1: (cells, m).

    data : the predictions that were binned, perhaps with other labels and weights

    Rows are added one after the other, here and in replicates, so that ties stay ties.
    """
    tables = np.empty((2, last - first, data.m))
    _summarise(binned, data, first, last, tables, np.empty((3, binned.n_cells)))
    return tables[0], tables[1]


def cell_means(binned: Binned, labels: Array, first: int, last: int) -> tuple[Floats, Floats]:
    """Return mean prediction and outcome frequencies of cells first … last - 1: (cells, m)."""
    predicted, observed = cell_sums(binned, binned.data.with_labels(labels), first, last)
    mass = np.where(binned.mass > 0, binned.mass, 1.0)[first:last, None]
    predicted /= mass
    observed /= mass
    return predicted, observed


def cell_distances(binned: Binned, labels: Array, distance: Distance) -> Floats:
    """Return d(r-hat, g-hat) of every cell (cells,) for these labels (n,)."""
    convert = from_norms(distance)
    if convert is None:
        found = np.zeros(binned.n_cells)
        for first, last in cell_blocks(binned):
            held = binned.mass[first:last] > 0  # rows of weight 0 are absent
            predicted, observed = cell_means(binned, labels, first, last)
            found[first:last][held] = measure(distance, observed[held], predicted[held])
        return found
    return convert(cell_norms(binned, binned.data.with_labels(labels))[0])


def cell_norms(binned: Binned, data: Predictions) -> tuple[Floats, Floats]:
    """Return 1-norm and squared 2-norm of each cell's deviation (2, cells), and its weight.

    data : the predictions that were binned, perhaps with other labels and weights
    """
    found = np.empty((3, binned.n_cells))

    def work(first: int, last: int) -> None:
        _summarise(binned, data, first, last, np.empty((2, 1, data.m)), found)

    threads.run(work, list(cell_blocks(binned)))
    return found[1:], found[0]


def _summarise(
    binned: Binned, data: Predictions, first: int, last: int, tables: Floats, cells: Floats
) -> None:
    """Write weight and norms of cells first … last - 1 to cells (3, cells).

    tables : (2, last - first, m) for the sums of predictions and outcomes; or (2, 1, m), room
    """
    engine.cells.summaries(
        data.probs,
        data.labels,
        *data.kernel_weights,
        binned.rows,
        binned.starts,
        first,
        last,
        *tables,
        int(tables.shape[1] == last - first),
        cells,
    )


def cell_blocks(binned: Binned, entries: int = threads.ENTRIES) -> Iterator[tuple[int, int]]:
    """Cut the cells into spans of about so many probabilities, at least one cell."""
    size = max(1, entries // binned.data.m)
    marks = np.searchsorted(binned.starts, np.arange(size, binned.data.n, size))
    ends = np.unique(np.append(marks, binned.n_cells))
    yield from zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)
