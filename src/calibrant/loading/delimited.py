"""CSV and TSV files: polars reads them, and Python finds the line of a fault."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from calibrant.checks.labels import shown
from calibrant.checks.parameters import listed, more
from calibrant.loading.columns import FAILURES, SAMPLE
from calibrant.loading.notation import remedy
from calibrant.loading.plain_files import created_text, opened_text, reason_of
from calibrant.loading.roles import WEIGHTS, Kind, repeated

SEPARATORS = (",", ";", "\t", "|")
REST = "\n"  # whether all unused cells are empty; the names of columns have no space around them
FAR = 1000  # cells that a line may have too many before it is refused at sight
BLOCK = 1 << 18  # bytes that are looked at together
TAIL = 1 << 16  # bytes that hold the last line
END = ord("\n")
LONGEST = (1 << 31) - 1  # characters of a cell, as many as the csv module can be told


@final
@dataclass(frozen=True, slots=True)
class Delimited:
    """Lines of cells with a header."""

    path: Path
    separator: str
    skip: int  # lines up to the end of the header
    width: int  # how many columns there are
    index: dict[str, int]  # name of a column → how many columns stand before it
    sample: dict[str, list[str]]  # name → its cells in the first rows, without empty ones
    kinds: dict[str, Kind]

    def first_labels(self, label: str) -> list[str]:
        """Return the labels of the first rows."""
        return self.sample[label]

    def read(self, numeric: Sequence[str], named: Sequence[str]) -> pl.DataFrame:
        """Return the columns; when polars cannot read them, find out where and why."""
        try:
            frame = self._trimmed(self._collect(numeric, named, pl.Float64()))
        except FAILURES:
            frame = self._read_as_texts(numeric, named)
        self._refuse_lost_rows(frame.height)
        return frame

    def _read_as_texts(self, numeric: Sequence[str], named: Sequence[str]) -> pl.DataFrame:
        """Return the columns where numbers have spaces around them, or find what is wrong."""
        try:
            frame = self._collect(numeric, named, pl.String())
        except FAILURES as error:
            self._find_fault()
            raise ValueError(
                f"the file must be a table of cells; it cannot be read ({reason_of(error)})."
            ) from error
        return self._parsed(self._trimmed(frame), numeric)

    def _collect(
        self, numeric: Sequence[str], named: Sequence[str], kind: pl.DataType
    ) -> pl.DataFrame:
        # polars knows columns by place
        used = {str(self.index[name]): name for name in (*numeric, *named)}
        schema: dict[str, Any] = {str(j): pl.String() for j in range(self.width)}
        schema |= dict.fromkeys(list(used)[: len(numeric)], kind)
        # polars sees that a line has too many cells only if all columns are read. Of those
        # that nobody asked for, one bit for each row is kept: whether nothing is there.
        unused = [pl.col(j).is_null() for j in schema if j not in used]
        rest = [pl.all_horizontal(unused).alias(REST)] if unused else []
        lines = pl.scan_csv(
            self.path,
            separator=self.separator,
            has_header=False,
            skip_lines=self.skip,
            schema=schema,
            glob=False,
        )
        frame = lines.select(*used, *rest).collect().rename(used)
        return frame.with_columns(_stripped(frame.get_column(name)) for name in named)

    def _trimmed(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Leave out empty lines at the end."""
        used = frame.drop(REST, strict=False)
        if not all(series.null_count() for series in used.get_columns()):
            return used
        empty = [pl.col(name).is_null() for name in used.columns]
        empty += [pl.col(REST)] if REST in frame.columns else []
        rows = frame.select(~pl.all_horizontal(empty)).to_series().arg_true()
        return used.head(int(rows[-1]) + 1 if len(rows) else 0)

    def _parsed(self, frame: pl.DataFrame, numeric: Sequence[str]) -> pl.DataFrame:
        """Return numbers of their texts, which may have spaces around them, or say which cannot."""
        columns = frame.get_columns()
        for j, name in enumerate(numeric):
            cells = _stripped(columns[j])
            columns[j] = cells.cast(pl.Float64, strict=False)
            bad = (columns[j].is_null() & cells.is_not_null()).arg_true()
            if len(bad):
                cell = cells[int(bad[0])]
                raise ValueError(
                    f"numbers must be written like 0.25; {self.where(int(bad[0]))} has"
                    f" {shown(cell)} in column {shown(name)}{more(len(bad))}.{remedy(cell)}"
                )
        return pl.DataFrame(columns)

    def groups(self, numeric: Sequence[str]) -> list[Sequence[str]]:
        """Return one group: to read a column, all lines must be read."""
        return [numeric]

    def where(self, row: int) -> str:
        """Return the words for a row, with the line in which it begins."""
        with self._records() as records:
            _header(records)
            before = records.line_num
            for _ in islice(records, row):
                before = records.line_num
        return f"row {row} (line {before + 1})"

    def _refuse_lost_rows(self, n: int) -> None:
        """Refuse a file of which lines are lost in a cell, since a quote was not closed.

        Polars would take all up to the next quote, or to the end, as one cell, without a word. None
        is lost if every line is a row, and quotes of the last one come in pairs. Else the lines
        are read once more, also where cells between quotes have several lines, as they may.
        """
        if not _has_quotes(self.path):
            return
        if _count_lines(self.path) != self.skip + n or not _last_line_is_closed(self.path):
            for _ in self._rows():
                pass

    def _find_fault(self) -> None:
        """Raise the sentence for the first line that cannot be split into its cells."""
        empty = ""
        for row, line, cells in self._rows():
            if not cells:
                empty = empty or f"row {row} (line {line})"
            elif len(cells) != self.width and any(cell.strip() for cell in cells):
                raise ValueError(_ragged(row, line, len(cells), self.width))
        if empty:
            raise ValueError(f"every line must hold a row; {empty} is empty.")

    def _rows(self) -> Iterator[tuple[int, int, list[str]]]:
        """Yield the rows after the header: how many came before, the line, the cells."""
        line = 0
        with self._records(strict=True) as records:
            try:
                _header(records)
                line = records.line_num + 1
                for row, cells in enumerate(records):
                    yield row, line, cells
                    line = records.line_num + 1
            except csv.Error as error:
                raise ValueError(
                    f"a quote that is opened must be closed; look at line {line} ({error})."
                ) from None

    @contextmanager
    def _records(self, strict: bool = False) -> Iterator[Any]:
        """Open the records one by one: slow, but every fault has its line."""
        with opened_text(self.path) as file, _long_cells():
            yield csv.reader(file, delimiter=self.separator, strict=strict)

    def write(self, output: Path, columns: Mapping[str, NDArray[np.float64]]) -> None:
        """Write the lines with other numbers in some cells."""
        places = [self.index[name] for name in columns]
        rows = zip(*(values.tolist() for values in columns.values()), strict=True)
        with self._records() as records, created_text(output) as target:
            writer = csv.writer(target, delimiter=self.separator, lineterminator="\n")
            filled = (cells for cells in records if any(cells))
            writer.writerow(next(filled))
            for cells, values in zip(filled, rows, strict=False):  # empty lines may follow
                for place, value in zip(places, values, strict=True):
                    cells[place] = repr(value)
                writer.writerow(cells)


