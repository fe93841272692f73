"""Groups of rows of two outcomes whose predictions are nearly alike, and exact sums over them.

Rows that are elsewhere are not sorted: thresholds, which a sample of rows suggests, cut them into
so many groups that bins and limits follow from sums over groups as they do from rows.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.engine.poisson_binomial import add_values
from calibrant.engine.sums import value
from calibrant.sizes.samples import FLOOR, NEARLY, Residuals, Sample, Sorted

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TENTHS = np.arange(1, 10) / 10  # where bins begin in which directions of deviations are looked for
QUANTILES = 512  # of the rows, and of their variance
COLUMNS = 7  # that are added up in each group


class Grades(NamedTuple):
    """Sums over groups of rows, which are sorted by their predictions."""

    weights: Floats  # (k,) w
    squares: Floats  # w²
    events: Floats  # w y
    gaps: Floats  # w (p - y)
    scatters: Floats  # w (p - y)²
    shown: Floats  # w² (p - y)²
    hidden: Floats  # w² p (1 - p)

    @property
    def p(self) -> Floats:
        """Mean predictions."""
        return np.asarray(np.clip((self.gaps + self.events) / self.weights, 0.0, 1.0))

    @property
    def implied(self) -> Floats:
        """What predictions imply of `scatters`, w p (1 - p), by the mean prediction."""
        p = self.p
        return np.asarray(self.weights * p * (1 - p))

    @property
    def scatter(self) -> float:
        """Sum of w (p - y)²."""
        return float(self.scatters.sum())

    def columns(self) -> Iterator[Floats]:
        """Yield sums of w, w², w p (1 - p), w (p - y) and w (p - y)²."""
        yield from (self.weights, self.squares, self.implied, self.gaps, self.scatters)

    @property
    def ranked(self) -> "Grades":
        """The groups, sorted by prediction."""
        return self

    @property
    def residuals(self) -> Residuals:
        """Sums of what two outcomes are off by."""
        totals = (self.weights, self.gaps, self.shown, self.hidden)
        return Residuals(*(float(each.sum()) for each in totals))

    @property
    def alike(self) -> Sorted:
        """Predictions of the event, sorted, away from 0 and 1, and sums that go with them."""
        p = np.clip(self.p, FLOOR, 1 - FLOOR)
        return Sorted(p, self.weights, float(self.squares.sum()), float(self.events.sum()))

    @property
    def likely(self) -> bool:
        """Whether the event is predicted more than half the time."""
        return float((self.gaps + self.events).sum()) > float(self.weights.sum()) / 2

    def complement(self) -> "Grades":
        """Return two outcomes the other way round."""
        turned = self._replace(events=self.weights - self.events, gaps=-self.gaps)
        return Grades(*(each[::-1] for each in turned))

    @property
    def flipped(self) -> "Grades":
        """Return them with what is less probable in each group as the event."""
        high = self.p > 0.5
        other = self.take(high).complement()
        both = Grades(*map(np.concatenate, zip(self.take(~high), other, strict=True)))
        return both.take(np.argsort(both.p, kind="stable"))

    def take(self, groups: NDArray[np.generic]) -> "Grades":
        """Return some of the groups."""
        return Grades(*(each[groups] for each in self))

    def tenths(self) -> list["Grades"]:
        """Return the groups of each tenth of predictions that holds rows."""
        numbers = np.searchsorted(TENTHS, self.p + NEARLY, side="right")
        return [self.take(numbers == number) for number in np.unique(numbers)]

    @classmethod
    def of(cls, sums: Ints, unit: float, scale: float) -> "Grades":
        """Return what limbs (3, columns, k) amount to, of weights in a unit, times a scale."""
        by = np.array([unit * scale, (unit * scale) ** 2])[[0, 1, 0, 0, 0, 1, 1]]
        found = value(sums) * by[:, None]
        return cls(*found).take(found[0] > 0)


def thresholds(sample: Sample) -> Floats:
    """Return where groups begin: tenths, a half, and quantiles of rows and of their variance."""
    ranked = sample.ranked
    found = [TENTHS, np.array([np.nextafter(0.5, 1.0)])]
    for column in (ranked.weights, ranked.implied):
        ranks = np.cumsum(column)
        places = np.searchsorted(ranks, ranks[-1] * np.arange(1, QUANTILES) / QUANTILES)
        found.append(ranked.p[np.minimum(places, ranked.p.size - 1)])
    return np.unique(np.concatenate(found))


def add_grades(sample: Sample, weights: Floats, cuts: Floats) -> Ints:
    """Add up rows in groups that begin at these predictions: limbs (3, columns, groups).

    weights : in the unit of all rows, at most 1 (n,)
    """
    p, y = sample.probs[:, 1], (sample.labels == 1).astype(np.float64)
    groups, k = np.searchsorted(cuts, p, side="right").astype(np.int32), cuts.size + 1
    gaps, squares = p - y, weights**2
    scatters = gaps**2
    columns = (
        weights,
        squares,
        weights * y,
        weights * gaps,
        weights * scatters,
        squares * scatters,
        squares * (p * (1 - p)),
    )
    return np.stack([add_values(each, groups, k) for each in columns], axis=1)
