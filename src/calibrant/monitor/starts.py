r"""When a deviation began: the evidence of all rows from each block on.

With S_j and V_j the sums of y - p and of p (1 - p) in tenth j from a block on, a shift delta of the
log-odds has the evidence exp(delta S_j - delta^2 V_j / 2). Lines, few shifted tenths and many
shifted tenths are mixed. Shifts of tenths are up or down by one size: if each had a size of its
own, chance in the latest rows would look like a late start. Something must be off: all that is
as predicted is no evidence of a start. The prior is 0.3 for the first row and even over all rows
else.
"""

from typing import NamedTuple

import numpy as np

from calibrant.engine.arrays import Floats
from calibrant.engine.bets import OFFSETS, SLOPES, line_prior
from calibrant.engine.record import TENTHS, BlockRecord

CENTERS: Floats = (np.arange(TENTHS) + 0.5) / TENTHS
LOGITS: Floats = np.log(CENTERS / (1 - CENTERS))
LINES: Floats = (
    np.array(OFFSETS)[:, None, None] + (np.array(SLOPES)[:, None] - 1) * LOGITS
).reshape(-1, TENTHS)
LINE_PRIOR: Floats = line_prior(0.0)
OFF = LINE_PRIOR > 0  # all lines but that of no deviation
SIZES: Floats = np.array([0.06, 0.12, 0.25, 0.5, 1.0])  # of shifts; small ones need many rows
FROM_FIRST = 0.3  # prior of the first row
ON_LINES = 0.4  # prior of lines
UNSHIFTED = (0.1, 0.8)  # chances that a tenth has no shift, which share the rest evenly
TAIL = 0.025


class Start(NamedTuple):
    """The most likely first row of a deviation, and an interval of 95 %."""

    row: int
    interval: tuple[int, int]


def find_start(record: BlockRecord, lead: int = 1) -> Start:
    """Return when the rows of a record, every `lead`-th of all, began to deviate, if they do."""
    rows = record.rows[: int(record.filled[0])]
    first = np.cumsum(rows) - rows
    log_mass = evidence(record) + np.log((1 - FROM_FIRST) * rows / rows.sum())
    log_mass[0] = np.logaddexp(log_mass[0], evidence(record)[0] + np.log(FROM_FIRST))
    mass = np.exp(log_mass - log_mass.max())
    share = np.cumsum(mass) / mass.sum()
    low = max(int(np.searchsorted(share, TAIL)) - 1, 0)  # one block further, since it is coarse
    high = min(int(np.searchsorted(share, 1 - TAIL)), rows.size - 1)
    best = int(mass.argmax())
    end = lead * int(first[high] + rows[high]) - 1
    return Start(lead * int(first[best]), (lead * int(first[low]), end))


def evidence(record: BlockRecord) -> Floats:
    """Return the logarithm of the evidence that all rows from each block on deviate."""
    count = int(record.filled[0])
    residual, variance = (
        np.cumsum(each[:count][::-1], axis=0)[::-1] for each in (record.residual, record.variance)
    )
    lines = LINES[OFF]
    by_line = residual @ lines.T - variance @ (lines**2 / 2).T + np.log(LINE_PRIOR[OFF])
    found = [np.log(ON_LINES) + np.logaddexp.reduce(by_line, axis=-1)]
    moved = residual[..., None] * SIZES
    by_size = np.logaddexp(moved, -moved) - np.log(2) - variance[..., None] * (SIZES**2 / 2)
    share = np.log((1 - ON_LINES) / (len(UNSHIFTED) * SIZES.size))
    for none in UNSHIFTED:
        found += list(share + _some_shifted(by_size, none).T)
    return np.asarray(np.logaddexp.reduce(found, axis=0))


def _some_shifted(logs: Floats, none: float) -> Floats:
    """Return the evidence that each tenth, on axis 1, is shifted or not, but not that none is."""
    more = np.logaddexp(0.0, np.log((1 - none) / none) + logs).sum(axis=1)  # than of no shift
    more = np.maximum(more, 1e-300)
    unshifted = none**TENTHS
    return np.asarray(more + np.log(-np.expm1(-more)) + np.log(unshifted / (1 - unshifted)))
