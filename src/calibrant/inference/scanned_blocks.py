"""Replicates of scanned problems: tables that passes over the rows fill in."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.calibration.tally import MEMORY
from calibrant.engine import threads
from calibrant.engine.tuples import Replicates
from calibrant.inference.label_blocks import CountBlock, both_outcomes, event_totals
from calibrant.inference.moving import (
    LEAST,
    READING,
    TABLES,
    entries_of,
    most_cells,
    part_of,
    settle_or_move,
)
from calibrant.inference.plans import Plan
from calibrant.inference.replicated import Replicated
from calibrant.inference.scanned import ScannedProblem
from calibrant.inference.scanned_cells import ScannedCells
from calibrant.inference.tallies import CountTally, RowState, RowTally
from calibrant.partitions import Partition
from calibrant.predictions import Predictions
from calibrant.scanning import Together
from calibrant.statistics import Statistic
from calibrant.statistics.statistic import Evaluate, Observed

Floats = NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True, eq=False)
class TableBlock(Replicated):
    """Replicates of a scanned problem, from tables of what was counted.

    Parameters
    ----------
    problem : ScannedProblem
        What was drawn.
    replicates : Replicates
        Which ones.
    tables : dict
        Cells, by identity → counts (cells, size) of the event of two outcomes, else
        (cells, m, size).
    """

    problem: ScannedProblem
    replicates: Replicates
    tables: dict[int, Floats]

    def totals(self, cells: Any) -> Any:
        """Return norms of the cells' deviations, summed and largest."""
        if cells.moved is not None:
            return cells.moved.some(self.replicates)
        wanted = self.problem.shared.wanted(cells)
        if self.problem.seen.m == 2:
            return event_totals(self, cells, wanted)
        table = self.tables[id(cells)]
        return engine.counted.table_totals(table, cells.predictions, cells.mass, wanted)

    def events(self, cells: Any, first: int, last: int) -> Floats:
        """Return the weight of the event in cells first … last - 1: (cells, size)."""
        return self.tables[id(cells)][first:last].copy()

    def counts(self, cells: Any, first: int, last: int) -> Floats:
        """Return the weight of each outcome in cells first … last - 1: (size, cells, m)."""
        if self.problem.seen.m > 2:
            return self.tables[id(cells)][first:last].transpose(2, 0, 1)
        events = self.events(cells, first, last).T
        return both_outcomes(events, cells.mass[first:last], self.problem.seen.event)

    def labels(self) -> Iterator[NDArray[np.int32]]:
        """Refuse: there are no rows."""
        yield self.problem.seen.labels

    def data_sets(self) -> Iterator[Predictions]:
        """Refuse: there are no rows."""
        yield self.problem.seen.probs


@final
@dataclass(frozen=True, slots=True, eq=False)
class SumBlock(Replicated):
    """Replicates of a scanned problem in which rows were drawn again.

    Parameters
    ----------
    problem : ScannedProblem
        What was drawn.
    replicates : Replicates
        Which ones.
    sums : dict
        Cells, by identity → sums over their rows in every replicate.
    """

    problem: ScannedProblem
    replicates: Replicates
    sums: dict[int, RowState]

    @property
    def rows_change(self) -> bool:
        """Whether rows are drawn again: yes."""
        return True

    def totals(self, cells: Any) -> Any:
        """Return norms of the cells' deviations, summed and largest."""
        mass, observed, limbs = self.sums[id(cells)]
        units = np.array([2.0**-bits for bits in engine.sums.LIMBS]).reshape(3, 1, 1, 1)
        sums = engine.resample.Sums(mass, observed, limbs * units)
        totals = engine.totals.Totals.zeros(self.size)
        event, total = self.problem.seen.event, float(cells.mass.sum())
        sums.add_to(totals, -1 if event is None else event, 1.0 / self.problem.scan.unit, total)
        weight = mass.sum(axis=0)
        if (weight == 0).any():
            engine.resample.replace_empty(totals, weight, cells.totals())
        return engine.resample.rescaled(totals, weight, total)

    def counts(self, cells: Any, first: int, last: int) -> Floats:  # noqa: ARG002
        """Refuse: means of cells change with their rows, so counts alone say nothing."""
        raise ValueError("`counts` are for replicates whose rows stay.")

    def labels(self) -> Iterator[NDArray[np.int32]]:
        """Refuse: there are no rows."""
        yield self.problem.seen.labels

    def data_sets(self) -> Iterator[Predictions]:
        """Refuse: there are no rows."""
        yield self.problem.seen.probs


