"""Every class at once."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine, tables
from calibrant.checks.parameters import function
from calibrant.checks.seeds import Rng, as_seed
from calibrant.distances import Distance, measure, name_of, norm_of, total_variation
from calibrant.engine import threads
from calibrant.engine.tuples import Replicates, Source
from calibrant.inference.adjustment import max_t
from calibrant.inference.plans import (
    Plan,
    Progress,
    Settings,
    check_progress,
    check_resamples,
)
from calibrant.inference.pvalues import pvalue, shown
from calibrant.lenses import Marginal
from calibrant.partitions import EqualWidth, Partition
from calibrant.partitions.partition import check_partition
from calibrant.predictions import Predictions
from calibrant.resampling import Exact
from calibrant.verbs import check_data, takes_arrays

Array = NDArray[Any]
Floats = NDArray[np.float64]

ROOM = 1 << 21  # numbers in a block of counts


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Classwise:
    """The expected miscalibration of every marginal.

    Parameters
    ----------
    classes : tuple of str
        Names of the m classes.
    values : array of shape (m,)
        Expected miscalibration of each class against the rest.
    null : array of shape (m, n_resamples)
        The same for labels drawn from the predictions, jointly for all classes; no columns if
        only the estimates were asked for.
    settings : mapping
        What it was made with.
    """

    classes: tuple[str, ...]
    values: Floats
    null: Floats
    settings: Settings

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
        """P-values adjusted for the number of classes (m,): step-down max-T on joint draws."""
        return max_t(self.values, self.null)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers; no p-values if only the estimates were asked for."""
        found: dict[str, Any] = {
            "classes": list(self.classes),
            "values": self.values.tolist(),
            "mean": self.mean,
            "n_resamples": self.null.shape[1],
            "settings": dict(self.settings),
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
        return tables.text(*self.rows())

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

    def to_frame(self, backend: tables.Backend | None = None) -> Any:
        """Return one row a class as a data frame of polars or pandas."""
        columns = {"class": list(self.classes), "estimate": self.values.tolist()}
        if self.null.size:
            columns |= {
                "null_mean": self.null.mean(axis=1).tolist(),
                "pvalue": self.pvalues.tolist(),
                "adjusted_pvalue": self.adjusted_pvalues.tolist(),
            }
        rows = zip(*columns.values(), strict=True)
        return tables.frame([dict(zip(columns, row, strict=True)) for row in rows], backend)

    def _repr_html_(self) -> str:
        return tables.html(*self.rows())

    def __repr__(self) -> str:
        return f"<classes: {self}>"

    def __str__(self) -> str:
        text = f"mean miscalibration of {len(self.classes)} classes: {self.mean:.4g}"
        return text if not self.null.size else f"{text}, {shown(self.mean_pvalue)}"


@final
@dataclass(frozen=True, slots=True, eq=False)
class ClassCells:
    """The cells of every class, and what they hold.

    Parameters
    ----------
    data : Predictions
        The rows.
    cells : array of shape (n, m)
        The cell of each entry among those of its class.
    offsets : array of shape (m + 1,)
        Where the cells of each class begin in the tables.
    mass : array of shape (all cells,)
        Weight.
    predicted : array of shape (all cells,)
        Sum of predictions.
    """

    data: Predictions
    cells: Array
    offsets: NDArray[np.int64]
    mass: Floats
    predicted: Floats

    @classmethod
    def of(cls, data: Predictions, partition: Partition) -> Self:
        """Find the cells of all marginals; of equal widths in one sweep over the array."""
        if isinstance(partition, EqualWidth):
            edges = engine.grid.edges(partition.k)
            cells, mass, predicted = engine.classes.class_boxes(data.rows, edges)
            return cls(data, cells, np.arange(data.m + 1) * partition.k, mass, predicted)
        cells = np.empty((data.n, data.m), np.int32)
        counts = np.empty(data.m, np.int64)
        for j in range(data.m):
            fitted, cells[:, j] = partition.locate(Marginal(j)(data))
            counts[j] = fitted.n_cells
        offsets = np.concatenate(([0], np.cumsum(counts)))
        return cls(data, cells, offsets, *engine.classes.class_sums(data.rows, cells, offsets))

    @property
    def observed(self) -> Floats:
        """Weight that occurred in each cell (all cells, 1)."""
        labels = self.data.labels
        places = self.offsets[labels] + self.cells[np.arange(self.data.n), labels]
        weights = self.data.weights if self.data.weighted else None
        found = np.bincount(places, weights, minlength=int(self.offsets[-1]))
        return found.astype(np.float64)[:, None]

    def drawn(self, key: np.uint64, b0: int, b1: int) -> Floats:
        """Return the weight that occurs in each cell in replicates: (all cells, replicates)."""
        source = Source(self.data.probs, None, key, 0)
        found: Floats = engine.classes.class_counts(
            self.data.rows, self.cells, self.offsets, source, Replicates(b0, b1)
        )
        return found

    def distances(self, counts: Floats, distance: Distance) -> Floats:
        """Return the expected distance of each class (m, size) for counts (all cells, size)."""
        held = self.mass > 0  # a distance need not be defined where there are no rows
        mass = self.mass[held, None]
        norm = norm_of(distance)
        if norm is None:
            return self._of_function(counts, distance, held)
        off = np.abs((counts[held] - self.predicted[held, None]) * (1.0 / mass))
        terms = np.zeros(counts.shape)
        shares = mass / self.mass[: self.offsets[1]].sum()
        terms[held] = engine.totals.event_norm(off, norm.kind) * shares
        high, low = engine.totals.parts(terms)
        starts = self.offsets[:-1]
        sums = np.add.reduceat(high, starts, axis=0) + np.add.reduceat(low, starts, axis=0)
        return np.asarray(norm.scale * sums)

    def _of_function(self, counts: Floats, distance: Distance, held: NDArray[np.bool_]) -> Floats:
        """Measure any distance, which may be infinite, in cells that hold rows."""
        mass = self.mass[held, None]
        observed = _both(counts[held], mass)
        predicted = np.broadcast_to(_both(self.predicted[held, None], mass), observed.shape)
        values = np.zeros(counts.shape)
        values[held] = measure(distance, observed, predicted)
        shares = self.mass / self.mass[: self.offsets[1]].sum()
        return np.stack(
            [
                engine.totals.weighted_sum(values[first:last], shares[first:last])
                for first, last in pairwise(self.offsets)
            ]
        )


def _both(events: Floats, mass: Floats) -> Floats:
    """Return the shares of the event and of the other outcome (…, 2)."""
    return np.stack((events / mass, (mass - events) / mass), axis=-1)


@takes_arrays
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
    every class j, with the same labels drawn, in one sweep over the array.

    Parameters
    ----------
    data : Predictions
        Predictions and outcomes.
    partition : Partition, default EqualWidth(15)
        Cells of each marginal; for `EqualWidth` there is no loop over classes.
    distance : callable, default total_variation
        Function of two distributions.
    n_resamples : int, default 999
        Number of data sets with labels drawn from the predictions, jointly for all classes; 0
        for the estimates alone.
    rng : int, Generator or None
        The same seed gives the same draws.
    progress : callable, optional
        Function of (done, total), called now and then.

    Returns
    -------
    Classwise

    Examples
    --------
    >>> data = Predictions([[0.5, 0.5, 0.0]] * 40, [0] * 30 + [1] * 10)
    >>> found = classwise(data, rng=0)
    >>> found.values.tolist(), found.adjusted_pvalues.round(3).tolist()
    ([0.25, 0.25, 0.0], [0.003, 0.003, 1.0])
    """
    check_data(data)
    check_partition(partition)
    function("distance", distance)
    check_progress(progress)
    plan = Plan(Exact(), check_resamples(n_resamples, least=0), as_seed(rng), progress)
    cells = ClassCells.of(data, partition)
    null = np.empty((data.m, plan.n_resamples))

    def work(b0: int, b1: int) -> None:
        null[:, b0:b1] = cells.distances(cells.drawn(plan.key, b0, b1), distance)

    size = min(max(1, ROOM // int(cells.offsets[-1])), 128)
    threads.run(work, threads.blocks(plan.n_resamples, size), progress)
    return Classwise(
        classes=data.classes,
        values=cells.distances(cells.observed, distance)[:, 0],
        null=null,
        settings=plan.settings(partition=partition, distance=name_of(distance)),
    )
