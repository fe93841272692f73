"""Pairs of rows of one cell: the unbiased squared deviation of the cells, in some replicates.

The inner products of all pairs of different rows add up to the squared length of the cell's sum of
residuals less the sum of their squared lengths. The latter are added up as whole numbers of very
small units, so that the order of rows changes no bit.
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.engine import arrays
from calibrant.engine.arrays import Floats, Ints, Rows, Span
from calibrant.engine.kernel import f8, helper, i4, i8, kernel, out
from calibrant.engine.null import Cells
from calibrant.engine.sums import add_predictions, unit_of

HIGH = 12.0  # adding and subtracting it rounds numbers from -4 to 4 to a multiple of 2^-49
LOW = 1.5 * 2.0**-28  # of 2^-80


class State(NamedTuple):
    """What is known of a batch of replicates after the rows so far; zeros before any."""

    counts: Annotated[Floats, out(f8["m size"])]  # of the cell that is being added up
    lengths: Annotated[Ints, out(i8["size"])]  # its sum of squared residuals, in units
    high: Annotated[Floats, out(f8["size"])]  # the sum over the cells that are done, in two parts
    low: Annotated[Floats, out(f8["size"])]
    limbs: Annotated[Floats, out(f8["3 m"])]  # room
    predicted: Annotated[Floats, out(f8["m"])]  # room
    norm: Annotated[Floats, out(f8["size"])]  # room
    table: Annotated[Ints, out(i8["m"])]  # room: the squared residual of a row, for each outcome

    @property
    def value(self) -> Floats:
        """The sum over the cells (size,)."""
        return self.high + self.low


def add_rows(
    rows: Rows, cells: Cells, span: Span, outcomes: NDArray[np.int32], state: State
) -> None:
    """Add rows span[0] … span[1] - 1 of those sorted by cell; every cell has a weight of 2 or more.

    outcomes : (span[1] - span[0], size) of these rows
    """
    arrays.expect_weights(rows)
    arrays.expect_outcomes(outcomes, span, min(cells.order.rows.size, int(cells.order.starts[-1])))
    arrays.within("order.rows", cells.order.rows, rows.probs.shape[0])
    arrays.within("outcomes", outcomes, len(state.counts))
    first = int(np.searchsorted(cells.order.starts, span[0], side="right")) - 1
    unit = float(2.0 ** (np.ceil(np.log2(cells.total)) - 61))  # squared residuals are below 2
    _add_rows(rows, cells, (first, *span), outcomes, (1.0 / unit_of(rows), unit), state)


@helper
def squared_residuals(rows, i, scale, table):
    """Write the squared length of e_y - p of row i for each outcome y, times `scale`: (m,)."""
    m = table.shape[0]
    if rows.event >= 0:
        p = np.float64(rows.probs[i, rows.event])
        table[rows.event] = np.int64(2.0 * (1.0 - p) * (1.0 - p) * scale)
        table[1 - rows.event] = np.int64(2.0 * p * p * scale)
        return
    total = 0.0
    for j in range(m):
        p = np.float64(rows.probs[i, j])
        total += p * p
    for j in range(m):
        p = np.float64(rows.probs[i, j])
        table[j] = np.int64((total + (1.0 - 2.0 * p)) * scale)


@helper
def add_row(outcomes, w, event, state):
    """Count a row of weight w, whose squared residuals are in state.table."""
    lengths = state.lengths
    if event >= 0:
        counts, here, there = state.counts[event], state.table[event], state.table[1 - event]
        for t in range(outcomes.shape[0]):
            counts[t] += w * (outcomes[t] == event)
        for t in range(outcomes.shape[0]):
            lengths[t] += here if outcomes[t] == event else there
    else:
        for t in range(outcomes.shape[0]):
            y = outcomes[t]
            state.counts[y, t] += w
            lengths[t] += state.table[y]


@helper
def finish(mass, total, event, unit, state):
    """Add the cell, whose sums of predictions are in state.predicted, and begin the next."""
    scale = 1.0 / ((mass - 1.0) * total)
    norm, lengths = state.norm, state.lengths
    for t in range(norm.shape[0]):
        norm[t] = -(lengths[t] * unit)
        lengths[t] = 0
    for k in range(state.counts.shape[0] if event < 0 else 1):
        j = k if event < 0 else event  # both of two are off by the same
        counts, g = state.counts[j], state.predicted[j]
        times = 1.0 if event < 0 else 2.0
        for t in range(norm.shape[0]):
            d = counts[t] - g
            norm[t] += times * (d * d)
            counts[t] = 0.0
    for t in range(norm.shape[0]):
        x = norm[t] * scale
        high = (x + HIGH) - HIGH
        state.high[t] += high
        state.low[t] += ((x - high) + LOW) - LOW


@kernel(Rows, Cells, (i8, i8, i8), i4["_ size"], (f8, f8), State)
def _add_rows(rows, cells, span, outcomes, units, state):
    c, start, stop = span
    scale, unit = units
    for s in range(start, stop):
        i = np.int64(cells.order.rows[s])
        w = rows.weights[i * rows.step]
        squared_residuals(rows, i, w / unit, state.table)
        add_row(outcomes[s - start], w, rows.event, state)
        if s + 1 == cells.order.starts[c + 1]:
            mass = cells.mass[c]
            add_predictions(rows, cells.order, c, (scale, mass), state.limbs, state.predicted)
            finish(mass, cells.total, rows.event, unit, state)
            c += 1
