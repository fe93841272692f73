r"""How far predictions are off at least, by directions that were learned on other rows.

With d = r(p) - p and any direction h that does not depend on a row's outcome,

.. math:: E \langle e_y - p, h \rangle = E \langle d, h \rangle
          \le \sqrt{E |d|^2} \sqrt{E |h|^2},

so that the quotient :math:`E \langle e_y - p, h \rangle / \sqrt{E |h|^2}` is at most the root mean
square deviation, and equal to it where h points along d. Sizes are in units of the total variation
of two outcomes: the root of :math:`E |d|^2 / 2`. There is no such bound from above for more than
two outcomes: deviations that no direction finds can be of any size.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.checks.parameters import generator
from calibrant.predictions import Predictions
from calibrant.sizes.directions import Direction, learn
from calibrant.sizes.samples import NOTHING, Sample, SizeTotals, combination, dot

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

FOLDS = 5
LEARN = 1 << 18  # probabilities from which directions are learned, at most
FEWEST, MOST = 1024, 1 << 16  # rows, even if these are more, and of few outcomes
BLOCK = 1 << 18  # probabilities that are looked at together
DIGITS = 12  # of predictions that say which row comes first


class RowGains(NamedTuple):
    """What each row says about the size, by the direction that has not seen it."""

    weights: Floats  # (n,)
    gains: Floats  # (n,) <e_y - p, h>
    lengths: Floats  # (n,) |h|²
    spread: Floats  # (3,) variances of gains at r = p + t h, times w²: coefficients of 1, t and t²
    learned: Ints  # (k,) numbers of the rows that directions were learned from, by fold
    sizes: list[int]  # (folds,) how many of them are in each fold
    gains_without: Floats  # (folds - 1, k) their gains as one of the other folds is left out, too
    lengths_without: Floats  # (folds - 1, k)

    @property
    def gain(self) -> float:
        """Mean gain."""
        return dot(self.weights, self.gains) / float(self.weights.sum())

    @property
    def length(self) -> float:
        """Mean squared length of directions."""
        return dot(self.weights, self.lengths) / float(self.weights.sum())

    @property
    def brier_gains(self) -> Floats:
        """What Brier scores gain along the directions, in squared sizes (n,)."""
        return np.asarray(self.gains - self.lengths / 2)

    @property
    def brier(self) -> float:
        """Their mean."""
        return self.gain - self.length / 2

    def noise(self, without: Floats, gains: Floats) -> float:
        """Return the share of the variance of gains (n,) that is due to what directions learned.

        It is seen from how gains (folds - 1, k) change as folds are left out.
        """
        squares = self.weights**2
        changes = changes_of(without)
        gaps = gains - dot(self.weights, gains) / float(self.weights.sum())
        return dot(squares[self.learned], changes) / max(dot(squares, gaps**2), 1e-300)

    def totals(self, clusters: Ints | None) -> SizeTotals:
        """Return what the lower limit follows from."""
        mass, gain, length = float(self.weights.sum()), self.gain, self.length
        if length < NOTHING:
            return SizeTotals(mass, gain, length, self.spread)
        squares = self.weights**2
        noise = min(1.0, self.noise(self.gains_without, self.gains))
        uneven = dot(squares, (1 - self.lengths / length) ** 2)
        return SizeTotals(mass, gain, length, self.spread, noise, uneven, self._scatter(clusters))

    def _scatter(self, clusters: Ints | None) -> float:
        """Return the variance that the scatter of clusters shows, times the squared weight."""
        if clusters is None:
            return 0.0
        root = sqrt(2 * self.length)
        gaps = (self.gains - self.gain) / root
        gaps -= self.gain / root * (self.lengths / self.length - 1) / 2
        sums = np.bincount(clusters, self.weights * gaps)
        return float((sums**2).sum() * sums.size / max(1, sums.size - 1))

    def learning(self) -> float:
        """Return the variance of the mean of `brier_gains` that is due to what all rows learned.

        By the jackknife: how the mean over the other folds changes as one is not learned from.
        """
        weights, every = self.weights[self.learned], self.brier_gains[self.learned]
        changes = self.gains_without - self.lengths_without / 2 - every
        of_rows = np.repeat(np.arange(FOLDS), self.sizes)
        found = []
        for fold in range(FOLDS):
            others = np.flatnonzero(of_rows != fold)
            place = np.where(of_rows[others] < fold, fold - 1, fold)
            mass = max(float(weights[others].sum()), 1e-300)
            found.append(dot(weights[others], changes[place, others]) / mass)
        return float(np.var(found) * (FOLDS - 1))


def changes_of(without: Floats) -> Floats:
    """Return how gains change as folds are left out (k,), from gains (folds - 1, k)."""
    return np.asarray(((without - without.mean(axis=0)) ** 2).sum(axis=0))


class Learned:
    """Directions that rows of each fold have not seen, learned from the parts of a sample."""

    def __init__(self, parts: Sequence[Sample]) -> None:
        self.parts = parts
        self.without, self._seen = _learn(parts)

    def shares(self) -> list[Floats]:
        """Return how the directions of each fold are combined."""
        return [combination(*evidence) for evidence in self.evidence()]

    def evidence(self) -> list[tuple[Floats, Floats]]:
        """Return, for each fold, gains (directions,) and products of directions on other folds.

        Directions that were learned without two folds are looked at on one of them, and tell how
        to combine those of the other.
        """
        return [self._evidence_without(k) for k in range(FOLDS)]

    def _evidence_without(self, fold: int) -> tuple[Floats, Floats]:
        count = len(self.without[fold])
        gains, products = np.zeros(count), np.zeros((count, count))
        for other in range(FOLDS):
            if other != fold:
                weights, seen = self.parts[other].weights, self._seen[other, fold]
                gains += seen.gains @ weights
                products += seen.products @ weights
        return gains, products

    def as_left_out(self, shares: Sequence[Floats]) -> list[Floats]:
        """Return gains and lengths of learning rows as other folds are left out: (folds - 1, k)."""
        parts = [self._without_pairs(fold, mine) for fold, mine in enumerate(shares)]
        return [np.concatenate(part, axis=1) for part in zip(*parts, strict=True)]

    def _without_pairs(self, fold: int, shares: Floats) -> tuple[Floats, Floats]:
        """Return gains and lengths of a fold as each other one is left out: (folds - 1, rows)."""
        seen = [self._seen[fold, other] for other in range(FOLDS) if other != fold]
        gains = np.stack([shares @ each.gains for each in seen])
        lengths = [np.einsum("h,hki,k->i", shares, each.products, shares) for each in seen]
        return gains, np.stack(lengths)


class CrossFit:
    """Directions for the rows of each fold, learned on the other folds.

    Parameters
    ----------
    data : Predictions
        Rows as a lens shows them.
    seed : int
        Deals out rows to folds.
    clusters : array of shape (n,), optional
        The cluster of each row; default: those of the data, if it has any.
    like : CrossFit, optional
        Of the same rows, whose folds are taken.
    """

    def __init__(
        self,
        data: Predictions,
        seed: int,
        clusters: NDArray[Any] | None = None,
        like: "CrossFit | None" = None,
    ) -> None:
        sample, self.clusters = sample_of(data, clusters)
        self.swapped: bool = sample.likely if like is None else like.swapped
        self.sample = sample.complement() if self.swapped else sample
        dealt = _deal(self.sample, self.clusters, seed) if like is None else like.dealt
        self.dealt: tuple[NDArray[np.int8], Ints] = dealt
        self.folds, some = dealt
        learning = np.zeros(self.sample.labels.size, bool)
        learning[some] = True
        self._parts = [np.flatnonzero(learning & (self.folds == k)) for k in range(FOLDS)]
        self.learned = Learned([self.sample.take(rows) for rows in self._parts])
        self.m: int = self.sample.probs.shape[1]

    @property
    def count(self) -> int:
        """The number of rows, or of clusters."""
        numbers = self.clusters
        return int(self.sample.labels.size if numbers is None else numbers.max() + 1)

    @cached_property
    def totals(self) -> SizeTotals:
        """What the lower limit follows from."""
        return self.rows(self.learned.shares()).totals(self.clusters)

    def rows(self, shares: Sequence[Floats]) -> RowGains:
        """Return what rows say if directions are combined by these shares, for each fold."""
        gains, lengths = np.zeros((2, self.sample.weights.size))
        spread = np.zeros(3)
        for rows, some, h in self.directions(shares):
            gains[rows], lengths[rows], variances = moments(some, h)
            spread += np.einsum("ij,j->i", variances, some.weights**2)
        learned = np.concatenate(self._parts)
        without = self.learned.as_left_out(shares)
        sizes = [part.size for part in self._parts]
        return RowGains(self.sample.weights, gains, lengths, spread, learned, sizes, *without)

    def directions(self, shares: Sequence[Floats]) -> Iterator[tuple[Ints, Sample, Floats]]:
        """Yield numbers of rows, the rows, and their directions (k, m), a block at a time."""
        for fold, mine in enumerate(shares):
            rows = np.flatnonzero(self.folds == fold)
            yield from along(self.sample, rows, self.learned.without[fold], mine)


def along(
    sample: Sample, rows: Ints, directions: Sequence[Direction], shares: Floats
) -> Iterator[tuple[Ints, Sample, Floats]]:
    """Yield some rows of a sample with their combined directions (k, m), a block at a time."""
    size = max(1, BLOCK // sample.probs.shape[1])
    for start in range(0, rows.size, size):
        block = rows[start : start + size]
        some = sample.take(block)
        yield block, some, _combined(directions, shares, some)


class Gains(NamedTuple):
    """What rows say of several directions."""

    gains: Floats  # (directions, n)
    products: Floats  # (directions, directions, n)


def _learn(parts: Sequence[Sample]) -> tuple[list[list[Direction]], dict[tuple[int, int], Gains]]:
    """Learn without each fold, and look at what was learned without it and another one."""
    pairs = list(combinations(range(FOLDS), 2))
    left_out = [*((k, k) for k in range(FOLDS)), *pairs]
    learned = learn(parts, [[k for k in range(FOLDS) if k not in out] for out in left_out])
    return learned[:FOLDS], _look(parts, dict(zip(pairs, learned[FOLDS:], strict=True)))


def _look(
    parts: Sequence[Sample], pairs: Mapping[tuple[int, int], list[Direction]]
) -> dict[tuple[int, int], Gains]:
    """Look from each fold at directions that were learned without it and without another one."""
    found = {}
    for fold, part in enumerate(parts):
        logs, residuals = part.logs, _residuals(part)
        for other in range(FOLDS):
            if other != fold:
                directions = pairs[min(fold, other), max(fold, other)]
                h = np.stack([each(part.probs, logs) for each in directions])
                gains = np.einsum("hij,ij->hi", h, residuals)
                found[fold, other] = Gains(gains, np.einsum("hij,kij->hki", h, h))
    return found


def sample_of(
    data: Predictions, clusters: NDArray[Any] | None = None
) -> tuple[Sample, Ints | None]:
    """Return the rows of positive weight, and the numbers of their clusters.

    Weights add up to the effective number of rows, (sum w)² / sum w²: their unit is no matter.
    """
    kept = np.flatnonzero(data.weights > 0)
    sample = present(data, kept)
    weights = sample.weights
    weights *= weights.sum() / (weights**2).sum()
    of_rows = data.clusters if clusters is None else clusters
    numbers = None if of_rows is None else np.unique(of_rows[kept], return_inverse=True)[1]
    return sample, numbers


def present(data: Predictions, kept: Ints) -> Sample:
    """Return sorted rows of positive weight, as they weigh; of two outcomes the event is last."""
    labels = data.labels if kept.size == data.n else data.labels[kept]
    if data.event is None:
        probs = data.probs if kept.size == data.n else data.probs[kept]
    else:
        event = data.probs[kept, data.event].astype(np.float64)
        probs = np.stack((1.0 - event, event), axis=1)
        labels = (labels == data.event).astype(np.int32)
    return Sample(probs, labels, np.array(data.weights[kept], np.float64))


def _deal(sample: Sample, clusters: Ints | None, seed: int) -> tuple[NDArray[np.int8], Ints]:
    """Deal rows, or whole clusters, out to folds: the fold of each row, and which to learn from."""
    rng = generator(seed)
    n, m = sample.probs.shape
    own, top = _likelihoods(sample)
    shuffled = _sorted_rows(sample, own, top)[rng.permutation(n)]
    some = shuffled[: most_learned(m)].copy()
    folds = np.empty(n, np.int8)
    if clusters is None:
        folds[shuffled] = np.arange(n) % FOLDS
        return folds, some
    count = int(clusters.max()) + 1
    by_cluster = np.lexsort((np.bincount(clusters, top), np.bincount(clusters, own)))
    of_cluster = np.empty(count, np.int8)
    of_cluster[by_cluster[rng.permutation(count)]] = np.arange(count) % FOLDS
    return of_cluster[clusters], some


def most_learned(m: int) -> int:
    """Return how many rows of so many outcomes are learned from, at most."""
    return max(FEWEST, min(MOST, LEARN // m))


def _likelihoods(sample: Sample) -> tuple[Floats, Floats]:
    """Return the probability of what occurred, and the largest one, of each row."""
    own = sample.probs[np.arange(sample.labels.size), sample.labels]
    both = (own, sample.probs.max(axis=1))
    first, second = (np.round(each.astype(np.float64), DIGITS) for each in both)
    return first, second


def _sorted_rows(sample: Sample, own: Floats, top: Floats) -> Ints:
    """Sort rows by what they say, not by where they stand or how classes are numbered.

    So another order of rows or of classes gives the same folds. Only of rows whose predictions are
    the same but for their order, the number of a class decides.
    """
    keys = sample.weights, top, own
    order = np.lexsort(keys)
    alike = np.logical_and.reduce([np.diff(key[order]) == 0 for key in keys])
    places = np.flatnonzero(np.append(alike, False) | np.append(False, alike))
    rows = order[places]
    mixed, probs = generator(0).random(sample.probs.shape[1]), sample.probs[rows].astype(np.float64)
    tied = sample.labels[rows], (probs * mixed).sum(axis=1), (np.sort(probs) * mixed).sum(axis=1)
    order[places] = rows[np.lexsort((*tied, *(key[rows] for key in keys)))]
    return order


def _combined(directions: Sequence[Direction], shares: Floats, some: Sample) -> Floats:
    """Return the directions of rows, combined."""
    found, logs = np.zeros(some.probs.shape), some.logs
    for direction, share in zip(directions, shares, strict=True):
        if share > 0:
            found += share * direction(some.probs, logs)
    return found


def _residuals(sample: Sample) -> Floats:
    """Return e_y - p (n, m)."""
    found = -sample.probs
    found[np.arange(sample.labels.size), sample.labels] += 1.0
    return found


def moments(sample: Sample, h: Floats) -> tuple[Floats, Floats, Floats]:
    """Return gains, lengths, and coefficients of the variance of <e_y, h> at r = p + t h."""
    squares, products = h * h, sample.probs * h
    along, lengths = products.sum(axis=1), squares.sum(axis=1)
    gains = h[np.arange(sample.labels.size), sample.labels] - along
    products *= h
    constant = products.sum(axis=1) - along**2
    squares *= h
    slope = squares.sum(axis=1) - 2 * along * lengths
    return gains, lengths, np.stack((constant, slope, -(lengths**2)))
