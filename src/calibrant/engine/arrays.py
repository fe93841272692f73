"""What functions of the engine take, arrays and named tuples of them, and checks of their numbers.

Kernels refuse arrays of other types and lengths than they declare. What they do not look at are
indices, and numbers that stand for something else: functions that call them do, with these.
"""

import ctypes
from collections.abc import Callable
from math import prod
from typing import Annotated, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from calibrant.engine.kernel import code, f8, fields, i4, i8, index, optional, real

Array = NDArray[Any]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Keys = NDArray[np.uint64]
Span = tuple[int, int]  # from, and below
T = TypeVar("T")

LINE = 64  # bytes of a cache line

_begin: Any = (ctypes.c_char * 0).from_buffer


class Rows(NamedTuple):
    """Predictions, outcomes and weights of consecutive rows.

    `weights` has one entry a row and `step` is 1; or it has a single one and `step` is 0.
    `first` is the number of the first row in the whole data set, of which these may be a part;
    or `numbers` has those of all rows, which then need not be consecutive.
    `event` is the one of two outcomes that the problem is about; -1 if there are more.
    """

    probs: Annotated[Array, real["n m"]]
    labels: Annotated[NDArray[np.int32], i4["n"]]
    weights: Annotated[Floats, f8["_"]]
    step: int
    first: int
    event: int
    numbers: Annotated[Ints | None, optional(i8["n"])] = None


class Order(NamedTuple):
    """Rows sorted by cell: those of cell c are rows[starts[c]:starts[c + 1]], in their order."""

    rows: Annotated[Array, index["_"]]
    starts: Annotated[Ints, i8["cells+1"]]


class Source(NamedTuple):
    """Where labels are drawn from.

    Row i draws its class from probs[i]. A lens may turn the class into an outcome: `table` has
    the outcome of every class, for each row or in a single row for all; None leaves the class.
    `first` is the number of row 0 in the whole data set; or `numbers` has those of all rows.
    """

    probs: Annotated[Array, real["n classes"]]
    table: Annotated[Array | None, optional(code["_ classes"])]
    key: np.uint64
    first: int
    numbers: Annotated[Ints | None, optional(i8["n"])] = None


class Replicates(NamedTuple):
    """Replicates start … stop - 1."""

    start: int
    stop: int

    @property
    def size(self) -> int:
        """How many there are."""
        return self.stop - self.start


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


def blank(kind: Callable[..., T], **lengths: int) -> T:
    """Return a named tuple of zeros, of the types and shapes that its fields declare."""
    known = lengths | {str(digit): digit for digit in range(10)}
    arrays = (
        zeros(tuple(known[name] for name in declared.shape), declared.types[0])
        for declared in fields(kind).values()
    )
    return kind(*arrays)


def within(name: str, array: Array, limit: int) -> None:
    """Refuse what are not indices from 0 and below `limit`."""
    if array.dtype.kind not in "iu":
        raise TypeError(f"`{name}` must be integers; found {array.dtype}.")
    if array.size and not (int(array.min()) >= 0 and int(array.max()) < limit):
        raise IndexError(f"`{name}` must be at least 0 and below {limit}.")


def classes_of(event: Array, n: int, m: int) -> Ints:
    """Return one of m classes for each of n rows (n,), or (1,) for all; refuse what is not."""
    within("event", event, m)
    if event.size not in (1, n):
        raise IndexError("`event` must be a class of each row, or one for all.")
    return event.astype(np.int64, copy=False)


def expect_rows(rows: Rows) -> None:
    """Refuse labels of no outcome, a false event, and weights that do not fit the rows."""
    m = rows.probs.shape[1]
    within("labels", rows.labels, m)
    expect_weights(rows)
    if rows.event not in ((0, 1) if m == 2 else (-1,)):
        raise IndexError(f"`event` must be one of two outcomes, -1 of others; found {rows.event}.")


def expect_weights(rows: Rows) -> None:
    """Refuse weights that are neither one for each row nor a single one for all."""
    if rows.step not in (0, 1):
        raise IndexError(f"`step` must be 0 or 1; found {rows.step}.")
    if rows.weights.size < 1 or (rows.step and rows.weights.size != rows.probs.shape[0]):
        raise IndexError(f"`weights` must be {rows.probs.shape[0]}; found {rows.weights.size}.")


def expect_order(order: Order, n: int, span: Span | None = None) -> None:
    """Refuse rows that are not there, and cells, of a span or all, that begin or end nowhere."""
    first, last = (0, order.starts.size - 1) if span is None else span
    expect_span((first, last), order.starts.size - 1)
    starts = order.starts[first : last + 1]
    within("order.starts", starts, order.rows.size + 1)
    if (starts[1:] < starts[:-1]).any():
        raise IndexError("`order.starts` must not decrease.")
    within("order.rows", order.rows[starts[0] : starts[-1]], n)


def expect_span(span: Span, count: int, what: str = "cells") -> None:
    """Refuse a span that reaches beyond so many cells, or rows."""
    if not 0 <= span[0] <= span[1] <= count:
        raise IndexError(f"`span` must lie within {count} {what}; found {span}.")


def expect_outcomes(outcomes: Array, span: Span, n: int) -> None:
    """Refuse outcomes (rows, size) that are not of rows span[0] … span[1] - 1 of n."""
    expect_span(span, n, "rows")
    if len(outcomes) != span[1] - span[0]:
        raise IndexError(f"`outcomes` must be of rows {span}; found {len(outcomes)}.")


def expect_edges(edges: Array) -> None:
    """Refuse edges that do not bound one interval."""
    if edges.size < 2:
        raise IndexError(f"`edges` must be at least two; found {edges.size}.")
