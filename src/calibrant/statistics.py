"""Expected and worst-case miscalibration, §3.2 and §4.1.

A statistic is called on `Predictions`. It is split into ``prepare``, which sees only the
predictions, and ``evaluate``, which adds labels: a test redraws labels and repeats only that.
"""

from dataclasses import dataclass
from typing import Any, Protocol, final

import numpy as np
from numpy.typing import NDArray

from calibrant.calibration import Binned, bin_predictions, cell_distances, cell_means
from calibrant.checks.parameters import function
from calibrant.distances import Distance, total_variation
from calibrant.partitions import Partition
from calibrant.partitions.partition import check_partition
from calibrant.predictions import Predictions

Floats = NDArray[np.float64]


class CellStatistic(Protocol):
    """A number from the distances of the cells.

    Law: ``statistic(data) == statistic.evaluate(statistic.prepare(data), data.labels)``.
    """

    @property
    def partition(self) -> Partition:
        """The cells."""
        ...

    @property
    def distance(self) -> Distance:
        """How a cell's outcome frequencies are compared with its mean prediction."""
        ...

    def __call__(self, data: Predictions) -> float:
        """Return the statistic of `data`."""
        ...

    def prepare(self, data: Predictions) -> Binned:
        """Do what depends on the predictions alone."""
        ...

    def evaluate(self, binned: Binned, labels: NDArray[Any]) -> float:
        """Return the statistic for these labels (n,)."""
        ...

    def combine(self, distances: Floats, mass: Floats) -> Floats:
        """Turn distances (…, cells) into statistics (…), given the mass (cells,)."""
        ...


@final
@dataclass(frozen=True, slots=True)
class ExpectedMiscalibration:
    r"""The expected miscalibration, Eq. (6).

    .. math:: \hat\eta_d = \sum_c \hat p^{(c)} \, d(\hat r^{(c)}, \hat g^{(c)})

    With the top-label lens, `EqualWidth` and the total variation it is the "expected
    calibration error" of Guo et al. (2017).

    Parameters
    ----------
    partition : the cells
    distance : compares a cell's outcome frequencies with its mean prediction

    Notes
    -----
    Biased: upwards when cells hold few rows, since frequencies scatter; downwards when cells
    are wide, since deviations of opposite sign average out (Theorem 2). So compare it with
    its distribution under calibration, not with 0.

    Examples
    --------
    >>> from calibrant import Predictions, partitions
    >>> data = Predictions([0.25, 0.25, 0.75, 0.75], [0, 1, 1, 1])
    >>> ExpectedMiscalibration(partitions.EqualWidth(2))(data)
    0.25
    """

    partition: Partition
    distance: Distance = total_variation

    def __post_init__(self) -> None:
        _check_choice(self.partition, self.distance)

    def __call__(self, data: Predictions) -> float:
        """Return the expected miscalibration of `data`."""
        return self.evaluate(self.prepare(data), data.labels)

    def prepare(self, data: Predictions) -> Binned:
        """Sort the rows into cells."""
        return bin_predictions(data, self.partition)

    def evaluate(self, binned: Binned, labels: NDArray[Any]) -> float:
        """Return the expected miscalibration for these labels (n,)."""
        return float(self.combine(cell_distances(binned, labels, self.distance), binned.mass))

    def combine(self, distances: Floats, mass: Floats) -> Floats:
        """Average distances (…, cells) with the mass (cells,) of the cells."""
        # A matrix product would round a replicate's sum according to how many are beside it.
        return np.asarray((distances * (mass / mass.sum())).sum(axis=-1))

    def __str__(self) -> str:
        return f"expected {_name(self.distance)} on {self.partition}"


@final
@dataclass(frozen=True, slots=True)
class WorstMiscalibration:
    r"""The worst-case miscalibration: the largest distance of any cell that holds rows.

    .. math:: \max_c d(\hat r^{(c)}, \hat g^{(c)})

    Parameters
    ----------
    partition : the cells
    distance : compares a cell's outcome frequencies with its mean prediction

    Notes
    -----
    Cells with few rows have large distances by chance, so the worst cell is often the one
    with the fewest. Look at its count, which `locate` gives.

    Examples
    --------
    >>> from calibrant import Predictions, partitions
    >>> data = Predictions([0.25, 0.25, 0.75, 0.75, 0.75], [0, 1, 1, 1, 1])
    >>> worst = WorstMiscalibration(partitions.EqualWidth(2))
    >>> worst(data)
    0.25
    >>> print(worst.locate(data))
    0.25 in cell 0 (2 rows): mean of predictions 0: 0.750, 1: 0.250; of outcomes 0: 0.500, 1: 0.500
    """

    partition: Partition
    distance: Distance = total_variation

    def __post_init__(self) -> None:
        _check_choice(self.partition, self.distance)

    def __call__(self, data: Predictions) -> float:
        """Return the worst-case miscalibration of `data`."""
        return self.evaluate(self.prepare(data), data.labels)

    def prepare(self, data: Predictions) -> Binned:
        """Sort the rows into cells."""
        return bin_predictions(data, self.partition)

    def evaluate(self, binned: Binned, labels: NDArray[Any]) -> float:
        """Return the worst-case miscalibration for these labels (n,)."""
        return float(self.combine(cell_distances(binned, labels, self.distance), binned.mass))

    def combine(self, distances: Floats, mass: Floats) -> Floats:
        """Return the largest of the distances (…, cells) of cells with mass."""
        return np.asarray(np.where(mass > 0, distances, -np.inf).max(axis=-1))

    def locate(self, data: Predictions) -> "WorstCell":
        """Say in which cell the worst case is; the first one if several are equally bad."""
        binned = self.prepare(data)
        distances = np.where(
            binned.mass > 0, cell_distances(binned, data.labels, self.distance), -np.inf
        )
        c = int(distances.argmax())
        predicted, observed = cell_means(binned, data.labels, c, c + 1)
        return WorstCell(
            float(distances[c]), c, float(binned.mass[c]), predicted[0], observed[0], data.classes
        )

    def __str__(self) -> str:
        return f"worst {_name(self.distance)} on {self.partition}"


@final
@dataclass(frozen=True, slots=True, eq=False)
class WorstCell:
    """Where the worst-case miscalibration is.

    Parameters
    ----------
    value : the distance
    cell : number of the cell in the fitted partition
    count : its rows, or their weight
    predicted, observed : (m,) its mean prediction and outcome frequencies
    classes : (m,) names of the outcomes
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


def _check_choice(partition: Any, distance: Any) -> None:
    check_partition(partition)
    function("distance", distance)


def _name(distance: Distance) -> str:
    return getattr(distance, "__name__", "distance").replace("_", " ")
