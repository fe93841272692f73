"""Arrays at the border: a clear refusal, or an array that everything below can rely on."""

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.checks import rows as _rows
from calibrant.checks.convert import column_names, columns, is_bfloat16, to_numpy
from calibrant.checks.parameters import ARRAYS, Source, listed, more

Array = NDArray[Any]

TOLERANCE = 1e-3  # half precision, or four decimals of a few classes, are no further from 1
BFLOAT16_TOLERANCE = 2.0**-8  # entries are rounded by up to 2^-9 of their size


def probabilities(value: Any, *, owned: bool = False, source: Source = ARRAYS) -> Array:
    """Return rows that sum to 1 to rounding, as float32 or float64 (n, m) in C order.

    With `owned`, `value` is an array that nobody else holds: it is used, and changed, in place.
    """
    array = _floats("probs", value)
    if array.ndim == 1:
        return _binary(array, source)
    probs = array if owned and array.flags.c_contiguous else _private(array, value)
    rounding = float(np.finfo(probs.dtype).eps) * (4.0 + probs.shape[1] ** 0.5)
    tolerance = BFLOAT16_TOLERANCE if is_bfloat16(value) else TOLERANCE
    found = _rows.scan(probs, rounding, tolerance)
    _refuse(found, probs, source)
    if found.uneven:
        probs = probs if probs.flags.writeable else probs.copy()
        _rows.rescale(probs, rounding)
    return probs


def softmax(value: Any, *, owned: bool = False, source: Source = ARRAYS) -> Array:
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
            "`logits` must be finite, or -inf for some classes of a row;"
            f" {source.row(int(bad[0]))} is {_start(logits[bad[0]])}{more(bad.size)}."
        )
    _rows.softmax(logits)
    return logits


def as_tuple(classes: Iterable[Any]) -> tuple[Any, ...]:
    """Return the names of classes so that they can be read more than once."""
    try:
        return tuple(classes)
    except TypeError:
        raise TypeError(f"`classes` must be a list of names; found {classes!r}.") from None


def names(classes: Sequence[Any] | None, m: int) -> tuple[str, ...]:
    """Return m different class names; "0", "1", … where none are given."""
    if classes is None:
        return tuple(str(j) for j in range(m))
    if isinstance(classes, str):
        raise TypeError(f"`classes` must be a list of names; found the string {classes!r}.")
    found = tuple(str(c) for c in classes)
    if len(found) != m:
        raise ValueError(f"`classes` must name the {m} classes of `probs`; found {len(found)}.")
    twice = sorted({name for name in found if found.count(name) > 1}) if m < 10_000 else []
    if twice or len(set(found)) != m:
        raise ValueError(f"`classes` must differ from one another; found {listed(twice)} twice.")
    return found


def outcomes(value: Any, n: int, m: int, classes: Sequence[Any] | None) -> NDArray[np.int32]:
    """Return labels as integers 0, …, m-1."""
    array = _by_column(value, classes)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim not in (1, 2) or (array.ndim == 2 and array.shape[1] != m):
        raise ValueError(
            f"`labels` must be of shape ({n},), or ({n}, {m}) if one-hot; found {array.shape}."
        )
    if array.shape[0] != n:
        raise ValueError(f"`labels` must be as many as `probs`: {n:,}; found {array.shape[0]:,}.")
    if array.ndim == 2:
        return _one_hot(array)
    if array.dtype.kind in "OUST":
        array = _plain_integers(array)
    if array.dtype.kind in "OUST":
        return _by_name(array, classes)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"`labels` must be whole numbers or names; found {array.dtype}.")
    return _integers(array, m, classes)


