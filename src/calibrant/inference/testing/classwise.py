"""Every class at once."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine, tables, words
from calibrant.arguments import as_distance, as_partition, as_rows, check_data, takes_arrays
from calibrant.checks.parameters import Rng
from calibrant.distances import Distance, measure, name_of, norm_of, total_variation
from calibrant.engine import threads
from calibrant.engine.arrays import Array, Floats, Ints, Replicates, Source
from calibrant.inference.replicates import ways
from calibrant.inference.replicates.driver import values_and_replicates
from calibrant.inference.replicates.problem import Plan, Progress, Settings, fields
from calibrant.inference.testing.families import max_t, pvalue
from calibrant.lenses import Marginal
from calibrant.partitions import EqualWidth, Partition
from calibrant.predictions import Predictions
from calibrant.resampling import Exact
from calibrant.rows import MEMORY, Batch, Rows, Scan
from calibrant.statistics import ExpectedMiscalibration, Statistic

LAID_OUT = 1 << 21  # numbers in a block of counts

HEADER = ("class", "estimate", "if calibrated", "p", "adjusted p")
NAMES = ("class", "estimate", "null_mean", "pvalue", "adjusted_pvalue")
FORMATS = ("", ".4f", ".4f", ".3g", ".3g")


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Classwise(tables.Tabular):
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
    together : callable, optional
        Adjusts p-values further, for what else is tested beside these classes.
    undecided : tuple of str
        Classes of which too few clusters can tell; their null repeats the value.
    """

    classes: tuple[str, ...]
    values: Floats
    null: Floats
    settings: Settings
    together: Callable[[Floats], Floats] | None = None
    undecided: tuple[str, ...] = ()

    @property
    def mean(self) -> float:
        """Mean over the classes: the classwise error of the literature."""
        return float(self.values.mean())

    @property
    def mean_pvalue(self) -> float:
        """P-value of the mean: the hypothesis that all marginals are calibrated."""
        p = np.array(pvalue(self.mean, self.null.mean(axis=0)))
        return float(p if self.together is None else self.together(p))

    @property
    def pvalues(self) -> Floats:
        """P-value of each class (m,)."""
        return np.asarray(pvalue(self.values, self.null))

    @property
    def adjusted_pvalues(self) -> Floats:
        """P-values adjusted for the number of classes (m,): step-down max-T on joint draws."""
        found = max_t(self.values, self.null)
        return found if self.together is None else self.together(found)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers; no p-values if only the estimates were asked for."""
        found = fields(self, "classes", "values", "mean", "settings")
        found["n_resamples"] = self.null.shape[1]
        if self.null.size:
            found["null_means"] = self.null.mean(axis=1).tolist()
            found |= fields(self, "pvalues", "adjusted_pvalues", "mean_pvalue", "undecided")
        return found

    def records(self) -> list[dict[str, Any]]:
        """Return one record a class."""
        columns: list[Any] = [self.classes, self.values.tolist()]
        if self.null.size:
            tested = self.null.mean(axis=1), self.pvalues, self.adjusted_pvalues
            columns += [column.tolist() for column in tested]
        return [dict(zip(NAMES, row, strict=False)) for row in zip(*columns, strict=True)]

    def lines(self) -> tables.Lines:
        """Return header and lines of the table, the worst class first."""
        worst_first = sorted(
            self.records(), key=lambda one: (one.get("adjusted_pvalue", 0.0), -one["estimate"])
        )
        lines = [
            [format(value, how) for value, how in zip(one.values(), FORMATS, strict=False)]
            for one in worst_first
        ]
        for line in lines:
            if line[0] in self.undecided:
                line[2] = "cannot tell"
        return HEADER[: len(lines[0])], lines

    def __repr__(self) -> str:
        return f"<classes: {self}>"

    def __str__(self) -> str:
        text = f"mean miscalibration of {len(self.classes)} classes: {self.mean:.4g}"
        if not self.null.size:
            return text
        text = f"{text}, {words.pvalue(self.mean_pvalue, self.null.shape[1], ' ')}"
        return text + words.too_few_for(len(self.undecided), "class", "classes")


@takes_arrays
def classwise(
    data: Predictions | Scan,
    partition: Partition | str = EqualWidth(15),
    distance: Distance | str = total_variation,
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
    data : Predictions or Scan
        Predictions and outcomes.
    partition : Partition, default EqualWidth(15)
        Bins of each marginal; for `EqualWidth` there is no loop over classes. A Scan takes no
        other.
    distance : callable, default total_variation
        Function of two distributions.
    n_resamples : int, default 999
        Number of data sets with labels drawn from the predictions, jointly for all classes; 0
        for the estimates alone.
    rng, progress
        As in `calibration_test`.

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
    check_data(data, scans=True)
    partition, distance = as_partition(partition), as_distance(distance)
    plan = Plan.of(data, Exact(), n_resamples, rng, progress, least=0)
    rows = as_rows(data)
    work = _at_hand if rows.held else _elsewhere
    values, null, tell = work(rows, partition, distance, plan)
    made_with = plan.settings(partition=partition, distance=name_of(distance))
    undecided = tuple(name for name, told in zip(data.classes, tell, strict=True) if not told)
    return Classwise(data.classes, values, null, made_with, undecided=undecided)


def _at_hand(
    rows: Rows, partition: Partition, distance: Distance, plan: Plan
) -> tuple[Floats, Floats, list[bool]]:
    """Return the expected distance of each class (m,), in each replicate (m, B), and who tells."""
    cells = ClassCells.of(rows.at_hand("classwise"), partition, rows.unit)
    found = ClassTables(cells.offsets, cells.mass, engine.sums.value(cells.limbs) * rows.unit)
    values = found.distances(cells.observed[:, None], distance)[:, 0]
    if plan.resampler.flips_signs:
        return values, *_flipped(rows, ExpectedMiscalibration(partition, distance), plan)
    null = np.empty((rows.m, plan.n_resamples))

    def work(b0: int, b1: int) -> None:
        null[:, b0:b1] = found.distances(cells.drawn(plan.key, Replicates(b0, b1)), distance)

    size = min(max(1, LAID_OUT // int(cells.offsets[-1])), 128)
    threads.run(work, threads.blocks(plan.n_resamples, size), plan.progress)
    return values, null, [True] * rows.m


def _flipped(rows: Rows, statistic: Statistic, plan: Plan) -> tuple[Floats, list[bool]]:
    """Return the null (m, n_resamples) of rows in clusters, and which classes these can tell of.

    All classes share the signs of clusters.
    """
    null, tell = np.empty((rows.m, plan.n_resamples)), [True] * rows.m
    for j in range(rows.m if plan.n_resamples else 0):
        problem = plan.look(rows, Marginal(j))
        null[j] = values_and_replicates(problem, [statistic], plan.part(j, rows.m))[1][0]
        tell[j] = problem.tells
    return null, tell


def _elsewhere(
    rows: Rows, partition: Partition, distance: Distance, plan: Plan
) -> tuple[Floats, Floats, list[bool]]:
    """Return the expected distance of each class (m,), in each replicate (m, B), and who tells."""
    if not isinstance(partition, EqualWidth):
        raise ValueError(
            f"`partition` must be EqualWidth(…) for all classes of scanned data; found {partition}."
            f" {MEMORY}"
        )
    if plan.n_resamples:
        rows.numbered()
    offsets = np.arange(rows.m + 1) * partition.k
    size = max(1, ways.LIMITS.table // int(offsets[-1]))
    null = np.empty((rows.m, plan.n_resamples))
    values: Any = None
    for start, stop in threads.blocks(plan.n_resamples, size) or [(0, 0)]:
        work = ClassReduction(rows.m, partition, rows.unit, plan.key, Replicates(start, stop))
        before = start + ways.READING if start else 0
        progress = ways.part_of(plan, before, stop - before + ways.READING)
        mass, limbs, observed, drawn = rows.fold([rows.part(work)], progress)[0]
        found = ClassTables(offsets, mass, engine.sums.value(limbs) * rows.unit)
        null[:, start:stop] = found.distances(drawn, distance)
        values = found.distances(observed[:, None], distance)[:, 0]
    return values, null, [True] * rows.m


@final
@dataclass(frozen=True, slots=True, eq=False)
class ClassTables:
    """What the cells of every class hold."""

    offsets: Ints  # (m + 1,) where the cells of each class begin
    mass: Floats  # (all cells,) weight
    predicted: Floats  # (all cells,) sum of predictions

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
        terms[held] = engine.norms.event_norm(off, norm.kind) * shares
        high, low, _ = engine.norms.limbs(terms)
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
                engine.norms.weighted_sum(values[first:last], shares[first:last])
                for first, last in pairwise(self.offsets)
            ]
        )


@final
@dataclass(frozen=True, slots=True, eq=False)
class ClassCells:
    """The cells of every class that rows lie in, and sums over them."""

    batch: Batch
    of_entries: Array  # (n, m) the cell of every entry, among those of its class
    offsets: Ints  # (m + 1,) where the cells of each class begin
    mass: Floats  # (all cells,) weight
    limbs: Ints  # (3, all cells) of the sums of predictions

    @classmethod
    def of(cls, batch: Batch, partition: Partition, unit: float) -> Self:
        """Find the cells of all marginals; of equal widths in one sweep over the array."""
        data = batch.given
        if isinstance(partition, EqualWidth):
            offsets = np.arange(data.m + 1) * partition.k
            edges = engine.grid.edges(partition.k)
            cells, mass, limbs = engine.classes.class_boxes(data.rows, edges, unit)
            return cls(batch, cells, offsets, mass, limbs)
        cells = np.empty((data.n, data.m), np.int32)
        counts = np.empty(data.m, np.int64)
        for j in range(data.m):
            fitted, cells[:, j] = partition.locate(Marginal(j)(data))
            counts[j] = fitted.n_cells
        offsets = np.concatenate(([0], np.cumsum(counts)))
        return cls(
            batch, cells, offsets, *engine.classes.class_sums(data.rows, cells, offsets, unit)
        )

    @property
    def observed(self) -> Floats:
        """Weight that occurred in each cell (all cells,)."""
        data = self.batch.given
        places = self.offsets[data.labels] + self.of_entries[np.arange(data.n), data.labels]
        weights = data.weights if data.weighted else None
        return np.bincount(places, weights, minlength=int(self.offsets[-1])).astype(np.float64)

    def drawn(self, key: np.uint64, some: Replicates) -> Floats:
        """Return the weight that occurs in each cell in replicates: (all cells, replicates)."""
        data = self.batch.given
        source = Source(data.probs, None, key, self.batch.first, self.batch.numbers)
        place = data.rows, self.of_entries, self.offsets, source, some
        found: Floats = engine.classes.class_counts(*place)
        return found


@final
@dataclass(frozen=True, slots=True)
class ClassReduction:
    """Equal widths of all classes, and what is drawn in them in some replicates."""

    m: int  # classes
    partition: EqualWidth
    unit: float  # of the limbs of predictions
    key: np.uint64
    replicates: Replicates

    def zero(self) -> list[Array]:
        """Return empty tables: mass, limbs, what occurred, what is drawn."""
        size = self.m * self.partition.k
        drawn = np.zeros((size, self.replicates.size))
        return [np.zeros(size), np.zeros((3, size), np.int64), np.zeros(size), drawn]

    def add(self, state: list[Array], batch: Batch) -> list[Array]:
        """Add up the rows of a batch, and draw their labels."""
        found = ClassCells.of(batch, self.partition, self.unit)
        tables = [found.mass, found.limbs, found.observed]
        if self.replicates.size:
            tables.append(found.drawn(self.key, self.replicates))
        for mine, more in zip(state, tables, strict=False):
            mine += more  # noqa: PLW2901 (in place)
        return state

    def merge(self, a: list[Array], b: list[Array]) -> list[Array]:
        """Return the tables of the rows of both."""
        return [mine + theirs for mine, theirs in zip(a, b, strict=True)]


def _both(events: Floats, mass: Floats) -> Floats:
    """Return the shares of the event and of the other outcome (…, 2)."""
    return np.stack((events / mass, (mass - events) / mass), axis=-1)
