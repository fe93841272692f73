"""The sizes that a Parquet file states, held against the file before a reader believes them.

A compiled reader asks for as much memory as a damaged file says that it needs, and when there is
not so much, it ends the process. Here is read what states sizes: the footer, and the head of each
page of the columns that are used (https://parquet.apache.org/docs/file-format/metadata).
"""

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, final

from calibrant.loading import unpacking
from calibrant.loading.failures import damaged
from calibrant.loading.thrift import Thrift

MAGIC = b"PAR1"
HEAD = 1 << 10  # bytes that hold the head of most pages
LARGEST = 1 << 24  # bytes of the head of a page with statistics of long texts
DICTIONARY = 2  # the kind of a page


@final
@dataclass(frozen=True, slots=True)
class Chunk:
    """A column of a group of rows: its name, where it is, and how many values it holds."""

    column: str
    start: int
    size: int
    n_values: int


@final
class ParquetStructure:
    """What the footer of a Parquet file states, checked.

    Parameters
    ----------
    path : Path
        The file.
    """

    __slots__ = ("chunks", "path", "size")

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with path.open("rb") as file:
                self.size = os.fstat(file.fileno()).st_size
                self.chunks = _chunks(_footer(file, self.size), self.size)
        except (ValueError, IndexError, KeyError, TypeError, AttributeError) as error:
            raise damaged(_in_words(error)) from None

    def check(self, columns: Collection[str]) -> None:
        """Refuse pages of these columns that state sizes which they cannot have."""
        unpacked = 0
        wanted = set(columns)
        try:
            with self.path.open("rb") as file:
                for chunk in self.chunks:
                    if chunk.column in wanted:
                        unpacked += _check_pages(file, chunk)
        except (ValueError, IndexError, KeyError, TypeError, AttributeError) as error:
            raise damaged(_in_words(error)) from None
        if unpacked > self.size:
            unpacking.refuse(unpacked, self.path)


def _in_words(error: Exception) -> Exception:
    return error if type(error) is ValueError else ValueError("a field is missing or cut short")


def _footer(file: BinaryIO, size: int) -> dict[int, Any]:
    file.seek(max(size - 8, 0))
    end = file.read(8)
    length = int.from_bytes(end[:4], "little")
    if end[4:] != MAGIC:
        raise ValueError("the file has no end")
    if length > size - 12:
        raise ValueError("the footer lies outside of the file")
    file.seek(size - 8 - length)
    return Thrift(file.read(length)).struct()


def _chunks(footer: dict[int, Any], size: int) -> list[Chunk]:
    """Return the columns of all groups of rows, each of which lies in the file."""
    columns = ((column[3], group[3]) for group in footer[4] for column in group[1])
    return [_chunk(meta, n_rows, size) for meta, n_rows in columns]


def _chunk(meta: dict[int, Any], n_rows: int, size: int) -> Chunk:
    """Return a column of a group of so many rows."""
    path, n_values = meta[3], meta[5]
    start = min(place for place in (meta[9], meta.get(11, 0)) if place > 0)
    if meta[7] < 0 or start + meta[7] > size:
        raise ValueError("a column lies outside of the file")
    if not 0 <= n_values <= unpacking.memory() or (len(path) == 1 and n_values != n_rows):
        raise ValueError("a column states a number of values that it cannot have")
    return Chunk(path[0].decode(), start, meta[7], n_values)


def _check_pages(file: BinaryIO, chunk: Chunk) -> int:
    """Check the heads of the pages of a column; return what they unpack to."""
    at, end = chunk.start, chunk.start + chunk.size
    n_values = unpacked = 0
    while at < end and n_values < chunk.n_values:
        head, length = _head(file, at, end)
        at += length + head[3]
        if min(head[2], head[3], end - at) < 0:
            raise ValueError("a page lies outside of its column")
        unpacked += head[2]
        values = _values(head)
        if values < 0:
            raise ValueError("a page states a number of values below 0")
        n_values += values if head[1] != DICTIONARY else 0
    if n_values != chunk.n_values:
        raise ValueError("the pages of a column do not hold as many values as it states")
    return unpacked


def _values(head: dict[int, Any]) -> int:
    """Return how many values a page states: a data page, a dictionary, a data page of version 2."""
    stated = head.get(5) or head.get(7) or head.get(8)
    return int(stated[1]) if stated else 0


def _head(file: BinaryIO, at: int, end: int) -> tuple[dict[int, Any], int]:
    """Return the head of a page and its length."""
    size = HEAD
    while True:
        file.seek(at)
        thrift = Thrift(file.read(min(size, end - at)))
        try:
            return thrift.struct(), thrift.at
        except (ValueError, IndexError):
            if size >= min(LARGEST, end - at):
                raise
            size *= 32
