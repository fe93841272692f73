"""Predictions of an event as all numbers of this package take them, and what chance does to them.

Every number has an interval for independent rows of equal weight, which holds with few events, and
a *stretch*: how much further its ends are where rows depend on each other, or scatter more than
the interval takes for granted. The stretch multiplies the quantile of the normal distribution.
"""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from calibrant.arguments import as_lens, as_rows, check_data
from calibrant.lenses import Lens
from calibrant.sizes.limits import Bin, tails
from calibrant.words import CLUSTERS

Floats = NDArray[np.float64]
Interval = tuple[float, float]

WIDEST = 30.0  # constants of the log-odds that limits are looked for in
HALVINGS = 50
STEPS, ROUNDS = 33, 5  # constants that are looked at, and how often ever closer


class Measured(NamedTuple):
    """A number and its interval.

    Infinite ends say that the rows set no limit there; a value of nan, that they do not tell it.
    """

    value: float
    interval: Interval

    def __str__(self) -> str:
        low, high = self.interval
        return f"{number(self.value)} ({number(low)} to {number(high)})"


def number(value: float) -> str:
    """Write a number in three digits after the point, and more of a small one."""
    if not np.isfinite(value):
        return "–" if np.isnan(value) else ("∞" if value > 0 else "−∞")
    if abs(value) >= 0.01 or abs(value) < 5e-9:
        return f"{value:z.3f}".replace("-", "−")
    digits = 2 - int(np.floor(np.log10(abs(value))))
    return f"{value:.{min(digits, 8)}f}".replace("-", "−")


class Risks(NamedTuple):
    """Predictions of an event, and whether it occurred, of rows of positive weight."""

    p: Floats  # (n,)
    occurred: NDArray[np.bool_]  # (n,)
    weights: Floats  # (n,) that add up to their effective number
    clusters: NDArray[Any] | None  # (n,) numbers from 0
    weighted: bool
    level: float
    z: float  # quantile of the normal distribution for the level

    @classmethod
    def of(cls, data: Any, lens: Lens | str, level: float, what: str) -> Self:
        """Look at the event of two outcomes; refuse other rows."""
        check_data(data)
        given = as_rows(data).at_hand(what).given
        seen = as_lens(lens, given)(given)
        if seen.event is None:
            raise ValueError(
                f"`{what}` needs a problem with two outcomes; found {seen.m}. Look through a lens"
                " such as `Marginal(…)`."
            )
        kept = np.flatnonzero(seen.weights > 0)
        weights = np.asarray(seen.weights[kept], np.float64)
        weights = weights * (weights.sum() / (weights**2).sum())
        clusters = None
        if seen.clusters is not None:
            clusters = np.unique(seen.clusters[kept], return_inverse=True)[1]
            check_clusters(what, int(clusters.max()) + 1)
        p = seen.probs[kept, seen.event].astype(np.float64)
        occurred = seen.labels[kept] == seen.event
        return cls(p, occurred, weights, clusters, seen.weighted, level, 0.0).at(level)

    def at(self, level: float) -> Self:
        """Return the same rows for intervals of another level."""
        from scipy.special import ndtri  # noqa: PLC0415 (slow to import)

        return self._replace(level=level, z=float(ndtri((1 + level) / 2)))

    @property
    def y(self) -> Floats:
        """The outcomes as numbers (n,)."""
        return self.occurred.astype(np.float64)

    @property
    def total(self) -> float:
        """The effective number of rows."""
        return float(self.weights.sum())

    @property
    def rate(self) -> float:
        """The share of rows with the event."""
        return float(self.weights @ self.occurred) / self.total

    def rows(self, some: NDArray[np.bool_]) -> Self:
        """Return some of the rows."""
        clusters = None if self.clusters is None else self.clusters[some]
        kept = self._replace(p=self.p[some], occurred=self.occurred[some], clusters=clusters)
        return kept._replace(weights=self.weights[some])

    def variance(self, influence: Floats) -> float:
        """Return the variance of a sum of influences (n,) of rows, as the rows show it."""
        if self.clusters is None:
            return float(influence @ influence)
        sums = np.bincount(self.clusters, influence)
        sums = sums[np.bincount(self.clusters) > 0]
        return float(sums @ sums) * sums.size / max(1, sums.size - 1)

    def stretched(self, influence: Floats, implied: float | None = None) -> float:
        """Return the quantile for a number with such influences of rows (n,).

        implied : the variance that its interval takes for granted; by default that of the
            influences of independent rows
        """
        from scipy.special import stdtrit  # noqa: PLC0415 (slow to import)

        granted = float(influence @ influence) if implied is None else implied
        shown = self.variance(influence)
        stretch = np.sqrt(max(1.0, shown / granted)) if 0 < granted < np.inf else 1.0
        if self.clusters is None:
            return float(self.z * stretch)
        freedom = max(1, np.unique(self.clusters).size - 1)
        return float(stdtrit(freedom, (1 + self.level) / 2) * stretch)


