"""CSV and TSV files: polars reads them, and Python finds the line of a fault."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from calibrant.checks.parameters import listed, more
from calibrant.loading import text
from calibrant.loading.table import Kind

if TYPE_CHECKING:
    import polars as pl

SAMPLE = 100  # rows from which the kinds of columns are told
SEPARATORS = (",", ";", "\t", "|")
REST = "\n"  # whether all unused cells are empty; the names of columns have no space around them
MISSING = ("na", "n/a", "null", "none", "-", "?", "#n/a", "missing")


@final
@dataclass(frozen=True, slots=True)
class Delimited:
    """Lines of cells with a header."""

    path: Path
    separator: str
    kinds: dict[str, Kind]
    numbers: dict[str, int]  # name of a column → its number
    width: int
    skip: int  # lines of the header

    def read(self, numbers: Sequence[str], label: str | None) -> pl.DataFrame:
        """Return the columns; when polars cannot read them, find out where and why."""
        import polars as pl  # noqa: PLC0415 (only files need it)

        try:
            return self._trimmed(self._collect(numbers, label, pl.Float64()))
        except (pl.exceptions.PolarsError, OSError):
            pass
        try:
            frame = self._collect(numbers, label, pl.String())
        except (pl.exceptions.PolarsError, OSError) as error:
            self._find_fault()
            raise ValueError(
                f"the file must be a table of cells; it cannot be read ({text.reason(error)})."
            ) from error
        return self._parsed(self._trimmed(frame), numbers)

    def _collect(
        self, numbers: Sequence[str], label: str | None, kind: pl.DataType
    ) -> pl.DataFrame:
        import polars as pl  # noqa: PLC0415

        wanted = [*numbers, *([] if label is None else [label])]
        places = [str(self.numbers[name]) for name in wanted]
        schema: dict[str, Any] = {str(j): pl.String() for j in range(self.width)}
        schema.update(dict.fromkeys(places[: len(numbers)], kind))
        # polars sees that a line has too many cells only if all columns are read. Of those
        # that nobody asked for, one bit for each row is kept: whether nothing is there.
        used = set(places)
        others = [pl.col(place).is_null() for place in schema if place not in used]
        rest = [pl.all_horizontal(others).alias(REST)] if others else []
        frame = (
            pl.scan_csv(
                self.path,
                separator=self.separator,
                has_header=False,
                skip_lines=self.skip,
                schema=schema,
                glob=False,
            )
            .select(*places, *rest)
            .collect()
        )
        columns = [frame.get_column(p).alias(n) for p, n in zip(places, wanted, strict=True)]
        if label is not None:
            columns[-1] = _stripped(columns[-1])
        return pl.DataFrame([*columns, *frame.get_columns()[len(places) :]])

    def _trimmed(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Leave out empty lines at the end."""
        import polars as pl  # noqa: PLC0415

        used = frame.drop(REST, strict=False)
        if not all(series.null_count() for series in used.get_columns()):
            return used
        empty = [pl.col(name).is_null() for name in used.columns]
        empty += [pl.col(REST)] if REST in frame.columns else []
        rows = frame.select(~pl.all_horizontal(empty)).to_series().arg_true()
        return used.head(int(rows[-1]) + 1 if len(rows) else 0)

    def _parsed(self, frame: pl.DataFrame, numbers: Sequence[str]) -> pl.DataFrame:
        """Return numbers of their texts, which may have spaces around them, or say which cannot."""
        import polars as pl  # noqa: PLC0415

        columns = frame.get_columns()
        for j in range(len(numbers)):
            written = _stripped(columns[j])
            columns[j] = written.cast(pl.Float64, strict=False)
            bad = (columns[j].is_null() & written.is_not_null()).arg_true()
            if len(bad):
                cell = written[int(bad[0])]
                raise ValueError(
                    f"numbers must be written like 0.25; {self.place(int(bad[0]))} has {cell!r} in"
                    f" column {numbers[j]!r}{more(len(bad))}.{_remedy(cell)}"
                )
        return pl.DataFrame(columns)

    def groups(self, numbers: Sequence[str]) -> list[Sequence[str]]:
        """Return one group: to read a column, all lines must be read."""
        return [numbers]

    def place(self, row: int) -> str:
        """Return the words for a row, with the line in which it begins."""
        with _records(self.path, self.separator) as records:
            _header(records)
            before = records.line_num
            for _ in islice(records, row):
                before = records.line_num
        return f"row {row} (line {before + 1})"

    def _find_fault(self) -> None:
        """Raise the sentence for the first line that cannot be split into cells."""
        line, empty = 0, ""
        with _records(self.path, self.separator, strict=True) as records:
            try:
                _header(records)
                line = records.line_num + 1
                for row, cells in enumerate(records):
                    if len(cells) != self.width and any(cell.strip() for cell in cells):
                        raise ValueError(self._ragged(row, line, len(cells)))
                    if not cells:
                        empty = empty or f"row {row} (line {line})"
                    line = records.line_num + 1
            except csv.Error as error:
                raise ValueError(
                    f"a quote that is opened must be closed; look at line {line} ({error})."
                ) from None
        if empty:
            raise ValueError(f"every line must hold a row; {empty} is empty.")

    def _ragged(self, row: int, line: int, found: int) -> str:
        hint = (
            " Put names and numbers that contain a comma in quotes." if found > self.width else ""
        )
        return (
            f"every line must have as many cells as the header, {self.width}; row {row} (line"
            f" {line}) has {found}.{hint}"
        )


