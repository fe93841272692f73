"""A confidence band of an increasing calibration curve, for every number of rows."""

import numpy as np
from numpy.typing import NDArray

from calibrant.calibration import IsotonicFunction

Floats = NDArray[np.float64]

MOST_GROUPS = 100  # of rows with neighbouring predictions; each two bound an interval


def confidence_band(
    found: IsotonicFunction, squares: Floats, level: float, at: Floats
) -> tuple[Floats, Floats]:
    r"""Return limits of the true calibration curve r at predictions `at` (points,).

    If r increases, its mean over the rows of an interval is at most r at the upper end and at
    least r at the lower end. Limits of the mean of every interval of groups of rows, each at
    :math:`(1 - level) / (G (G + 1))` for G groups, therefore hold all at once and bound r
    everywhere.

    Parameters
    ----------
    found : IsotonicFunction
        The different predictions, with the weights of rows and events.
    squares : array of shape (predictions,)
        Sums of the squared weights; equal to the mass if there are no weights.
    level : float
        Of the band, all of it at once.
    at : array of shape (points,)
        Where it is wanted.

    Notes
    -----
    Without weights the limits of a mean are those of Clopper and Pearson, which also hold for
    unequal probabilities (Hoeffding 1956); with weights those of Hoeffding (1963).

    References
    ----------
    Dimitriadis, Dümbgen, Henzi, Puke and Ziegel (2023), "Honest calibration assessment for binary
    outcome predictions", Biometrika.
    """
    ends = group_ends(found.mass, MOST_GROUPS)
    starts = np.concatenate(([0], ends[:-1] + 1))
    size = ends.size
    tail = (1 - level) / (size * (size + 1))
    mass, events, square = (
        np.add.reduceat(each, starts) for each in (found.mass, found.events, squares)
    )
    first, last = np.triu_indices(size)
    n, k, n2 = (_between(each, first, last) for each in (mass, events, square))
    plain = bool((squares == found.mass).all())
    lower, upper = _counted(n, k, tail) if plain else _weighed(n, k, n2, tail)
    # The best limit that ends at each group, and then of all groups before it; likewise after.
    low, high = np.zeros(size), np.ones(size)
    np.maximum.at(low, last, lower)
    np.minimum.at(high, first, upper)
    low = np.concatenate(([0.0], np.maximum.accumulate(low)))
    high = np.concatenate((np.minimum.accumulate(high[::-1])[::-1], [1.0]))
    below = np.searchsorted(found.values[ends], at, side="right")
    above = np.searchsorted(found.values[starts], at, side="left")
    return low[below], high[above]


def group_ends(mass: Floats, most: int) -> NDArray[np.int64]:
    """Return the last point of each of at most so many groups of about equal mass."""
    if mass.size <= most:
        return np.arange(mass.size)
    total = np.cumsum(mass)
    ends = np.searchsorted(total, total[-1] * np.arange(1, most) / most)
    return np.unique(np.append(ends, mass.size - 1))


def _between(amounts: Floats, first: NDArray[np.intp], last: NDArray[np.intp]) -> Floats:
    total = np.concatenate(([0.0], np.cumsum(amounts)))
    return np.asarray(total[last + 1] - total[first])


def _counted(mass: Floats, events: Floats, tail: float) -> tuple[Floats, Floats]:
    """Return the limits of Clopper and Pearson."""
    from scipy.special import betaincinv  # noqa: PLC0415 (slow to import)

    others = mass - events
    some, more = np.maximum(events, 1.0), np.maximum(others, 1.0)
    lower = np.where(events > 0, betaincinv(some, others + 1.0, tail), 0.0)
    upper = np.where(others > 0, 1.0 - betaincinv(more, events + 1.0, tail), 1.0)
    return lower, upper


def _weighed(mass: Floats, events: Floats, squares: Floats, tail: float) -> tuple[Floats, Floats]:
    """Return the limits of Hoeffding's inequality."""
    reach = np.sqrt(-0.5 * np.log(tail) * squares) / mass
    return events / mass - reach, events / mass + reach
