"""A JSON file: a list of objects, one for each row, or an object of columns."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from calibrant.checks.labels import written
from calibrant.loading import text
from calibrant.loading.column_store import ColumnStore
from calibrant.loading.columnar import Columnar
from calibrant.loading.json_lines import (
    is_list_of_numbers,
    json_lines,
    kind_of,
    object_of,
    spelled_keys,
)


def json_file(path: Path) -> ColumnStore:
    """Open a JSON file; one of JSON lines, whatever its name, is read as such."""
    with text.opened(path) as file:
        content = file.read()
    try:
        found = json.loads(content, object_pairs_hook=_Pairs)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data" and content.lstrip().startswith("{"):
            return json_lines(path)
        raise ValueError(
            f"the file must be JSON; line {error.lineno} is broken at character {error.colno}"
            f" ({error.msg})."
        ) from None
    except RecursionError:
        raise ValueError("the file must be JSON; it is too deep.") from None
    except ValueError:
        raise ValueError("numbers must be finite; the file has a longer one.") from None
    columns = _columns(found) if isinstance(found, _Pairs) else _rows(found)
    return Columnar.of(_frame(columns).lazy())


class _Pairs(list[tuple[str, Any]]):
    """An object, as the list of its keys and values."""


def _columns(found: _Pairs) -> Mapping[str, Sequence[Any]]:
    """Return the columns of an object of lists."""
    columns = object_of("the file", list(found), "")
    bad = [key for key, value in columns.items() if type(value) is not list]
    if bad:
        raise ValueError(
            "the file must be a list of objects, or an object of lists of one length; it has"
            f" {bad[0]!r}: {str(columns[bad[0]])[:40]!r}."
        )
    sizes = {len(values): key for key, values in columns.items()}
    if len(sizes) > 1:
        (first, a), (second, b), *_ = sizes.items()
        raise ValueError(f"lists must have one length; {a!r} has {first}, and {b!r} has {second}.")
    return columns


def _rows(found: Any) -> Mapping[str, Sequence[Any]]:
    """Return the columns of a list of objects: the keys of the first."""
    if not isinstance(found, list) or not found:
        raise ValueError(
            "the file must be a list of objects, or an object of lists; it is"
            f" {json.dumps(found)[:40]}."
        )
    rows = [
        object_of(f"row {row}", list(one), "") if isinstance(one, _Pairs) else _refused(row, one)
        for row, one in enumerate(found)
    ]
    return {key: [row.get(key) for row in rows] for key in rows[0]}


def _refused(row: int, found: Any) -> dict[str, Any]:
    raise ValueError(f"every row must be an object; row {row} is {json.dumps(found)[:40]}.")


def _frame(columns: Mapping[str, Sequence[Any]]) -> Any:
    import polars as pl  # noqa: PLC0415 (only files need it)

    spelled_keys(dict(columns))
    return pl.DataFrame([_series(key, values) for key, values in columns.items()])


def _series(key: str, values: Sequence[Any]) -> Any:
    """Return a column of numbers or lists of numbers, or of what it says as text."""
    import polars as pl  # noqa: PLC0415

    there = [value for value in values if value is not None]
    kind = kind_of(there)
    if kind == "float":
        return pl.Series(key, _each(float, values), pl.Float64)
    if kind == "list" and all(map(is_list_of_numbers, there)):
        return pl.Series(key, values, pl.List(pl.Float64), strict=False)
    if kind == "whole" and max(map(abs, there)) < 1 << 63:
        return pl.Series(key, values, pl.Int64)
    return pl.Series(key, _each(written, values), pl.String)


def _each(change: Callable[[Any], Any], values: Sequence[Any]) -> list[Any]:
    """Change each value that is there."""
    return [None if value is None else change(value) for value in values]
