"""NPZ files: named arrays, read without unpickling anything."""

import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from calibrant.checks import arrays
from calibrant.checks.labels import decoded
from calibrant.checks.parameters import listed
from calibrant.loading.plain_files import reason_of, refuse_bomb, refuse_other_formats
from calibrant.loading.roles import CONFIDENCES, CORRECT, WEIGHTS, Options, Roles
from calibrant.loading.rules import Chosen
from calibrant.loading.table import (
    FILE,
    Table,
    reading_of,
    refuse_decisions,
    to_probabilities,
)
from calibrant.predictions import CONFIDENCES as CONFIDENT

PROBS = ("probs", "prob", "proba", "probabilities", "p", "y_prob")
LOGITS = ("logits", "logit")
LABELS = ("labels", "label", "y_true", "y", "target", "targets", "outcome", "outcomes")


def npz(path: Path, options: Options) -> Table:
    """Read `probs` (or `logits`) and `labels`, or `confidence` and `correct`, and what is there."""
    refuse_other_formats(path, b"PK")
    with zipfile.ZipFile(path) as archive:
        refuse_bomb(sum(info.file_size for info in archive.infolist()), path)
        names = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
        return _table(archive, names, options)


def _table(archive: zipfile.ZipFile, names: Sequence[str], options: Options) -> Table:
    keys = _not_set_aside(names, options)
    probs_key, roles = _probs_key(keys, options), _roles(keys, options)
    source = replace(
        FILE,
        probs=f"the array {probs_key!r}",
        logits=f"the array {probs_key!r}",
        labels=f"the array {roles.label!r}",
        gap_hint="",
    )
    array = _numbers(archive, probs_key, "(n, m) or (n,)", (1, 2))
    probs = to_probabilities(array, options, source)
    n, m = probs.shape
    own = _classes(archive, keys, CONFIDENT if roles.correct and array.ndim == 1 else None)
    known = options.name_classes(own, m, [f"column {j}" for j in range(m)])
    labels = decoded(_array(archive, roles.label), n, known, source)
    refuse_decisions(probs, options)
    weights = None
    if roles.weight is not None:
        weights = _numbers(archive, roles.weight, f"({n},)", (1,), n)
        arrays.weights(weights, n, source=source)
    chosen = Chosen((probs_key,), (), lists=array.ndim == 2)
    others = [name for name in names if name != "classes"]
    reading = reading_of(chosen, roles, known, others, options, known.names == CONFIDENT)
    extra = {key: _beside(archive, names, key, n, option) for option, key in _named(roles)}
    return Table(probs, labels, known.names, weights, extra, reading, source)


def _numbers(
    archive: zipfile.ZipFile, key: str, shape: str, dimensions: Sequence[int], n: int | None = None
) -> NDArray[Any]:
    """Return an array of numbers that has one of these numbers of dimensions, and n rows."""
    array = _array(archive, key)
    if array.ndim not in dimensions or (n is not None and len(array) != n):
        raise ValueError(f"the array {key!r} must be of shape {shape}; found {array.shape}.")
    if array.dtype.kind not in "biuf":
        raise TypeError(f"the array {key!r} must be numbers; found {array.dtype}.")
    return array


def _not_set_aside(names: Sequence[str], options: Options) -> list[str]:
    """Return arrays that may be predictions, labels or weights."""
    asked = {options.label, options.weight, *(options.probs or ())}
    aside = {*options.ignore, *options.keep} - asked
    return [name for name in names if name not in aside]


def _roles(keys: Sequence[str], options: Options) -> Roles:
    """Return the arrays that the user names, and labels and weights with usual names."""
    weighted = options.weight is not None or _called(keys, WEIGHTS)
    usual = CORRECT if _has_confidences(keys) else LABELS
    return Roles(
        _key("label", keys, usual, options.label),
        _key("weight", keys, WEIGHTS, options.weight) if weighted else None,
        options.model,
        options.id,
        options.cluster,
        tuple(options.keep),
        suspects=(),
    )


