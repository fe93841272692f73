"""Machine code that was built with the package: found, checked and loaded.

`ahead` builds it, a file for each module of kernels. It is taken if it belongs to these kernels
and to this kind of machine; otherwise there is none.
"""

import ctypes
import json
import logging
import os
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from threading import RLock
from typing import Any, NamedTuple

import numpy as np
from llvmlite import binding as llvm

log = logging.getLogger("calibrant")

FOLDER = Path(__file__).with_name("machine")
INDEX = "index.json"
HEADER = object.__basicsize__ // 8  # words of an object before what it holds
DATA, LENGTHS = HEADER, HEADER + 2  # words of an array: where its numbers and its lengths are

C_LIBRARY = ("exp", "log", "memcpy", "memmove", "memset", "sqrt")  # what machine code may call
C_TYPES: dict[str, Any] = {"i": ctypes.c_int64, "u": ctypes.c_uint64, "f": ctypes.c_double}
C_TYPES["b"] = C_TYPES["i"]

Entry = Callable[[list[Any]], Any]
Kernels = dict[str, dict[str, tuple[str, str]]]  # name, words: symbol, words for results
_lock = RLock()


class Built(NamedTuple):
    """What was built for this machine: where files are, their digests by module, and kernels."""

    folder: Path
    digests: dict[str, str]
    kernels: Kernels


def entries(name: str, digest: str) -> dict[tuple[str, ...], Entry]:
    """Return what was built for a kernel, by the words for its arguments; {} if nothing was."""
    module, _, _ = name.partition(".")
    with _lock:
        found = index(FOLDER, digest)
        if found is None or name not in found.kernels:
            return {}
        library = _load(found.folder / f"{module}.o", found.digests[module])
        if library is None:
            return {}
        return {
            tuple(words.split()): _entry(library.get_function_address(symbol), words, results)
            for words, (symbol, results) in found.kernels[name].items()
        }


@cache
def index(folder: Path, digest: str) -> Built | None:
    """Return what was built for these kernels and this machine; None if nothing was."""
    try:
        found = json.loads((folder / INDEX).read_text())
        other = [name for name, value in _here(digest).items() if found[name] != value]
        able = [level for level, of in found["levels"].items() if _has(of["needs"])]
        if not other and able:
            return Built(folder / able[0], found["levels"][able[0]]["sha256"], found["kernels"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        other = [repr(error)]
    log.debug("machine code that was built ahead is not for this %s", *other[:1] or ["processor"])
    return None


def triple() -> str:
    """Return the kind of machine and system, without the version of the system."""
    return llvm.get_default_triple().rstrip(".0123456789")  # type: ignore[no-any-return]


def _here(digest: str) -> dict[str, Any]:
    """Return what machine code must be for, here."""
    return {
        "digest": digest,
        "triple": triple(),
        "layout": HEADER if _layout_is_known() else None,
        "calls": list(C_LIBRARY) if _calls_are_known() else None,
    }


def _has(needs: list[str]) -> bool:
    """Whether the processor has these features."""
    features = llvm.get_host_cpu_features() if needs else {}
    return all(features.get(name) for name in needs)


def _layout_is_known() -> bool:
    """Whether arrays of NumPy hold what its C interface says, where it says so."""
    array = np.zeros((3, 5))
    words = ctypes.cast(id(array), ctypes.POINTER(ctypes.c_void_p))
    if words[DATA] != array.ctypes.data:
        return False
    lengths = ctypes.cast(words[LENGTHS], ctypes.POINTER(ctypes.c_int64))
    return (lengths[0], lengths[1]) == array.shape


def _calls_are_known() -> bool:
    """Tell LLVM where functions of the C library are, and return whether all are there."""
    try:
        library = ctypes.CDLL("ucrtbase" if os.name == "nt" else None)
        for name in C_LIBRARY:
            llvm.add_symbol(name, ctypes.cast(getattr(library, name), ctypes.c_void_p).value)
    except (AttributeError, OSError):
        return False
    return True


@cache
def _load(path: Path, digest: str) -> Any:
    """Return machine code from a file; None if it is not the one that was written."""
    try:
        code = path.read_bytes()
    except OSError:
        code = b""
    if sha256(code).hexdigest() != digest:
        log.debug("machine code in %s is damaged", path)
        return None
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple().create_target_machine(jit=True)
    library = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target)
    library.add_object_file(llvm.ObjectFileRef.from_data(code))
    library.finalize_object()
    return library


def _entry(address: int, words: str, results: str) -> Entry:
    """Return the function at an address: room for what it returns, for errors, its arguments."""
    takes = [kind for word in words.split() for kind in _c_types(word)]
    function = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *takes)(address)
    slots = C_TYPES[results[:1] or "i"] * max(len(results), 1)  # of None, too, there is one

    def run(values: list[Any]) -> Any:
        found = slots()
        if function(found, None, *values):
            raise RuntimeError("A compiled loop has failed.")
        if not results:
            return None
        return found[0] if len(results) == 1 else tuple(found)

    return run


def _c_types(word: str) -> list[Any]:
    if ":" in word:  # an array: its address, twice
        return [ctypes.c_void_p] * 2
    return [C_TYPES[word]] if word in C_TYPES else []
