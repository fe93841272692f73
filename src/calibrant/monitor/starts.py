r"""When a deviation began: the evidence of all rows from each block on.

With S_j and V_j the sums of y - p and of p (1 - p) in tenth j from a block on, a shift delta of the
log-odds has the evidence exp(delta S_j - delta^2 V_j / 2). Lines, few shifted tenths and many
shifted tenths are mixed. The prior is 0.3 for the first row and even over all rows else.
"""

from typing import NamedTuple

import numpy as np

from calibrant.engine.arrays import Floats
from calibrant.engine.bets import OFFSETS, SHIFTS, SLOPES, line_prior
from calibrant.engine.record import TENTHS, Record

CENTERS: Floats = (np.arange(TENTHS) + 0.5) / TENTHS
LOGITS: Floats = np.log(CENTERS / (1 - CENTERS))
LINES: Floats = (
    np.array(OFFSETS)[:, None, None] + (np.array(SLOPES)[:, None] - 1) * LOGITS
).reshape(-1, TENTHS)
FROM_FIRST = 0.3  # prior of the first row
MIX = {"lines": 0.4, 0.1: 0.3, 0.8: 0.3}  # by the prior of no shift in a tenth
TAIL = 0.025


class Start(NamedTuple):
    """The most likely first row of a deviation, and an interval of 95 %."""

    row: int
    interval: tuple[int, int]


def find_start(record: Record) -> Start:
    """Return when the rows of a record began to deviate, if they do."""
    rows = record.rows[: int(record.filled[0])]
    first = np.cumsum(rows) - rows
    log_mass = evidence(record) + np.log((1 - FROM_FIRST) * rows / rows.sum())
    log_mass[0] = np.logaddexp(log_mass[0], evidence(record)[0] + np.log(FROM_FIRST))
    mass = np.exp(log_mass - log_mass.max())
    share = np.cumsum(mass) / mass.sum()
    low = max(int(np.searchsorted(share, TAIL)) - 1, 0)  # one block further, since it is coarse
    high = min(int(np.searchsorted(share, 1 - TAIL)), rows.size - 1)
    best = int(mass.argmax())
    return Start(int(first[best]), (int(first[low]), int(first[high] + rows[high] - 1)))


def evidence(record: Record) -> Floats:
    """Return the logarithm of the evidence that all rows from each block on deviate."""
    count = int(record.filled[0])
    residual, variance = (
        np.cumsum(each[:count][::-1], axis=0)[::-1] for each in (record.residual, record.variance)
    )
    by_line = residual @ LINES.T - variance @ (LINES**2 / 2).T
    found = [np.log(MIX["lines"]) + _mixed(by_line, line_prior())]
    shifts = np.array(SHIFTS[1:])
    by_shift = residual[..., None] * shifts - variance[..., None] * (shifts**2 / 2)
    for none in (0.1, 0.8):
        weights = np.full(shifts.size + 1, (1 - none) / shifts.size)
        weights[0] = none
        each = _mixed(np.pad(by_shift, ((0, 0), (0, 0), (1, 0))), weights)
        found.append(np.log(MIX[none]) + each.sum(axis=1))
    return np.asarray(np.logaddexp.reduce(found, axis=0))


def _mixed(logs: Floats, weights: Floats) -> Floats:
    """Return the logarithm of a weighted sum over the last axis."""
    return np.asarray(np.logaddexp.reduce(logs + np.log(weights), axis=-1))
