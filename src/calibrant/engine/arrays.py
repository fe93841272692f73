"""Arrays for kernels to work in, and checks of the numbers in those that they are handed.

Kernels refuse arrays of other types and lengths than they declare. What they do not look at are
indices, and numbers that stand for something else: functions that call them do, with these.
"""

import ctypes
from math import prod
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from calibrant.engine.tuples import Array, Order, Rows, Span

LINE = 64  # bytes of a cache line

_begin: Any = (ctypes.c_char * 0).from_buffer


def zeros(shape: int | tuple[int, ...], dtype: DTypeLike = np.float64) -> NDArray[Any]:
    """Return zeros that begin with a cache line.

    Those of NumPy begin at any 16 bytes, and kernels that read four or eight numbers at a time
    are a tenth slower where every other read straddles two lines.
    """
    count = shape if isinstance(shape, int) else prod(shape)
    size = count * np.dtype(dtype).itemsize
    buffer = np.zeros(size + LINE, np.uint8)
    start = -ctypes.addressof(_begin(buffer)) % LINE
    return buffer[start : start + size].view(dtype).reshape(shape)


def within(name: str, array: Array, limit: int) -> None:
    """Refuse what are not indices from 0 and below `limit`."""
    if array.dtype.kind not in "iu":
        raise TypeError(f"`{name}` must be integers; found {array.dtype}.")
    if array.size and not (int(array.min()) >= 0 and int(array.max()) < limit):
        raise IndexError(f"`{name}` must be at least 0 and below {limit}.")


def expect_rows(rows: Rows) -> None:
    """Refuse labels of no outcome, a false event, and weights that do not fit the rows."""
    m = rows.probs.shape[1]
    within("labels", rows.labels, m)
    expect_weights(rows)
    if rows.event != -1 and not (m == 2 and rows.event in (0, 1)):
        raise IndexError(f"`event` must be one of two outcomes, or -1; found {rows.event}.")
    if m == 2 and rows.event == -1:
        raise IndexError("`event` must be one of the two outcomes.")


def expect_weights(rows: Rows) -> None:
    """Refuse weights that are neither one for each row nor a single one for all."""
    if rows.step not in (0, 1):
        raise IndexError(f"`step` must be 0 or 1; found {rows.step}.")
    if rows.weights.size < 1 or (rows.step and rows.weights.size != rows.probs.shape[0]):
        raise IndexError(f"`weights` must be {rows.probs.shape[0]}; found {rows.weights.size}.")


def expect_order(order: Order, n: int, span: Span | None = None) -> None:
    """Refuse an order of rows that are not there, and cells that begin or end nowhere.

    span : the cells that are looked at, where it is not all of them
    """
    first, last = (0, order.starts.size - 1) if span is None else span
    expect_span((first, last), order.starts.size - 1)
    starts = order.starts[first : last + 1]
    within("order.starts", starts, order.rows.size + 1)
    if (starts[1:] < starts[:-1]).any():
        raise IndexError("`order.starts` must not decrease.")
    within("order.rows", order.rows[starts[0] : starts[-1]], n)


def expect_span(span: Span, n_cells: int) -> None:
    """Refuse a span that reaches beyond the cells."""
    if not 0 <= span[0] <= span[1] <= n_cells:
        raise IndexError(f"`span` must lie within {n_cells} cells; found {span}.")


def expect_edges(edges: Array) -> None:
    """Refuse edges that do not bound one interval."""
    if edges.size < 2:
        raise IndexError(f"`edges` must be at least two; found {edges.size}.")