def delimited(path: Path) -> Delimited:
    """Open a CSV or TSV file once: look at the header and a few rows."""
    with opened_text(path) as file, _long_cells():
        start = _until_filled(file)
        separator = _separator(path, start[-1])
        reader = csv.reader(chain(start, file), delimiter=separator)
        names = [cell.strip() for cell in _header(reader)]
        skip = reader.line_num
        rows = list(_first_rows(reader, len(names)))
    _refuse_header(names)
    if not any(map(any, rows)):
        raise ValueError("there must be at least one row; found only the names of columns.")
    index = {name: j for j, name in enumerate(names) if name}
    sample = {name: _cells(rows, j) for name, j in index.items()}
    kinds = {name: _kind(name, cells) for name, cells in sample.items()}
    return Delimited(path, separator, skip, len(names), index, sample, kinds)


def _until_filled(file: Iterator[str]) -> list[str]:
    """Read the lines up to the first that is not blank."""
    lines = [""]
    for line in file:
        lines.append(line)
        if line.strip():
            break
    return lines[1:] or lines


def _separator(path: Path, line: str) -> str:
    """Return the tab for TSV, the comma for CSV, or what is in its header instead of a comma.

    The cells of a .txt file may also have a space between them.
    """
    if line.endswith("\r"):
        raise ValueError("lines must end with \\n or \\r\\n; found \\r alone. Save the file again.")
    if path.suffix.lower() in (".tsv", ".tab"):
        return "\t"
    separators = (*SEPARATORS, " ") if path.suffix.lower() == ".txt" else SEPARATORS
    return next((separator for separator in separators if separator in line.strip()), ",")


