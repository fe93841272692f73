"""Expected and worst-case miscalibration on cells, §3.2 and Eqs. (5), (6)."""

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, final

import numpy as np

from calibrant import engine
from calibrant.arguments import as_distance, as_partition
from calibrant.calibration import Block, Cells, View
from calibrant.distances import (
    Distance,
    euclidean,
    measure,
    name_of,
    norm_of,
    squared_euclidean,
    total_variation,
)
from calibrant.partitions import EqualWidth, FromFunction, Partition
from calibrant.predictions import Predictions
from calibrant.statistics.statistic import Evaluate, Floats, Statistic, Summed, Sums, counts_of

BLOCK = 1 << 21  # numbers in a block of counts
WHOLE = EqualWidth(1)  # all rows as one cell


@dataclass(frozen=True, slots=True)
class CellStatistic(Statistic):
    """A number from the distances d(r-hat, g-hat) of the cells."""

    partition: Partition
    distance: Distance = total_variation

    takes_changed_rows = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "partition", as_partition(self.partition))
        object.__setattr__(self, "distance", as_distance(self.distance))

    @property
    def from_totals(self) -> bool:  # type: ignore[override]
        """Whether norms of the cells' deviations are enough: yes, if they give the distance."""
        return norm_of(self.distance) is not None

    @abstractmethod
    def combine(self, distances: Floats, mass: Floats) -> Floats:
        """Turn distances (cells, size) into statistics (size,), given the mass (cells,)."""

    @abstractmethod
    def pick(self, totals: Any) -> Floats:
        """Return what `combine` would give for each norm: (3, size)."""

    def prepare(self, view: View) -> Evaluate:
        """Sort the rows into cells."""
        cells = view.cells(self.partition)
        norm = norm_of(self.distance)
        if norm is not None:
            cells.wanted.add(norm.kind)

        def evaluate(block: Block) -> Floats:
            if block.rows_change and (norm is None or (block.refit and not self.partition.fixed)):
                return self._on_data_sets(cells, block)
            if norm is None:
                return self._from_counts(cells, block)
            return np.asarray(norm.scale * self.pick(block.totals(cells))[norm.kind])

        at_once = view.rows.held and view.m > 2 and self.partition == WHOLE
        return evaluate if norm is None or not at_once else self._of_whole(view, norm, evaluate)

    def _of_whole(self, view: View, norm: Any, otherwise: Evaluate) -> Evaluate:
        """Measure all rows as one cell, whose outcomes are counted for other statistics, too."""
        cells, kind = view.cells(self.partition), norm.kind

        def finish(sums: Sums) -> Floats:
            place = sums[0][None], cells.predictions, cells.mass, (kind, kind + 1)
            return np.asarray(norm.scale * self.pick(engine.null.table_totals(*place))[kind])

        return Summed(counts_of(view), finish, otherwise)

    def _from_counts(self, cells: Cells, block: Block) -> Floats:
        """Measure any distance on counts, a block of cells at a time."""
        means = cells.means()
        distances = np.zeros((cells.n_cells, block.size))
        step = max(1, BLOCK // (block.size * cells.m))
        for first in range(0, cells.n_cells, step):
            last = min(first + step, cells.n_cells)
            held = means.mass[first:last] > 0  # rows of weight 0 are absent
            mass = means.mass[first:last][held, None]
            observed = block.counts(cells, first, last)[:, held] / mass
            predicted = np.broadcast_to(means.predicted[first:last][held], observed.shape)
            distances[first:last][held] = measure(self.distance, observed, predicted).T
        return self.combine(distances, means.mass)

    def _on_data_sets(self, cells: Cells, block: Block) -> Floats:
        """Call the statistic on each data set, on the same cells unless they are fitted again."""
        statistic = self
        if not (block.refit or self.partition.fixed):
            statistic = replace(self, partition=FromFunction(cells.fitted.assign))
        return np.array([statistic(data) for data in block.data_sets()])


@final
@dataclass(frozen=True, slots=True)
class ExpectedMiscalibration(CellStatistic):
    r"""The expected miscalibration, Eq. (6).

    .. math:: \hat\eta_d = \sum_c \hat p^{(c)} \, d(\hat r^{(c)}, \hat g^{(c)})

    With the top-label lens, `EqualWidth` and the total variation it is the "expected
    calibration error" of Guo et al. (2017).

    Parameters
    ----------
    partition : Partition
        The cells.
    distance : callable, default total_variation
        Compares a cell's outcome frequencies with its mean prediction.

    Notes
    -----
    Biased: upwards when cells hold few rows, since frequencies scatter; downwards when cells
    are wide, since deviations of opposite sign average out (Theorem 2). So compare it with
    its distribution under calibration, not with 0.

    Examples
    --------
    >>> data = Predictions([0.25, 0.25, 0.75, 0.75], [0, 1, 1, 1])
    >>> ExpectedMiscalibration("width:2")(data)
    0.25
    """

    def combine(self, distances: Floats, mass: Floats) -> Floats:
        held = mass > 0
        shares = mass[held] / mass.sum()
        return np.asarray(engine.norms.weighted_sum(distances[held], shares))

    def pick(self, totals: Any) -> Floats:
        return np.asarray(totals.expected)

    def __str__(self) -> str:
        return f"expected {name_of(self.distance)} on {self.partition}"


@final
@dataclass(frozen=True, slots=True)
class RootMeanSquareMiscalibration(Statistic):
    r"""The root of the mean square over the rows of their cells' deviations.

    .. math:: \sqrt{\sum_c \hat p^{(c)} \, |\hat r^{(c)} - \hat g^{(c)}|^2 / 2}

    Of two outcomes the deviation counts once, so that it is the "root mean square calibration
    error" of one of them.

    Parameters
    ----------
    partition : Partition
        The cells.

    Notes
    -----
    Biased upwards, as `ExpectedMiscalibration`; `SquaredMiscalibration` has no bias.

    Examples
    --------
    >>> data = Predictions([0.25, 0.25, 0.75, 0.75], [0, 1, 1, 1])
    >>> RootMeanSquareMiscalibration("width:2")(data)
    0.25
    """

    partition: Partition

    takes_changed_rows = True
    from_totals = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "partition", as_partition(self.partition))

    def prepare(self, view: View) -> Evaluate:
        mean = ExpectedMiscalibration(self.partition, squared_euclidean).prepare(view)
        return lambda block: np.sqrt(mean(block) / 2.0)

    def __str__(self) -> str:
        return f"root mean square on {self.partition}"


