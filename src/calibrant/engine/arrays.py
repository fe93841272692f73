"""Arrays for kernels to work in, and checks of those that they are handed."""

from math import prod
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from calibrant.engine.tuples import Order, Rows

LINE = 64  # bytes of a cache line


def zeros(shape: int | tuple[int, ...], dtype: DTypeLike = np.float64) -> NDArray[Any]:
    """Return zeros that begin with a cache line.

    Those of NumPy begin at any 16 bytes, and kernels that read four or eight numbers at a time
    are a tenth slower where every other read straddles two lines.
    """
    count = shape if isinstance(shape, int) else prod(shape)
    size = count * np.dtype(dtype).itemsize
    buffer = np.zeros(size + LINE, np.uint8)
    start = -buffer.ctypes.data % LINE
    return buffer[start : start + size].view(dtype).reshape(shape)


def expect(name: str, array: Any, shape: tuple[int | None, ...], kinds: str) -> None:
    """Refuse what a kernel would read beyond its end or take for something else.

    shape : the length of each axis; None for any
    kinds : the letters of NumPy's types that will do, such as "f" or "iu"
    """
    fits = isinstance(array, np.ndarray) and array.ndim == len(shape)
    if fits:
        fits = all(
            want is None or have == want for have, want in zip(array.shape, shape, strict=True)
        )
    if not fits or array.dtype.kind not in kinds:
        found = f"{array.dtype} {array.shape}" if isinstance(array, np.ndarray) else repr(array)
        raise TypeError(
            f"`{name}` must be an array of kind {kinds!r} and shape {shape}; found {found}."
        )


def expect_rows(rows: Rows) -> None:
    """Refuse rows whose arrays do not fit together, labels of no outcome and a false event."""
    expect("probs", rows.probs, (None, None), "f")
    n, m = rows.probs.shape
    expect("labels", rows.labels, (n,), "i")
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
    expect("weights", rows.weights, (rows.probs.shape[0] if rows.step else None,), "f")


def expect_order(order: Order, n: int, n_cells: int, span: tuple[int, int] | None = None) -> None:
    """Refuse an order of rows that are not there, and cells that begin or end nowhere.

    span : the cells that are looked at, where it is not all of them
    """
    expect("order.rows", order.rows, (None,), "i")
    expect("order.starts", order.starts, (n_cells + 1,), "i")
    first, last = (0, n_cells) if span is None else span
    expect_span((first, last), n_cells)
    starts = order.starts[first : last + 1]
    within("order.starts", starts, order.rows.size + 1)
    if (np.diff(starts) < 0).any():
        raise IndexError("`order.starts` must not decrease.")
    within("order.rows", order.rows[starts[0] : starts[-1]], n)


def expect_span(span: tuple[int, int], n_cells: int) -> None:
    """Refuse a span that reaches beyond the cells."""
    if not 0 <= span[0] <= span[1] <= n_cells:
        raise IndexError(f"`span` must lie within {n_cells} cells; found {span}.")


def expect_edges(edges: Any) -> None:
    """Refuse edges that do not bound one interval."""
    expect("edges", edges, (None,), "f")
    if edges.size < 2:
        raise IndexError(f"`edges` must be at least two; found {edges.size}.")


def within(name: str, array: NDArray[Any], limit: int) -> None:
    """Refuse indices below 0 or not below `limit`."""
    if array.size and not (int(array.min()) >= 0 and int(array.max()) < limit):
        raise IndexError(f"`{name}` must be at least 0 and below {limit}.")
