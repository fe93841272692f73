"""NPZ files: named arrays, read without unpickling anything."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from calibrant.checks import arrays
from calibrant.checks.labels import decoded
from calibrant.checks.parameters import Source, listed
from calibrant.loading.options import LOGITS_HINT, ROUNDED_HINT, Options
from calibrant.loading.plain_files import reason_of, refuse_bomb, refuse_other_formats
from calibrant.loading.reading import Reading
from calibrant.loading.roles import WEIGHTS
from calibrant.loading.table import Table, refuse_decisions, to_probabilities

if TYPE_CHECKING:
    import polars as pl

PROBS = ("probs", "prob", "proba", "probabilities", "p", "y_prob")
LOGITS = ("logits", "logit")
LABELS = ("labels", "label", "y_true", "y", "target", "targets", "outcome", "outcomes")


def npz(path: Path, options: Options) -> Table:
    """Read the arrays `probs` (or `logits`), `labels`, and `classes` and `weights` if there."""
    refuse_other_formats(path, b"PK")
    with zipfile.ZipFile(path) as archive:
        refuse_bomb(sum(info.file_size for info in archive.infolist()), path)
        return _table(archive, options)


def _table(archive: zipfile.ZipFile, options: Options) -> Table:
    names = _arrays_of(archive)
    keys = _not_set_aside(names, options)
    probs_key = _probs_key(keys, options)
    labels_key = _key("label", keys, LABELS, options.label)
    source = Source(
        probs="the probabilities",
        logits="the logits",
        labels="the labels",
        hint=LOGITS_HINT,
        rounded_hint=ROUNDED_HINT,
    )
    array = _array(archive, probs_key)
    probs = to_probabilities(array, options, source)
    n, m = probs.shape
    known = options.name_classes(_classes(archive, keys), m, [f"column {j}" for j in range(m)])
    labels = decoded(_array(archive, labels_key), n, known, source)
    refuse_decisions(probs, options)
    weight = _weight_key(keys, options)
    weights = _weights(archive, weight, n, source)
    beside = list(filter(None, (options.model, options.id, options.cluster, *options.keep)))
    used = {labels_key, probs_key, weight, *beside, "classes"}
    chosen = Reading(
        labels_key,
        (probs_key,),
        known.names[1] if m == 2 else None,
        weight,
        options.model,
        options.id,
        tuple(name for name in names if name not in used),
        options.cluster,
        tuple(options.keep),
        lists=array.ndim == 2,
        logits=options.logits,
        normalize=options.normalize and m > 2,
    )
    extra = {key: _names(archive, names, key, n) for key in beside}
    return Table(probs, labels, known.names, weights, extra, chosen, source)


def _arrays_of(archive: zipfile.ZipFile) -> list[str]:
    """Return the names of the arrays."""
    return [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]


def _not_set_aside(names: Sequence[str], options: Options) -> list[str]:
    """Return arrays that may be predictions, labels or weights."""
    named = {options.label, options.weight, *(options.columns or ())}
    aside = {*options.ignore, *options.keep} - named
    return [name for name in names if name not in aside]


def _weights(
    archive: zipfile.ZipFile, key: str | None, n: int, source: Source
) -> NDArray[Any] | None:
    """Return the weights as they are in the file, if there are any."""
    if key is None:
        return None
    weights = _array(archive, key)
    arrays.weights(weights, n, source=source)
    return weights


def _probs_key(keys: Sequence[str], options: Options) -> str:
    asked = options.columns
    if asked is not None and len(asked) != 1:
        raise ValueError(f"`probs` must name one array of an NPZ file; found {listed(asked)}.")
    name = asked[0] if asked else None
    if options.logits:
        hint = " Then leave out `values='logits'`?" if _any(keys, PROBS) else ""
        return _key("probs", keys, LOGITS, name, hint)
    hint = " Are there logits? Say so with `values='logits'`." if _any(keys, LOGITS) else ""
    return _key("probs", keys, PROBS, name, hint)


def _any(keys: Iterable[str], usual: Sequence[str]) -> bool:
    return any(key.lower() in usual for key in keys)


def _key(
    option: str,
    keys: Sequence[str],
    usual: Sequence[str],
    asked: str | None,
    hint: str = "",
) -> str:
    """Return the name of an array: the one asked for, or the only one with a usual name."""
    if asked is not None:
        if asked not in keys:
            raise ValueError(f"`{option}` must name an array; {asked!r} not among {listed(keys)}.")
        return asked
    found = [key for key in keys if key.lower() in usual]
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


def _weight_key(keys: Sequence[str], options: Options) -> str | None:
    if options.weight is not None:
        return _key("weight", keys, (), options.weight)
    found = [key for key in keys if key.lower() in WEIGHTS]
    if len(found) > 1:
        raise ValueError(
            f"one array may hold weights; found {listed(found)}. Choose with `weight`."
        )
    return found[0] if found else None


def _names(archive: zipfile.ZipFile, keys: Sequence[str], key: str, n: int) -> pl.Series:
    """Return the names of models or rows as a column."""
    import polars as pl  # noqa: PLC0415 (only files need it)

    array = _array(archive, _key("model", keys, (), key))
    if array.shape != (n,):
        raise ValueError(f"the array {key!r} must be of shape ({n},); found {array.shape}.")
    return pl.Series(key, array.tolist())


def _classes(archive: zipfile.ZipFile, keys: Iterable[str]) -> Sequence[Any] | None:
    if "classes" not in keys:
        return None
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
