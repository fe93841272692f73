"""When a row of many classes draws the one of them that is the event."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.engine import threads
from calibrant.engine.arrays import expect
from calibrant.engine.draws import NEVER, ONE, rounded
from calibrant.engine.kernel import i8, kernel, out, real

Array = NDArray[Any]


def event_cuts(probs: Array, event: Array) -> NDArray[np.int64]:
    """Return the interval of u in which a class of each row is drawn: (n, 2), from and below.

    event : (n,) the class of each row, or (1,) one for all
    """
    _expect_events(probs, event)
    out = np.empty((probs.shape[0], 2), np.int64)

    def keep(rows: slice, cuts: NDArray[np.int64]) -> None:
        out[rows] = cuts

    _each_block_of_cuts(probs, event, keep)
    return out


def event_probs(probs: Array, event: Array) -> NDArray[np.float64]:
    """Return the probability with which a class of each row is drawn: (n,).

    It is the length of the interval that `event_cuts` returns, for 0 <= u < 1.
    """
    _expect_events(probs, event)
    out = np.empty(probs.shape[0])

    def keep(rows: slice, cuts: NDArray[np.int64]) -> None:
        np.minimum(cuts, np.int64(ONE), out=cuts)
        np.divide(cuts[:, 1] - cuts[:, 0], ONE, out=out[rows])

    _each_block_of_cuts(probs, event, keep)
    return out


def _expect_events(probs: Array, event: Array) -> None:
    expect("probs", probs, (None, None), "f")
    expect("event", event, (None,), "iu")
    n, m = probs.shape
    if event.size not in (1, n) or not 0 <= event.min() <= event.max() < m:
        raise IndexError("`event` must be a class of each row, or one for all.")


def _each_block_of_cuts(
    probs: Array, event: Array, keep: Callable[[slice, NDArray[np.int64]], None]
) -> None:
    """Call `keep` with the numbers of some rows and their cuts, which it may change."""

    def work(start: int, stop: int) -> None:
        rows, found = slice(start, stop), np.empty((stop - start, 2), np.int64)
        mine = event if event.size == 1 else event[rows]
        _event_cuts(probs[rows], mine, found)
        keep(rows, found)

    threads.run(work, threads.row_blocks(probs.shape))


@kernel(real["n m"], i8["_"], out(i8["n 2"]))
def _event_cuts(probs, event, out):
    """Write the two thresholds about the event, of all that `draws.thresholds` would write."""
    for i in range(probs.shape[0]):
        j = event[i if event.shape[0] > 1 else 0]
        below = upto = total = np.int64(0)
        last = 0
        for k in range(probs.shape[1]):
            part = rounded(np.float64(probs[i, k]) * ONE)
            below += part if k < j else 0
            upto += part if k <= j else 0
            total += part
            last = k if part > 0 else last
        scale = ONE / np.float64(total)
        out[i, 0] = rounded(np.float64(below) * scale) if j - 1 < last else NEVER
        out[i, 1] = rounded(np.float64(upto) * scale) if j < last else NEVER
