"""NPZ files: named arrays, read without unpickling anything."""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.checks import arrays
from calibrant.checks.labels import decoded
from calibrant.checks.parameters import Source, listed
from calibrant.loading.options import LOGITS_HINT, Options
from calibrant.loading.text import damaged, first_bytes, refuse_other_formats
from calibrant.predictions import Predictions

PROBS = ("probs", "prob", "proba", "probabilities", "p", "y_prob")
LOGITS = ("logits", "logit")
LABELS = ("labels", "label", "y_true", "y", "target", "targets")
DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError)


def npz(path: Path, options: Options) -> Predictions:
    """Read the arrays `probs` (or `logits`), `labels`, and `classes` and `weights` if there."""
    refuse_other_formats(path, first_bytes(path), b"PK")
    try:
        with zipfile.ZipFile(path) as archive:
            return _predictions(archive, options)
    except DAMAGE as error:
        raise damaged(error) from error


def _predictions(archive: zipfile.ZipFile, options: Options) -> Predictions:
    keys = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
    probs_key = _probs_key(keys, options)
    labels_key = _key("label", keys, LABELS, options.label)
    source = Source(
        probs="the probabilities", logits="the logits", labels="the labels", hint=LOGITS_HINT
    )
    make = arrays.softmax if options.logits else arrays.probabilities
    probs = make(_array(archive, probs_key), owned=True, source=source)
    n, m = probs.shape
    known = options.name_classes(_classes(archive, keys), m, [f"column {j}" for j in range(m)])
    labels = decoded(_array(archive, labels_key), n, known, source)
    weights = _weights(archive, keys, options)
    if weights is not None:
        weights = arrays.weights(weights, n, source=source)
    return Predictions.trusted(probs, labels, known.names, weights, event=1)


def _probs_key(keys: Sequence[str], options: Options) -> str:
    asked = options.columns
    if asked is not None and len(asked) != 1:
        raise ValueError(f"`probs` must name one array of an NPZ file; found {listed(asked)}.")
    name = asked[0] if asked else None
    if options.logits:
        hint = " Then leave out `logits`?" if _any(keys, PROBS) else ""
        return _key("probs", keys, LOGITS, name, hint)
    hint = " Are there logits? Say so with `logits`." if _any(keys, LOGITS) else ""
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


def _weights(
    archive: zipfile.ZipFile, keys: Iterable[str], options: Options
) -> NDArray[Any] | None:
    if options.weight is not None:
        return _array(archive, _key("weight", list(keys), (), options.weight))
    return _array(archive, "weights") if "weights" in keys else None


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
    try:
        with archive.open(info) as file:
            version = np.lib.format.read_magic(file)
            read = np.lib.format.read_array_header_2_0
            if version == (1, 0):
                read = np.lib.format.read_array_header_1_0
            shape, _, dtype = read(file)
            size = int(np.prod(shape, dtype=object)) * dtype.itemsize
            rest = info.file_size - file.tell()
    except ValueError as error:
        raise ValueError(f"the array {key!r} must be in NumPy's format; {error}.") from None
    if dtype.hasobject:
        raise ValueError(
            f"the array {key!r} must hold numbers or text; it holds Python objects, which are not"
            " unpickled. Save it with a plain type, such as astype(str)."
        )
    if size != rest:
        raise ValueError(
            f"the array {key!r} must be whole; its shape {shape} needs {size:,} bytes, and the file"
            f" holds {rest:,}."
        )
    if size > _memory():
        raise ValueError(f"the array {key!r} must fit in memory; it would take {size:,} bytes.")
    with archive.open(info) as file:
        return np.asarray(np.lib.format.read_array(file, allow_pickle=False))


def _memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not on Windows
        return 1 << 40