@final
@dataclass(frozen=True, slots=True)
class WorstMiscalibration(CellStatistic):
    r"""The worst-case miscalibration: the largest distance of any cell that holds rows.

    .. math:: \max_c d(\hat r^{(c)}, \hat g^{(c)})

    Parameters
    ----------
    partition, distance
        As in `ExpectedMiscalibration`.

    Notes
    -----
    Cells with few rows have large distances by chance, so the worst cell is often the one
    with the fewest. Look at its count, which `locate` gives.

    Examples
    --------
    >>> data = Predictions([0.25, 0.25, 0.75, 0.75, 0.75], [0, 1, 1, 1, 1])
    >>> worst = WorstMiscalibration("width:2")
    >>> worst(data)
    0.25
    >>> print(worst.locate(data))
    0.25 in cell 0 (2 rows): mean of predictions 0: 0.750, 1: 0.250; of outcomes 0: 0.500, 1: 0.500
    """

    def combine(self, distances: Floats, mass: Floats) -> Floats:
        return np.asarray(distances[mass > 0].max(axis=0))

    def pick(self, totals: Any) -> Floats:
        return np.asarray(totals.worst)

    def locate(self, data: Predictions) -> "WorstCell":
        """Return the worst cell; the first one if several are equally bad."""
        cells = View.of(data).cells(self.partition)
        means = cells.means()
        held = np.flatnonzero(means.mass > 0)
        norm = norm_of(self.distance)
        if norm is None:
            distances = measure(self.distance, means.observed[held], means.predicted[held])
        else:
            _, one, two = cells.norms()
            distances = norm.scale * (one, np.sqrt(two), two)[norm.kind][held]
        c = int(held[distances.argmax()])
        return WorstCell(
            value=float(distances.max()),
            cell=c,
            count=float(means.mass[c]),
            predicted=means.predicted[c],
            observed=means.observed[c],
            classes=data.classes,
        )

    def __str__(self) -> str:
        return f"worst {name_of(self.distance)} on {self.partition}"


@final
@dataclass(frozen=True, slots=True, eq=False)
class WorstCell:
    """Where the worst-case miscalibration is.

    Parameters
    ----------
    value : float
        The distance.
    cell : int
        Number of the cell in the fitted partition.
    count : float
        Its rows, or their weight.
    predicted : array of shape (m,)
        Its mean prediction.
    observed : array of shape (m,)
        Its outcome frequencies.
    classes : tuple of str
        Names of the outcomes.
    """

    value: float
    cell: int
    count: float
    predicted: Floats
    observed: Floats
    classes: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"{self.value:.6g} in cell {self.cell} ({self.count:g} rows): mean of"
            f" predictions {self._shown(self.predicted)}; of outcomes {self._shown(self.observed)}"
        )

    def _shown(self, values: Floats) -> str:
        gaps = np.abs(self.observed - self.predicted)
        shown = sorted(np.argsort(-gaps, kind="stable")[:3].tolist())
        text = ", ".join(f"{self.classes[j]}: {values[j]:.3f}" for j in shown)
        return text if len(self.classes) <= 3 else f"{text}, …"


def grid(
    partitions: Iterable[Partition], distances: Iterable[Distance] = (total_variation, euclidean)
) -> list[ExpectedMiscalibration]:
    """Return the expected miscalibration on each partition by each distance, as in Tables 3–5.

    Examples
    --------
    >>> from calibrant.partitions import EqualWidth
    >>> [str(eta) for eta in grid([EqualWidth(10)])]
    ['expected total variation on 10 equal widths', 'expected euclidean on 10 equal widths']
    """
    pairs = product(partitions, tuple(distances))
    return [ExpectedMiscalibration(partition, distance) for partition, distance in pairs]
