"""JSON lines: one object with the same keys in every line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from glob import escape
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from calibrant.checks.meaning import written
from calibrant.checks.parameters import listed
from calibrant.loading import text
from calibrant.loading.column_store import SAMPLE, Kind, repeated

if TYPE_CHECKING:
    import polars as pl

BOM = b"\xef\xbb\xbf"


@final
@dataclass(frozen=True, slots=True)
class JsonLines:
    """Lines that each hold an object; the keys are the columns.

    Parameters
    ----------
    path : Path
        The file.
    marked : bool
        Whether it starts with a byte order mark, which polars does not know.
    spelled : dict
        Name without spaces around it → key.
    sample : dict
        Name → values of the first lines.
    kinds : dict
        Name → what the column holds.
    """

    path: Path
    marked: bool
    spelled: dict[str, str]
    sample: dict[str, list[Any]]
    kinds: dict[str, Kind]

    def first_labels(self, label: str) -> list[str]:
        """Return the labels of the first lines."""
        return [written(value) for value in self.sample[label]]

    def read(self, numeric: Sequence[str], label: str | None) -> pl.DataFrame:
        """Return the columns; when polars cannot read them, find out where and why."""
        import polars as pl  # noqa: PLC0415 (only files need it)

        schema: dict[str, Any] = {self.spelled[name]: pl.Float64() for name in numeric}
        wanted = list(numeric)
        if label is not None:
            wanted.append(label)
            schema[self.spelled[label]] = pl.String()
        try:
            frame = pl.scan_ndjson(self._source(), schema=schema).collect()
        except (pl.exceptions.PolarsError, OSError) as error:
            self._find_fault(numeric)
            raise ValueError(
                f"every line must be a JSON object; one cannot be read ({text.reason(error)})."
            ) from error
        return pl.DataFrame([frame.get_column(self.spelled[name]).alias(name) for name in wanted])

    def _source(self) -> Any:
        """Return what polars shall read: the file, or its content after the mark."""
        if not self.marked:
            return escape(str(self.path))
        with text.opened(self.path) as file:
            return file.read().encode()

    def groups(self, numeric: Sequence[str]) -> list[Sequence[str]]:
        """Return one group: to read a column, all lines must be read."""
        return [numeric]

    def where(self, row: int) -> str:
        """Return the words for a row, with its line."""
        with text.opened(self.path) as file:
            line, _ = next(islice(_filled(file), row, None))
        return f"row {row} (line {line})"

    def _find_fault(self, numeric: Sequence[str]) -> None:
        with text.opened(self.path) as file:
            for row, (line, content) in enumerate(_filled(file)):
                found = _object(line, content)
                for name in numeric:
                    value = found.get(self.spelled[name], 0)
                    if isinstance(value, bool) or not isinstance(value, int | float | None):
                        raise ValueError(
                            f"{name!r} must be a number; row {row} (line {line}) has"
                            f" {json.dumps(value)[:60]}."
                        )
                    if value is not None and not abs(value) < float("inf"):
                        raise ValueError(
                            f"{name!r} must be finite; row {row} (line {line}) has {value}."
                        )


def json_lines(path: Path) -> JsonLines:
    """Open a file of JSON lines: the keys of the first, and the kinds from a few more."""
    with text.opened(path) as file:
        marked = file.buffer.peek(len(BOM)).startswith(BOM)
        objects = [_object(line, content) for line, content in islice(_filled(file), SAMPLE)]
    if not objects:
        raise ValueError("the file must have at least one line; it is empty.")
    spelled = {key.strip(): key for key in objects[0]}
    sample = {
        name: [found[key] for found in objects if found.get(key) is not None]
        for name, key in spelled.items()
    }
    kinds = {name: _kind(values) for name, values in sample.items()}
    return JsonLines(path, marked, spelled, sample, kinds)


def _filled(file: Any) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not blank, counted from 1."""
    return ((line, content) for line, content in enumerate(file, 1) if content.strip())


def _object(line: int, content: str) -> dict[str, Any]:
    """Return the object of a line; refuse what is none, or has a key twice."""
    found = _pairs(line, content)
    if not isinstance(found, list) or not all(isinstance(pair, tuple) for pair in found):
        raise ValueError(
            f"every line must be a JSON object; line {line} is {content.strip()[:60]!r}."
        )
    if not found:
        raise ValueError(f"every line must be a JSON object with keys; line {line} has none.")
    twice = repeated(key for key, _ in found)
    if twice:
        raise ValueError(
            f"keys must differ from one another; line {line} has {listed(twice)} twice."
        )
    return dict(found)


def _pairs(line: int, content: str) -> Any:
    """Return what a line holds, with objects as lists of pairs."""
    try:
        return json.loads(content, object_pairs_hook=list)
    except RecursionError:
        raise ValueError(f"every line must be a JSON object; line {line} is too deep.") from None
    except json.JSONDecodeError as error:
        raise ValueError(
            f"every line must be a JSON object; line {line} is broken at character"
            f" {error.pos + 1} ({error.msg})."
        ) from None


def _kind(values: Sequence[Any]) -> Kind:
    if not values or not all(type(value) in (int, float) for value in values):
        return "other"
    return "float" if any(isinstance(value, float) for value in values) else "whole"
