"""Rows of numbers, a block at a time: what is wrong with them, rescaling and softmax."""

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
    not_finite : Faulty
        Rows that are not finite.
    negative : Faulty
        Of the others, those with a negative entry.
    unequal : Faulty
        Of the others, those that do not sum to 1.
    """

    not_finite: Faulty
    negative: Faulty
    unequal: Faulty


def totals(rows: Array) -> NDArray[np.float64]:
    """Return the sum of every row (n,), in float64."""
    return np.asarray(np.einsum("ij->i", rows, dtype=np.float64))


def scan(probs: Array, tolerance: float) -> Scan:
    """Say what is wrong with rows of which some are no probabilities."""
    with np.errstate(invalid="ignore", over="ignore"):
        total = totals(probs)
        kinds = [~np.isfinite(total), (probs < 0).any(axis=1), np.abs(total - 1) > tolerance]
    kind = np.select(kinds, range(3), default=3)
    faults = (np.flatnonzero(kind == k) for k in range(3))
    return Scan(*(Faulty(int(rows[0]) if rows.size else 0, rows.size) for rows in faults))


def rescale(probs: Array, rounding: float) -> None:
    """Divide, in place, each row whose sum is further from 1 than `rounding` by its sum."""

    def work(start: int, stop: int) -> None:
        rows = probs[start:stop]
        total = totals(rows)
        total[np.abs(total - 1.0) <= rounding] = 1.0
        np.divide(rows, total[:, None], out=rows, casting="same_kind")

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
