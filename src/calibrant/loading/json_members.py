"""Where in a JSON text the values of an object stand, so that some can be written anew.

All else stays to the last character: numbers of many digits, spaces, the order of keys.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from calibrant.checks.parameters import brief

# Returns the value that begins at a place, and where it ends.
SCAN: Any = json.JSONDecoder().scan_once  # type: ignore[attr-defined]
SPACE = re.compile(r"[ \t\n\r]*")


class Member(NamedTuple):
    """A key of an object, and where its value begins and ends."""

    key: str
    start: int
    stop: int


class Scanned(NamedTuple):
    """The members of an object, and where it ends."""

    members: list[Member]
    stop: int


def scan_object(text: str, at: int = 0) -> Scanned:
    """Return the members of the object that begins at a place; the text is known to be JSON.

    Examples
    --------
    >>> scan_object('{"a": [1, 2], "b": 0.50}').members
    [Member(key='a', start=6, stop=12), Member(key='b', start=19, stop=23)]
    """
    members = []
    at = _after_space(text, _after_space(text, at) + 1)
    try:
        while text[at] != "}":
            key, at = SCAN(text, at)
            start = _after_space(text, _after_space(text, at) + 1)  # after the colon
            stop = SCAN(text, start)[1]
            members.append(Member(key, start, stop))
            at = _after_space(text, stop)
            if text[at] == ",":
                at = _after_space(text, at + 1)
    except (StopIteration, IndexError):
        raise json.JSONDecodeError("Expecting value", text, at) from None
    return Scanned(members, at + 1)


def scan_rows(text: str) -> Iterator[Scanned]:
    """Yield the objects of a list, one after the other."""
    at = _after_space(text, _after_space(text, 0) + 1)
    while text[at] != "]":
        found = scan_object(text, at)
        yield found
        at = _after_space(text, found.stop)
        if text[at] == ",":
            at = _after_space(text, at + 1)


def objects(text: str, decoder: json.JSONDecoder) -> Iterator[Any]:
    """Yield what a list holds, one after the other, so that nothing else of it is in memory."""
    at = _after_space(text, _after_space(text, 0) + 1)
    while text[at : at + 1] != "]":
        found, at = decoded(text, decoder, at)
        yield found
        at = _after_space(text, at)
        if text[at : at + 1] == ",":
            at = _after_space(text, at + 1)
            if text[at : at + 1] == "]":
                raise json.JSONDecodeError("Expecting value", text, at)
        elif text[at : at + 1] != "]":
            raise json.JSONDecodeError("Expecting ',' delimiter", text, at)
    at = _after_space(text, at + 1)
    if at < len(text):
        raise json.JSONDecodeError("Extra data", text, at)


def decoded(text: str, decoder: json.JSONDecoder, at: int) -> tuple[Any, int]:
    """Return the value that begins at a place, and where it ends."""
    try:
        return decoder.raw_decode(text, at)
    except json.JSONDecodeError:
        raise
    except ValueError:  # too many digits
        raise ValueError("numbers must be finite; the file has a longer one.") from None


def scan(text: str, is_list: bool) -> Iterator[Scanned]:
    """Yield the objects of a list, or the only one."""
    return scan_rows(text) if is_list else iter([scan_object(text)])


def spliced(
    text: str, rows: Iterable[Scanned], values: Iterable[Mapping[str, Any]]
) -> Iterator[str]:
    """Yield a text in parts, with other values for some keys of each object."""
    at = 0
    for scanned, others in zip(rows, values, strict=True):
        for key, start, stop in scanned.members:
            if key in others:
                yield text[at:start]
                yield _written(others[key])
                at = stop
    yield text[at:]


def _written(value: Any) -> str:
    try:
        return json.dumps(value, allow_nan=False)
    except ValueError:
        raise ValueError(
            f"numbers of JSON must be finite; found {brief(value)}, which CSV could hold."
        ) from None


def rest(text: str, rows: Iterable[Scanned], keys: Sequence[str]) -> Iterator[str]:
    """Yield a text in parts, without the values of some keys."""
    at = 0
    for scanned in rows:
        for key, start, stop in scanned.members:
            if key in keys:
                yield text[at:start]
                at = stop
    yield text[at:]


def _after_space(text: str, at: int) -> int:
    if text[at : at + 1] > " ":
        return at
    found = SPACE.match(text, at)
    return at if found is None else found.end()
