"""Arrays at the border: a clear refusal, or an array that everything below can rely on."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant import device, engine
from calibrant.checks.convert import is_bfloat16, to_numpy
from calibrant.checks.parameters import ARRAYS, Wording, more
from calibrant.engine import threads

Array = NDArray[Any]

# Half precision, and three decimals of a few classes, are no further from 1. No sum of short
# decimals is so far from 1 that rounding decides on which side it is: 0.333 + 0.333 + 0.333 passes.
TOLERANCE = 3 * 2.0**-11
ROUNDED = 0.5  # how far from 1 a sum may be of which the user says that its terms were rounded
BFLOAT16_TOLERANCE = 2.0**-8  # entries are rounded by up to 2^-9 of their size


def probabilities(value: Any, **how: Any) -> Array:
    """Return the rows of `checked` alone."""
    return checked(value, **how)[0]


def checked(
    value: Any, *, owned: bool = False, source: Wording = ARRAYS, normalize: bool = False
) -> tuple[Array, "engine.rows.Top | None"]:
    """Return rows that sum to 1 to rounding, as float32 or float64 (n, m) in C order.

    Nothing is copied that has this form already, and then the most probable class of every row is
    returned, too. With `owned`, `value` is an array that nobody else holds: it is changed in place
    where rows must be divided by their sum. With `normalize`, sums may be between 0.5 and 1.5.
    """
    array = _floats("probs", value)
    if array.ndim == 1:
        return _binary(array, source), None
    probs = np.ascontiguousarray(array)
    rounding = float(np.finfo(probs.dtype).eps) * (4.0 + probs.shape[1] ** 0.5)
    tolerance = BFLOAT16_TOLERANCE if is_bfloat16(value) else TOLERANCE
    tolerance = ROUNDED if normalize else tolerance
    found = engine.rows.check(probs, rounding, tolerance)
    if found.bad:
        _refuse(probs, tolerance, source)
    if found.uneven or found.bad:
        probs = probs if owned else probs.copy()
        rescale(probs, rounding)
        return probs, None
    return probs, found.top


def checked_anywhere(value: Any) -> tuple[Any, Any]:
    """Return what `checked` does, of a tensor on a GPU one that is there.

    One without a fault is not copied to the host. Others are, so that they are refused in the same
    words, or divided by their sums to the same bits.
    """
    if not device.stays(value):
        return checked(value)
    found = device.rows.probabilities(value)
    return found or (device.rows.pushed(checked(value)[0], value.device), None)


def softmax(value: Any, *, owned: bool = False, source: Wording = ARRAYS) -> Array:
    """Return the probabilities of logits (n, m), or (n,) for class 1 against class 0.

    With `owned`, `value` is an array that nobody else holds: it is changed in place.
    """
    array = _floats("logits", value)
    if array.ndim == 1:
        logits = np.zeros((array.shape[0], 2), array.dtype)
        logits[:, 1] = array
    else:
        logits = array if owned and array.flags.c_contiguous else np.array(array, order="C")
    bad = np.flatnonzero(~np.isfinite(logits.max(axis=1)))  # nan, +inf, or -inf throughout
    if bad.size:
        raise ValueError(
            f"{source.logits} must be finite, or -inf for some classes of a row;"
            f" {source.row(int(bad[0]))} is {_start(logits[bad[0]])}{more(bad.size)}."
        )
    _softmax(logits)
    return logits


def weights(value: Any, n: int, *, source: Wording = ARRAYS) -> NDArray[np.float64]:
    """Return weights that are not negative and not all zero, rounded so that sums are exact."""
    array = to_numpy("weights", value)
    if array.shape != (n,):
        raise ValueError(f"`weights` must be of shape ({n},); found {array.shape}.")
    if array.dtype.kind not in "biuf":
        raise TypeError(f"`weights` must be numbers; found {array.dtype}.")
    array = plausible_weights(np.array(array, np.float64), source)
    if not array.any():
        raise ValueError("`weights` must not all be zero.")
    return rounded(array)


def plausible_weights(array: NDArray[np.float64], source: Wording) -> NDArray[np.float64]:
    """Return weights of some rows, or refuse those that no row can have."""
    bad = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
    if bad.size:
        raise ValueError(
            f"`weights` must be finite and not negative; {source.row(int(bad[0]))} has"
            f" {array[bad[0]]}{more(bad.size)}."
        )
    extreme = np.flatnonzero((array > 0) & ((array < 1e-100) | (array > 1e100)))
    if extreme.size:
        raise ValueError(
            "`weights` must be 0 or between 1e-100 and 1e100;"
            f" {source.row(int(extreme[0]))} has {array[extreme[0]]}{more(extreme.size)}."
        )
    return array


def mask(value: Any, weights: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which rows to keep, at least one of them with a weight."""
    found = np.asarray(value)
    if found.shape != weights.shape or found.dtype != bool:
        raise ValueError(
            f"`where` must give one True or False for each of the {weights.size:,} rows; found"
            f" {found.dtype} of shape {found.shape}."
        )
    if not (found & (weights > 0)).any():
        raise ValueError("`where` must keep at least one row; it keeps none.")
    return found


