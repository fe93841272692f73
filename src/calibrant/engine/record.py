"""What is kept of the rows so far: sums of residuals and variances in blocks of rising age.

A block has the sums of y - p and of p (1 - p) in each tenth of p. New ones hold 16 rows; of each
size there are at most eight, then the two oldest become one of twice the size. So the number of
blocks grows with the logarithm of the number of rows, and recent rows are seen more closely.
"""

from typing import Annotated, NamedTuple

from calibrant.engine.arrays import Floats, Ints, blank
from calibrant.engine.kernel import f8, helper, i8, out

TENTHS = 10
FIRST = 16  # rows of a new block
EACH = 8  # blocks of one size
CAPACITY = 32 * EACH  # enough for 10^12 rows


class BlockRecord(NamedTuple):
    """Blocks of rows, the oldest first, of which `filled[0]` exist."""

    filled: Annotated[Ints, out(i8["1"])]
    rows: Annotated[Ints, out(i8["capacity"])]
    residual: Annotated[Floats, out(f8["capacity bins"])]  # sums of y - p
    variance: Annotated[Floats, out(f8["capacity bins"])]  # sums of p (1 - p)

    @classmethod
    def start(cls) -> "BlockRecord":
        """Return a record of no rows."""
        return blank(cls, capacity=CAPACITY, bins=TENTHS)


@helper
def note(p, occurred, record):
    """Add a row to the last block, or begin one."""
    last = record.filled[0] - 1
    if last < 0 or record.rows[last] >= FIRST:
        if last >= 0:
            merge_blocks(record)
        last = record.filled[0]
        record.filled[0] += 1
        record.rows[last] = 0
        record.residual[last, :] = 0.0
        record.variance[last, :] = 0.0
    tenth = min(int(p * TENTHS), TENTHS - 1)
    record.rows[last] += 1
    record.residual[last, tenth] += occurred - p
    record.variance[last, tenth] += p * (1.0 - p)


@helper
def merge_blocks(record):
    """Make one of the two oldest blocks of each size of which there are more than eight."""
    size, end = FIRST, record.filled[0]
    while True:
        first = end
        while first > 0 and record.rows[first - 1] == size:
            first -= 1
        if end - first <= EACH:
            break
        for j in range(record.residual.shape[1]):
            record.residual[first, j] += record.residual[first + 1, j]
            record.variance[first, j] += record.variance[first + 1, j]
        record.rows[first] += record.rows[first + 1]
        record.filled[0] -= 1
        for k in range(first + 1, record.filled[0]):
            record.rows[k] = record.rows[k + 1]
            for j in range(record.residual.shape[1]):
                record.residual[k, j] = record.residual[k + 1, j]
                record.variance[k, j] = record.variance[k + 1, j]
        size, end = 2 * size, first + 1
