"""Whether predictions are too high, too low, or both in different places."""

from typing import Literal

from calibrant.inference.adjustment import holm
from calibrant.inference.frequencies import problem_moments, standardise
from calibrant.inference.scanned import AnyProblem
from calibrant.partitions import EqualWidth, Partition
from calibrant.words import ALPHA

CELLS = EqualWidth(10)  # in which directions are looked for
CELLS_OF_VERDICTS = CELLS, EqualWidth(1)


def direction_of(problem: AnyProblem, bias: float) -> Literal["high", "low", "both"] | None:
    """Return what significant cells have in common, or what the mean of all rows shows."""
    high, low = _directions(problem, CELLS)
    if high and low:
        return "both"
    high, low = _directions(problem, EqualWidth(1))
    return ("high" if bias > 0 else "low") if high or low else None


def _directions(problem: AnyProblem, partition: Partition) -> tuple[bool, bool]:
    """Return whether predictions are too high, and too low, in some cells, by Holm's procedure."""
    from scipy.special import ndtr  # noqa: PLC0415

    event = problem.seen.event
    cells = problem.shared.cells(partition)
    centre, spread = problem_moments(problem, cells)
    means = cells.means()
    if problem.exact_counts:
        far = problem.event_distributions(cells).scores(means.observed[:, event] * cells.mass)
    else:
        far = standardise(means.observed - means.predicted, centre, spread)
    gaps = (means.observed - means.predicted - centre)[:, event]
    held = cells.mass > 0
    off = holm(2 * ndtr(-far[held])) <= ALPHA
    return bool((off & (gaps[held] < 0)).any()), bool((off & (gaps[held] > 0)).any())
