"""The sizes that an Arrow file states, held against the file before a reader believes them.

A compiled reader asks for as much memory as a damaged file says that it needs, and when there is
not so much, it ends the process. Here is read what states sizes: the footer with the places of
the batches, and the head of each batch with the places of its buffers. All of it is in flatbuffers
(https://arrow.apache.org/docs/format/Columnar.html).
"""

import os
import struct
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from calibrant.loading import unpacking
from calibrant.loading.failures import damaged
from calibrant.loading.text import STREAM

MAGIC = b"ARROW1"
BLOCK = 24  # bytes of the place of a batch: its offset, the lengths of its head and of its body
DICTIONARY, BATCH = 2, 3  # kinds of messages


def check_arrow(path: Path) -> None:
    """Refuse an Arrow file or stream that states sizes which it cannot have."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            unpacked = _unpacked_size(file, size)
    except (struct.error, ValueError, IndexError, OverflowError) as error:
        raise damaged(error) from None
    if unpacked > size:
        unpacking.refuse(unpacked, path)


def _unpacked_size(file: BinaryIO, size: int) -> int:
    """Check all batches; return what their buffers unpack to."""
    unpacked = 0
    if file.read(len(MAGIC)) == MAGIC:
        for offset, head, body in _blocks(file, size):
            if min(offset, head, body) < 0 or offset + head + body > size:
                raise ValueError("a batch lies outside of the file")
            unpacked += _check_batch(_message(file, offset), file, offset + head, body)
        return unpacked
    return _check_stream(file, size)


def _check_stream(file: BinaryIO, size: int) -> int:
    """Check one message after the other; return what their buffers unpack to."""
    unpacked, at = 0, 0
    while at < size:
        message = _message(file, at)
        if not message.data:
            break
        body = message.integer(3)
        start = file.tell()
        if body < 0 or start + body > size:
            raise ValueError("a batch lies outside of the file")
        unpacked += _check_batch(message, file, start, body)
        at = start + body
    return unpacked


def _blocks(file: BinaryIO, size: int) -> list[tuple[int, int, int]]:
    """Return where the batches of a file are: offset, length of the head, length of the body."""
    file.seek(max(size - 10, 0))
    (length,) = struct.unpack("<i", file.read(4))
    if not 0 < length <= size - 10:
        raise ValueError("the footer lies outside of the file")
    file.seek(size - 10 - length)
    footer = _Table.root(file.read(length))
    found = []
    for field in (2, 3):
        for at in footer.vector(field, BLOCK):
            offset, head, body = struct.unpack_from("<qi4xq", footer.data, at)
            found.append((offset, head, body))
    return found


def _message(file: BinaryIO, at: int) -> "_Table":
    """Return the head of the message at a place; the file is left where its body starts."""
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
    return _Table.root(data) if data else _Table(b"", 0)


def _check_batch(message: "_Table", file: BinaryIO, start: int, body: int) -> int:
    """Check the buffers of a batch; return what they unpack to."""
    kind = message.data[place] if (place := message.place(1)) else 0
    if kind not in (DICTIONARY, BATCH):
        return 0
    batch = message.table(2) if kind == BATCH else message.table(2).table(1)
    buffers = batch.integers(2)
    _check_lengths(batch, buffers, body)
    return _unpacked(file, start, buffers) if batch.place(3) else 0


def _check_lengths(batch: "_Table", buffers: NDArray[np.int64], body: int) -> None:
    """Refuse lengths that no batch can have, and buffers that reach beyond it."""
    lengths = np.append(batch.integers(1), batch.integer(0))
    if (buffers < 0).any() or (lengths < 0).any() or (lengths > unpacking.memory()).any():
        raise ValueError("a batch states lengths that it cannot have")
    ends = buffers[::2].astype(np.float64) + buffers[1::2]
    if ends.size and ends.max() > body:
        raise ValueError("a buffer lies outside of its batch")


def _unpacked(file: BinaryIO, start: int, buffers: NDArray[np.int64]) -> int:
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


class _Table:
    """A table of a flatbuffer: fields by their numbers, and every place checked."""

    __slots__ = ("at", "data", "end", "fields")

    def __init__(self, data: bytes, at: int) -> None:
        self.data = data
        self.at = at
        self.fields = self.end = 0
        if data:
            self.fields = at - self.read("<i", at)
            self.end = self.read("<H", self.fields)

    @classmethod
    def root(cls, data: bytes) -> "_Table":
        """Return the outermost table."""
        return cls(data, struct.unpack_from("<I", data, 0)[0])

    def read(self, kind: str, at: int) -> int:
        """Return the number at a place; a place before the start is an error, too."""
        if at < 0:
            raise ValueError("a field lies outside of its table")
        return int(struct.unpack_from(kind, self.data, at)[0])

    def place(self, field: int) -> int:
        """Return where a field is; 0 if it is not there."""
        offset = self.read("<H", self.fields + 4 + 2 * field) if 4 + 2 * field < self.end else 0
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
