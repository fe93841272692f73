"""JSON files that are one table: a list of objects, or an object of lists.

Rows are turned into columns as they come, so that no more than the text and the columns is held. A
key that a row lacks is a gap there, like an empty cell.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from calibrant.checks.labels import spelled_out, written
from calibrant.loading.columnar import Columnar
from calibrant.loading.columns import Rewritable
from calibrant.loading.json_files import (
    Repeated,
    as_dict,
    checked_object,
    is_list_of_numbers,
    json_lines,
    kind_of,
    mark_of,
    rest_of,
    values_by_row,
)
from calibrant.loading.json_members import decoded, objects, scan, spliced
from calibrant.loading.plain_files import created_text, opened_text
from calibrant.loading.roles import Kind

SPACES = " \t\n\r"  # of JSON
FEW = 1_000_000  # cells that any table may have
SPARSE = 50  # cells of a larger one that may be empty for each that is not
DECODER = json.JSONDecoder(object_pairs_hook=as_dict)


@final
@dataclass(frozen=True, slots=True)
class JsonTable:
    """A list of objects, or an object of lists."""

    path: Path
    is_list: bool
    table: Columnar  # what is in it

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """What each column holds."""
        return self.table.kinds

    def first_labels(self, label: str) -> list[str]:
        """Return the labels of the first rows."""
        return self.table.first_labels(label)

    def read(self, numeric: Sequence[str], named: Sequence[str]) -> pl.DataFrame:
        """Return the columns."""
        return self.table.read(numeric, named)

    def groups(self, numeric: Sequence[str]) -> list[Sequence[str]]:
        """Return one group: all is in memory."""
        return self.table.groups(numeric)

    def where(self, row: int) -> str:
        """Return the words for a row."""
        return self.table.where(row)

    def write(self, output: Path, columns: Mapping[str, NDArray[np.float64]]) -> None:
        """Write the text with other numbers for some keys; all else stays to the last byte."""
        text = _text(self.path)
        if self.is_list:
            values = values_by_row(self.table.spelled, columns)
        else:
            by_key = {self.table.spelled[name]: found.tolist() for name, found in columns.items()}
            values = iter([by_key])
        with created_text(output) as target:
            target.write(mark_of(self.path))
            target.writelines(spliced(text, scan(text, self.is_list), values))

    def same_rest(self, other: "JsonTable", names: Sequence[str]) -> bool:
        """Whether another file has the same text, but for the values of these keys."""
        keys = [self.table.spelled[name] for name in names]
        mine, theirs = (rest_of(_text(each.path), each.is_list, keys) for each in (self, other))
        return mine == theirs


def _text(path: Path) -> str:
    with opened_text(path) as file:
        return file.read()


def json_file(path: Path) -> Rewritable:
    """Open a JSON file; one of JSON lines, whatever its name, is read as such."""
    content = _text(path)
    is_list = content.lstrip(SPACES).startswith("[")
    try:
        columns = _of_rows(objects(content, DECODER)) if is_list else _of_lists(content)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data" and content.lstrip(SPACES).startswith("{"):
            return json_lines(path)
        raise ValueError(
            f"the file must be JSON; line {error.lineno} is broken at character {error.colno}"
            f" ({error.msg})."
        ) from None
    except RecursionError:
        raise ValueError("the file must be JSON; it is too deep.") from None
    frame = pl.DataFrame([_series(spelled_out(key), values) for key, values in columns.items()])
    return JsonTable(path, is_list, Columnar.of(frame.lazy()))


def _of_lists(content: str) -> dict[str, Sequence[Any]]:
    """Return the columns of a file that holds an object of lists."""
    found, stop = decoded(content, DECODER, len(content) - len(content.lstrip(SPACES)))
    if content[stop:].strip(SPACES):
        raise json.JSONDecodeError("Extra data", content, stop)
    if not isinstance(found, dict | Repeated):
        raise ValueError(_no_table(found))
    return _columns(checked_object("the file", found))


def _columns(columns: dict[str, Any]) -> dict[str, Sequence[Any]]:
    """Return the columns of an object of lists."""
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


def _of_rows(rows: Iterator[Any]) -> dict[str, Sequence[Any]]:
    """Return the columns of objects that come one after the other; what a row lacks is None."""
    columns: dict[str, list[Any]] = {}
    n = held = 0
    for one in rows:
        if not isinstance(one, dict | Repeated):
            raise ValueError(f"every row must be an object; row {n} is {json.dumps(one)[:40]}.")
        for key, value in checked_object(f"row {n}", one).items():
            values = columns.setdefault(key, [])
            if len(values) < n:
                values.extend([None] * (n - len(values)))
            values.append(value)
        n, held = n + 1, held + len(one)
        if n * len(columns) > SPARSE * held + FEW:
            raise ValueError(
                f"rows must have keys in common; {n:,} rows have {len(columns):,} different ones."
            )
    if not n:
        raise ValueError(_no_table([]))
    for values in columns.values():
        values.extend([None] * (n - len(values)))
    return dict(columns)


def _no_table(found: Any) -> str:
    """Say that a file holds something else."""
    return (
        "the file must be a list of objects, or an object of lists; it is"
        f" {json.dumps(found)[:40]}."
    )


def _series(key: str, values: Sequence[Any]) -> pl.Series:
    """Return a column of numbers or lists of numbers, or of what it says as text."""
    there = [value for value in values if value is not None]
    kind = kind_of(there)
    if kind == "float":
        return pl.Series(key, _each(float, values), pl.Float64)
    if kind == "list" and all(map(is_list_of_numbers, there)):
        return pl.Series(key, values, pl.List(pl.Float64), strict=False)
    if kind == "whole" and max(map(abs, there)) < 1 << 63:
        return pl.Series(key, values, pl.Int64)
    return pl.Series(key, _each(lambda value: spelled_out(written(value)), values), pl.String)


def _each(change: Callable[[Any], Any], values: Sequence[Any]) -> list[Any]:
    """Change each value that is there."""
    return [None if value is None else change(value) for value in values]
