"""Sizes that Parquet and Arrow files state, held against the file before polars believes them.

Polars asks for as much memory as a damaged file says that it needs, and where there is not so much,
it ends the process: one wrong number in the head of a page or of a batch is enough. So these heads
are read here first: footers and pages of Parquet in Thrift's compact protocol
(https://parquet.apache.org/docs/file-format/metadata), footers and batches of Arrow in flatbuffers
(https://arrow.apache.org/docs/format/Columnar.html).
"""

import struct
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from calibrant.loading.plain_files import STREAM, damaged, memory, refuse_bomb

HEAD = 1 << 10  # bytes that hold the head of most pages
LARGEST = 1 << 24  # bytes of the head of a page with statistics of long texts
DICTIONARY_PAGE = 2
VALUE = 8  # bytes of a number in memory
DICTIONARY, BATCH = 2, 3  # messages of Arrow that have buffers
DEEPEST = 16  # structures within one another; Parquet has half as many
TRUE, FALSE, BYTE, INTEGERS, DOUBLE, BINARY, LISTS, STRUCT = 1, 2, 3, (4, 5, 6), 7, 8, (9, 10), 12
FAULTS = (struct.error, ValueError, IndexError, KeyError, TypeError, AttributeError, OverflowError)


@contextmanager
def _damage() -> Iterator[None]:
    """Turn whatever a damaged head leads to into a sentence."""
    try:
        yield
    except FAULTS as error:
        known = type(error) is ValueError
        raise damaged(error if known else ValueError("a field is missing or cut short")) from None


class Chunk(NamedTuple):
    """A column of a group of rows: its name, where it is, and how many values it holds."""

    column: str
    start: int
    size: int
    n_values: int


@final
class ParquetSizes:
    """The columns of a Parquet file, each of which lies in the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with _damage(), path.open("rb") as file:
            size = path.stat().st_size
            groups = _footer(file, size)[4]
            columns = ((column[3], group[3]) for group in groups for column in group[1])
            self.chunks = [_chunk(meta, n_rows, size) for meta, n_rows in columns]

    def check(self, columns: Collection[str]) -> None:
        """Refuse pages of these columns that state sizes which they cannot have."""
        wanted = set(columns)
        with _damage(), self.path.open("rb") as file:
            chunks = [chunk for chunk in self.chunks if chunk.column in wanted]
            unpacked = sum(_unpacked_pages(file, chunk) for chunk in chunks)
        # Runs of one value take no room in the file, and a number or more each in memory.
        refuse_bomb(max(unpacked, sum(VALUE * chunk.n_values for chunk in chunks)), self.path)


def _footer(file: BinaryIO, size: int) -> dict[int, Any]:
    file.seek(max(size - 8, 0))
    end = file.read(8)
    length = int.from_bytes(end[:4], "little")
    if end[4:] != b"PAR1":
        raise ValueError("the file has no end")
    if length > size - 12:
        raise ValueError("the footer lies outside of the file")
    file.seek(size - 8 - length)
    return _Thrift(file.read(length)).struct()


def _chunk(meta: dict[int, Any], n_rows: int, size: int) -> Chunk:
    """Return a column of a group of so many rows."""
    path, n_values = meta[3], meta[5]
    start = min(place for place in (meta[9], meta.get(11, 0)) if place > 0)
    if meta[7] < 0 or start + meta[7] > size:
        raise ValueError("a column lies outside of the file")
    if not 0 <= n_values <= memory() or (len(path) == 1 and n_values != n_rows):
        raise ValueError("a column states a number of values that it cannot have")
    return Chunk(path[0].decode(), start, meta[7], n_values)


def _unpacked_pages(file: BinaryIO, chunk: Chunk) -> int:
    """Check the heads of the pages of a column; return what they unpack to."""
    at, end = chunk.start, chunk.start + chunk.size
    n_values = unpacked = 0
    while at < end and n_values < chunk.n_values:
        head, length = _page_head(file, at, end)
        at += length + head[3]
        if min(head[2], head[3], end - at) < 0:
            raise ValueError("a page lies outside of its column")
        unpacked += head[2]
        n_values += _values(head)
    if n_values != chunk.n_values:
        raise ValueError("the pages of a column do not hold as many values as it states")
    return unpacked


def _values(head: dict[int, Any]) -> int:
    """Return how many rows' values a page states: none if it is the dictionary of others."""
    stated = head.get(5) or head.get(7) or head.get(8)  # data, dictionary, data of version 2
    values = int(stated[1]) if stated else 0
    is_dictionary = head[1] == DICTIONARY_PAGE
    if values < 0 or (is_dictionary and values > head[2]):  # each takes a byte or more
        raise ValueError("a page states a number of values that it cannot have")
    return 0 if is_dictionary else values


