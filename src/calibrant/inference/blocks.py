"""Blocks of replicates, of the kind that a problem asks for."""

from calibrant.engine.tuples import Replicates
from calibrant.inference.clusters import SignBlock
from calibrant.inference.label_blocks import CountBlock, LabelBlock
from calibrant.inference.problem import Problem
from calibrant.inference.row_blocks import RowBlock
from calibrant.statistics import Block


def block_of(problem: Problem, start: int, stop: int) -> Block:
    """Return replicates start … stop - 1."""
    replicates = Replicates(start, stop)
    if problem.resampler.flips_signs:
        return SignBlock(problem, replicates)
    if problem.rows_change:
        return RowBlock(problem, replicates)
    if getattr(problem.resampler, "draws", "labels") == "counts":
        return CountBlock(problem, replicates)
    return LabelBlock(problem, replicates, {})
