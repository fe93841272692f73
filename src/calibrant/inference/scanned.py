"""A problem whose rows are read in batches: it offers what problems in memory do, by the cell.

A statistic asks for cells and for what is counted in them; the first question starts a pass over
the rows that answers for all cells that were asked for. What asks for rows is refused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, TypeVar, cast, final

import numpy as np
from numpy.typing import NDArray

from calibrant.calibration.kept import kept_cells
from calibrant.calibration.tally import MEMORY, CellTally, Many, check_scannable
from calibrant.inference.counts import CountDistributions
from calibrant.inference.label_blocks import refuse_counts
from calibrant.inference.moments import MomentTally, moments_from
from calibrant.inference.problem import Problem
from calibrant.inference.scanned_cells import Outline, ScannedCells
from calibrant.inference.tallies import EventProbs
from calibrant.lenses import Lens
from calibrant.partitions import Partition
from calibrant.predictions import Predictions
from calibrant.resampling import Bootstrap, Exact, Resampler
from calibrant.scanning import Group, Reduction, Scan, Together
from calibrant.statistics import Shared, Statistic
from calibrant.statistics.statistic import OfFunction

Floats = NDArray[np.float64]
S = TypeVar("S")


@final
@dataclass(frozen=True, eq=False)
class ScannedProblem:
    """Scanned rows, the lens they are seen through, and what replicates are drawn from.

    Parameters
    ----------
    scan : Scan
        The rows.
    sample : Problem
        The same problem with a single row, which knows everything but the rows.
    laws : bool, default False
        Whether distributions of counts are going to be asked for, where they are known.
    asked : list of ScannedCells
        All cells that were asked for.
    group : Group, optional
        Which rows; None for all.
    size : int, optional
        How many they are, if not all.
    """

    scan: Scan
    sample: Problem
    laws: bool = False
    asked: list[ScannedCells] = field(default_factory=list)
    group: Group | None = None
    size: int | None = None

    @classmethod
    def of(
        cls, scan: Scan, lens: Lens, resampler: Resampler, key: np.uint64, laws: bool = False
    ) -> "ScannedProblem":
        """Look through the lens at a row of equal probabilities; refuse what cannot be scanned."""
        row = np.full((1, scan.m), 1.0 / scan.m)
        weights = np.ones(1) if scan.weighted else None
        one = Predictions.trusted(row, np.zeros(1, np.int32), scan.classes, weights, 1)
        problem = cls(scan, Problem.of(one, lens, resampler, key), laws)
        problem.check()
        return problem

    @property
    def lens(self) -> Lens:
        """What rows are seen through."""
        return self.sample.lens

    @property
    def resampler(self) -> Resampler:
        """The source of data sets."""
        return self.sample.resampler

    @property
    def key(self) -> np.uint64:
        """The key of the draws."""
        return self.sample.key

    @property
    def data(self) -> Scan:
        """The rows as they were given."""
        return self.scan

    @property
    def probs(self) -> Any:
        """What the labels of a row are drawn from; None if they stay."""
        return self.sample.probs

    @property
    def calibrated(self) -> bool:
        """Whether the hypothesis is that the model is calibrated, not another one."""
        return self.sample.calibrated

    @cached_property
    def seen(self) -> Any:
        """What is known of the rows as the lens shows them."""
        one = self.sample.seen
        n = (self.scan.n if self.size is None else self.size) * one.n
        return Outline(n, one.classes, one.event, self.scan.weighted)

    @cached_property
    def shared(self) -> Shared:
        """What statistics share: cells that are found when they are asked for."""
        return Shared(self.seen, self._find)

    def _find(self, _: Any, partition: Partition) -> Any:
        check_scannable(partition, self.seen.m)
        if self.rows_change and self.resampler.refit and not partition.fixed:
            raise ValueError(
                "`partition` must not depend on the rows where scanned rows are drawn again;"
                f" {partition} does. Keep its cells with Bootstrap(refit=False), or use"
                " EqualWidth(…)."
            )
        cells = ScannedCells(self.seen, partition, self.settle)
        self.asked.append(cells)
        return cells

    @property
    def exact_counts(self) -> bool:
        """Whether the distribution of a cell's count is known: two outcomes and no weights."""
        return self.sample.exact_counts

    @property
    def drawn_by_cuts(self) -> bool:
        """Whether the event is one class of each row."""
        return self.sample.drawn_by_cuts

    @property
    def rows_change(self) -> bool:
        """Whether rows are drawn again, not only labels."""
        return self.sample.rows_change

    @property
    def draws_counts(self) -> bool:
        """Whether counts of cells are drawn, and not labels of rows."""
        return self.sample.draws_counts

    @property
    def wants_laws(self) -> bool:
        """Whether distributions of counts are going to be asked for."""
        return self.exact_counts and (self.laws or self.draws_counts)

    def event_distributions(self, cells: Any) -> CountDistributions:
        """Return the exact distribution of the number of events in each cell."""
        assert cells.found.laws is not None
        return CountDistributions.of(cells.found.laws)

    def check(self) -> None:
        """Refuse lenses and resamplers whose work cannot be added up over rows."""
        name = type(self.resampler).__name__
        if not isinstance(self.resampler, Exact | Bootstrap):
            raise ValueError(
                f"`resampler` must be Exact() or Bootstrap() for scanned data; {name} is not"
                f" offered. {MEMORY}"
            )
        if (self.scan.weighted or self.rows_change) and not self.lens.rowwise:
            raise ValueError(
                "`lens` must keep a row for a row where scanned rows have weights or are drawn"
                f" again; {self.lens} does not. {MEMORY}"
            )
        if not self.draws_counts:
            check_numbered(self.scan)
        elif not (self.exact_counts and self.drawn_by_cuts):
            refuse_counts()

    def check_statistics(self, statistics: Sequence[Statistic]) -> None:
        """Refuse functions of whole data sets."""
        for statistic in statistics:
            if isinstance(statistic, OfFunction):
                raise ValueError(
                    "`statistic` must be an ExpectedMiscalibration or WorstMiscalibration for"
                    f" scanned data; found {statistic}. {MEMORY}"
                )
            distance = getattr(statistic, "distance", None)
            if self.rows_change and getattr(distance, "norm", None) is None:
                raise ValueError(
                    "`statistic` must have a distance that is made of a norm, such as"
                    " total_variation, where scanned rows are drawn again; found"
                    f" {statistic}. {MEMORY}"
                )

    def moments(self, cells: Any) -> tuple[Floats, Floats]:
        """Return mean and standard deviation (cells, m) of the deviations under the hypothesis."""
        if "moments" not in cells.__dict__:
            find_moments([(self, cells.partition)])
        found: tuple[Floats, Floats] = cells.__dict__["moments"]
        return found

    def add_up(self, reduction: Reduction[S]) -> S:
        """Add up the rows of this problem."""
        (found,) = self.scan.add_up(Together([(self.group, reduction)]))
        return cast(S, found)

    def settle(self) -> None:
        """Find all cells that were asked for and add them up, in one pass."""
        settle([self])

    @property
    def open(self) -> list[ScannedCells]:
        """The cells that were asked for, and not found yet."""
        known = {"found", "many"}
        return [cells for cells in self.asked if not known & cells.__dict__.keys()]

    def cell_tally(self, most: Mapping[int, int | None]) -> CellTally:
        """Return what finds the open cells; those that depend on the rows are cut first.

        most : for cells, by identity, how many are added up one by one; None for all
        """
        for cells in self.open:
            cells.__dict__["cut"] = kept_cells(
                self, self.lens, cells.partition, self.seen, self.scan.unit
            )
        partitions = tuple(cells.cut for cells in self.open)
        probs = EventProbs(self.lens, self.resampler) if self.wants_laws else None
        limits = tuple(most.get(id(cells)) for cells in self.open)
        return CellTally(self.lens, partitions, self.scan.unit, probs, limits)