def _page_head(file: BinaryIO, at: int, end: int) -> tuple[dict[int, Any], int]:
    """Return the head of a page and its length."""
    size = HEAD
    while True:
        file.seek(at)
        thrift = _Thrift(file.read(min(size, end - at)))
        try:
            return thrift.struct(), thrift.at
        except (ValueError, IndexError):
            if size >= min(LARGEST, end - at):
                raise
            size *= 32


class _Thrift:
    """Values in the compact protocol, read one after the other; every length is checked."""

    __slots__ = ("at", "data")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """Return a structure: the number of each field, and its value."""
        if depth > DEEPEST:
            raise ValueError("a structure is too deep")
        found: dict[int, Any] = {}
        field = 0
        while head := self.data[self.at]:
            self.at += 1
            field = field + (head >> 4) if head >> 4 else self._integer()
            found[field] = self._value(head & 15, depth)
        self.at += 1
        return found

    def _value(self, kind: int, depth: int) -> Any:
        if kind in INTEGERS:
            return self._integer()
        if kind == STRUCT:
            return self.struct(depth + 1)
        if kind == BINARY:
            return self._bytes(self._length())
        if kind in LISTS:
            return self._list(depth)
        if kind in (TRUE, FALSE):
            return kind == TRUE
        if kind in (BYTE, DOUBLE):
            return self._bytes(1 if kind == BYTE else 8)
        raise ValueError(f"a value is of no known type ({kind})")

    def _list(self, depth: int) -> list[Any]:
        (head,) = self._bytes(1)
        count = head >> 4 if head >> 4 < 15 else self._length()
        if count > len(self.data) - self.at:
            raise ValueError("a list is longer than the file")
        if head & 15 in (TRUE, FALSE):
            return list(self._bytes(count))
        return [self._value(head & 15, depth + 1) for _ in range(count)]

    def _bytes(self, count: int) -> bytes:
        found = self.data[self.at : self.at + count]
        if len(found) < count:
            raise ValueError("a text is longer than the file")
        self.at += count
        return found

    def _length(self) -> int:
        """Return a number of up to 64 bits, seven in each byte, the lowest first."""
        data, at = self.data, self.at
        value = shift = 0
        while (byte := data[at]) >= 128:
            value |= (byte & 127) << shift
            shift += 7
            at += 1
            if shift > 63:
                raise ValueError("a number is too long")
        self.at = at + 1
        return value | byte << shift

    def _integer(self) -> int:
        value = self._length()
        return value >> 1 ^ -(value & 1)


def check_arrow(path: Path) -> None:
    """Refuse an Arrow file or stream that states sizes which it cannot have."""
    size = path.stat().st_size
    unpacked = 0
    with _damage(), path.open("rb") as file:
        batches = _stream(file, size) if file.read(4) == STREAM else _blocks(file, size)
        for message, start, body in batches:
            if body < 0 or start + body > size:
                raise ValueError("a batch lies outside of the file")
            unpacked += _unpacked_batch(message, file, start, body)
    refuse_bomb(unpacked, path)


Message = tuple["_Table", int, int]  # its head, where its body starts, and how long that is


def _stream(file: BinaryIO, size: int) -> Iterator[Message]:
    """Yield one message after the other."""
    at = 0
    while at < size:
        message = _message(file, at)
        if message is None:
            break
        start, body = file.tell(), message.integer(3)
        yield message, start, body
        at = start + body


def _blocks(file: BinaryIO, size: int) -> Iterator[Message]:
    """Yield the messages whose places stand in the footer of a file."""
    file.seek(max(size - 10, 0))
    (length,) = struct.unpack("<i", file.read(4))
    if not 0 < length <= size - 10:
        raise ValueError("the footer lies outside of the file")
    file.seek(size - 10 - length)
    footer = _root(file.read(length))
    for at in (*footer.vector(2, 24), *footer.vector(3, 24)):
        offset, head, body = struct.unpack_from("<qi4xq", footer.data, at)
        if min(offset, head) < 0 or offset + head > size:
            raise ValueError("a batch lies outside of the file")
        message = _message(file, offset)
        if message is not None:
            yield message, offset + head, body


