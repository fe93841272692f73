"""Machine code that was built with the package: found, checked and loaded.

`ahead` builds it, a file for each module of kernels. It is taken if it belongs to these kernels
and to this kind of machine; otherwise there is none.
"""

import ctypes
import json
import logging
from collections.abc import Callable
from functools import cache
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np

log = logging.getLogger("calibrant")

FOLDER = Path(__file__).with_name("machine")
INDEX = "index.json"
HEADER = object.__basicsize__ // 8  # words of an object before what it holds
DATA, LENGTHS = HEADER, HEADER + 2  # words of an array: where its numbers and its lengths are

C_TYPES = {"i": [ctypes.c_int64], "u": [ctypes.c_uint64], "f": [ctypes.c_double]}
C_TYPES |= {"b": C_TYPES["i"], "-": []}
ARRAY = [ctypes.c_void_p] * 2

Entry = Callable[[list[Any]], Any]
Kernels = dict[str, dict[str, tuple[str, str]]]  # name, words: symbol, words for results
_lock = RLock()


def entries(name: str, digest: str) -> dict[tuple[str, ...], Entry]:
    """Return what was built for a kernel, by the words for its arguments; {} if nothing was."""
    with _lock:
        found = index(FOLDER, digest).get(name, {})
        if not found:
            return {}
        library = _load(name.partition(".")[0])
        return {
            tuple(words.split()): _entry(library.get_function_address(symbol), words, results)
            for words, (symbol, results) in found.items()
        }


@cache
def index(folder: Path, digest: str) -> Kernels:
    """Return what was built for these kernels and this machine; {} if nothing was."""
    try:
        found = json.loads((folder / INDEX).read_text())
        expected = {"digest": digest, **machine(found["needs"])}
        other = [name for name, value in expected.items() if found[name] != value]
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError) as error:
        other = [repr(error)]
    if other:
        log.debug("machine code that was built ahead is not for this %s", other[0])
        return {}
    kernels: Kernels = found["kernels"]
    return kernels


def machine(needs: list[str]) -> dict[str, Any]:
    """Return what machine code depends on: the kind of machine, and how Python lays out arrays.

    needs : features of the processor; those that it has are returned
    """
    from llvmlite import binding as llvm

    features = llvm.get_host_cpu_features()
    return {
        "triple": llvm.get_default_triple(),
        "needs": [name for name in needs if features.get(name)],
        "layout": [HEADER, _layout_is_known()],
    }


def _layout_is_known() -> bool:
    """Whether arrays of NumPy hold what its C interface says, where it says so."""
    array = np.zeros((3, 5))
    words = ctypes.cast(id(array), ctypes.POINTER(ctypes.c_void_p))
    if words[DATA] != array.ctypes.data:
        return False
    lengths = ctypes.cast(words[LENGTHS], ctypes.POINTER(ctypes.c_int64))
    return (lengths[0], lengths[1]) == array.shape


@cache
def _load(module: str) -> Any:
    from llvmlite import binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple().create_target_machine(jit=True)
    library = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target)
    library.add_object_file(llvm.ObjectFileRef.from_path(str(FOLDER / f"{module}.o")))
    library.finalize_object()
    return library


def _entry(address: int, words: str, results: str) -> Entry:
    """Return the function at an address: room for what it returns, for errors, its arguments."""
    c_types = [kind for word in words.split() for kind in _c_types(word)]
    function = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 2, *c_types)(address)
    slots = C_TYPES[results[:1] or "i"][0] * max(len(results), 1)

    def run(values: list[Any]) -> Any:
        found = slots()
        if function(found, None, *values):
            raise RuntimeError("A compiled loop has failed.")
        return (None, found[0], tuple(found))[min(len(results), 2)]

    return run


def _c_types(word: str) -> list[Any]:
    if ":" in word:
        return ARRAY
    return C_TYPES.get(word, [])  # parentheses are for the reader
