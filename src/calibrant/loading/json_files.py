"""JSON lines: an object in each line.

Polars reads the lines, and Python finds the line of a fault. A key that a row lacks is a gap there,
like an empty cell.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from glob import escape
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from calibrant.checks.labels import written
from calibrant.checks.parameters import listed
from calibrant.loading.columns import FAILURES, MOST, SAMPLE, refuse_width
from calibrant.loading.json_members import rest, scan, scan_object, spliced
from calibrant.loading.plain_files import BOM, created_text, first_bytes, opened_text
from calibrant.loading.roles import Kind, remedy, repeated, spelled

STEP = 1 << 24  # bytes that are searched at a time
KEY = re.compile(rb'"([^"\\]*+)"\s*+:')  # a key that is written as it reads
ESCAPED_KEY = re.compile(rb'\\[^"\n]*+"\s*+:')
KINDS: dict[Kind, set[type]] = {
    "text": {str, bool},
    "list": {list},
    "whole": {int},
    "float": {int, float},
}


@final
@dataclass(frozen=True, slots=True)
class JsonLines:
    """Lines that each hold an object; the keys are the columns."""

    path: Path
    spelled: dict[str, str]  # name without spaces around it → key
    sample: dict[str, list[Any]]  # name → values of the first lines
    kinds: dict[str, Kind]
    counts: Mapping[bytes, int]  # key → how often it occurs; nothing if lines have been checked

    def first_labels(self, label: str) -> list[str]:
        """Return the labels of the first lines."""
        return [written(value) for value in self.sample[label]]

    def read(self, numeric: Sequence[str], named: Sequence[str]) -> pl.DataFrame:
        """Return the columns; when polars cannot read them, find out where and why."""
        number = pl.Float64()
        schema: dict[str, Any] = {
            self.spelled[name]: pl.List(number) if self.kinds[name] == "list" else number
            for name in numeric
        }
        schema |= {self.spelled[name]: pl.String() for name in named}
        try:
            frame = pl.scan_ndjson(self._source(), schema=schema).collect()
        except FAILURES:
            self._find_fault(numeric)
            frame = self._parsed(schema)
        # Of a key that a line has twice, polars takes one. But every row has each of the keys, or
        # else a gap that is refused: none is there twice if none is there more often than rows.
        if any(self.counts.get(key.encode(), 0) > frame.height for key in schema):
            self._find_fault(())
        wanted = [*numeric, *named]
        return pl.DataFrame([frame.get_column(self.spelled[name]).alias(name) for name in wanted])

    def _parsed(self, schema: Mapping[str, Any]) -> pl.DataFrame:
        """Return the columns as Python reads them, for which NaN and 1e400 are numbers."""
        with opened_text(self.path) as file:
            lines = (_line(*each) for each in _filled(file))
            rows = [[_as_column(one.get(key), schema[key]) for key in schema] for one in lines]
        return pl.DataFrame(rows, schema, orient="row", strict=False)

    def _source(self) -> Any:
        """Return what polars shall read: the file, or its content after a byte order mark."""
        if first_bytes(self.path).startswith(BOM):
            return self.path.read_bytes().removeprefix(BOM)
        return escape(str(self.path))

    def groups(self, numeric: Sequence[str]) -> list[Sequence[str]]:
        """Return one group: to read a column, all lines must be read."""
        return [numeric]

    def where(self, row: int) -> str:
        """Return the words for a row, with its line."""
        with opened_text(self.path) as file:
            line, _ = next(islice(_filled(file), row, None))
        return f"row {row} (line {line})"

    def _find_fault(self, numeric: Sequence[str]) -> None:
        """Raise the sentence for the first line that is no object of the numbers asked for."""
        with opened_text(self.path) as file:
            for row, (line, content) in enumerate(_filled(file)):
                found = _line(line, content)
                for name in numeric:
                    value = found.get(self.spelled[name])
                    fault = _fault(value, self.kinds[name])
                    if fault:
                        shown = str(value) if type(value) is float else json.dumps(value)[:60]
                        hint = remedy(value) if isinstance(value, str) else ""
                        raise ValueError(
                            f"{name!r} must be {fault}; row {row} (line {line}) has {shown}.{hint}"
                        )

    def write(self, output: Path, columns: Mapping[str, NDArray[np.float64]]) -> None:
        """Write the lines with other numbers for some keys; all else stays to the last byte."""
        rows = values_by_row(self.spelled, columns)
        with opened_text(self.path) as file, created_text(output) as target:
            target.write(mark_of(self.path))
            for content in file:
                if content.strip():
                    target.writelines(spliced(content, [scan_object(content)], [next(rows)]))
                else:
                    target.write(content)

    def same_rest(self, other: "JsonLines", names: Sequence[str]) -> bool:
        """Whether another file has the same lines, but for the values of these keys."""
        keys = [self.spelled[name] for name in names]
        with opened_text(self.path) as mine, opened_text(other.path) as theirs:
            return all(
                rest_of(a, False, keys) == rest_of(b, False, keys)
                for a, b in zip_longest(mine, theirs, fillvalue="")
            )


def json_lines(path: Path) -> JsonLines:
    """Open a file of JSON lines: all of its keys, and their kinds from the first lines."""
    counts = _key_counts(path)
    with opened_text(path) as file:
        lines = list(islice(_filled(file), SAMPLE))
    found = _first_values(_line(*line) for line in lines)
    if not found:
        raise ValueError("the file must have at least one line; it is empty.")
    seen = KEY.findall("".join(dict(lines).values()).encode())
    if counts is None or counts.keys() - seen:  # keys may come later: all lines are parsed
        counts = {}
        with opened_text(path) as file:
            found = _first_values(_line(*line) for line in _filled(file))
    keys = spelled(found)
    sample = {name: found[key] for name, key in keys.items()}
    kinds = {name: kind_of(values) for name, values in sample.items()}
    return JsonLines(path, keys, sample, kinds, counts)


def _first_values(objects: Iterable[dict[str, Any]]) -> dict[str, list[Any]]:
    """Return the first values of every key, without gaps; keys in the order of their first rows."""
    found: dict[str, list[Any]] = {}
    for one in objects:
        for key, value in one.items():
            values = found.setdefault(key, [])
            if value is not None and len(values) < SAMPLE:
                values.append(value)
    return found


def _key_counts(path: Path) -> Mapping[bytes, int] | None:
    """Count all that may be keys; None if some are not written as they read.

    A line with more numbers than a row can have is refused before anybody makes room for them.
    """
    counts: Counter[bytes] = Counter()
    escaped = False
    with path.open("rb") as file:
        while part := file.read(STEP) + file.readline():
            if part.count(b",") > MOST:
                refuse_width(max(line.count(b",") for line in part.split(b"\n")))
            escaped = escaped or (b"\\" in part and ESCAPED_KEY.search(part) is not None)
            counts.update(() if escaped else KEY.findall(part))
    return None if escaped else counts


def _filled(file: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not blank, counted from 1."""
    return ((line, content) for line, content in enumerate(file, 1) if content.strip())