def settle(
    problems: Sequence[ScannedProblem],
    progress: Any = None,
    most: Mapping[int, int | None] = MappingProxyType({}),
) -> None:
    """Find all cells that were asked for of problems of the same rows, in one pass.

    most : for cells, by identity, how many are added up one by one; None, or nothing, for all
    """
    waiting = [problem for problem in problems if problem.open]
    if waiting:
        parts = [(problem.group, problem.cell_tally(most)) for problem in waiting]
        found = waiting[0].scan.add_up(Together(parts), progress)
        for problem, states in zip(waiting, found, strict=True):
            for cells, state in zip(problem.open, states, strict=True):
                cells.__dict__["many" if isinstance(state, Many) else "found"] = state


def find_moments(pairs: Sequence[tuple[ScannedProblem, Partition]]) -> None:
    """Find the moments of cells of problems of the same rows, in one pass."""
    asked: list[Any] = [(problem, problem.shared.cells(cut)) for problem, cut in pairs]
    parts = []
    for problem, cells in asked:
        lens, m, unit = problem.lens, problem.seen.m, problem.scan.unit
        tally = MomentTally(lens, problem.resampler, cells.cut, cells.fitted, m, unit)
        parts.append((problem.group, tally))
    found = asked[0][0].scan.add_up(Together(parts)) if parts else []
    for (problem, cells), limbs in zip(asked, found, strict=True):
        unit = problem.scan.unit
        cells.__dict__["moments"] = moments_from(limbs, cells, unit, problem.calibrated)


AnyProblem = Problem | ScannedProblem


def problem_of(
    data: Predictions | Scan,
    lens: Lens,
    resampler: Resampler,
    key: np.uint64,
    *,
    laws: bool = False,
) -> AnyProblem:
    """Look at rows in memory, or at scanned ones, through a lens.

    laws : whether distributions of counts are going to be asked for
    """
    if isinstance(data, Scan):
        return ScannedProblem.of(data, lens, resampler, key, laws)
    return Problem.of(data, lens, resampler, key)


def check_numbered(scan: Scan) -> None:
    """Refuse rows without numbers, by which labels are drawn."""
    if not scan.numbered:
        raise ValueError(
            "`row` must name a column of unique whole numbers for this test: labels are redrawn row"
            " by row, and a frame has no order. With two outcomes, Exact(draws='counts') does not"
            " need it."
        )