def weights(value: Any, n: int, *, source: Source = ARRAYS) -> NDArray[np.float64]:
    """Return weights that are not negative and not all zero, and whose squares are numbers."""
    array = to_numpy("weights", value)
    if array.shape != (n,):
        raise ValueError(f"`weights` must be of shape ({n},); found {array.shape}.")
    if array.dtype.kind not in "biuf":
        raise TypeError(f"`weights` must be numbers; found {array.dtype}.")
    array = np.array(array, np.float64)
    bad = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
    if bad.size:
        raise ValueError(
            f"`weights` must be finite and not negative; {source.row(int(bad[0]))} has"
            f" {array[bad[0]]}{more(bad.size)}."
        )
    if not array.any():
        raise ValueError("`weights` must not all be zero.")
    extreme = np.flatnonzero((array > 0) & ((array < 1e-100) | (array > 1e100)))
    if extreme.size:
        raise ValueError(
            "`weights` must be 0 or between 1e-100 and 1e100;"
            f" {source.row(int(extreme[0]))} has {array[extreme[0]]}{more(extreme.size)}."
        )
    return array


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


def _start(row: Array, limit: int = 8) -> str:
    """Write the row of a sentence, without the end of a long one."""
    return str(row.tolist()) if row.size <= limit else f"{str(row[:limit].tolist())[:-1]}, …]"


def _binary(event: Array, source: Source) -> Array:
    """Return (1 - p, p) of P(class 1)."""
    bad = np.flatnonzero(~((event >= 0) & (event <= 1 + TOLERANCE)))
    if bad.size:
        value = event[bad[0]]
        what = "finite" if not np.isfinite(value) else "between 0 and 1"
        hint = "" if not np.isfinite(value) else f" {source.logits}"
        where = source.row(int(bad[0]))
        raise ValueError(f"`probs` must be {what}; {where} is {value}{more(bad.size)}.{hint}")
    out = np.empty((event.shape[0], 2), event.dtype)
    np.minimum(event, 1, out=out[:, 1])
    np.subtract(1, out[:, 1], out=out[:, 0])
    return out


def _private(array: Array, value: Any) -> Array:
    """Return `array` in C order; a copy if somebody else could write to it.

    What came from a list or a frame is ours. Any other object may have handed out its memory.
    """
    ours = isinstance(value, list | tuple) or column_names(value) is not None
    fresh = ours and array.base is None
    if array.flags.c_contiguous and (fresh or _read_only(array)):
        return array
    return np.array(array, order="C")


def _read_only(array: Any) -> bool:
    while isinstance(array, np.ndarray):
        if array.flags.writeable:
            return False
        array = array.base
    return True


def _refuse(found: _rows.Scan, probs: Array, source: Source) -> None:
    """Say what is wrong with the rows, if anything is."""
    if found.not_finite.count:
        first = found.not_finite.first
        row = probs[first]
        column = int(np.argmax(~np.isfinite(row)))
        raise ValueError(
            f"`probs` must be finite; {source.row(first)} has {row[column]} in"
            f" {source.column(column)}{more(found.not_finite.count)}."
        )
    if found.negative.count:
        first = found.negative.first
        row = probs[first]
        raise ValueError(
            f"`probs` must not be negative; {source.row(first)} has {row.min()} in"
            f" {source.column(int(row.argmin()))}{more(found.negative.count)}. {source.logits}"
        )
    if found.unequal.count:
        first = found.unequal.first
        total = probs[first].sum(dtype=np.float64)
        raise ValueError(
            f"`probs` rows must sum to 1; {source.row(first)} sums to {total:.6g}"
            f"{more(found.unequal.count)}. {source.logits}"
        )


def _by_column(value: Any, classes: Sequence[Any] | None) -> Array:
    """Return labels as an array; the columns of a one-hot frame in the order of `classes`."""
    found = column_names(value)
    if found is None or classes is None or len(found) != len(classes):
        return to_numpy("labels", value)
    place = {str(column): column for column in found}
    wanted = [str(name) for name in classes]
    if set(wanted) != set(place):
        return to_numpy("labels", value)
    return columns("labels", value, [place[name] for name in wanted])


