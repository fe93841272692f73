"""CSV and TSV files: polars reads them, and Python finds the line of a fault."""

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
from calibrant.loading.columns import FAILURES, SAMPLE, refuse_width
from calibrant.loading.plain_files import (
    BOM,
    NoRowsError,
    created_text,
    first_bytes,
    opened_text,
    reason_of,
)
from calibrant.loading.records import QUOTE, Record, records, with_number
from calibrant.loading.roles import WEIGHTS, Kind, remedy, repeated

SEPARATORS = (",", ";", "\t", "|")
REST = "\n"  # whether all unused cells are empty; the names of columns have no space around them
FAR = 1000  # cells that a line may have too many before it is refused at sight
BLOCK = 1 << 18  # bytes that are looked at together
TAIL = 1 << 16  # bytes that hold the last line
END = ord("\n")
RUNS = (b"\n" * 1000, b"\r\n" * 1000)  # empty lines, too many to be meant


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
        has_quotes, has_runs = _marks(self.path)
        if has_runs:
            self._refuse_runs()
        try:
            frame = self._trimmed(self._collect(numeric, named, pl.Float64(), has_runs))
        except FAILURES:
            frame = self._read_as_texts(numeric, named, has_runs)
        if has_quotes:
            self._refuse_lost_rows(frame.height)
        return frame

    def _read_as_texts(
        self, numeric: Sequence[str], named: Sequence[str], has_runs: bool
    ) -> pl.DataFrame:
        """Return the columns where numbers have spaces around them, or find what is wrong."""
        try:
            frame = self._collect(numeric, named, pl.String(), has_runs)
        except FAILURES as error:
            self._find_fault()
            raise ValueError(
                f"the file must be a table of cells; it cannot be read ({reason_of(error)})."
            ) from error
        return self._parsed(self._trimmed(frame), numeric)

    def _collect(
        self,
        numeric: Sequence[str],
        named: Sequence[str],
        kind: pl.DataType,
        has_runs: bool = False,
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
            n_rows=_count_lines(self.path) - self.skip if has_runs else None,
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
        with self._records() as found:
            header = _header(found)
            line = next((each.line for each in islice(found, row, None)), header.last + 1)
        return f"row {row} (line {line})"

    def _refuse_lost_rows(self, n: int) -> None:
        """Refuse a file of which lines are lost in a cell, since a quote was not closed.

        Polars would take all up to the next quote, or to the end, as one cell, without a word. None
        is lost if every line is a row, and quotes of the last one come in pairs. Else the lines
        are read once more, also where cells between quotes have several lines, as they may.
        """
        if _count_lines(self.path) != self.skip + n or not _last_line_is_closed(self.path):
            for _ in self._rows():
                pass

    def _refuse_runs(self) -> None:
        """Refuse very many empty lines before the last row: polars would make rows of them."""
        last = _count_lines(self.path)
        for row, (line, _, cells, *_) in enumerate(self._rows()):
            if line > last:
                return
            if not cells:
                raise ValueError(f"every line must hold a row; row {row} (line {line}) is empty.")

    def _find_fault(self) -> None:
        """Raise the sentence for the first line that cannot be split into its cells."""
        empty = ""
        for row, (line, _, cells, *_) in enumerate(self._rows()):
            if not cells:
                empty = empty or f"row {row} (line {line})"
            elif len(cells) != self.width and any(cell.strip() for cell in cells):
                raise ValueError(_ragged(row, line, len(cells), self.width))
        if empty:
            raise ValueError(f"every line must hold a row; {empty} is empty.")
        self._refuse_lone_quotes()

    def _refuse_lone_quotes(self) -> None:
        """Refuse a quote in a cell that does not begin with one, such as 6": polars loses lines."""
        for row, each in enumerate(self._rows()):
            odd = [cell for cell in each.cells if cell.count(QUOTE) % 2 and cell[0] != QUOTE]
            if odd:
                raise ValueError(
                    "a cell with a quote in it must stand between quotes, and the quote twice;"
                    f" row {row} (line {each.line}) has {shown(odd[0])}."
                )

    def _rows(self) -> Iterator[Record]:
        """Yield the rows after the header; refuse quotes that are not closed."""
        with self._records() as found:
            for each in chain([_header(found)], found):
                if each.fault:
                    raise ValueError(
                        "a quote that is opened must be closed; look at line"
                        f" {each.line} ({each.fault})."
                    )
                if each.last > self.skip:
                    yield each

    @contextmanager
    def _records(self) -> Iterator[Iterator[Record]]:
        """Open the records one by one: slow, but every fault has its line."""
        with opened_text(self.path) as file:
            yield records(file, self.separator)

    def write(self, output: Path, columns: Mapping[str, NDArray[np.float64]]) -> None:
        """Write the lines with other numbers in some cells; all else stays to the last byte."""
        places = [self.index[name] for name in columns]
        rows = zip(*(values.tolist() for values in columns.values()), strict=True)
        with self._records() as found, created_text(output) as target:
            target.write(BOM.decode() if first_bytes(self.path).startswith(BOM) else "")
            for each in found:
                values = next(rows, ()) if each.line > self.skip else ()
                for place, value in zip(places, values, strict=bool(values)):
                    each.cells[place] = with_number(each.cells[place], value)
                target.write(each.text(self.separator))

    def same_rest(self, other: "Delimited", names: Sequence[str]) -> bool:
        """Whether another file has the same columns, and the same cells in all but these."""
        left = [name for name in self.index if name not in names]
        if self.index != other.index:
            return False
        mine, theirs = (each._collect((), left, pl.String()) for each in (self, other))
        return mine.equals(theirs)


def delimited(path: Path) -> Delimited:
    """Open a CSV or TSV file once: look at the header and a few rows."""
    with opened_text(path) as file:
        start = _until_filled(file)
        separator = _separator(path, start[-1])
        found = records(chain(start, file), separator)
        header = _header(found)
        names = [cell.strip() for cell in header.values()]
        rows = list(_first_rows(found, len(names)))
    _refuse_header(names)
    if not any(map(any, rows)):
        raise NoRowsError("there must be at least one row; found only the names of columns.")
    index = {name: j for j, name in enumerate(names) if name}
    sample = {name: _cells(rows, j) for name, j in index.items()}
    kinds = {name: _kind(name, cells) for name, cells in sample.items()}
    return Delimited(path, separator, header.last, len(names), index, sample, kinds)


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
    if path.suffix.lower() in (".tsv", ".tab"):
        return "\t"
    separators = (*SEPARATORS, " ") if path.suffix.lower() == ".txt" else SEPARATORS
    return next((separator for separator in separators if separator in line.strip()), ",")


def _header(found: Iterator[Record]) -> Record:
    """Return the first record that is not blank."""
    header = next((each for each in found if each.cells), Record(1, 1, [], ""))
    if header.fault:
        raise ValueError(
            f"the first line must name the columns; it cannot be read ({header.fault})."
        )
    _refuse_other_ends(header)
    return header


def _refuse_other_ends(header: Record) -> None:
    """Refuse a file whose lines end with a carriage return alone: it would be one line."""
    plain = (cell for cell in header.cells if not cell.startswith(QUOTE))
    if header.end == "\r" or any("\r" in cell for cell in plain):
        raise ValueError("lines must end with \\n or \\r\\n; found \\r alone. Save the file again.")


def _refuse_header(names: Sequence[str]) -> None:
    refuse_width(len(names))
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


def _first_rows(found: Iterator[Record], width: int) -> Iterator[list[str]]:
    """Yield a few rows; one that is far too long is refused before anything is made of it."""
    for number, each in enumerate(islice(found, SAMPLE)):
        if len(each.cells) > width + FAR:
            raise ValueError(_ragged(number, each.line, len(each.cells), width))
        yield each.values()


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


def _marks(path: Path) -> tuple[bool, bool]:
    """Whether there is a quote, without which every line is a row; and very many empty lines."""
    has_quotes = has_runs = False
    with path.open("rb", buffering=0) as file:
        for block in iter(lambda: file.read(BLOCK), b""):
            has_quotes = has_quotes or b'"' in block
            has_runs = has_runs or any(run in block for run in RUNS)
    return has_quotes, has_runs


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


def _ragged(row: int, line: int, found: int, width: int) -> str:
    """Say that a line has another number of cells than the header."""
    remedy = " Put names and numbers that contain a comma in quotes." if found > width else ""
    return (
        f"every line must have as many cells as the header, {width}; row {row} (line {line}) has"
        f" {found}.{remedy}"
    )
