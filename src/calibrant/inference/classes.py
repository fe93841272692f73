"""Every class at once."""

from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.checks.parameters import function
from calibrant.checks.seeds import Rng, make_key
from calibrant.distances import Distance, from_norms, measure, total_variation
from calibrant.engine import threads
from calibrant.inference import table
from calibrant.inference.arguments import check_data, check_progress, check_resamples
from calibrant.inference.pvalues import holm, pvalue, shown
from calibrant.inference.replicates import ROOM, Progress
from calibrant.lenses import Marginal
from calibrant.partitions import EqualWidth, Partition, grid
from calibrant.partitions.partition import check_partition
from calibrant.predictions import Predictions

Floats = NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Classwise:
    """The expected miscalibration of every marginal.

    Parameters
    ----------
    classes : (m,) names
    values : (m,) expected miscalibration of each class against the rest
    null : (m, n_resamples) the same for labels drawn from the predictions, jointly for all
        classes; no columns if only the estimates were asked for
    """

    classes: tuple[str, ...]
    values: Floats
    null: Floats

    @property
    def mean(self) -> float:
        """Mean over the classes: the classwise error of the literature."""
        return float(self.values.mean())

    @property
    def mean_pvalue(self) -> float:
        """P-value of the mean: the hypothesis that all marginals are calibrated."""
        return float(pvalue(self.mean, self.null.mean(axis=0)))

    @property
    def pvalues(self) -> Floats:
        """P-value of each class (m,)."""
        return np.asarray(pvalue(self.values, self.null))

    @property
    def adjusted_pvalues(self) -> Floats:
        """P-values adjusted for the number of classes (m,), Holm."""
        return holm(self.pvalues)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers; no p-values if only the estimates were asked for."""
        found: dict[str, Any] = {
            "classes": list(self.classes),
            "values": self.values.tolist(),
            "mean": self.mean,
            "n_resamples": self.null.shape[1],
        }
        if self.null.size:
            found |= {
                "null_means": self.null.mean(axis=1).tolist(),
                "pvalues": self.pvalues.tolist(),
                "adjusted_pvalues": self.adjusted_pvalues.tolist(),
                "mean_pvalue": self.mean_pvalue,
            }
        return found

    def table(self) -> str:
        """Return the classes as a table, the worst first."""
        return table.text(*self.rows())

    def rows(self) -> tuple[list[str], list[list[str]]]:
        """Return header and lines of the table, the worst class first."""
        if not self.null.size:
            order = np.argsort(-self.values, kind="stable")
            return ["class", "estimate"], [
                [self.classes[j], f"{self.values[j]:.4f}"] for j in order
            ]
        lines = [
            [self.classes[j], f"{self.values[j]:.4f}", f"{null:.4f}", f"{p:.3g}", f"{q:.3g}"]
            for j, null, p, q in zip(
                range(len(self.classes)),
                self.null.mean(axis=1),
                self.pvalues,
                self.adjusted_pvalues,
                strict=True,
            )
        ]
        order = np.lexsort((-self.values, self.adjusted_pvalues))
        header = ["class", "estimate", "if calibrated", "p", "adjusted p"]
        return header, [lines[j] for j in order]

    def _repr_html_(self) -> str:
        return table.html(*self.rows())

    def __str__(self) -> str:
        text = f"mean miscalibration of {len(self.classes)} classes: {self.mean:.4g}"
        return text if not self.null.size else f"{text}, {shown(self.mean_pvalue)}"


@final
@dataclass(frozen=True, slots=True, eq=False)
class ClassCells:
    """The cells of every class, and what they hold.

    Parameters
    ----------
    cells : (n, m) the cell of each entry among those of its class
    offsets : (m + 1,) where the cells of each class begin in the tables
    mass, predicted, observed : (all cells,) weight, sum of predictions, weight that occurred
    """

    cells: NDArray[Any]
    offsets: NDArray[np.int64]
    mass: Floats
    predicted: Floats
    observed: Floats

    @classmethod
    def of(cls, data: Predictions, partition: Partition) -> Self:
        """Find the cells of all marginals; of equal widths in one sweep over the array."""
        if isinstance(partition, EqualWidth):
            return cls._boxes(data, partition)
        cells = np.empty((data.n, data.m), np.int32)
        counts = np.empty(data.m, np.int64)
        for j in range(data.m):
            fitted, cells[:, j] = partition.locate(Marginal(j)(data))
            counts[j] = fitted.n_cells
        offsets = np.concatenate(([0], np.cumsum(counts)))
        mass, predicted = _tables(
            data.n,
            int(offsets[-1]),
            lambda start, stop, *parts: engine.classes.sums(
                data.probs, *data.kernel_weights, start, stop, offsets, cells, *parts
            ),
        )
        observed = _occurred(data, cells, offsets)
        return cls(cells, offsets, mass, predicted, observed)

    @classmethod
    def _boxes(cls, data: Predictions, partition: EqualWidth) -> Self:
        k = partition.k
        cells = np.empty((data.n, data.m), np.uint8 if k <= 256 else np.int32)
        edges = grid.edges(k)
        mass, predicted = _tables(
            data.n,
            data.m * k,
            lambda start, stop, *parts: engine.classes.boxes(
                data.probs,
                *data.kernel_weights,
                start,
                stop,
                edges,
                cells,
                np.zeros((2, data.m)),
                *parts,
            ),
        )
        offsets = np.arange(data.m + 1) * k
        observed = _occurred(data, cells, offsets)
        return cls(cells, offsets, mass, predicted, observed)

    def distances(self, counts: Floats, distance: Distance) -> Floats:
        """Return the expected distance of each class (m, size) for counts (all cells, size)."""
        held = self.mass > 0  # a distance need not be defined where there are no rows
        mass = self.mass[held, None]
        frequency, mean = counts[held] / mass, self.predicted[held, None] / mass
        convert = from_norms(distance)
        if convert is not None:
            off = np.abs(frequency - mean)  # both outcomes are off by the same
            distances = convert(np.stack((2 * off, 2 * off * off)))
        else:
            observed = np.stack((frequency, 1 - frequency), axis=-1)
            predicted = np.broadcast_to(np.stack((mean, 1 - mean), axis=-1), observed.shape)
            distances = measure(distance, observed, predicted)
        found = np.zeros(counts.shape)
        found[held] = distances * mass
        sums = np.add.reduceat(found, self.offsets[:-1], axis=0)
        return np.asarray(sums / self.mass[: self.offsets[1]].sum())


def classwise(
    data: Predictions,
    partition: Partition = EqualWidth(15),
    distance: Distance = total_variation,
    *,
    n_resamples: int = 999,
    rng: Rng = None,
    progress: Progress | None = None,
) -> Classwise:
    """Return the expected miscalibration of all m marginals, Eq. (3), with their tests.

    The same as ``ExpectedMiscalibration(partition, distance)`` through ``Marginal(j)`` for
    every class j, in one sweep over the array.

    Parameters
    ----------
    data : Predictions
    partition : cells of each marginal; for `EqualWidth` there is no loop over classes
    distance : function of two distributions
    n_resamples : number of data sets with labels drawn from the predictions, jointly for all
        classes; 0 for the estimates alone
    rng : seed, generator or None
    progress : function of (done, total), called now and then

    Returns
    -------
    Classwise

    Examples
    --------
    >>> data = Predictions([[0.5, 0.5, 0.0]] * 40, [0] * 30 + [1] * 10)
    >>> found = classwise(data, rng=0)
    >>> found.values.tolist(), found.adjusted_pvalues.round(3).tolist()
    ([0.25, 0.25, 0.0], [0.009, 0.009, 1.0])
    """
    check_data(data)
    check_partition(partition)
    function("distance", distance)
    check_progress(progress)
    n_resamples = check_resamples(n_resamples, least=0)
    cells = ClassCells.of(data, partition)
    values = cells.distances(cells.observed[:, None], distance)[:, 0]
    null = np.empty((data.m, n_resamples))
    key = make_key(rng)
    size = min(max(1, ROOM // int(cells.offsets[-1])), 128)

    def work(b0: int, b1: int) -> None:
        counts = np.zeros((int(cells.offsets[-1]), b1 - b0))
        engine.classes.count_block(
            data.probs,
            *data.kernel_weights,
            cells.offsets,
            cells.cells,
            key,
            engine.draws.replicate_keys(key, b0, b1),
            *engine.draws.scratch(data.m, b1 - b0),
            counts,
        )
        null[:, b0:b1] = cells.distances(counts, distance)

    threads.run(work, threads.blocks(n_resamples, size), progress)
    return Classwise(data.classes, values, null)


def _tables(n: int, size: int, work: Any) -> Floats:
    """Add up two tables (2, size) over blocks of rows; few blocks, since tables are large."""
    spans = threads.blocks(n, max(-(-n // 8), 1 << 12))
    parts = np.zeros((len(spans), 2, size))
    threads.run(lambda start, stop: work(start, stop, *parts[start // spans[0][1]]), spans)
    return np.asarray(parts.sum(axis=0))


def _occurred(data: Predictions, cells: NDArray[Any], offsets: NDArray[np.int64]) -> Floats:
    """Add up the weight that occurred in each cell, row by row as replicates do.

    In another order the last digits would differ, and a replicate with the same labels would
    not tie with the data.
    """
    places = offsets[data.labels] + cells[np.arange(data.n), data.labels]
    return np.bincount(places, data.weights, minlength=int(offsets[-1])).astype(np.float64)