def rounded(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round weights to multiples of a power of 2 of which all of them have at most 2^53.

    Then no sum of them is rounded, in whatever order it is made.
    """
    unit = weight_unit(float(weights.max()), weights.size)
    return np.asarray(np.rint(weights / unit) * unit)


def weight_unit(largest: float, n: int) -> float:
    """Return what n weights of at most `largest` are rounded to multiples of."""
    return float(2.0 ** (np.ceil(np.log2(largest * n)) - 53))


def _floats(name: str, value: Any) -> Array:
    """Return float32 or float64 of one or two dimensions with at least one row."""
    array = to_numpy(name, value)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"`{name}` must be numbers; found {array.dtype}.")
    if array.ndim not in (1, 2):
        raise ValueError(f"`{name}` must be of shape (n, m) or (n,); found {array.shape}.")
    if array.shape[0] == 0:
        raise ValueError(f"`{name}` must have at least one row; found none.")
    if array.ndim == 2 and array.shape[1] < 2:
        raise ValueError(
            f"`{name}` must have a column for each of at least two classes; found"
            f" {array.shape[1]}. For a binary problem give the column of class 1 as one dimension."
        )
    narrow = array.dtype.kind == "f" and array.dtype.itemsize <= 4
    return array.astype(np.float32 if narrow else np.float64, copy=False)


def _start(row: Array) -> str:
    """Write the row of a sentence, without the end of a long one."""
    return str(row.tolist()) if row.size <= 8 else f"{str(row[:8].tolist())[:-1]}, …]"


def _binary(event: Array, source: Wording) -> Array:
    """Return (1 - p, p) of P(class 1)."""
    bad = np.flatnonzero(~((event >= 0) & (event <= 1 + TOLERANCE)))
    if bad.size:
        value, where = event[bad[0]], source.row(int(bad[0]))
        what, hint = "finite", source.gap_hint * bool(np.isnan(value))
        if np.isfinite(value):
            percentages = event.min() >= 0 and 2 < event.max() <= 100
            what = "between 0 and 1"
            hint = f" {source.percent_hint if percentages else source.hint}"
        raise ValueError(
            f"{source.probs} must be {what}; {where} is {value}{more(bad.size)}.{hint}"
        )
    out = np.empty((event.shape[0], 2), event.dtype)
    np.minimum(event, 1, out=out[:, 1])
    np.subtract(1, out[:, 1], out=out[:, 0])
    return out


def _refuse(probs: Array, tolerance: float, source: Wording) -> None:
    """Say what is wrong with rows of which some may be no probabilities, if anything is."""
    with np.errstate(invalid="ignore", over="ignore"):
        total = totals(probs)
    bad = np.flatnonzero(~np.isfinite(total))
    if bad.size:
        row = probs[bad[0]]
        column = int(np.argmax(~np.isfinite(row)))
        raise ValueError(
            f"{source.probs} must be finite; {source.row(int(bad[0]))} has {row[column]} in"
            f" {source.column(column)}{more(bad.size)}."
            f"{source.gap_hint * bool(np.isnan(row[column]))}"
        )
    bad = np.flatnonzero((probs < 0).any(axis=1))
    if bad.size:
        row = probs[bad[0]]
        raise ValueError(
            f"{source.probs} must not be negative; {source.row(int(bad[0]))} has {row.min()} in"
            f" {source.column(int(row.argmin()))}{more(bad.size)}. {source.hint}"
        )
    bad = np.flatnonzero(np.abs(total - 1) > tolerance)
    if bad.size:
        row = probs[bad[0]]
        found = float(row.sum(dtype=np.float64))
        raise ValueError(
            f"{source.probs} must sum to 1 in each row; {source.row(int(bad[0]))} sums to"
            f" {found:.6g}{more(bad.size)}. {_cause_of_sum(row, found, source)}"
        )


def _cause_of_sum(row: Array, total: float, source: Wording) -> str:
    """Return why a row may not sum to 1."""
    if row.max() > 2 and 20 <= total <= 102:  # the columns of some classes may be missing
        return source.percent_hint
    rounded = abs(total - 1) <= ROUNDED and row.max() <= 1
    return source.rounded_hint if rounded else source.hint


def totals(rows: Array) -> NDArray[np.float64]:
    """Return the sum of every row (n,), in float64."""
    return np.asarray(np.einsum("ij->i", rows, dtype=np.float64))


def rescale(probs: Array, rounding: float) -> None:
    """Divide, in place, each row whose sum is further from 1 than `rounding` by its sum."""

    def work(start: int, stop: int) -> None:
        rows = probs[start:stop]
        total = totals(rows)
        total[np.abs(total - 1.0) <= rounding] = 1.0
        np.divide(rows, total[:, None], out=rows, casting="same_kind")

    threads.run(work, threads.row_blocks(probs.shape))


def _softmax(logits: Array) -> None:
    """Replace logits by probabilities in place, in float64 within the row."""

    def work(start: int, stop: int) -> None:
        rows = logits[start:stop].astype(np.float64)
        with np.errstate(over="ignore"):  # the lowest number minus the highest
            rows -= rows.max(axis=1, keepdims=True)
        np.exp(rows, out=rows)
        rows /= totals(rows)[:, None]
        logits[start:stop] = rows

    threads.run(work, threads.row_blocks(logits.shape))
