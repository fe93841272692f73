"""JSON lines: one object with the same keys in every line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from glob import escape
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from calibrant.checks.parameters import listed
from calibrant.loading import text
from calibrant.loading.table import Kind

if TYPE_CHECKING:
    import polars as pl

SAMPLE = 100  # lines from which the kinds of columns are told
BOM = b"\xef\xbb\xbf"


@final
@dataclass(frozen=True, slots=True)
class JsonLines:
    """Lines that each hold an object; the keys are the columns."""

    path: Path
    kinds: dict[str, Kind]
    spelled: dict[str, str]  # name without spaces around it → key

    def read(self, numbers: Sequence[str], label: str | None) -> pl.DataFrame:
        """Return the columns; when polars cannot read them, find out where and why."""
        import polars as pl  # noqa: PLC0415 (only files need it)

        schema: dict[str, Any] = {self.spelled[name]: pl.Float64() for name in numbers}
        wanted = [*numbers, *([] if label is None else [label])]
        if label is not None:
            schema[self.spelled[label]] = pl.String()
        has_bom = text.first_bytes(self.path).startswith(BOM)
        source: Any = self.path.read_bytes()[3:] if has_bom else escape(str(self.path))
        try:
            frame = pl.scan_ndjson(source, schema=schema).collect()
        except (pl.exceptions.PolarsError, OSError) as error:
            self._find_fault(numbers)
            raise ValueError(
                f"every line must be a JSON object; one cannot be read ({text.reason(error)})."
            ) from error
        return pl.DataFrame([frame.get_column(self.spelled[name]).alias(name) for name in wanted])

    def groups(self, numbers: Sequence[str]) -> list[Sequence[str]]:
        """Return one group: to read a column, all lines must be read."""
        return [numbers]

    def place(self, row: int) -> str:
        """Return the words for a row, with its line."""
        with text.opened(self.path) as file:
            number, _ = next(islice(_filled(file), row, None))
        return f"row {row} (line {number})"

    def _find_fault(self, numbers: Sequence[str]) -> None:
        with text.opened(self.path) as file:
            for row, (line, written) in enumerate(_filled(file)):
                found = _object(line, written)
                for name in numbers:
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
        sample = [_object(line, written) for line, written in islice(_filled(file), SAMPLE)]
    if not sample:
        raise ValueError("the file must have at least one line; it is empty.")
    spelled = {key.strip(): key for key in sample[0]}
    kinds: dict[str, Kind] = {
        name: _kind([found[key] for found in sample if found.get(key) is not None])
        for name, key in spelled.items()
    }
    return JsonLines(path, kinds, spelled)


def _filled(file: Any) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not blank, with their numbers."""
    return ((number, line) for number, line in enumerate(file, 1) if line.strip())


def _object(line: int, written: str) -> dict[str, Any]:
    try:
        found = json.loads(written, object_pairs_hook=list)
    except RecursionError:
        raise ValueError(f"every line must be a JSON object; line {line} is too deep.") from None
    except json.JSONDecodeError as error:
        raise ValueError(
            f"every line must be a JSON object; line {line} is broken at character"
            f" {error.pos + 1} ({error.msg})."
        ) from None
    if not isinstance(found, list) or not all(isinstance(pair, tuple) for pair in found):
        raise ValueError(
            f"every line must be a JSON object; line {line} is {written.strip()[:60]!r}."
        )
    if not found:
        raise ValueError(f"every line must be a JSON object with keys; line {line} has none.")
    keys = [key for key, _ in found]
    twice = (
        sorted({key for key in keys if keys.count(key) > 1}) if len(set(keys)) < len(keys) else []
    )
    if twice:
        raise ValueError(
            f"keys must differ from one another; line {line} has {listed(twice)} twice."
        )
    return dict(found)


def _kind(values: Sequence[Any]) -> Kind:
    if not values or not all(type(value) in (int, float) for value in values):
        return "other"
    return "float" if any(isinstance(value, float) for value in values) else "whole"
