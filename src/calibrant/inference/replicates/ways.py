"""Rows that are elsewhere: they fold tables of cells, or are shuffled to the owner of a cell."""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple, final

from calibrant.calibration import Block, Tabled, fill
from calibrant.engine import threads
from calibrant.engine.arrays import Replicates
from calibrant.inference.replicates.exchange import CellTotals
from calibrant.inference.replicates.plan import Plan, Progress
from calibrant.inference.replicates.problem import Problem
from calibrant.partitions import Partition
from calibrant.rows import MEMORY
from calibrant.rows.rows import refuse_rows
from calibrant.statistics import Statistic

READING = 60  # replicates that take as long as reading and adding up a row
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
        self.problems, self.plan = problems, plan
        self.rows = problems[0].rows
        self.tables: list[tuple[Tabled, ...]] = []  # of each problem, that replicates fill

    def choose(
        self, statistics: Sequence[Sequence[Statistic]], also: Sequence[Partition] = ()
    ) -> None:
        """Fill all tables that were asked for; shuffle the rows of those with too many cells.

        also : cells that will be asked for, too; no outcomes are drawn in them
        """
        asked = [tuple(problem.view.asked) for problem in self.problems]
        for problem, some in zip(self.problems, statistics, strict=True):
            _check(problem, some)
        for problem, partition in product(self.problems, also):
            if problem.view.event is not None:
                problem.view.cells(partition)
        most = {
            table: most_cells(problem, some, self.plan.n_resamples)
            for problem, some, tables in zip(self.problems, statistics, asked, strict=True)
            for table in tables
        }
        fill([problem.view for problem in self.problems], self._progress(0, READING), most)
        self.tables = [tuple(t for t in tables if t.heaviest is None) for tables in asked]
        for problem, tables in zip(self.problems, asked, strict=True):
            for table in tables:
                if table.heaviest is not None:
                    self._exchange(problem, table)

    def _exchange(self, problem: Problem, table: Tabled) -> None:
        """Bring the rows of each cell together, and find the totals of all cells."""
        n, m, size = problem.view.n, problem.view.m, self.plan.n_resamples
        fewest, most = LIMITS.owners
        n_owners = min(max(fewest, -(-(self.rows.m * ITEM + BESIDE) * n // LIMITS.bucket)), most)
        assert table.heaviest is not None
        count = min(LIMITS.heaviest, LIMITS.table // (problem.away.entries * max(1, size)))
        heavy = table.heaviest.above(max(m, n / n_owners / 2), count)
        work: Any = CellTotals(problem.redraw, table, heavy, n_owners, size, float(n))
        alone = not any(self.tables)  # this is all there is to wait for
        progress = self._progress(READING, size) if alone else None
        table.exchanged = problem.rows.exchange(work, problem.lens, progress)

    def blocks(self) -> Iterator[list[Block]]:
        """Yield all replicates of all problems, as many in a pass as tables have room for."""
        for start, stop in threads.blocks(self.plan.n_resamples, self._at_a_time()):
            some = Replicates(start, stop)
            drawn = [
                (problem, tables, problem.away.reduction(tables, some) if tables else None)
                for problem, tables in zip(self.problems, self.tables, strict=True)
            ]
            parts = [p.rows.part(work, p.lens) for p, _, work in drawn if work is not None]
            progress = self._progress(READING + start, some.size)
            states = iter(self.rows.fold(parts, progress) if parts else ())
            yield [
                Block(problem.away.over(_table_of(tables, work, states), some), some)
                for problem, tables, work in drawn
            ]

    def _at_a_time(self) -> int:
        """Return how many replicates fit into the tables of one worker."""
        entries = sum(
            problem.away.entries * table.n_cells
            for problem, tables in zip(self.problems, self.tables, strict=True)
            if problem.away.entries
            for table in tables
        )
        size = LIMITS.table // entries if entries else self.plan.n_resamples
        if size < min(LIMITS.least, self.plan.n_resamples):
            raise ValueError(
                f"the tables of this test are too large for scanned data ({entries:,} cells times"
                f" outcomes); use a coarser partition. {MEMORY}"
            )
        return size

    def _progress(self, before: int, size: int) -> Progress | None:
        return part_of(self.plan, before, size)


def _table_of(tables: Sequence[Tabled], work: Any, states: Iterator[Any]) -> dict[Tabled, Any]:
    """Return what was added up for the tables of a problem: the next of the states."""
    return {} if work is None else dict(zip(tables, next(states), strict=True))


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
                f" {table.partition} does. Keep its cells with Bootstrap(refit=False), or use"
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