def added(places: NDArray[Any], terms: Floats, count: int = 0) -> Floats:
    """Add up terms (n,) by their places: (places,)."""
    return np.bincount(places, terms, count).astype(np.float64)


def check_clusters(what: str, count: int) -> None:
    """Refuse clusters that are too few for an interval."""
    if count < CLUSTERS:
        raise ValueError(
            f"`{what}` needs at least {CLUSTERS} clusters for intervals; found {count}."
        )


def limits_of_count(rows: Bin, z: float) -> Interval:
    r"""Return limits of the constant that the log-odds of rows are off by, from their events.

    The constants a for which the number k of events is not in a tail of its Poisson-binomial
    distribution: :math:`\Phi(-z) \le P_a(X > k) + P_a(X = k) / 2 \le \Phi(z)`, which is the mid-p
    limit. No event sets no lower limit, and events alone no upper one.

    Examples
    --------
    >>> low, high = limits_of_count(Bin(np.array([0.5]), np.array([10.0]), 0.0), 1.96)
    >>> low, round(float(1 / (1 + np.exp(-high))), 3)  # 1 - 0.05 ** (1 / 10)
    (-inf, 0.259)
    """
    from scipy.special import ndtr  # noqa: PLC0415 (slow to import)

    shares = np.array([[ndtr(-z)], [ndtr(z)]])
    low, high = np.full(2, -WIDEST), np.full(2, WIDEST)
    for _ in range(ROUNDS):
        constants = np.linspace(low, high, STEPS, axis=1)
        below, above = (tail.reshape(2, STEPS) for tail in tails(rows, constants.ravel()))
        place = (0.5 * (above + 1.0 - below) < shares).sum(axis=1).clip(1, STEPS - 1)
        low, high = constants[[0, 1], place - 1], constants[[0, 1], place]
    ends = (0.5 * (low + high)).tolist()
    few, many = rows.events <= 1e-9, rows.events >= rows.rows - 1e-9
    return -np.inf if few else ends[0], np.inf if many else ends[1]


def limits_of_share(shares: Any, rows: Any, z: float) -> tuple[Any, Any]:
    r"""Return limits of shares of so many rows, by the mid-p of the binomial distribution.

    Examples
    --------
    >>> [round(float(end), 4) for end in limits_of_share(0.1, 50.0, 1.959964)]
    [0.0376, 0.2078]
    """
    from scipy.special import betainc, ndtr  # noqa: PLC0415 (slow to import)

    k = np.clip(np.asarray(shares, np.float64) * rows, 0.0, rows)
    few, many = k <= 1e-9, k >= rows - 1e-9

    def above(p: Floats) -> Floats:
        """Return P(X > k) + P(X = k) / 2."""
        at_least = np.where(few, 1.0, betainc(np.where(few, 1.0, k), rows - k + 1, p))
        more = np.where(many, 0.0, betainc(k + 1, np.where(many, 1.0, rows - k), p))
        return np.asarray(0.5 * (at_least + more))

    ends = []
    for share in (ndtr(-z), ndtr(z)):
        low, high = np.zeros_like(k), np.ones_like(k)
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            less = above(middle) < share
            low, high = np.where(less, middle, low), np.where(less, high, middle)
        ends.append(0.5 * (low + high))
    return np.where(few, 0.0, ends[0])[()], np.where(many, 1.0, ends[1])[()]
