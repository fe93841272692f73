"""Rows of numbers, a block at a time: sums, faults, rescaling and softmax.

Plain NumPy, which is as fast here as a compiled loop; so data are checked before anything has
to be compiled.
"""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant.engine import threads

Array = NDArray[Any]


@final
@dataclass(frozen=True, slots=True)
class Faulty:
    """Rows that share a fault: the number of the first, and how many there are."""

    first: int
    count: int


@final
@dataclass(frozen=True, slots=True)
class Scan:
    """What is wrong with rows that should be probabilities.

    Parameters
    ----------
    not_finite, negative, unequal : rows that are not finite; of the others, those with a
        negative entry; of the others, those that do not sum to 1
    uneven : how many of the good ones sum to 1 but for more than rounding
    """

    not_finite: Faulty
    negative: Faulty
    unequal: Faulty
    uneven: int


def totals(rows: Array) -> NDArray[np.float64]:
    """Return the sum of every row (n,), in float64."""
    return np.asarray(np.einsum("ij->i", rows, dtype=np.float64))


def scan(probs: Array, rounding: float, tolerance: float) -> Scan:
    """Look for rows that are no probabilities."""
    spans = threads.row_blocks(probs.shape)
    firsts = np.zeros((len(spans), 3), np.int64)
    counts = np.zeros((len(spans), 4), np.int64)

    def work(start: int, stop: int) -> None:
        rows = probs[start:stop]
        block = start // spans[0][1]
        with np.errstate(invalid="ignore", over="ignore"):
            total = totals(rows)
            off = np.abs(total - 1.0)
        uneven = off > rounding
        if not (rows.min() >= 0 and off.max() <= tolerance):  # nor is NaN
            kinds = [~np.isfinite(total), (rows < 0).any(axis=1), off > tolerance]
            kind = np.select(kinds, [0, 1, 2], default=3)
            for k in range(3):
                firsts[block, k] = start + np.argmax(kind == k)
                counts[block, k] = np.count_nonzero(kind == k)
            uneven &= kind == 3
        counts[block, 3] = np.count_nonzero(uneven)

    threads.run(work, spans)
    where = np.argmax(counts[:, :3] > 0, axis=0)
    not_finite, negative, unequal = (
        Faulty(int(firsts[where[k], k]), int(counts[:, k].sum())) for k in range(3)
    )
    return Scan(not_finite, negative, unequal, int(counts[:, 3].sum()))


def rescale(probs: Array, rounding: float) -> None:
    """Divide, in place, each row whose sum is further from 1 than `rounding` by its sum."""

    def work(start: int, stop: int) -> None:
        rows = probs[start:stop]
        total = totals(rows)
        off = np.abs(total - 1.0) > rounding
        rows[off] = rows[off] / total[off, None]

    threads.run(work, threads.row_blocks(probs.shape))


def softmax(logits: Array) -> None:
    """Replace logits by probabilities in place, in float64 within the row."""

    def work(start: int, stop: int) -> None:
        rows = logits[start:stop].astype(np.float64)
        with np.errstate(over="ignore"):  # the lowest number minus the highest
            rows -= rows.max(axis=1, keepdims=True)
        np.exp(rows, out=rows)
        rows /= totals(rows)[:, None]
        logits[start:stop] = rows

    threads.run(work, threads.row_blocks(logits.shape))
