"""Replicates of statistics: the driver, which knows no kind of statistic, lens or resampler.

The plain definition of replicate b is ``statistic(lens(resampler.draw(data, key, b)))``.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.engine import threads
from calibrant.engine.tuples import Replicates
from calibrant.inference.blocks import block_of
from calibrant.inference.label_blocks import CountBlock
from calibrant.inference.plans import Plan
from calibrant.inference.problem import Problem
from calibrant.inference.scanned import AnyProblem, ScannedProblem
from calibrant.inference.scanned_blocks import scanned_replicates
from calibrant.statistics import Statistic
from calibrant.statistics.statistic import Block, Evaluate, Observed

Floats = NDArray[np.float64]

SIZES = ((1 << 18, 512), (1 << 22, 256), (float("inf"), 128))  # of blocks, by what they read
FEW = 16  # replicates in a block of a function of the user's, or of data sets that are laid out


class Task(NamedTuple):
    """Where the replicates of a statistic go, and what makes them."""

    out: Floats  # (B,)
    evaluate: Evaluate
    threaded: bool


def values_and_replicates(
    problem: AnyProblem, statistics: Sequence[Statistic], plan: Plan
) -> tuple[list[float], Floats]:
    """Return the statistics of the data, and those of every replicate: (statistics, B)."""
    if isinstance(problem, ScannedProblem):
        return scanned_replicates([problem], [statistics], plan)[0]
    prepared = [statistic.prepare(problem.shared) for statistic in statistics]
    observed = Observed(problem.seen)
    values = [float(_numbers(evaluate, observed)[0]) for evaluate in prepared]
    return values, replicates(problem, statistics, prepared, plan)


def replicates(
    problem: Problem, statistics: Sequence[Statistic], prepared: Sequence[Evaluate], plan: Plan
) -> Floats:
    """Return statistics that were prepared for every replicate: (statistics, B)."""
    out = np.empty((len(statistics), plan.n_resamples))
    here: list[Task] = []
    there: list[Task] = []
    for row, statistic, evaluate in zip(out, statistics, prepared, strict=True):
        task = Task(row, _for_rows(problem, statistic, evaluate), statistic.threaded)
        (there if problem.there and statistic.from_totals else here).append(task)
    if there:
        _fill(block_of(problem, 0, plan.n_resamples), there, 0)
    if here:
        _on_host(problem, here, plan)
    elif plan.progress is not None:
        plan.progress(plan.n_resamples, plan.n_resamples)
    return out


def _on_host(problem: Problem, tasks: list[Task], plan: Plan) -> None:
    """Fill in the replicates, block by block, on several threads if all statistics allow it."""
    _make_once(problem)

    def work(start: int, stop: int) -> None:
        _fill(block_of(problem, start, stop), tasks, start)

    if all(task.threaded for task in tasks):
        threads.run(work, _spans(problem, plan.n_resamples), plan.progress)
    else:
        threads.run_here(work, threads.blocks(plan.n_resamples, FEW), plan.progress)


def _fill(block: Block, tasks: list[Task], start: int) -> None:
    """Write what statistics make of a block to their rows, from replicate `start` on."""
    for task in tasks:
        task.out[start : start + block.size] = _numbers(task.evaluate, block)


def _numbers(evaluate: Evaluate, block: Block) -> Floats:
    """Return what a statistic gives for each replicate of a block, or refuse it."""
    found = np.asarray(evaluate(block))
    if found.shape != (block.size,):
        raise ValueError(
            f"`statistic` must give a number for each of {block.size} replicates; it gave shape"
            f" {found.shape}."
        )
    if found.dtype.kind not in "biuf":
        raise TypeError(f"`statistic` must give numbers; it gave {found.dtype}.")
    if np.isnan(found).any():
        raise ValueError("`statistic` must give numbers; it gave nan.")
    return found


def _for_rows(problem: Problem, statistic: Statistic, prepared: Evaluate) -> Evaluate:
    """Return what handles the blocks of this problem: each data set apart, if need be."""
    if not problem.rows_change or statistic.takes_changed_rows:
        return prepared

    def evaluate(block: Block) -> Floats:
        return np.array([statistic(data) for data in block.data_sets()])

    return evaluate


def _make_once(problem: Problem) -> None:
    """Work out, before there are threads, what all blocks need."""
    if problem.rows_change or problem.resampler.flips_signs or not problem.lens.rowwise:
        return
    problem.shared.settle()
    if problem.draws_counts:
        block = CountBlock(problem, Replicates(0, 0))
        for cells in problem.shared.asked if problem.exact_counts else ():
            block.distributions(cells)
    elif problem.seen.m == 2:
        _ = problem.cuts
    _ = problem.source


def _spans(problem: Problem, n_resamples: int) -> list[tuple[int, int]]:
    """Cut replicates into blocks: long ones are faster, but progress is shown between them."""
    if problem.rows_change:
        return threads.blocks(n_resamples, FEW)
    entries = problem.data.probs.size
    size = next(size for limit, size in SIZES if entries < limit)
    return threads.even_blocks(n_resamples, size)