def _header(records: Any) -> list[str]:
    """Return the first record that is not blank."""
    try:
        return next((cells for cells in records if cells), [])
    except csv.Error as error:
        raise ValueError(
            f"the first line must name the columns; it cannot be read ({error})."
        ) from None


def _refuse_header(names: Sequence[str]) -> None:
    if not names:
        raise ValueError("the file must have a header and rows; it is empty.")
    if all(_is_number(name) for name in names):
        raise ValueError(
            f"the first line must name the columns; it holds numbers ({listed(names, 3)}). Add a"
            " header."
        )
    twice = repeated(filter(None, names))
    if twice:
        raise ValueError(f"columns must have different names; found {listed(twice)} twice.")


def _first_rows(reader: Any, width: int) -> Iterator[list[str]]:
    """Yield a few rows; one that is far too long is refused before anything is made of it."""
    line = reader.line_num + 1
    for number, row in enumerate(islice(reader, SAMPLE)):
        if len(row) > width + FAR:
            raise ValueError(_ragged(number, line, len(row), width))
        yield row
        line = reader.line_num + 1


def _cells(rows: Sequence[Sequence[str]], j: int) -> list[str]:
    """Return the cells of a column that are not empty."""
    cells = [row[j].strip() for row in rows if j < len(row)]
    return [cell for cell in cells if cell]


def _kind(name: str, cells: Sequence[str]) -> Kind:
    """Return what a column holds; weights of which one cannot be read are not left out for it."""
    if name.lower() in WEIGHTS and any(map(_is_number, cells)):
        return "float"
    if not cells or not all(map(_is_number, cells)):
        return "text"
    return "whole" if all(cell.lstrip("+-").isdecimal() for cell in cells) else "float"


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


def _stripped(series: pl.Series) -> pl.Series:
    """Return texts without the spaces around them; nothing is left of spaces alone."""
    stripped = series.str.strip_chars()
    return stripped.set(stripped == "", None)


def _has_quotes(path: Path) -> bool:
    """Whether there is a quote anywhere; only then can a row have more lines than one."""
    with path.open("rb", buffering=0) as file:
        return any(b'"' in block for block in iter(lambda: file.read(BLOCK), b""))


def _count_lines(path: Path) -> int:
    """Return how many lines there are up to the last that is not blank."""
    ends, after = 0, 0  # the ends of all lines, and those after the last line that is not blank
    with path.open("rb", buffering=0) as file:
        for block in iter(lambda: file.read(BLOCK), b""):
            filled = block.rstrip()
            after = block.count(b"\n", len(filled)) + (0 if filled else after)
            ends += int(np.count_nonzero(np.frombuffer(block, np.uint8) == END))
    return ends - after + 1


def _last_line_is_closed(path: Path) -> bool:
    """Whether the quotes of the last line that is not blank come in pairs; not if it is long."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - TAIL))
        before, _, line = file.read().rstrip().rpartition(b"\n")
    return bool(before) and line.count(b'"') % 2 == 0


@contextmanager
def _long_cells() -> Iterator[None]:
    """Let cells be as long as they are: those of a column that is not used may hold whole texts."""
    before = csv.field_size_limit(LONGEST)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _ragged(row: int, line: int, found: int, width: int) -> str:
    """Say that a line has another number of cells than the header."""
    remedy = " Put names and numbers that contain a comma in quotes." if found > width else ""
    return (
        f"every line must have as many cells as the header, {width}; row {row} (line {line}) has"
        f" {found}.{remedy}"
    )