def delimited(path: Path) -> Delimited:
    """Open a CSV or TSV file: read the header, and the kinds of columns from a few rows."""
    separator = _separator(path)
    with _records(path, separator) as records:
        names = [cell.strip() for cell in _header(records)]
        skip = records.line_num
        sample = list(islice(records, SAMPLE))
    _refuse_header(names)
    if not any(any(cells) for cells in sample):
        raise ValueError("there must be at least one row; found only the names of columns.")
    numbers = {name: j for j, name in enumerate(names) if name}
    kinds: dict[str, Kind] = {
        name: _kind([row[j] for row in sample if j < len(row)]) for name, j in numbers.items()
    }
    return Delimited(path, separator, kinds, numbers, len(names), skip)


@contextmanager
def _records(path: Path, separator: str, strict: bool = False) -> Iterator[Any]:
    with text.opened(path) as file:
        yield csv.reader(file, delimiter=separator, strict=strict)


def _header(records: Any) -> list[str]:
    """Return the first record that is not blank."""
    try:
        return next((cells for cells in records if cells), [])
    except csv.Error as error:
        raise ValueError(
            f"the first line must name the columns; it cannot be read ({error})."
        ) from None


def _separator(path: Path) -> str:
    """Return the tab for TSV, the comma for CSV, or what is in its header instead of a comma."""
    with text.opened(path) as file:
        line = next((line for line in file if line.strip()), "")
    if line.endswith("\r"):
        raise ValueError("lines must end with \\n or \\r\\n; found \\r alone. Save the file again.")
    if {".tsv", ".tab"} & {ending.lower() for ending in path.suffixes[-2:]}:
        return "\t"
    return next((separator for separator in SEPARATORS if separator in line), ",")


def _refuse_header(names: Sequence[str]) -> None:
    if not names:
        raise ValueError("the file must have a header and rows; it is empty.")
    if all(_is_number(name) for name in names):
        raise ValueError(
            f"the first line must name the columns; it holds numbers ({listed(names, 3)}). Add a"
            " header."
        )
    twice = sorted({name for name in names if name and names.count(name) > 1})
    if twice:
        raise ValueError(f"columns must have different names; found {listed(twice)} twice.")


def _stripped(series: pl.Series) -> pl.Series:
    """Return texts without the spaces around them; nothing is left of spaces alone."""
    stripped = series.str.strip_chars()
    return stripped.set(stripped == "", None)


def _kind(cells: Sequence[str]) -> Kind:
    filled = [cell.strip() for cell in cells if cell.strip()]
    if not filled or not all(_is_number(cell) for cell in filled):
        return "other"
    return "whole" if all(cell.lstrip("+-").isdecimal() for cell in filled) else "float"


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


def _remedy(cell: str) -> str:
    if cell.lower() in MISSING:
        return " A missing value cannot be evaluated: leave out the row."
    if "," in cell:
        return " Write decimal points, not commas."
    return " Write 0.25, not 25%." if cell.endswith("%") else ""
