"""Every class at once."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine, tables, words
from calibrant.arguments import as_distance, as_partition, as_rows, check_data, takes_arrays
from calibrant.checks.parameters import Rng
from calibrant.distances import Distance, name_of, total_variation
from calibrant.engine import threads
from calibrant.engine.arrays import Array, Floats, Replicates
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
from calibrant.statistics.classwise import LAID_OUT, ClassCells, ClassTables

HEADER = ("class", "estimate", "if calibrated", "p", "adjusted p")
NAMES = ("class", "estimate", "null_mean", "pvalue", "adjusted_pvalue")
FORMATS = ("", ".4f", ".4f", ".3g", ".3g")


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Classwise(tables.Tabular):
    """How far off each class is against the rest.

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
            found["undecided"] = list(self.undecided)
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

    @property
    def ranked(self) -> NDArray[np.intp]:
        """Numbers of the classes (m,), the strongest evidence first.

        By p-value adjusted for the classes; of equal ones by that of the class alone, and then by
        size. A further adjustment, `together`, keeps this order.
        """
        if not self.null.size:
            return np.argsort(-self.values, kind="stable")
        return np.lexsort((-self.values, self.pvalues, max_t(self.values, self.null)))

    def lines(self) -> tables.Lines:
        """Return header and lines of the table, in the order of `ranked`."""
        records = self.records()
        lines = [
            [format(value, how) for value, how in zip(records[j].values(), FORMATS, strict=False)]
            for j in self.ranked.tolist()
        ]
        for line in lines:
            if line[0] in self.undecided:
                line[2] = "cannot tell"
        return HEADER[: len(lines[0])], lines

    def __repr__(self) -> str:
        return f"<classes: {self}>"

    def __str__(self) -> str:
        bins = words.bins(self.settings["partition"])
        text = f"mean miscalibration of {len(self.classes):,} classes on {bins}: {self.mean:.4g}"
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
    """Find out which classes are off: test each class against the rest, Eq. (3).

    The same as ``ExpectedMiscalibration(partition, distance)`` through ``Marginal(j)`` for
    every class j, with the same labels drawn, in one sweep over the array.

    Parameters
    ----------
    data : Predictions or Scan
        Or probabilities, with labels after them; or a data frame, with ``label="y"``.
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
    undecided = tuple(name for name, tells in zip(data.classes, tell, strict=True) if not tells)
    return Classwise(data.classes, values, null, made_with, undecided=undecided)


def _at_hand(
    rows: Rows, partition: Partition, distance: Distance, plan: Plan
) -> tuple[Floats, Floats, list[bool]]:
    """Return the expected distance of each class (m,), in each replicate (m, B), and who tells."""
    cells = ClassCells.of(rows.at_hand("classwise"), partition, rows.unit)
    found = ClassTables.of(cells, rows.unit)
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
