"""A monitor as JSON: named arrays as text, a version, and a digest that tells damage."""

import base64
import binascii
import json
import zlib
from collections.abc import Mapping
from hashlib import sha256
from math import inf
from typing import Any

import numpy as np

from calibrant.checks.parameters import brief
from calibrant.engine.record import CAPACITY
from calibrant.lenses import Canonical, Lens, Marginal, TopK, TopLabel
from calibrant.monitor.streams import Stream, arrays_of

FORMAT = "calibrant.Monitor"
VERSION = 2
REMEDY = "Start a new monitor, or take an earlier copy."


def sealed(body: dict[str, Any]) -> dict[str, Any]:
    """Return the body with format, version and digest."""
    whole = {"format": FORMAT, "version": VERSION, **body}
    return {**whole, "digest": digest(whole)}


def opened(given: Any) -> dict[str, Any]:
    """Return what was sealed; refuse what is not, or was changed since."""
    if not isinstance(given, Mapping) or given.get("format") != FORMAT:
        raise ValueError("`state` must be what `Monitor.to_dict` returned; found something else.")
    if given.get("version") != VERSION:
        raise ValueError(
            f"`state` must be of version {VERSION}; found {brief(given.get('version'))}. It was"
            " written by another version of calibrant."
        )
    body = {name: value for name, value in given.items() if name != "digest"}
    if given.get("digest") != digest(body):
        raise damaged("its digest is not that of its contents")
    return body


def digest(body: Mapping[str, Any]) -> str:
    """Return the digest of plain values, in whatever order."""
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), default=str)
    return sha256(text.encode()).hexdigest()


def damaged(why: str) -> ValueError:
    """Return the error of a state that cannot be relied on."""
    return ValueError(f"`state` is damaged: {why}. {REMEDY}")


def packed(stream: Stream) -> dict[str, str]:
    """Return the arrays of a stream as texts."""
    record = stream.state.record
    for array in (record.rows, record.residual, record.variance):
        array[int(record.filled[0]) :] = 0  # what is left of blocks that were merged
    return {name: to_text(array) for name, array in arrays_of(stream).items()}


def unpacked(texts: Mapping[str, str], m: int) -> Stream:
    """Return the stream of m outcomes whose arrays these are."""
    stream = Stream.start(m)
    arrays = arrays_of(stream)
    if texts.keys() != arrays.keys():
        raise damaged("it lacks arrays, or has others")
    for name, array in arrays.items():
        array[...] = from_text(texts[name], array.dtype, array.size).reshape(array.shape)
    if not 0 <= int(stream.state.record.filled[0]) <= CAPACITY:
        raise damaged("it has too many blocks of rows")
    return stream


def to_text(array: np.ndarray[Any, Any]) -> str:
    """Return the bytes of an array as text, without zeros at the end."""
    plain = array.astype(array.dtype.newbyteorder("<")).tobytes().rstrip(b"\0")
    return base64.b64encode(zlib.compress(plain, 6)).decode()


def from_text(text: Any, dtype: Any, size: int) -> np.ndarray[Any, Any]:
    """Return the array of a text; refuse one of another length."""
    length = size * np.dtype(dtype).itemsize
    reader = zlib.decompressobj()
    try:
        plain = reader.decompress(base64.b64decode(text, validate=True), length + 1)
    except (binascii.Error, zlib.error, TypeError, ValueError):
        raise damaged("an array cannot be read") from None
    if len(plain) > length or not reader.eof:
        raise damaged("an array has another length")
    return np.frombuffer(plain.ljust(length, b"\0"), np.dtype(dtype).newbyteorder("<"))


def finite(number: float) -> float | None:
    """Return None for infinity, which JSON does not have."""
    return None if number == inf else float(number)


def spelled(lens: Lens | str | None) -> str | None:
    """Return the text that names a lens."""
    if lens is None or isinstance(lens, str):
        return lens
    if isinstance(lens, TopLabel):
        return "top"
    if isinstance(lens, Canonical):
        return "canonical"
    if isinstance(lens, TopK):
        return f"top:{lens.k}"
    if isinstance(lens, Marginal):
        return f"class:{lens.label}"
    raise ValueError(
        f"`lens` must have a short name for a monitor that is saved; {lens} has none. Give its"
        " name, such as 'top' or 'groups:0-2|3-5', to `Monitor`."
    )
