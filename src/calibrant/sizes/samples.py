"""Rows as directions and limits see them: samples, their sums, and the least size these show."""

from collections.abc import Iterator, Sequence
from itertools import chain, combinations
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.recalibration.likelihood import log_probabilities

Floats = NDArray[np.float64]

FLOOR = 1e-8  # smaller probabilities count as this one in logarithms
RIDGE = 0.1  # of the combination of directions, in units of their squared lengths
SHARED = 0.7  # share of variance due to pairs of rows, at least, where nothing is off
NOTHING = 1e-16  # squared length below which there is no direction
NEARLY = 1e-9  # what rounding may change, relatively, where something is counted or cut


class Sample(NamedTuple):
    """Rows of positive weight."""

    probs: NDArray[Any]  # (n, m); of two outcomes the event is the second
    labels: NDArray[Any]  # (n,)
    weights: Floats  # (n,) those of all rows add up to their effective number

    def take(self, rows: NDArray[np.intp]) -> "Sample":
        """Return some of the rows, in float64."""
        probs = self.probs[rows].astype(np.float64, copy=False)
        return Sample(probs, self.labels[rows], self.weights[rows])

    @property
    def likely(self) -> bool:
        """Whether the event of two outcomes is predicted more than half the time."""
        if self.probs.shape[1] > 2:
            return False
        return dot(self.weights, self.probs[:, 1]) > float(self.weights.sum()) / 2

    def complement(self) -> "Sample":
        """Return two outcomes the other way round, so that the rarer one can be the event."""
        return self._replace(probs=self.probs[:, ::-1], labels=1 - self.labels)

    @property
    def logs(self) -> Floats:
        """Logarithms of predictions (n, m)."""
        return log_probabilities(self.probs, FLOOR)

    @property
    def flipped(self) -> "Sample":
        """Return two outcomes with what is less probable in each row as the event."""
        p = self.probs[:, 1]
        unlikely = np.where(p > 0.5, 1 - p, p)
        occurred = (self.labels == 1) != (p > 0.5)
        return Sample(np.stack((1 - unlikely, unlikely), axis=1), occurred, self.weights)

    @property
    def residuals(self) -> "Residuals":
        """Sums of what two outcomes are off by."""
        p, occurred = self.probs[:, 1], self.labels == 1
        gaps = self.weights * (p - occurred)
        implied = dot(self.weights**2, p * (1 - p))
        mass = float(self.weights.sum())
        return Residuals(mass, float(gaps.sum()), float((gaps**2).sum()), implied)

    @property
    def ranked(self) -> "RankedRows":
        """The rows of two outcomes, sorted by prediction."""
        order = np.argsort(self.probs[:, 1], kind="stable")
        p, weights = self.probs[order, 1], self.weights[order]
        return RankedRows(p, weights, weights * p * (1 - p), p - (self.labels[order] == 1))

    @property
    def alike(self) -> "Sorted":
        """Predictions of the event, sorted, away from 0 and 1, and sums that go with them."""
        p = np.clip(self.probs[:, 1], FLOOR, 1 - FLOOR)
        order = np.argsort(p, kind="stable")
        p, events, weights = p[order], self.labels[order] == 1, self.weights[order]
        squares = float((weights**2).sum())
        return Sorted(p, weights, squares, dot(weights, events.astype(np.float64)))


class Residuals(NamedTuple):
    """Sums of what two outcomes are off by."""

    mass: float  # weight of all rows
    gap: float  # of w (p - y)
    shown: float  # of its squares
    implied: float  # of w² p (1 - p)


class Sorted(NamedTuple):
    """Sorted predictions of an event, and how often it occurred."""

    p: Floats
    weights: Floats
    squares: float  # of all weights
    events: float  # weight of rows with the event


class RankedRows(NamedTuple):
    """Rows of two outcomes, sorted by prediction."""

    p: Floats
    weights: Floats
    implied: Floats  # w p (1 - p)
    gaps: Floats  # p - y

    @property
    def scatter(self) -> float:
        """Sum of w (p - y)²."""
        return dot(self.weights, self.gaps**2)

    def columns(self) -> Iterator[Floats]:
        """Yield w, w², w p (1 - p), w (p - y) and w (p - y)², one after another: they are large."""
        weighed = (self.weights * self.gaps**power for power in (1, 2))
        return chain((self.weights, self.weights**2, self.implied), weighed)