def _line(line: int, content: str) -> dict[str, Any]:
    """Return the object that a line holds."""
    start = "every line must be a JSON object;"
    try:
        found = json.loads(content, object_pairs_hook=as_dict)
    except RecursionError:
        raise ValueError(f"{start} line {line} is too deep.") from None
    except json.JSONDecodeError as error:
        raise ValueError(
            f"{start} line {line} is broken at character {error.pos + 1} ({error.msg})."
        ) from None
    except ValueError:  # too many digits
        raise ValueError(f"numbers must be finite; line {line} has a longer one.") from None
    if not isinstance(found, dict | Repeated):
        raise ValueError(f"{start} line {line} is {content.strip()[:60]!r}.")
    return checked_object(f"line {line}", found)


class Repeated(list[str]):
    """The keys of an object that has one of them twice."""


def as_dict(pairs: list[tuple[str, Any]]) -> dict[str, Any] | Repeated:
    """Return an object, or its keys if one of them is there twice."""
    found = dict(pairs)
    return found if len(found) == len(pairs) else Repeated(key for key, _ in pairs)


def checked_object(place: str, found: dict[str, Any] | Repeated) -> dict[str, Any]:
    """Return an object; refuse one that has no keys, or a key twice."""
    if isinstance(found, Repeated):
        twice = listed(repeated(found))
        raise ValueError(f"keys must differ from one another; {place} has {twice} twice.")
    if not found:
        raise ValueError(f"every line must be a JSON object with keys; {place} has none.")
    return found


def kind_of(values: Sequence[Any]) -> Kind:
    """Return what a column holds by some of its values."""
    types = {type(value) for value in values}
    return next((kind for kind, known in KINDS.items() if types and types <= known), "other")


def _fault(value: Any, kind: Kind) -> str:
    """Say what a value must be, if it is not."""
    if value is None:
        return ""
    if kind == "list":
        return "" if is_list_of_numbers(value) else "a list of finite numbers"
    if type(value) not in (int, float):
        return "a number"
    return "" if _is_number(value) else "finite"


def _as_column(value: Any, kind: Any) -> Any:
    """Return a value as a column holds it: of texts, what is no text is one."""
    if kind != pl.String or value is None or isinstance(value, str):
        return value
    text = json.dumps(value)
    return None if text == "NaN" else text


def is_list_of_numbers(value: Any) -> bool:
    """Whether a value is a list of finite numbers, or of gaps."""
    return isinstance(value, list) and all(v is None or _is_number(v) for v in value)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) < float("inf")


def mark_of(path: Path) -> str:
    """Return the byte order mark of a file, if it has one."""
    return BOM.decode() if first_bytes(path).startswith(BOM) else ""


def values_by_row(
    keys: Mapping[str, str], columns: Mapping[str, NDArray[np.float64]]
) -> Iterator[dict[str, Any]]:
    """Yield what each row shall hold, by the keys of the file."""
    names = [keys[name] for name in columns]
    for values in zip(*(found.tolist() for found in columns.values()), strict=True):
        yield dict(zip(names, values, strict=True))


def rest_of(text: str, is_list: bool, keys: Sequence[str]) -> list[str]:
    """Return a text in parts, without the values of some keys; a blank line is one part."""
    return list(rest(text, scan(text, is_list), keys)) if text.strip() else [text]