def _probs_key(keys: Sequence[str], options: Options) -> str:
    asked = options.probs
    if asked is not None and len(asked) != 1:
        raise ValueError(f"`probs` must name one array of an NPZ file; found {listed(asked)}.")
    name = asked[0] if asked else None
    if options.logits:
        hint = " Then leave out `values='logits'`?" if _called(keys, PROBS) else ""
        return _key("probs", keys, LOGITS, name, hint)
    hint = " Are there logits? Say so with `values='logits'`." if _called(keys, LOGITS) else ""
    return _key("probs", keys, CONFIDENCES if _has_confidences(keys) else PROBS, name, hint)


def _has_confidences(keys: Sequence[str]) -> bool:
    """Whether there are confidences and who was right, and nothing that is usual otherwise."""
    others = _called(keys, (*PROBS, *LOGITS, *LABELS))
    return not others and bool(_called(keys, CONFIDENCES) and _called(keys, CORRECT))


def _called(keys: Sequence[str], usual: Sequence[str]) -> list[str]:
    return [key for key in keys if key.lower() in usual]


def _key(
    option: str, keys: Sequence[str], usual: Sequence[str], asked: str | None, hint: str = ""
) -> str:
    """Return the name of an array: the one asked for, or the only one with a usual name."""
    if asked is not None:
        if asked not in keys:
            raise ValueError(f"`{option}` must name an array; {asked!r} not among {listed(keys)}.")
        return asked
    found = _called(keys, usual)
    if len(found) == 1:
        return found[0]
    if found:
        raise ValueError(
            f"one array must be {usual[0]!r}; found {listed(found)}. Choose with `{option}`."
        )
    raise ValueError(
        f"the file must hold an array {usual[0]!r}; found {listed(keys)}. Name it with"
        f" `{option}`.{hint}"
    )


def _named(roles: Roles) -> Iterator[tuple[str, str]]:
    """Yield the arrays that name models, rows, clusters or groups, each after its option."""
    for option in ("model", "id", "cluster"):
        if getattr(roles, option) is not None:
            yield option, getattr(roles, option)
    yield from (("keep", key) for key in roles.kept)


def _beside(
    archive: zipfile.ZipFile, keys: Sequence[str], key: str, n: int, option: str
) -> pl.Series:
    """Return an array that names models, rows, clusters or groups as a column."""
    array = _array(archive, _key(option, keys, (), key))
    if array.shape != (n,):
        raise ValueError(f"the array {key!r} must be of shape ({n},); found {array.shape}.")
    return pl.Series(key, array.tolist())


def _classes(
    archive: zipfile.ZipFile, keys: Sequence[str], usual: Sequence[str] | None
) -> Sequence[Any] | None:
    if "classes" not in keys:
        return usual
    found = _array(archive, "classes")
    if found.ndim != 1:
        raise ValueError(f"`classes` must be of one dimension; found shape {found.shape}.")
    return list(found)


def _array(archive: zipfile.ZipFile, key: str) -> NDArray[Any]:
    """Return an array after a look at its header: no objects, and as long as it says."""
    info = archive.getinfo(f"{key}.npy")
    with archive.open(info) as file:
        shape, dtype = _header(file, key)
        rest = info.file_size - file.tell()
    if dtype.hasobject:
        raise ValueError(
            f"the array {key!r} must hold numbers or text; it holds Python objects, which are not"
            " unpickled. Save it with a plain type, such as astype(str)."
        )
    size = int(np.prod(shape, dtype=object)) * dtype.itemsize
    if size != rest or any(length < 0 for length in shape):
        raise ValueError(
            f"the array {key!r} must be whole; its shape {shape} needs {size:,} bytes, and the file"
            f" holds {rest:,}."
        )
    with archive.open(info) as file:
        return np.asarray(np.lib.format.read_array(file, allow_pickle=False))


def _header(file: IO[bytes], key: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return the shape and the type of an array; whatever NumPy says of a bad header, refuse it."""
    try:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_2_0
        if version == (1, 0):
            read = np.lib.format.read_array_header_1_0
        shape, _, dtype = read(file)
    except (OSError, EOFError, MemoryError, zipfile.BadZipFile, zlib.error):
        raise
    except Exception as error:  # NumPy parses it as Python: it may raise what the parser does
        raise ValueError(
            f"the array {key!r} must be in NumPy's format; {reason_of(error)}."
        ) from None
    return shape, dtype
