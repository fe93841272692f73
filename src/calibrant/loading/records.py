r"""Records of CSV and TSV files: cells as they are written, so that they can be written again.

Lines end with \n or \r\n. A carriage return elsewhere is a character as any other, also
between quotes. A cell is between quotes if it begins with one; a quote in it stands there twice,
and lines may end in it. All this is as polars reads it, which reads the numbers.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

QUOTE = '"'
END_OF_DATA = "unexpected end of data"


class Record(NamedTuple):
    """The cells of a line, or of several if a cell between quotes has them."""

    line: int  # where it begins, counted from 1
    last: int  # where it ends
    cells: list[str]  # with their quotes; none in a line that is empty
    end: str  # \n, \r\n, or nothing at the end of the file
    fault: str = ""  # what is wrong with its quotes

    def values(self) -> list[str]:
        """Return what the cells say, without their quotes."""
        return [unquoted(cell) for cell in self.cells]

    def text(self, separator: str) -> str:
        """Return the record as it was written."""
        return separator.join(self.cells) + self.end


def records(file: Iterable[str], separator: str) -> Iterator[Record]:
    r"""Split lines, which end with \n, into records.

    Examples
    --------
    >>> for each in records(["a;b\r\n", '"1;\n', '2";3\r4'], ";"):
    ...     print(each.line, each.cells, each.values())
    1 ['a', 'b'] ['a', 'b']
    2 ['"1;\n2"', '3\r4'] ['1;\n2', '3\r4']
    """
    lines = enumerate(file, 1)
    for number, line in lines:
        if QUOTE in line:
            yield _quoted(number, line, lines, separator)
        else:
            end = _end(line)
            body = line[: len(line) - len(end)]
            yield Record(number, number, body.split(separator) if body else [], end)


def _quoted(number: int, line: str, lines: Iterator[tuple[int, str]], separator: str) -> Record:
    """Split a record that has quotes; one that stays open takes all lines that are left."""
    cells: list[str] = []
    last, fault = number, ""
    end, pieces = _pieces(line, separator)
    while pieces:
        cell = pieces.pop()
        if cell.startswith(QUOTE):
            before, closing = [], _closing(cell, 1)
            while closing < 0:
                before += [cell, separator]
                if not pieces:
                    before[-1] = end
                    last, line = next(lines, (last, ""))
                    if not line:
                        return Record(number, last, [*cells, "".join(before)], "", END_OF_DATA)
                    end, pieces = _pieces(line, separator)
                cell = pieces.pop()
                closing = _closing(cell, 0)
            if closing + 1 < len(cell):
                fault = fault or f"{separator!r} expected after {QUOTE!r}"
            cell = "".join((*before, cell))
        cells.append(cell)
    return Record(number, last, cells, end, fault)


def _pieces(line: str, separator: str) -> tuple[str, list[str]]:
    """Return the end of a line, and what its separators leave of the rest, the first one last."""
    end = _end(line)
    return end, line[: len(line) - len(end)].split(separator)[::-1]


def _closing(line: str, at: int) -> int:
    """Return where a quote closes a cell, from a place in the cell on; -1 if none does."""
    while True:
        at = line.find(QUOTE, at)
        if at < 0 or not line.startswith(QUOTE, at + 1):
            return at
        at += 2


def _end(line: str) -> str:
    """Return the characters that end a line; those at the end of a file may be one half of it."""
    if line.endswith("\r\n"):
        return "\r\n"
    return line[-1:] if line.endswith(("\n", "\r")) else ""


def unquoted(cell: str) -> str:
    """Return what a cell says."""
    if not cell.startswith(QUOTE):
        return cell
    closing = _closing(cell, 1)
    if closing < 0:
        return cell[1:].replace(QUOTE * 2, QUOTE)
    return cell[1:closing].replace(QUOTE * 2, QUOTE) + cell[closing + 1 :]


def with_number(cell: str, value: float) -> str:
    """Return a number in place of what a cell says, between quotes if that was."""
    return f'"{value!r}"' if cell.startswith(QUOTE) else repr(value)