def scanned_replicates(
    problems: Sequence[ScannedProblem],
    statistics: Sequence[Sequence[Statistic]],
    plan: Plan,
    also: Sequence[Partition] = (),
) -> list[tuple[list[float], Floats]]:
    """Return statistics of problems of the same rows, and those of every replicate, (…, B).

    also : cells that will be asked for, too, if there are two outcomes; no outcomes are drawn in
        them
    """
    prepared = list(map(_prepared, problems, statistics))
    asked = [tuple(problem.asked) for problem in problems]
    _ask(problems, also)
    most = [most_cells(*pair, plan.n_resamples) for pair in zip(problems, statistics, strict=True)]
    drawn = settle_or_move(problems, asked, most, plan)
    found = [_values(*pair, plan) for pair in zip(problems, prepared, strict=True)]
    for blocks in scanned_blocks(problems, drawn, plan):
        for block, some, (_, out) in zip(blocks, prepared, found, strict=True):
            _fill(out, block, some)
    return found


def _ask(problems: Sequence[ScannedProblem], also: Sequence[Partition]) -> None:
    """Let problems of two outcomes ask for further cells."""
    for problem, partition in product(problems, also):
        if problem.seen.event is not None:
            problem.shared.cells(partition)


def _fill(out: Floats, block: Any, prepared: Sequence[Evaluate]) -> None:
    """Write what statistics make of a block to their rows of `out`."""
    for row, evaluate in zip(out, prepared, strict=True):
        row[block.replicates.start : block.replicates.stop] = evaluate(block)


def _prepared(problem: ScannedProblem, statistics: Sequence[Statistic]) -> list[Evaluate]:
    """Let statistics ask for their cells."""
    problem.check_statistics(statistics)
    return [statistic.prepare(problem.shared) for statistic in statistics]


def _values(
    problem: ScannedProblem, prepared: Sequence[Evaluate], plan: Plan
) -> tuple[list[float], Floats]:
    """Return the statistics of the data, and room for those of every replicate."""
    values = [float(evaluate(Observed(problem.seen))[0]) for evaluate in prepared]
    return values, np.empty((len(prepared), plan.n_resamples))


def scanned_blocks(
    problems: Sequence[ScannedProblem], drawn: Sequence[tuple[ScannedCells, ...]], plan: Plan
) -> Iterator[list[TableBlock | SumBlock | CountBlock]]:
    """Yield all replicates of problems, as many in a pass over the rows as tables have room for.

    drawn : the cells of each problem in which outcomes are drawn
    """
    pairs = list(zip(problems, drawn, strict=True))
    for start, stop in threads.blocks(plan.n_resamples, _room(pairs, plan)):
        some = Replicates(start, stop)
        tallies = [_tally(problem, cells, some) for problem, cells in pairs]
        parts = [(p.group, tally) for p, tally in zip(problems, tallies, strict=True) if tally]
        progress = part_of(plan, READING + start, some.size)
        states = iter(problems[0].scan.add_up(Together(parts), progress) if parts else ())
        yield [_block(problem, cells, some, states) for problem, cells in pairs]


def _room(pairs: Sequence[tuple[ScannedProblem, tuple[ScannedCells, ...]]], plan: Plan) -> int:
    """Return how many replicates fit into the tables of one worker."""
    entries = 0
    for problem, drawn in pairs:
        if not problem.draws_counts:
            entries += sum(cells.n_cells for cells in drawn) * entries_of(problem)
    size = TABLES // entries if entries else plan.n_resamples
    if size < min(LEAST, plan.n_resamples):
        raise ValueError(
            f"the tables of this test are too large for scanned data ({entries:,} cells times"
            f" outcomes); use a coarser partition. {MEMORY}"
        )
    return size


def _block(
    problem: ScannedProblem,
    drawn: tuple[ScannedCells, ...],
    replicates: Replicates,
    states: Iterator[Any],
) -> TableBlock | SumBlock | CountBlock:
    """Return replicates of one problem, from the next of the states if they were drawn by row."""
    if problem.draws_counts:
        return CountBlock(problem, replicates)  # type: ignore[arg-type]
    tables = {}
    if drawn:
        tables = {id(cells): table for cells, table in zip(drawn, next(states), strict=True)}
    return (SumBlock if problem.rows_change else TableBlock)(problem, replicates, tables)


def _tally(
    problem: ScannedProblem, drawn: tuple[ScannedCells, ...], replicates: Replicates
) -> CountTally | RowTally | None:
    """Return what is added up in these replicates; None if counts are drawn, or nothing is."""
    if problem.draws_counts or not drawn:
        return None
    cells = tuple((cells.cut, cells.fitted) for cells in drawn)
    lens, key, m = problem.lens, problem.key, problem.seen.m
    if problem.rows_change:
        return RowTally(lens, key, cells, m, problem.scan.unit, replicates)
    return CountTally(lens, problem.resampler, key, cells, m, replicates)
