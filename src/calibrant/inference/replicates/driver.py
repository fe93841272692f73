"""Replicates of statistics: the driver, which knows no kind of statistic, lens or resampler.

The plain definition of replicate b is ``statistic(lens(resampler.draw(data, key, b)))``.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from calibrant.calibration import Block, observed, of_replicates
from calibrant.engine import threads
from calibrant.engine.arrays import Floats, Replicates
from calibrant.inference.replicates.problem import (
    REST,
    TENTH,
    Plan,
    Problem,
    Progress,
    watched,
)
from calibrant.inference.replicates.ways import Elsewhere
from calibrant.partitions import Partition
from calibrant.statistics import Statistic
from calibrant.statistics.statistic import Drawn, Evaluate, Summed, add_up

Found = tuple[list[float], Floats]  # statistics of the data, and of every replicate (…, B)

SIZES = ((1 << 18, 512), (1 << 22, 256), (1 << 23, 128), (float("inf"), 64))  # by what blocks read
FEW = 16  # replicates in a block of a function of the user's, or of data sets that are laid out


class Task(NamedTuple):
    """Where the replicates of a statistic go, and what makes them."""

    out: Floats  # (B,)
    evaluate: Evaluate
    threaded: bool = True
    value: Floats | None = None  # (1,) where that of the data goes, if it is wanted


def values_and_replicates(problem: Problem, statistics: Sequence[Statistic], plan: Plan) -> Found:
    """Return the statistics of the data, and those of every replicate: (statistics, B)."""
    return of_all([problem], [statistics], plan)[0]


def of_all(
    problems: Sequence[Problem],
    statistics: Sequence[Sequence[Statistic]],
    plan: Plan,
    also: Sequence[Partition] = (),
) -> list[Found]:
    """Return statistics of several problems; rows that are elsewhere are read for all together.

    Where clusters are too few to tell, replicates are as the data are, so that p is 1.

    also : cells that will be asked for, too, if there are two outcomes; no outcomes are drawn in
        them
    """
    if not problems[0].rows.held:
        return _elsewhere(problems, statistics, plan, also)
    found = []
    for number, (problem, some) in enumerate(zip(problems, statistics, strict=True)):
        mine = plan.part(number, len(problems))
        prepared = _prepared(problem, some, mine.part(*TENTH).progress)
        values = np.empty((len(prepared), 1))
        nulls = replicates(problem, some, prepared, mine.part(*REST), values)
        if not problem.tells:
            nulls[:] = values
        found.append((values[:, 0].tolist(), nulls))
    return found


def _elsewhere(
    problems: Sequence[Problem],
    statistics: Sequence[Sequence[Statistic]],
    plan: Plan,
    also: Sequence[Partition],
) -> list[Found]:
    """Fill the tables that statistics ask for, and take replicates from them as they come."""
    prepared = list(map(_prepared, problems, statistics))
    elsewhere = Elsewhere(problems, plan)
    elsewhere.choose(statistics, also)
    size = plan.n_resamples
    found = [(_values(mine, observed(None)), np.empty((len(mine), size))) for mine in prepared]
    for blocks in elsewhere.blocks():
        for block, mine, (_, nulls) in zip(blocks, prepared, found, strict=True):
            _fill(block, list(map(Task, nulls, mine)))
    return found


def _prepared(
    problem: Problem, statistics: Sequence[Statistic], progress: Progress | None = None
) -> list[Evaluate]:
    counted = watched(statistics, len(statistics), progress)
    return [statistic.prepare(problem.view) for statistic in counted]


def _values(prepared: Sequence[Evaluate], block: Block) -> list[float]:
    """Return the statistics of the data."""
    return [float(block.numbers(evaluate)[0]) for evaluate in prepared]


def replicates(
    problem: Problem,
    statistics: Sequence[Statistic],
    prepared: Sequence[Evaluate],
    plan: Plan,
    values: Floats | None = None,
) -> Floats:
    """Return statistics that were prepared for rows at hand, of every replicate: (statistics, B).

    Those that need totals alone of rows on a device are drawn there, all replicates at once.

    values : (statistics, 1) receives those of the data
    """
    out = np.empty((len(statistics), plan.n_resamples))
    on_device = problem.hypothesis.on_device and problem.draws is problem.hypothesis
    of_host: list[Task] = []
    of_device: list[Task] = []
    for number, statistic in enumerate(statistics):
        evaluate = _for_rows(problem, statistic, prepared[number])
        task = Task(out[number], evaluate, statistic.threaded, _place(values, number))
        (of_device if on_device and statistic.from_totals else of_host).append(task)
    if of_device:
        _of_data(problem, of_device)
        _fill(Block(problem.draws, Replicates(0, plan.n_resamples)), of_device)
    if of_host:
        _on_host(problem, of_host, plan)
    elif plan.progress is not None:
        plan.progress(plan.n_resamples, plan.n_resamples)
    return out


def _place(values: Floats | None, number: int) -> Floats | None:
    """Return where the statistic of the data with this number goes, if it is wanted."""
    return None if values is None else values[number]


def _on_host(problem: Problem, tasks: list[Task], plan: Plan) -> None:
    """Fill in the replicates: sums over rows as rows are drawn, all others block by block."""
    problem.draws.prepare(problem.view.asked)
    left = tasks
    passes: list[list[Task]] = []
    if problem.draws.drawing is not None:
        left = [task for task in tasks if not isinstance(task.evaluate, Summed)]
        passes = _passes(tasks, plan.n_resamples)
    parts = len(passes) + bool(left)
    for number, some in enumerate(passes):
        _by_rows(problem, some, plan.part(number, parts))
    if left:
        _of_data(problem, left)
        _by_blocks(problem, left, plan.part(len(passes), parts))


def _passes(tasks: Sequence[Task], n_resamples: int) -> list[list[Task]]:
    """Return statistics of sums over rows, those together that have room for as many replicates."""
    found: dict[int, list[Task]] = {}
    for task in tasks:
        if isinstance(task.evaluate, Summed):
            most = min(task.evaluate.rows.most, n_resamples)
            found.setdefault(most, []).append(task)
    return list(found.values())


def _by_rows(problem: Problem, tasks: Sequence[Task], plan: Plan) -> None:
    """Add up what statistics share of rows, whose labels are drawn once for all of them.

    Threads share the rows of all replicates or, of many classes, take some replicates each.
    """
    statistics = [(task, task.evaluate) for task in tasks if isinstance(task.evaluate, Summed)]
    sums = list(dict.fromkeys(statistic.rows for _, statistic in statistics))
    wanted = all(task.value is not None for task in tasks)

    def work(start: int, stop: int, progress: Progress | None = None) -> None:
        labels = problem.seen.labels if wanted and start == 0 else None
        outcomes = Drawn(problem.draws.drawing, Replicates(start, stop), labels)
        found = dict(zip(sums, add_up(sums, outcomes, progress), strict=True))
        for task, statistic in statistics:
            numbers = of_replicates(statistic.finish(found[statistic.rows]), outcomes.size)
            task.out[start:stop] = numbers[: stop - start]
            if labels is not None and task.value is not None:
                task.value[:] = numbers[-1]

    spans = threads.blocks(plan.n_resamples, min(each.most for each in sums))
    if len(spans) >= max(2, threads.count()):
        threads.run(work, spans, plan.progress)
        return
    for number, span in enumerate(spans):
        work(*span, plan.part(number, len(spans)).progress)


def _by_blocks(problem: Problem, tasks: list[Task], plan: Plan) -> None:
    """Fill in the replicates, block by block, on several threads if all statistics allow it."""

    def work(start: int, stop: int) -> None:
        _fill(Block(problem.draws, Replicates(start, stop)), tasks)

    if all(task.threaded for task in tasks):
        threads.run(work, _spans(problem, plan.n_resamples), plan.progress)
    else:
        threads.run_here(work, threads.blocks(plan.n_resamples, FEW), plan.progress)


def _of_data(problem: Problem, tasks: Sequence[Task]) -> None:
    """Write the statistics of the data to their places, where they are wanted."""
    block = observed(problem.seen)
    for task in tasks:
        if task.value is not None:
            task.value[:] = block.numbers(task.evaluate)


def _fill(block: Block, tasks: Sequence[Task]) -> None:
    """Write what statistics make of a block of replicates to their places."""
    for task in tasks:
        task.out[block.replicates.start : block.replicates.stop] = block.numbers(task.evaluate)


def _for_rows(problem: Problem, statistic: Statistic, prepared: Evaluate) -> Evaluate:
    """Return what handles the blocks of this problem: each data set apart, if need be."""
    if not problem.draws.rows_change or statistic.takes_changed_rows:
        return prepared
    return lambda block: np.array([statistic(data) for data in block.data_sets()])


def _spans(problem: Problem, n_resamples: int) -> list[tuple[int, int]]:
    """Cut replicates into blocks: long ones are faster, but progress is shown between them."""
    if problem.draws.rows_change:
        return threads.blocks(n_resamples, FEW)
    entries = problem.rows.n * problem.rows.m
    size = next(size for limit, size in SIZES if entries < limit)
    return threads.even_blocks(n_resamples, size)
