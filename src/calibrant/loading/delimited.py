"""CSV and TSV files: polars reads them, and Python finds the line of a fault."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from calibrant.checks.labels import shown
from calibrant.checks.parameters import listed, more
from calibrant.loading import records, text
from calibrant.loading import usual_names as usual
from calibrant.loading.column_store import SAMPLE, Kind, repeated
from calibrant.loading.failures import reason_of

if TYPE_CHECKING:
    import polars as pl

SEPARATORS = (",", ";", "\t", "|")
REST = "\n"  # whether all unused cells are empty; the names of columns have no space around them
FAR = 1000  # cells that a line may have too many before it is refused at sight


@final
@dataclass(frozen=True, slots=True)
class Delimited:
    """Lines of cells with a header.

    Parameters
    ----------
    path : Path
        The file.
    separator : str
        What stands between cells.
    skip : int
        How many lines there are up to the end of the header.
    width : int
        How many columns there are.
    index : dict
        Name of a column → how many columns stand before it.
    sample : dict
        Name of a column → its cells in the first rows, without empty ones.
    kinds : dict
        Name of a column → what it holds.
    """

    path: Path
    separator: str
    skip: int
    width: int
    index: dict[str, int]
    sample: dict[str, list[str]]
    kinds: dict[str, Kind]

    def first_labels(self, label: str) -> list[str]:
        """Return the labels of the first rows."""
        return self.sample[label]

    def read(self, numeric: Sequence[str], named: Sequence[str]) -> pl.DataFrame:
        """Return the columns; when polars cannot read them, find out where and why."""
        import polars as pl  # noqa: PLC0415 (only files need it)

        failures = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
        try:
            frame = self._trimmed(self._collect(numeric, named, pl.Float64()))
        except failures:
            frame = self._read_as_texts(numeric, named, failures)
        self._refuse_lost_rows(frame)
        return frame

    def _read_as_texts(
        self, numeric: Sequence[str], named: Sequence[str], failures: Any
    ) -> pl.DataFrame:
        """Return the columns where numbers have spaces around them, or find what is wrong."""
        import polars as pl  # noqa: PLC0415

        try:
            frame = self._collect(numeric, named, pl.String())
        except failures as error:
            records.find_fault(self.path, self.separator, self.width)
            raise ValueError(
                f"the file must be a table of cells; it cannot be read ({reason_of(error)})."
            ) from error
        return self._parsed(self._trimmed(frame), numeric)

    def _collect(
        self, numeric: Sequence[str], named: Sequence[str], kind: pl.DataType
    ) -> pl.DataFrame:
        import polars as pl  # noqa: PLC0415

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
        import polars as pl  # noqa: PLC0415

        used = frame.drop(REST, strict=False)
        if not all(series.null_count() for series in used.get_columns()):
            return used
        empty = [pl.col(name).is_null() for name in used.columns]
        empty += [pl.col(REST)] if REST in frame.columns else []
        rows = frame.select(~pl.all_horizontal(empty)).to_series().arg_true()
        return used.head(int(rows[-1]) + 1 if len(rows) else 0)

    def _parsed(self, frame: pl.DataFrame, numeric: Sequence[str]) -> pl.DataFrame:
        """Return numbers of their texts, which may have spaces around them, or say which cannot."""
        import polars as pl  # noqa: PLC0415

        columns = frame.get_columns()
        for j, name in enumerate(numeric):
            cells = _stripped(columns[j])
            columns[j] = cells.cast(pl.Float64, strict=False)
            bad = (columns[j].is_null() & cells.is_not_null()).arg_true()
            if len(bad):
                cell = cells[int(bad[0])]
                raise ValueError(
                    f"numbers must be written like 0.25; {self.where(int(bad[0]))} has"
                    f" {shown(cell)} in column {shown(name)}{more(len(bad))}.{records.remedy(cell)}"
                )
        return pl.DataFrame(columns)

    def _refuse_lost_rows(self, frame: pl.DataFrame) -> None:
        """Refuse a file of which lines are lost in a cell, since a quote was not closed.

        Polars would take all up to the next quote, or to the end, as one cell, without a word.
        Cells that have more lines than one, as they may between quotes, cost a second look.
        """
        if not records.has_quotes(self.path):
            return
        last = records.last_record(self.path, self.separator)
        whole = records.count_lines(self.path) == self.skip + frame.height
        if not whole or last is None or not frame.height or not _same(frame, last, self.index):
            records.refuse_open_quotes(self.path, self.separator)

    def groups(self, numeric: Sequence[str]) -> list[Sequence[str]]:
        """Return one group: to read a column, all lines must be read."""
        return [numeric]

    def where(self, row: int) -> str:
        """Return the words for a row, with the line in which it begins."""
        return records.where(self.path, self.separator, row)


def delimited(path: Path) -> Delimited:
    """Open a CSV or TSV file once: look at the header and a few rows."""
    with text.opened(path) as file, records.long_cells():
        start = _until_filled(file)
        separator = _separator(path, start[-1])
        reader = csv.reader(chain(start, file), delimiter=separator)
        names = [cell.strip() for cell in records.header(reader)]
        skip = reader.line_num
        rows = list(_first_rows(reader, len(names)))
    _refuse_header(names)
    if not any(map(any, rows)):
        raise ValueError("there must be at least one row; found only the names of columns.")
    index = {name: j for j, name in enumerate(names) if name}
    sample = {name: _cells(rows, j) for name, j in index.items()}
    kinds = {name: _kind_of(name, cells) for name, cells in sample.items()}
    return Delimited(path, separator, skip, len(names), index, sample, kinds)


def _first_rows(reader: Any, width: int) -> Iterator[list[str]]:
    """Yield a few rows; one that is far too long is refused before anything is made of it."""
    line = reader.line_num + 1
    for number, row in enumerate(islice(reader, SAMPLE)):
        if len(row) > width + FAR:
            raise ValueError(records.ragged(f"row {number} (line {line})", len(row), width))
        yield row
        line = reader.line_num + 1


def _same(frame: pl.DataFrame, cells: Sequence[str], index: Mapping[str, int]) -> bool:
    """Whether the last row of a frame has the cells of a line."""
    for name, value in frame.row(-1, named=True).items():
        cell = cells[index[name]] if index[name] < len(cells) else ""
        if isinstance(value, float):
            if not _is_number(cell) or float(cell) != value:
                return False
        elif (value or "") != cell:
            return False
    return True


def _cells(rows: Sequence[Sequence[str]], j: int) -> list[str]:
    """Return the cells of a column that are not empty."""
    cells = [row[j].strip() for row in rows if j < len(row)]
    return [cell for cell in cells if cell]


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


def _stripped(series: pl.Series) -> pl.Series:
    """Return texts without the spaces around them; nothing is left of spaces alone."""
    stripped = series.str.strip_chars()
    return stripped.set(stripped == "", None)


def _kind_of(name: str, cells: Sequence[str]) -> Kind:
    """Return what a column holds; weights of which one cannot be read are not left out for it."""
    if name.lower() in usual.WEIGHTS and any(map(_is_number, cells)):
        return "float"
    return _kind(cells)


def _kind(cells: Sequence[str]) -> Kind:
    if not cells or not all(_is_number(cell) for cell in cells):
        return "text"
    return "whole" if all(cell.lstrip("+-").isdecimal() for cell in cells) else "float"


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell
