"""Whether predictions are too high, too low, or both in different places."""

from collections.abc import Sequence
from typing import Any, Literal

from calibrant.inference.replicates.problem import Problem, find_moments
from calibrant.inference.testing.binwise import standardise
from calibrant.inference.testing.pvalues import holm
from calibrant.partitions import EqualWidth, Partition
from calibrant.words import ALPHA

CELLS = EqualWidth(10)  # in which directions are looked for
CELLS_OF_VERDICTS = CELLS, EqualWidth(1)


def direction_of(problem: Problem, bias: float) -> Literal["high", "low", "both"] | None:
    """Return what significant cells have in common, or what the mean of all rows shows."""
    high, low = _directions(problem, CELLS)
    if high and low:
        return "both"
    high, low = _directions(problem, EqualWidth(1))
    return ("high" if bias > 0 else "low") if high or low else None


def find_moments_away(problems: Sequence[Problem]) -> None:
    """Find the moments that directions of rows elsewhere need, in one pass."""
    away = [p for p in problems if not p.rows.held and p.view.event is not None]
    find_moments([(p, cut) for p in away if not _counted(p) for cut in CELLS_OF_VERDICTS])


def _counted(problem: Problem) -> bool:
    """Whether the distributions of counts say all, so that no moments are needed."""
    return problem.exact_counts and problem.calibrated


def _directions(problem: Problem, partition: Partition) -> tuple[bool, bool]:
    """Return whether predictions are too high, and too low, in some cells, by Holm's procedure."""
    from scipy.special import ndtr  # noqa: PLC0415

    event = problem.view.event
    cells = problem.view.cells(partition)
    means = cells.means()
    if _counted(problem):
        centre: Any = 0.0
    else:
        centre, spread = problem.moments(cells)
    if problem.exact_counts:
        far = problem.event_distributions(cells).scores(means.observed[:, event] * cells.mass)
    else:
        far = standardise(means.observed - means.predicted, centre, spread)
    gaps = (means.observed - means.predicted - centre)[:, event]
    held = cells.mass > 0
    off = holm(2 * ndtr(-far[held])) <= ALPHA
    return bool((off & (gaps[held] < 0)).any()), bool((off & (gaps[held] > 0)).any())
