"""What fits into tables of scanned cells, and when rows are moved instead."""

from collections.abc import Sequence

from calibrant.inference.moved import CellExchange, Drawn, Moved, heavy_cells
from calibrant.inference.plans import Plan, Progress
from calibrant.inference.scanned import ScannedProblem, settle
from calibrant.inference.scanned_cells import ScannedCells
from calibrant.statistics import Statistic

TABLES = 1 << 25  # numbers in the tables of one worker: 256 MiB
LEAST = 32  # replicates of a pass: with fewer, reading takes longer than drawing
READING = 60  # replicates that take as long as reading and adding up a row
PASSES = 1  # over the rows for tables of all replicates; moving rows takes less than two
ITEM, BESIDE = 8, 12  # bytes of a probability, and of the label and number of a row
BUCKET = 1 << 26  # bytes of the rows of a bucket
FEWEST, MOST_BUCKETS = 8, 1 << 12
HEAVIEST = 256  # cells whose rows are not moved


def most_cells(
    problem: ScannedProblem, statistics: Sequence[Statistic], n_resamples: int
) -> int | None:
    """Return the number of cells beyond which moving rows takes less than several passes.

    None if rows are not moved: they have weights or are drawn again, or something is asked of cells
    one by one.
    """
    plain = not (problem.scan.weighted or problem.rows_change or problem.draws_counts)
    if not (plain and problem.lens.rowwise and all(each.from_totals for each in statistics)):
        return None
    entries = min(PASSES * TABLES // max(1, n_resamples), TABLES // LEAST)
    return max(1, entries // entries_of(problem))


def _moved(problem: ScannedProblem, cells: ScannedCells, plan: Plan, *, alone: bool) -> Moved:
    """Move the rows of many cells to those who own them, and return their totals.

    alone : whether nothing else is drawn, so that this is all there is to wait for
    """
    scan, m = problem.scan, int(problem.seen.m)
    place = problem.lens, problem.resampler, problem.key, m, plan.n_resamples
    wanted = problem.shared.wanted(cells)  # type: ignore[arg-type]
    drawn = Drawn(*place, wanted, float(problem.seen.n))
    size = (problem.scan.m * ITEM + BESIDE) * problem.seen.n
    n_owners = min(max(FEWEST, -(-size // BUCKET)), MOST_BUCKETS)
    assert cells.many is not None
    room = min(HEAVIEST, TABLES // (entries_of(problem) * max(1, plan.n_resamples)))
    heavy = heavy_cells(cells.many, max(m, problem.seen.n / n_owners / 2), room)
    exchange = CellExchange(scan.reader, problem.group, cells.cut, heavy, n_owners, drawn)
    progress = part_of(plan, READING, plan.n_resamples) if alone else None
    moved: Moved = scan.workers.exchange(scan.fragments, exchange, progress)
    return moved


def settle_or_move(
    problems: Sequence[ScannedProblem],
    asked: Sequence[tuple[ScannedCells, ...]],
    most: Sequence[int | None],
    plan: Plan,
) -> list[tuple[ScannedCells, ...]]:
    """Find the cells of problems of the same rows, and the totals of those that are too many.

    asked : the cells of each problem in which outcomes are drawn
    most : how many cells of a problem go by tables; None for all

    Returns the cells that do go by tables.
    """
    limits = {id(cells): n for some, n in zip(asked, most, strict=True) for cells in some}
    settle(problems, part_of(plan, 0, READING), limits)
    left = list(map(_by_tables, asked))
    for problem, some in zip(problems, asked, strict=True):
        for cells in some:
            if cells.many is not None:
                cells.__dict__["moved"] = _moved(problem, cells, plan, alone=not any(left))
    return left


def _by_tables(asked: tuple[ScannedCells, ...]) -> tuple[ScannedCells, ...]:
    """Return the cells that are not too many."""
    return tuple(cells for cells in asked if cells.many is None)


def entries_of(problem: ScannedProblem) -> int:
    """Return how many numbers a replicate has for each cell."""
    m = int(problem.seen.m)
    if problem.rows_change:
        return 4 * m + 1
    return 1 if m == 2 else m


def part_of(plan: Plan, before: int, size: int) -> Progress | None:
    """Report the rows of a pass as progress of the whole, in replicates that take as long."""
    if plan.progress is None:
        return None
    report, total = plan.progress, READING + plan.n_resamples
    return lambda done, rows: report(1000 * before + 1000 * size * done // rows, 1000 * total)
