"""Structures in Thrift's compact protocol, in which Parquet states where things are and how large.

Only reading, and every length is held against what is there.
"""

from typing import Any

TRUE, FALSE, BYTE, INTEGERS, DOUBLE, BINARY, LISTS, STRUCT = 1, 2, 3, (4, 5, 6), 7, 8, (9, 10), 12
DEEPEST = 16  # structures within one another; Parquet has half as many


class Thrift:
    """A place in some bytes, from which values are read one after the other.

    Parameters
    ----------
    data : bytes
        What is read.
    at : int, default 0
        Where to begin.
    """

    __slots__ = ("at", "data")

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data = data
        self.at = at

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """Return a structure: the number of each field, and its value."""
        if depth > DEEPEST:
            raise ValueError("a structure is too deep")
        found: dict[int, Any] = {}
        field, data = 0, self.data
        while head := data[self.at]:
            self.at += 1
            field = field + (head >> 4) if head >> 4 else self._integer()
            kind = head & 15
            found[field] = self._integer() if kind in INTEGERS else self._value(kind, depth)
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
        head = self._byte()
        count = head >> 4 if head >> 4 < 15 else self._length()
        kind = head & 15
        if count > len(self.data) - self.at:
            raise ValueError("a list is longer than the file")
        if kind in (TRUE, FALSE):
            return list(self._bytes(count))
        return [self._value(kind, depth + 1) for _ in range(count)]

    def _byte(self) -> int:
        value = self.data[self.at]
        self.at += 1
        return value

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
