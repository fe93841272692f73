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
from calibrant.checks.parameters import Source, listed
from calibrant.loading.assembly import LOGITS, Options
from calibrant.loading.labels import check_order
from calibrant.loading.text import damaged
from calibrant.predictions import Predictions

PROBS = ("probs", "prob", "proba", "probabilities", "p", "y_prob")
LOGIT_KEYS = ("logits", "logit")
LABELS = ("labels", "label", "y_true", "y", "target", "targets")
DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError)


def npz(path: Path, options: Options) -> Predictions:
    """Read the arrays `probs` (or `logits`), `labels`, and `classes` and `weights` if there."""
    try:
        with zipfile.ZipFile(path) as archive:
            return _predictions(archive, options)
    except DAMAGE as error:
        raise damaged(error) from error


def _predictions(archive: zipfile.ZipFile, options: Options) -> Predictions:
    keys = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
    wanted = options.columns
    if wanted is not None and len(wanted) != 1:
        raise ValueError(f"`probs` must name one array of an NPZ file; found {listed(wanted)}.")
    usual = LOGIT_KEYS if options.logits else PROBS
    probs_key = _key("probs", keys, usual, wanted[0] if wanted else None, options.logits)
    labels_key = _key("label", keys, LABELS, options.label)
    probs = _array(archive, probs_key)
    n = len(probs) if probs.ndim else 0
    source = Source(logits=LOGITS)
    weights = _weights(archive, keys, options)
    make = arrays.softmax if options.logits else arrays.probabilities
    checked = make(probs, owned=True, source=source)
    own = _own_classes(archive, keys)
    classes = own if options.classes is None else _given(options.classes)
    names = arrays.names(classes, checked.shape[1])
    if own is not None and options.classes is not None:
        places = [f"column {j}" for j in range(len(names))]
        check_order(names, arrays.names(own, len(names)), places)
    known = classes if own is None else own  # labels may use the names that are replaced
    labels = arrays.outcomes(_array(archive, labels_key), n, checked.shape[1], known)
    checked_weights = None if weights is None else arrays.weights(weights, n, source=source)
    return Predictions.trusted(checked, labels, names, checked_weights, event=1)


def _key(
    option: str,
    keys: Sequence[str],
    usual: Sequence[str],
    asked: str | None,
    logits: bool = False,
) -> str:
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
    hint = ""
    if option == "probs" and any(key.lower() in (PROBS if logits else LOGIT_KEYS) for key in keys):
        hint = " Then leave out `logits`?" if logits else " Are there logits? Say so with `logits`."
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


def _given(classes: Sequence[Any]) -> Sequence[Any]:
    return classes if isinstance(classes, str) else arrays.as_tuple(classes)


def _own_classes(archive: zipfile.ZipFile, keys: Iterable[str]) -> Sequence[Any] | None:
    if "classes" not in keys:
        return None
    found = _array(archive, "classes")
    if found.ndim != 1:
        raise ValueError(f"`classes` must be of one dimension; found shape {found.shape}.")
    return tuple(found.astype(str).tolist() if found.dtype.kind == "S" else found.tolist())


def _array(archive: zipfile.ZipFile, key: str) -> NDArray[Any]:
    """Return an array after a look at its header: no objects, and as long as it says."""
    info = archive.getinfo(f"{key}.npy")
    try:
        with archive.open(info) as file:
            version = np.lib.format.read_magic(file)
            read = (
                np.lib.format.read_array_header_1_0
                if version == (1, 0)
                else np.lib.format.read_array_header_2_0
            )
            shape, _, dtype = read(file)
            size, rest = (
                int(np.prod(shape, dtype=object)) * dtype.itemsize,
                info.file_size - file.tell(),
            )
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
