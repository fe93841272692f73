"""JSON lines: one object with the same keys in every line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from glob import escape
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from calibrant.checks.labels import written
from calibrant.checks.parameters import listed
from calibrant.loading import text
from calibrant.loading.column_store import SAMPLE, Kind, repeated
from calibrant.loading.failures import reason_of

if TYPE_CHECKING:
    import polars as pl

STEP = 1 << 24  # bytes that are searched at a time
SPACED = (b'" ', b'"\t', b'"\r')  # a key may have space after it, and a text before its first word
ESCAPED_KEY = re.compile(rb'\\[u/"\\][^"\n]*"\s*:')  # a key that is not written as it reads


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

    def read(self, numeric: Sequence[str], named: Sequence[str]) -> pl.DataFrame:
        """Return the columns; when polars cannot read them, find out where and why."""
        import polars as pl  # noqa: PLC0415 (only files need it)

        number = pl.Float64()
        schema: dict[str, Any] = {
            self.spelled[name]: pl.List(number) if self.kinds[name] == "list" else number
            for name in numeric
        }
        schema |= {self.spelled[name]: pl.String() for name in named}
        try:
            frame = pl.scan_ndjson(self._source(), schema=schema).collect()
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
            self._find_fault(numeric)
            raise ValueError(
                f"every line must be a JSON object; one cannot be read ({reason_of(error)})."
            ) from error
        if self._may_repeat(list(schema), frame.height):
            self._find_fault(())
        wanted = [*numeric, *named]
        return pl.DataFrame([frame.get_column(self.spelled[name]).alias(name) for name in wanted])

    def _source(self) -> Any:
        """Return what polars shall read: the file, or its content after the mark."""
        if not self.marked:
            return escape(str(self.path))
        return self.path.read_bytes().removeprefix(text.BOM)

    def _may_repeat(self, keys: Sequence[str], n: int) -> bool:
        """Whether a line may have a key twice, of which polars would take one.

        Every row has each of the keys, or else a gap that is refused. So no key is there twice if
        none occurs more often than there are rows, and all are written plainly.
        """
        plain = [f"{json.dumps(key, ensure_ascii=False)}:".encode() for key in keys]
        counts = dict.fromkeys(plain, 0)
        with self.path.open("rb") as file:
            while part := file.read(STEP) + file.readline():
                for key in plain:
                    counts[key] += part.count(key)
                if any(odd in part for odd in SPACED) or _has_escaped_key(part):
                    return True
        return max(counts.values()) > n

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
                found = object_of(f"line {line}", _pairs(line, content), content)
                for name in numeric:
                    value = found.get(self.spelled[name], 0)
                    fault = _fault(value, self.kinds[name])
                    if fault:
                        raise ValueError(
                            f"{name!r} must be {fault}; row {row} (line {line}) has"
                            f" {_shown(value)}."
                        )


def _has_escaped_key(part: bytes) -> bool:
    return b"\\" in part and ESCAPED_KEY.search(part) is not None


def _shown(value: Any) -> str:
    return str(value) if isinstance(value, float) else json.dumps(value)[:60]


def _fault(value: Any, kind: Kind) -> str:
    """Say what a value must be, if it is not."""
    if value is None:
        return ""
    if kind == "list":
        return "" if is_list_of_numbers(value) else "a list of finite numbers"
    if not isinstance(value, int | float) or isinstance(value, bool):
        return "a number"
    return "" if _is_number(value) else "finite"


def json_lines(path: Path) -> JsonLines:
    """Open a file of JSON lines: the keys of the first, and the kinds from a few more."""
    with text.opened(path) as file:
        lines = list(islice(_filled(file), SAMPLE))
    objects = [object_of(f"line {k}", _pairs(k, content), content) for k, content in lines]
    if not objects:
        raise ValueError("the file must have at least one line; it is empty.")
    spelled = spelled_keys(objects[0])
    sample = {
        name: [found[key] for found in objects if found.get(key) is not None]
        for name, key in spelled.items()
    }
    kinds = {name: kind_of(values) for name, values in sample.items()}
    marked = text.first_bytes(path).startswith(text.BOM)
    return JsonLines(path, marked, spelled, sample, kinds)


def _filled(file: Any) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not blank, counted from 1."""
    return ((line, content) for line, content in enumerate(file, 1) if content.strip())


def spelled_keys(found: dict[str, Any]) -> dict[str, str]:
    """Return the keys by their names without spaces around them, which must differ."""
    twice = repeated(key.strip() for key in found)
    if twice:
        raise ValueError(f"keys must differ from one another; found {listed(twice)} twice.")
    return {key.strip(): key for key in found}


def object_of(place: str, found: Any, content: str) -> dict[str, Any]:
    """Return an object that was parsed as a list of pairs; refuse others, and a key twice."""
    if not isinstance(found, list) or not all(isinstance(pair, tuple) for pair in found):
        raise ValueError(f"every line must be a JSON object; {place} is {content.strip()[:60]!r}.")
    if not found:
        raise ValueError(f"every line must be a JSON object with keys; {place} has none.")
    twice = repeated(key for key, _ in found)
    if twice:
        raise ValueError(f"keys must differ from one another; {place} has {listed(twice)} twice.")
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
    except ValueError:  # too many digits
        raise ValueError(f"numbers must be finite; line {line} has a longer one.") from None


KINDS: dict[Kind, set[type]] = {
    "text": {str, bool},
    "list": {list},
    "whole": {int},
    "float": {int, float},
}


def kind_of(values: Sequence[Any]) -> Kind:
    """Return what a column holds by some of its values."""
    types = {type(value) for value in values}
    for kind, known in KINDS.items():
        if types and types <= known:
            return kind
    return "other"


def is_list_of_numbers(value: Any) -> bool:
    """Whether a value is a list of finite numbers, or of gaps."""
    return isinstance(value, list) and all(v is None or _is_number(v) for v in value)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) < float("inf")