class PartRows(NamedTuple):
    """Rows of all parts, one part after the other."""

    sample: Sample
    numbers: NDArray[np.intp]  # (n,) of the part of each row
    total: int  # number of parts

    @classmethod
    def of(cls, parts: Sequence[Sample]) -> "PartRows":
        """Put parts together."""
        numbers = np.repeat(np.arange(len(parts)), [part.labels.size for part in parts])
        sample = Sample(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
        return cls(sample, numbers, len(parts))

    def add_up(self, groups: NDArray[Any], n_groups: int, values: Any = 1.0) -> Floats:
        """Return weighted sums over the rows of each part and group: (parts, groups)."""
        each = self.numbers * n_groups + groups
        sums = np.bincount(each, self.sample.weights * values, self.total * n_groups)
        return np.asarray(sums, np.float64).reshape(self.total, n_groups)


def dot(a: Floats, b: Floats) -> float:
    """Return the sum of products, without threads of BLAS: they wait for each other by spinning."""
    return float(np.einsum("i,i->", a, b))


class LowerBound(NamedTuple):
    """How far predictions are off, of which directions see a part."""

    size: float
    """An estimate of what they see: at least 0."""
    low: float
    """What it is at least, at the level that was asked for."""
    reach: float = 0.0
    """Up to where the estimate does not tell, where something is shown: no upper limit is below."""


class SizeTotals(NamedTuple):
    """What rows say about the size together."""

    mass: float  # weight of all
    gain: float  # mean gain <e_y - p, h>
    length: float  # mean squared length |h|²
    spread: Floats  # (3,) variances of gains at r = p + t h, times w²: coefficients of 1, t and t²
    noise: float = 0.0  # share of the variance of gains that is due to what directions learned
    uneven: float = 0.0  # sum of w² (1 - |h|² / length)²
    scatter: float = 0.0  # variance of the gain that clusters show, times the squared mass


def bound(rows: SizeTotals, z: float, loss: float = 1.0) -> LowerBound:
    r"""Return the estimate, and the smallest x that it does not speak against.

    The variance is that of a truth p + t h of size x. A pair of rows counts twice, each in the
    direction of the other, which doubles the variance where directions are noise. The share that
    is noise is seen from how gains change as folds are left out; a truth of size 0 has at least
    `SHARED` of it.
    """
    if rows.length < NOTHING:
        return LowerBound(0.0, 0.0)
    root = sqrt(2 * rows.length)
    estimate = rows.gain / root

    def error(x: float) -> float:
        t = 2 * x / root
        own = max(0.0, float(rows.spread[0] + t * (rows.spread[1] + t * rows.spread[2])))
        variance = loss * (own / root**2 + x * x * rows.uneven / 4)
        shared = rows.noise + max(0.0, SHARED - rows.noise) * (1 - (x / estimate) ** 2)
        return sqrt((1 + shared) * max(variance, rows.scatter)) / rows.mass

    if estimate <= z * error(0.0) if estimate > 0 else True:
        return LowerBound(max(0.0, estimate), 0.0)
    low, high = 0.0, estimate
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if estimate - middle <= z * error(middle) else (middle, high)
    return LowerBound(estimate, high, estimate + z * error(estimate))


def combination(gains: Floats, products: Floats) -> Floats:
    """Return shares v >= 0 of directions that sum to 1, along the least v'(G + ridge) v / 2 - A'v.

    All subsets are tried: there are at most fifteen.
    """
    count = gains.size
    matrix = products + RIDGE * np.diag(np.diag(products))
    best, shares = 0.0, np.full(count, 1.0 / count)
    for size in range(1, count + 1):
        for some in map(list, combinations(range(count), size)):
            part = matrix[np.ix_(some, some)]
            if np.diag(part).min() <= 0:
                continue
            found = np.linalg.lstsq(part, gains[some], rcond=None)[0]
            value = float(gains[some] @ found)
            if (found > 0).all() and value > best:
                best, shares = value, np.zeros(count)
                shares[some] = found / found.sum()
    return shares