def _message(file: BinaryIO, at: int) -> "_Table | None":
    """Return the head of the message at a place, if it has one; its body is read next."""
    file.seek(at)
    start = file.read(8)
    if start[:4] == STREAM:
        (length,) = struct.unpack("<i", start[4:])
    else:  # written before Arrow 0.15
        (length,) = struct.unpack("<i", start[:4])
        file.seek(at + 4)
    data = file.read(max(length, 0))
    if len(data) < length:
        raise ValueError("the head of a batch is cut short")
    return _root(data) if data else None


def _root(data: bytes) -> "_Table":
    """Return the outermost table of a flatbuffer."""
    return _Table(data, struct.unpack_from("<I", data, 0)[0])


def _unpacked_batch(message: "_Table", file: BinaryIO, start: int, body: int) -> int:
    """Check the buffers of a batch; return what they unpack to."""
    place = message.place(1)
    kind = message.data[place] if place else 0
    if kind not in (DICTIONARY, BATCH):
        return 0
    batch = message.table(2) if kind == BATCH else message.table(2).table(1)
    buffers = batch.integers(2)
    _check_lengths(batch, buffers, body)
    is_compressed = batch.place(3) > 0
    return _unpacked_buffers(file, start, buffers) if is_compressed else 0


def _check_lengths(batch: "_Table", buffers: NDArray[np.int64], body: int) -> None:
    """Refuse lengths that no batch can have, and buffers that reach beyond it."""
    lengths = np.append(batch.integers(1), batch.integer(0))
    if (buffers < 0).any() or (lengths < 0).any() or (lengths > memory()).any():
        raise ValueError("a batch states lengths that it cannot have")
    ends = buffers[::2].astype(np.float64) + buffers[1::2]
    if ends.size and ends.max() > body:
        raise ValueError("a buffer lies outside of its batch")


def _unpacked_buffers(file: BinaryIO, start: int, buffers: NDArray[np.int64]) -> int:
    """Return what compressed buffers unpack to, as each says at its start."""
    total = 0
    for offset, length in buffers.reshape(-1, 2).tolist():
        if length >= 8:
            file.seek(start + offset)
            (stated,) = struct.unpack("<q", file.read(8))
            if stated < -1:
                raise ValueError("a buffer states a length below 0")
            total += max(stated, 0)
    return total


class _Table(NamedTuple):
    """A table of a flatbuffer: fields by their numbers, and every place checked."""

    data: bytes
    at: int

    def read(self, kind: str, at: int) -> int:
        """Return the number at a place; a place before the start is an error, too."""
        if at < 0:
            raise ValueError("a field lies outside of its table")
        return int(struct.unpack_from(kind, self.data, at)[0])

    def place(self, field: int) -> int:
        """Return where a field is; 0 if it is not there."""
        fields = self.at - self.read("<i", self.at)
        entry = 4 + 2 * field
        offset = self.read("<H", fields + entry) if entry < self.read("<H", fields) else 0
        return self.at + offset if offset else 0

    def integer(self, field: int) -> int:
        """Return a field of 64 bits; 0 if it is not there."""
        place = self.place(field)
        return self.read("<q", place) if place else 0

    def table(self, field: int) -> "_Table":
        """Return a field that is a table, which must be there."""
        place = self.place(field)
        if not place:
            raise ValueError("a table lacks a field")
        return _Table(self.data, place + self.read("<I", place))

    def vector(self, field: int, width: int) -> range:
        """Return the places of the entries of a vector, each of so many bytes."""
        place = self.place(field)
        if not place:
            return range(0)
        start = place + self.read("<I", place)
        count = self.read("<I", start)
        if start + 4 + count * width > len(self.data):
            raise ValueError("a list is longer than the file")
        return range(start + 4, start + 4 + count * width, width)

    def integers(self, field: int) -> NDArray[np.int64]:
        """Return a vector of pairs of integers of 64 bits, one after the other."""
        places = self.vector(field, 16)
        return np.frombuffer(self.data, "<i8", 2 * len(places), places.start)
