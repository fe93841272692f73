"""The records of a CSV file one by one: slow, but every fault has its line."""

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from calibrant.loading import text

TAIL = 1 << 16  # bytes that hold the last line
BLOCK = 1 << 18  # bytes that are looked at together
END = ord("\n")
LONGEST = (1 << 31) - 1  # characters of a cell, as many as the csv module can be told
MISSING = ("na", "n/a", "null", "none", "-", "?", "#n/a", "missing")


def header(records: Any) -> list[str]:
    """Return the first record that is not blank."""
    try:
        return next((cells for cells in records if cells), [])
    except csv.Error as error:
        raise ValueError(
            f"the first line must name the columns; it cannot be read ({error})."
        ) from None


def where(path: Path, separator: str, row: int) -> str:
    """Return the words for a row, with the line in which it begins."""
    with _opened(path, separator) as records:
        header(records)
        before = records.line_num
        for _ in islice(records, row):
            before = records.line_num
    return f"row {row} (line {before + 1})"


def find_fault(path: Path, separator: str, width: int) -> None:
    """Raise the sentence for the first line that cannot be split into `width` cells."""
    empty = ""
    with _opened(path, separator, strict=True) as records:
        for row, line, cells in _with_lines(records):
            if not cells:
                empty = empty or f"row {row} (line {line})"
            elif len(cells) != width and any(cell.strip() for cell in cells):
                raise ValueError(ragged(f"row {row} (line {line})", len(cells), width))
    if empty:
        raise ValueError(f"every line must hold a row; {empty} is empty.")


def last_record(path: Path, separator: str) -> list[str] | None:
    """Return the cells of the last line that is not empty; None if it is very long."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - TAIL))
        lines = file.read().decode(errors="replace").splitlines()
    for cells in csv.reader(reversed(lines[1:]), delimiter=separator):
        if any(cell.strip() for cell in cells):
            return [cell.strip() for cell in cells]
    return None


def has_quotes(path: Path) -> bool:
    """Whether there is a quote anywhere; only then can a row have more lines than one."""
    with path.open("rb", buffering=0) as file:
        return any(b'"' in block for block in iter(lambda: file.read(BLOCK), b""))


def count_lines(path: Path) -> int:
    """Return how many lines there are up to the last that is not blank."""
    ends, after = 0, 0  # the ends of all lines, and those after the last line that is not blank
    with path.open("rb", buffering=0) as file:
        for block in iter(lambda: file.read(BLOCK), b""):
            filled = block.rstrip()
            count = int(np.count_nonzero(np.frombuffer(block, np.uint8) == END))
            after = block.count(b"\n", len(filled)) + (0 if filled else after)
            ends += count
    return ends - after + 1


def refuse_open_quotes(path: Path, separator: str) -> None:
    """Refuse a file in which a quote is opened and not closed."""
    with _opened(path, separator, strict=True) as records:
        for _ in _with_lines(records):
            pass


def remedy(cell: str) -> str:
    """Return what may help where a number cannot be read."""
    if cell.lower() in MISSING:
        return " A missing value cannot be evaluated: leave out the row."
    if "," in cell:
        return " Write decimal points, not commas."
    return " Write 0.25, not 25%." if cell.endswith("%") else ""


@contextmanager
def long_cells() -> Iterator[None]:
    """Let cells be as long as they are: those of a column that is not used may hold whole texts."""
    before = csv.field_size_limit(LONGEST)
    try:
        yield
    finally:
        csv.field_size_limit(before)


@contextmanager
def _opened(path: Path, separator: str, strict: bool = False) -> Iterator[Any]:
    with text.opened(path) as file, long_cells():
        yield csv.reader(file, delimiter=separator, strict=strict)


def _with_lines(records: Any) -> Iterator[tuple[int, int, list[str]]]:
    """Yield the rows after the header: how many came before, the line, the cells."""
    line = 0
    try:
        header(records)
        line = records.line_num + 1
        for row, cells in enumerate(records):
            yield row, line, cells
            line = records.line_num + 1
    except csv.Error as error:
        raise ValueError(
            f"a quote that is opened must be closed; look at line {line} ({error})."
        ) from None


def ragged(place: str, found: int, width: int) -> str:
    """Say that a line has another number of cells than the header."""
    sentence = f"every line must have as many cells as the header, {width}; {place} has {found}."
    if found < width:
        return sentence
    return f"{sentence} Put names and numbers that contain a comma in quotes."
