"""From what people have (arrays, tensors, frames, lists) to NumPy arrays."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.checks.parameters import listed
from calibrant.device import stays

Array = NDArray[Any]

PREFIXES = ("prob_", "proba_", "p_")  # of columns that are named for a class
LOGIT_PREFIXES = ("logit_", "logits_")

BLOCK = 1 << 20  # numbers of a frame that are laid side by side at a time


def to_numpy(name: str, value: Any) -> Array:
    """Return `value` as an ndarray, without a copy where its memory allows it."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise ValueError(f"`{name}` must not have missing values; some entries are masked.")
    if isinstance(value, np.ndarray):
        return np.asarray(value)
    if isinstance(value, list | tuple):
        return _listed(name, value)
    table = _narwhals(value)
    if table is None:
        return _tensor(name, value) if _is_tensor(value) else _array(name, value)
    if hasattr(table, "columns"):
        return columns(name, value, table.columns)
    return _series(name, table)


def _listed(name: str, value: list[Any] | tuple[Any, ...]) -> Array:
    """Return a list of rows, which may be tensors, as an array."""
    if value and _is_tensor(value[0]):
        return _array(name, [to_numpy(name, item) for item in value])
    return _array(name, value)


def column_names(value: Any) -> list[Any] | None:
    """Return the column names of a data frame or table; None of anything else.

    Those of pandas may be integers, and then stay so: they are names of classes.
    """
    names = getattr(_narwhals(value), "columns", None)
    return None if names is None else list(names)


def class_columns(value: Any, *, logits: bool = False) -> list[Any] | None:
    """Return the names of the classes of a frame: of its columns, without a prefix of all.

    None of what is no frame, and of a frame of one column, which is P(class 1).
    """
    names = column_names(value)
    return None if names is None else names_of_columns(names, logits=logits)


def names_of_columns(names: list[Any], *, logits: bool = False) -> list[Any] | None:
    """Return the names of the classes of columns; None of a single one."""
    return None if len(names) == 1 else list(after_prefix(names, logits=logits)) or names


def after_prefix(names: Sequence[Any], *, logits: bool = False) -> tuple[str, ...]:
    """Return what stands after the prefix that all names have; nothing if they have none.

    Examples
    --------
    >>> after_prefix(["prob_cat", "prob_dog"])
    ('cat', 'dog')
    """
    for prefix in LOGIT_PREFIXES if logits else PREFIXES:
        if all(has_prefix(name, prefix) for name in names):
            return tuple(name[len(prefix) :].strip() for name in names)
    return ()


def has_prefix(name: Any, prefix: str) -> bool:
    """Whether a name is a prefix and more."""
    return isinstance(name, str) and len(name) > len(prefix) and name.lower().startswith(prefix)


def one_column(value: Any) -> Any:
    """Return the only column of a frame that has one, and anything else as it is."""
    names = column_names(value)
    return value[names[0]] if names is not None and len(names) == 1 else value


def columns_of(value: Any) -> dict[str, Any]:
    """Return the columns of a frame, or a named series alone, by their names; else nothing."""
    names = column_names(value)
    if names is not None:
        return {str(name): value[name] for name in names}
    series = getattr(_narwhals(value), "name", None)
    return {} if series is None else {str(series): value}


def is_frame(value: Any) -> bool:
    """Whether something is a data frame of pandas, polars or Arrow."""
    return column_names(value) is not None


def refuse_other_rows(probs: Any, **others: Any) -> None:
    """Refuse a pandas column whose index is not that of the probabilities.

    pandas would put rows of one index together; we take rows as they stand. Where the two
    differ, one of them is wrong.
    """
    index = _index(probs)
    for name, value in others.items():
        theirs = _index(value)
        if index is None or theirs is None or len(index) != len(theirs) or index.equals(theirs):
            continue
        row = int((index != theirs).argmax())
        raise ValueError(
            f"`{name}` must have the index of `probs`; row {row} is {theirs[row]!r} there and"
            f" {index[row]!r} in `probs`. Align them, or give .to_numpy() to take rows as they"
            " stand."
        )


@contextmanager
def in_order(probs: Any, labels: Any) -> Iterator[None]:
    """Ask, where the two are refused, whether one stands in the place of the other."""
    try:
        yield
    except (TypeError, ValueError):
        if _swapped(probs, labels):
            raise ValueError(
                "`probs` must come before `labels`; are they swapped? The first holds classes, and"
                " the second numbers between 0 and 1. scikit-learn's functions take them the other"
                " way round."
            ) from None
        raise


def _swapped(probs: Any, labels: Any) -> bool:
    """Whether labels look like probabilities, beside what looks like labels."""
    try:
        first, second = (np.asarray(one_column(each)) for each in (probs, labels))
    except Exception:  # what is no array has been refused for that
        return False
    return _like_classes(first) and _like_probabilities(second)


def _like_classes(array: Array) -> bool:
    return array.ndim == 1 and (array.dtype.kind not in "biuf" or not _broken(array))


def _like_probabilities(array: Array) -> bool:
    if array.dtype.kind != "f" or not array.size:
        return False
    return bool(array.min() >= 0 and array.max() <= 1) and _broken(array)


def _broken(numbers: Array) -> bool:
    """Whether some numbers are not whole."""
    return bool((numbers != np.trunc(numbers)).any())


def _index(value: Any) -> Any:
    """Return the index of a pandas frame or series; None of anything else."""
    return value.index if hasattr(value, "iloc") and hasattr(value, "index") else None


def check_columns(frame: Any, wanted: list[Any]) -> None:
    """Refuse what is no data frame, or lacks a column that is asked for."""
    found = column_names(frame)
    if found is None:
        raise TypeError(f"`frame` must be a data frame; found {type(frame).__name__}.")
    missing = [column for column in wanted if column not in found]
    if missing:
        raise ValueError(
            f"`frame` must have the columns asked for; {listed(missing)} not among"
            f" {listed(found, 12)}."
        )


def is_bfloat16(value: Any) -> bool:
    """Whether `value` is an array of a type that NumPy lacks, with 8 bits of precision."""
    return str(getattr(value, "dtype", "")).endswith("bfloat16")


def columns(name: str, frame: Any, chosen: list[Any]) -> Array:
    """Lay columns of a frame side by side in one (n, m) array: the only copy that is made."""
    table = _narwhals(frame)
    arrays = [_series(name, table.get_column(column)) for column in chosen]
    for column, array in zip(chosen, arrays, strict=True):
        if array.dtype.kind not in "biuf":
            raise TypeError(f"`{name}` must be numbers; column {column!r} holds {array.dtype}.")
    out = np.empty((len(table), len(chosen)), np.result_type(*arrays) if arrays else float)
    step = max(1024, BLOCK // max(1, len(arrays)))
    for start in range(0, len(out), step):  # a block stays in the processor's cache
        rows = slice(start, start + step)
        for j, array in enumerate(arrays):
            out[rows, j] = array[rows]
    return out


def to_polars(frame: Any) -> Any:
    """Return a frame of any library as one of polars, without a copy where that is possible."""
    table = _narwhals(frame)
    if not hasattr(table, "columns"):
        raise TypeError(f"`frame` must be a data frame; found {type(frame).__name__}.")
    return table.to_polars()


def _narwhals(value: Any) -> Any:
    """Return a narwhals frame or series of `value`; None if it is neither."""
    if isinstance(value, np.ndarray | list | tuple) or stays(value):
        return None
    import narwhals.stable.v2 as nw  # noqa: PLC0415 (a third of the time to import calibrant)
    from narwhals.exceptions import DuplicateError  # noqa: PLC0415

    try:
        table = nw.from_native(
            _arrow_table(value), pass_through=True, eager_only=True, allow_series=True
        )
    except DuplicateError:
        counts = Counter(str(name) for name in value.columns)
        twice = sorted(name for name, count in counts.items() if count > 1)
        raise ValueError(
            f"The columns of a frame must have different names; found {listed(twice)} twice."
        ) from None
    return table if isinstance(table, nw.DataFrame | nw.Series) else None


def _arrow_table(value: Any) -> Any:
    """Return Arrow arrays and record batches as the chunked forms that narwhals knows."""
    if not type(value).__module__.startswith("pyarrow"):
        return value
    import pyarrow as pa  # noqa: PLC0415 (the user has it)

    if isinstance(value, pa.Array):
        return pa.chunked_array([value])
    return pa.Table.from_batches([value]) if isinstance(value, pa.RecordBatch) else value


def _series(name: str, series: Any) -> Array:
    missing = series.is_null()
    if missing.any():
        row = int(missing.arg_true()[0])
        where = f"column {series.name!r}, row {row}" if series.name else f"row {row}"
        raise ValueError(f"`{name}` must not have missing values; {where} is missing.")
    return np.asarray(series.to_numpy())


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "__dlpack__") and not isinstance(value, np.ndarray | np.generic)


def _tensor(name: str, value: Any) -> Array:
    value = value.detach() if hasattr(value, "detach") else value  # torch: leave the graph
    value = value.cpu() if stays(value) else value
    if is_bfloat16(value):
        value = value.float() if hasattr(value, "float") else value.astype("float32")
    try:
        return np.from_dlpack(value)
    except (BufferError, RuntimeError, TypeError, ValueError):
        return _array(name, value, hint=f" For a tensor on a GPU use {name}.cpu().")


def _array(name: str, value: Any, hint: str = "") -> Array:
    try:
        return np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:
        reason = str(error).rstrip(".")
        raise TypeError(
            f"`{name}` must be an array, a frame or a list of rows of one length; {reason}.{hint}"
        ) from error
