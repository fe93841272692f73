"""Rows that are elsewhere: they fold tables of cells, or are shuffled to the owner of a cell.

Where tables of all cells would not fit into memory, the driver never sees the cells: all rows of a
cell come together, and totals are merged. An owner has all rows of its cells, in their order, so it
does with them what is done in memory. Totals over cells are exact sums, so those of all owners are
put together to the same bits.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.calibration import Block, Gathered, Tabled, Talk, fill, fold, talks_of
from calibrant.calibration.tables import CellState, TableReduction
from calibrant.engine import threads
from calibrant.engine.arrays import Replicates
from calibrant.inference.replicates.problem import Plan, Problem, Progress
from calibrant.partitions import Partition
from calibrant.resampling.draws.labels import CountReduction, joined, table_totals
from calibrant.rows import MEMORY, STAYS, Batch, Part
from calibrant.rows.passes import Pass
from calibrant.rows.rows import refuse_rows
from calibrant.statistics import Statistic

READING = 60  # replicates that take as long as reading and adding up a row
TOGETHER = 1024  # replicates whose labels are drawn together
ITEM, BESIDE = 8, 12  # bytes of a probability, and of the label and number of a row


class Limits(NamedTuple):
    """What fits: it decides about speed, and changes no bit."""

    table: int = 1 << 25  # numbers in the tables of one worker: 256 MiB
    least: int = 32  # replicates of a pass: with fewer, reading takes longer than drawing
    passes: int = 1  # for tables of all replicates: shuffling rows takes less than two
    bucket: int = 1 << 26  # bytes of the rows of an owner
    owners: tuple[int, int] = 8, 1 << 12  # fewest, and most
    heaviest: int = 256  # cells whose rows are not shuffled


LIMITS = Limits()


@final
class Elsewhere:
    """Problems of the same rows, which are elsewhere, and how their replicates are made.

    Tables are folded where those of all replicates fit. Else rows are shuffled, if they have no
    weights, stay as they are, and nothing is asked of cells but totals.
    """

    def __init__(self, problems: Sequence[Problem], plan: Plan) -> None:
        self.rows, self.plan = problems[0].rows, plan
        # the tables of each problem that replicates fill: those that were asked for by now
        self.tables: dict[Problem, list[Tabled]] = {one: one.view.asked for one in problems}

    def choose(
        self, statistics: Sequence[Sequence[Statistic]], also: Sequence[Partition] = ()
    ) -> None:
        """Fill all tables that were asked for; shuffle the rows of those with too many cells.

        also : cells that will be asked for, too, of two outcomes; no outcomes are drawn in them
        """
        most: dict[Any, int | None] = {}
        for (problem, tables), some in zip(self.tables.items(), statistics, strict=True):
            _check(problem, some)
            most |= dict.fromkeys(tables, most_cells(problem, some, self.plan.n_resamples))
            for partition in also if problem.view.event is not None else ():
                problem.view.cells(partition)
        fill([problem.view for problem in self.tables], part_of(self.plan, 0, READING), most)
        self._shuffle()

    def _shuffle(self) -> None:
        """Find the totals of tables with too many cells: no replicates are to fill them."""
        large = [
            (problem, table)
            for problem, tables in self.tables.items()
            for table in tables
            if table.heaviest is not None
        ]
        for problem, table in large:
            self.tables[problem].remove(table)
        for problem, table in large:
            self._exchange(problem, table)

    def _exchange(self, problem: Problem, table: Tabled) -> None:
        """Bring the rows of each cell together, and find the totals of all cells."""
        n, m, size = problem.view.n, problem.view.m, self.plan.n_resamples
        fewest, most = LIMITS.owners
        n_owners = min(max(fewest, -(-(self.rows.m * ITEM + BESIDE) * n // LIMITS.bucket)), most)
        assert table.heaviest is not None
        count = min(LIMITS.heaviest, LIMITS.table // (problem.away.entries * max(1, size)))
        heavy = table.heaviest.above(max(m, n / n_owners / 2), count)
        work: Any = CellTotals(problem, table, heavy, n_owners, size)
        alone = not any(self.tables.values())  # this is all there is to wait for
        progress = part_of(self.plan, READING, size) if alone else None
        table.exchanged = problem.rows.exchange(work, problem.lens, progress)

    def blocks(self) -> Iterator[list[Block]]:
        """Yield all replicates of all problems, as many in a pass as tables have room for."""
        for start, stop in threads.blocks(self.plan.n_resamples, self._at_a_time()):
            some, drawn, parts = Replicates(start, stop), [], []
            for problem, tables in self.tables.items():
                work = problem.away.reduction(tables, some) if tables else None
                if work is not None:
                    drawn.append(problem)
                    parts.append(problem.rows.part(work, problem.lens))
            progress = part_of(self.plan, READING + start, some.size)
            states = fold(self._talks(), parts, self.rows, progress) if parts else []
            found = dict(zip(drawn, states, strict=True))
            yield [
                Block(one.away.over(dict(zip(mine, found.get(one, ()), strict=False)), some), some)
                for one, mine in self.tables.items()
            ]

    def _talks(self) -> list[Talk]:
        return talks_of(problem.view for problem in self.tables)

    def _at_a_time(self) -> int:
        """Return how many replicates fit into the tables of one worker."""
        entries = sum(
            problem.away.entries * table.n_cells
            for problem, tables in self.tables.items()
            for table in tables
        )
        size = LIMITS.table // entries if entries else self.plan.n_resamples
        if size < min(LIMITS.least, self.plan.n_resamples):
            raise ValueError(
                f"the tables of this test are too large for scanned data ({entries:,} bins times"
                f" outcomes); use a coarser partition. {MEMORY}"
            )
        return size


def _check(problem: Problem, statistics: Sequence[Statistic]) -> None:
    """Refuse what would need rows at hand where rows are drawn again, before any is read."""
    if not problem.away.rows_change:
        return
    for statistic in statistics:
        if not statistic.from_totals:
            refuse_rows(f"`statistic` ({statistic}), where rows are drawn again,")
    for table in problem.view.asked:
        if problem.resampler.refit and not table.partition.fixed:
            raise ValueError(
                "`partition` must not depend on the rows where scanned rows are drawn again;"
                f" {table.partition} does. Keep its bins with Bootstrap(refit=False), or use"
                " EqualWidth(…)."
            )


def most_cells(problem: Problem, statistics: Sequence[Statistic], n_resamples: int) -> int | None:
    """Return the number of cells beyond which shuffling rows takes less than several passes.

    None if rows are not shuffled: they have weights or are drawn again, or something is asked of
    cells one by one.
    """
    entries = problem.away.entries
    plain = entries and not (problem.rows.weighted or problem.away.rows_change)
    if not (plain and problem.lens.rowwise and all(each.from_totals for each in statistics)):
        return None
    numbers = LIMITS.passes * LIMITS.table // max(1, n_resamples)
    return max(1, min(numbers, LIMITS.table // LIMITS.least) // int(entries))


def part_of(plan: Plan, before: int, size: int) -> Progress | None:
    """Report the rows of a pass as progress of the whole, in replicates that take as long."""
    if plan.progress is None:
        return None
    report, total = plan.progress, READING + plan.n_resamples
    return lambda done, rows: report(1000 * before + 1000 * size * done // rows, 1000 * total)


class Exchanged(NamedTuple):
    """Totals of cells whose rows came together."""

    observed: Any  # engine.norms.Totals of the data
    null: Any  # of all replicates

    def some(self, replicates: Replicates) -> Any:
        """Return the totals of some replicates."""
        parts = (part[:, replicates.start : replicates.stop] for part in self.null)
        return engine.norms.Totals(*parts)


@final
class CellTotals:
    """Work on all rows of a cell: totals of the data and of replicates.

    A cell that has more rows than an owner should have is heavy: its outcomes are counted where its
    rows are, and the counts are put together.
    """

    def __init__(
        self, problem: Problem, table: Tabled, heavy: Any, n_owners: int, n_resamples: int
    ) -> None:
        self.redraw, self.whole = problem.redraw, float(problem.view.n)
        self.cut, self.wanted = table.cut, table.wanted
        self.outcomes = table.m, table.event
        self.heavy, self.n_owners = heavy, n_owners
        self.replicates = Replicates(0, n_resamples)

    @property
    def staying(self) -> Pass:
        """What is added up over rows of heavy cells."""
        counts = ((self.cut, self.heavy),), self.outcomes[0], self.replicates
        sums = TableReduction((self.cut,), 1.0)
        return Pass([Part(sums), Part(CountReduction(self.redraw, *counts))])

    def owners(self, batch: Batch) -> NDArray[np.int32]:
        """Return the owner of each row (n,), by its cell."""
        fitted, cells = self.cut.locate(batch.seen)
        marks = engine.draws.mix(fitted.marks)  # type: ignore[attr-defined]
        owners = (marks % np.uint64(self.n_owners)).astype(np.int32)
        if self.heavy is not None:
            _, mine, heavy = fitted.join(self.heavy)  # type: ignore[attr-defined]
            owners[np.isin(mine, heavy)] = STAYS
        return np.asarray(owners[cells])

    def finish(self, batch: Batch) -> Exchanged:
        """Draw the outcomes of rows, and return the totals of their cells."""
        seen = batch.seen
        cells = Gathered(seen, self.cut, self.cut.locate(seen), self.whole)
        cells.wanted = self.wanted
        draws = self.redraw.resampler.redraw(batch, self.redraw)
        spans = threads.blocks(self.replicates.size, TOGETHER)
        null = [draws.totals(cells, Replicates(*span)) for span in spans]
        return Exchanged(cells.totals(), joined(null))

    def finish_staying(self, state: Any) -> Exchanged:
        """Return the totals of heavy cells from what was counted."""
        (found,), (counts,) = state
        cells = Tabled(self.cut, self.outcomes, lambda: None, self.whole)  # it gets its state here
        cells.wanted = self.wanted
        sums = found.sums.placed(self.heavy.join(found.fitted)[2], self.heavy.n_cells)
        cells.state = CellState(self.heavy, sums, None)
        return Exchanged(cells.totals(), table_totals(cells, counts))

    def merge(self, a: Exchanged, b: Exchanged) -> Exchanged:
        """Return the totals of both."""
        return Exchanged(*(engine.norms.merged(x, y) for x, y in zip(a, b, strict=True)))