def _one_hot(array: Array) -> NDArray[np.int32]:
    ones = array == 1
    bad = np.flatnonzero((ones.sum(axis=1) != 1) | (~ones & (array != 0)).any(axis=1))
    if bad.size:
        raise ValueError(
            "`labels` of two dimensions must be one-hot: a single 1 in each row, the rest 0; row"
            f" {bad[0]} is {array[bad[0]].tolist()}{more(bad.size)}."
        )
    return np.asarray(ones.argmax(axis=1), np.int32)


def _plain_integers(array: Array) -> Array:
    """Return an object array that holds only integers as an array of integers."""
    if array.dtype.kind == "O" and all(isinstance(item, Integral) for item in array):
        return array.astype(np.int64)
    return array


def _by_name(array: Array, classes: Sequence[Any] | None) -> NDArray[np.int32]:
    if classes is None:
        raise ValueError(
            f"`labels` are names ({str(array[0])!r}, …), so `classes` must say in which order the"
            " columns of `probs` stand."
        )
    place = {str(name): j for j, name in enumerate(classes)}
    plain = array.astype(object) if array.dtype.kind == "T" else array  # NumPy cannot go directly
    found, where = np.unique(plain.astype(str), return_inverse=True)
    codes = np.array([place.get(str(name), -1) for name in found], np.int32)[where]
    return _all_known(codes, array, classes)


def _all_known(codes: Array, array: Array, classes: Sequence[Any]) -> NDArray[np.int32]:
    bad = np.flatnonzero(codes < 0)
    if bad.size:
        raise ValueError(
            f"`labels` must be among the classes {listed(list(classes))}; row {bad[0]} is"
            f" {array[bad[0]]!s}{more(bad.size)}."
        )
    return codes.astype(np.int32, copy=False)


def _integers(array: Array, m: int, classes: Sequence[Any] | None) -> NDArray[np.int32]:
    words = [] if classes is None else [str(name).lower() for name in classes]
    if array.dtype.kind == "b" and sorted(words) == ["false", "true"]:
        return np.where(array, words.index("true"), words.index("false")).astype(np.int32)
    if array.dtype.kind == "f":
        bad = np.flatnonzero(~(array == np.floor(array)) | ~np.isfinite(array))
        if bad.size:
            raise ValueError(
                f"`labels` must be whole numbers; row {bad[0]} is {array[bad[0]]}{more(bad.size)}."
            )
    named = _numbered(classes)
    if named and (len(named) == m or np.isin(array, list(named)).all()):
        return _by_number(array, named)
    bad = np.flatnonzero((array < 0) | (array >= m))
    if bad.size:
        raise ValueError(
            f"`labels` must be from 0 to {m - 1}; row {bad[0]} is {array[bad[0]]}{more(bad.size)}."
            " If they are names of classes, give `classes` as well."
        )
    return array.astype(np.int32)


def _numbered(classes: Sequence[Any] | None) -> dict[int, int]:
    """Return the places of the classes whose names are whole numbers; none if two are equal."""
    numbers = [] if classes is None else [_number(name) for name in classes]
    found = {number: j for j, number in enumerate(numbers) if number is not None}
    return found if len(found) == len(numbers) - numbers.count(None) else {}


def _number(name: Any) -> int | None:
    """Return the whole number that names a class, such as 3, 3.0, "3" or "-1"; None if none."""
    if isinstance(name, Integral):
        return int(name)
    if isinstance(name, Real) and float(name).is_integer():
        return int(float(name))
    if isinstance(name, str):
        whole, _, decimals = name.partition(".")
        if whole.removeprefix("-").isdecimal() and not decimals.strip("0"):
            return int(whole)
    return None


def _by_number(array: Array, places: Mapping[int, int]) -> NDArray[np.int32]:
    numbers = np.array(list(places))
    order = np.argsort(numbers)
    ranked = numbers[order]
    at = np.searchsorted(ranked, array).clip(max=len(ranked) - 1)
    codes = np.array(list(places.values()))[order[at]]
    return _all_known(np.where(ranked[at] == array, codes, -1), array, list(places))
