"""The file of a map: a JSON object with a schema, written whole or not at all."""

import json
import os
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant.checks.files import as_path, whole_file

Floats = NDArray[np.float64]
Shape = tuple[int | None, ...]

SCHEMA = "calibrant-map/1"


@final
class Fields(dict[str, Any]):
    """The fields of a file; one that is not there is refused in a sentence."""

    def __missing__(self, key: str) -> Any:
        raise ValueError(f"`{key}` must be there; it is missing.")

    def number(self, key: str) -> float:
        """Return a field that is a number."""
        return float(numbers(key, self[key], ()))

    def inside(self, key: str) -> "Fields":
        """Return a field that has fields of its own."""
        return as_fields(key, self[key])

    def many(self, key: str) -> list["Fields"]:
        """Return a field that is a list of objects with fields of their own."""
        value = self[key]
        if not isinstance(value, list) or not value:
            raise ValueError(f"`{key}` must be a list of objects; found {shown(value)}.")
        return [as_fields(key, item) for item in value]


def as_fields(key: str, value: Any) -> Fields:
    """Return a JSON object as fields, or refuse what is none."""
    if not isinstance(value, dict):
        raise ValueError(f"`{key}` must be a JSON object; found {shown(value)}.")
    return Fields(value)


def shown(value: Any) -> str:
    """Write a value for a sentence, without the end of a long one."""
    words = repr(value)
    return words if len(words) <= 60 else f"{words[:60]}…"


def numbers(name: str, value: Any, *shapes: Shape) -> Floats:
    """Return finite numbers of one of these shapes as an array that cannot be written to.

    None in a shape is any length of that axis.
    """
    array = _as_floats(name, value)
    if not any(_fits(array, shape) for shape in shapes):
        wanted = " or ".join(map(_written, shapes))
        raise ValueError(f"`{name}` must be of shape {wanted}; found {array.shape}.")
    if not np.isfinite(array).all():
        raise ValueError(f"`{name}` must be finite; found {array[~np.isfinite(array)][0]}.")
    array.flags.writeable = False
    return array


def _as_floats(name: str, value: Any) -> Floats:
    """Return a copy as float64; texts and truths are no numbers."""
    try:
        array = np.asarray(value)
    except ValueError:  # rows of different lengths
        array = np.array(None)
    if array.dtype.kind not in "iuf":
        raise ValueError(f"`{name}` must be numbers; found {shown(value)}.")
    return np.array(array, np.float64, order="C")


def _fits(array: Floats, shape: Shape) -> bool:
    if array.ndim != len(shape):
        return False
    pairs = zip(array.shape, shape, strict=True)
    return all(want is None or have == want for have, want in pairs)


def _written(shape: Shape) -> str:
    return f"({', '.join('any' if length is None else str(length) for length in shape)})"


def integers(name: str, value: Any, shape: Shape) -> NDArray[np.int32]:
    """Return whole numbers of a known shape."""
    found = numbers(name, value, shape)
    if not ((found == np.rint(found)) & (np.abs(found) < 2**31)).all():
        raise ValueError(f"`{name}` must be whole numbers; found {shown(value)}.")
    return found.astype(np.int32)


def distributions(name: str, value: Any, shape: Shape) -> Floats:
    """Return numbers whose rows are not negative and sum to 1 within rounding."""
    rows = numbers(name, value, shape)
    off = ~((rows >= 0).all(axis=-1) & (np.abs(rows.sum(axis=-1) - 1) <= 1e-9))
    if off.any():
        found = shown(rows[np.argmax(off)].tolist())
        raise ValueError(f"`{name}` must not be negative and sum to 1; found {found}.")
    return rows


def read(path: str | os.PathLike[str]) -> Fields:
    """Return the object in a file, or say in a sentence why there is none."""
    place = as_path(path)
    if not place.is_file():
        what = "is a folder" if place.is_dir() else "does not exist"
        raise FileNotFoundError(f"`path` must be a file; {str(place)!r} {what}.")
    try:
        found = json.loads(place.read_bytes(), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{place}: must be a JSON file; it cannot be read ({error}).") from None
    if not isinstance(found, dict):
        raise ValueError(f"{place}: must hold a JSON object; found {shown(found)}.")
    return Fields(found)


def _refuse(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")


def write(path: str | os.PathLike[str], fields: dict[str, Any]) -> None:
    """Write a file that appears when it is whole.

    Numbers are written as the shortest decimals that give the same float64 when they are read.
    """
    text = json.dumps(fields, allow_nan=False, ensure_ascii=False, indent=1)
    with whole_file(Path(path)) as temporary:
        temporary.write_text(f"{text}\n", encoding="utf-8")
