"""Consistency resampling, §4.2, in straightforward NumPy: what there is to be faster than.

Vectorised over rows and classes, with everything that does not change done once: no loop but
those over resamples and over the nodes of a tree.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Cells = Callable[[Array], Array]


def boxes(k: int) -> Cells:
    """Return a function that numbers the occupied boxes of k intervals along m - 1 axes."""

    def cells(probs: Array) -> Array:
        digits = np.minimum((probs[:, :-1] * k).astype(np.int64), k - 1)
        codes = digits @ (k ** np.arange(digits.shape[1]))
        return np.unique(codes, return_inverse=True)[1]

    return cells


def tree(min_size: int) -> Cells:
    """Return a function that numbers the leaves of the tree of Appendix B."""

    def cells(probs: Array) -> Array:
        found = np.empty(len(probs), np.int64)
        nodes = [np.arange(len(probs))]
        leaves = 0
        while nodes:
            rows = nodes.pop()
            inside = probs[rows]
            axis = inside.var(axis=0).argmax()
            left = inside[:, axis] < inside[:, axis].mean()
            if len(rows) < min_size or not left.any() or left.all():
                found[rows] = leaves
                leaves += 1
            else:
                nodes += [rows[left], rows[~left]]
        return found

    return cells


@final
@dataclass(frozen=True, slots=True)
class Simplex:
    """The expected total variation of all classes, and data sets resampled from predictions."""

    probs: Array  # (n, m)
    cumulated: Array  # (n, m)
    cells: Cells

    @classmethod
    def of(cls, probs: Array, cells: Cells) -> "Simplex":
        probs = probs.astype(np.float64)
        return cls(probs, probs.cumsum(axis=1), cells)

    def statistic(self, probs: Array, labels: Array) -> float:
        n, m = probs.shape
        gaps = probs.copy()
        gaps[np.arange(n), labels] -= 1.0
        places = self.cells(probs)[:, None] * m + np.arange(m)
        return float(np.abs(np.bincount(places.ravel(), gaps.ravel())).sum() / (2 * n))

    def draw(self, rng: np.random.Generator, rows: Array) -> Array:
        u = rng.random((len(rows), 1)) * self.cumulated[rows, -1:]
        return (u >= self.cumulated[rows]).sum(axis=1)

    def consistency(self, rng: np.random.Generator, size: int) -> Array:
        n = len(self.probs)
        out = np.empty(size)
        for b in range(size):
            rows = rng.integers(n, size=n)
            out[b] = self.statistic(self.probs[rows], self.draw(rng, rows))
        return out

    def exact(self, rng: np.random.Generator, size: int) -> Array:
        rows = np.arange(len(self.probs))
        return np.array([self.statistic(self.probs, self.draw(rng, rows)) for _ in range(size)])


@final
@dataclass(frozen=True, slots=True)
class Top:
    """The same for the predicted class: draw rows and labels of m classes, then look at it."""

    simplex: Simplex
    k: int

    @classmethod
    def of(cls, probs: Array, k: int) -> "Top":
        return cls(Simplex.of(probs, boxes(k)), k)

    def statistic(self, probs: Array, labels: Array) -> float:
        return Interval(probs, self.k).statistic(probs.max(axis=1), probs.argmax(axis=1) == labels)

    def consistency(self, rng: np.random.Generator, size: int) -> Array:
        n = len(self.simplex.probs)
        out = np.empty(size)
        for b in range(size):
            rows = rng.integers(n, size=n)
            out[b] = self.statistic(self.simplex.probs[rows], self.simplex.draw(rng, rows))
        return out

    def exact(self, rng: np.random.Generator, size: int) -> Array:
        probs, rows = self.simplex.probs, np.arange(len(self.simplex.probs))
        return np.array([self.statistic(probs, self.simplex.draw(rng, rows)) for _ in range(size)])


@final
@dataclass(frozen=True, slots=True)
class Interval:
    """The same again by somebody who has seen that confidences alone are enough: the lens first."""

    confidence: Array  # (n,)
    k: int

    @classmethod
    def of(cls, probs: Array, k: int) -> "Interval":
        return cls(probs.max(axis=1).astype(np.float64), k)

    def statistic(self, confidence: Array, correct: Array) -> float:
        cells = np.minimum((confidence * self.k).astype(np.int64), self.k - 1)
        return float(np.abs(np.bincount(cells, confidence - correct)).sum() / len(confidence))

    def consistency(self, rng: np.random.Generator, size: int) -> Array:
        n = len(self.confidence)
        out = np.empty(size)
        for b in range(size):
            drawn = self.confidence[rng.integers(n, size=n)]
            out[b] = self.statistic(drawn, rng.random(n) < drawn)
        return out

    def exact(self, rng: np.random.Generator, size: int) -> Array:
        kept = self.confidence
        return np.array([self.statistic(kept, rng.random(len(kept)) < kept) for _ in range(size)])
