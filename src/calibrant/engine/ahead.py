"""Machine code of kernels, built ahead for the types of arguments in `signatures.txt`.

``python -m calibrant.engine.ahead`` writes it beside the kernels: a file for each module, and an
index. Building the package runs it. For each kernel and signature, numba compiles a function of
plain C types that puts arrays and tuples together and calls the kernel; LLVM optimises all such
functions of a module together.
"""

import json
import os
import platform
from concurrent.futures import ProcessPoolExecutor
from hashlib import sha256
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numba
import numpy as np
from llvmlite import binding as llvm
from numba import carray, types  # type: ignore[attr-defined]

from calibrant import engine
from calibrant.engine import built
from calibrant.engine.compile import DIGEST, SIGNATURES

V3 = ["avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"]
V4 = [*V3, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"]
X86 = {"x86-64-v4": V4, "x86-64-v3": V3}  # levels of processors and what they need, best first
LEVELS = {"x86_64": X86, "AMD64": X86}
SCALARS = {"i": types.int64, "u": types.uint64, "f": types.float64, "b": types.int64}
RESULTS = {types.none: "", types.int64: "i", types.float64: "f"}
OPTIONS: dict[str, Any] = {
    "error_model": "numpy",
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}

Signature = tuple[str, str]  # name of a kernel, words for its arguments
Module = tuple[built.Kernels, dict[str, str]]  # and digests of its code, by level


def build(folder: Path = built.FOLDER) -> None:
    """Write machine code for all of `signatures.txt`, unless it is there."""
    if built.index(folder, DIGEST) is not None:
        return
    folder.mkdir(exist_ok=True)
    (folder / built.INDEX).unlink(missing_ok=True)  # there is none while files are replaced
    with TemporaryDirectory() as cache, _processes(cache) as pool:
        jobs = {
            name: pool.submit(build_module, folder, name, of) for name, of in _modules().items()
        }
        found = {name: job.result() for name, job in jobs.items()}
    levels = {
        level: {"needs": needs, "sha256": {name: of[level] for name, (_, of) in found.items()}}
        for level, needs in _levels().items()
    }
    index = {
        "digest": DIGEST,
        "triple": built.triple(),
        "layout": built.HEADER,
        "calls": built.C_LIBRARY,
        "levels": levels,
        "kernels": {name: of for kernels, _ in found.values() for name, of in kernels.items()},
    }
    (folder / built.INDEX).write_text(json.dumps(index, indent=1))


def _levels() -> dict[str, list[str]]:
    """Return the levels of processors that code is built for, best first, and what each needs."""
    return LEVELS.get(platform.machine(), {"generic": []})


def _processes(cache: str) -> ProcessPoolExecutor:
    count = min(os.cpu_count() or 1, 8)  # each takes a third of a gigabyte
    return ProcessPoolExecutor(count, get_context("spawn"), _start, (cache,))


def _start(cache: str) -> None:
    """Settle what holds for a whole process.

    numba keeps what it compiles on the way in a folder of its own; it is of no use later. LLVM
    keeps moves that depend on a condition, since which label is drawn cannot be foreseen: for
    processors that it does not know closely, it would turn them into jumps.
    """
    numba.config.CACHE_DIR = cache  # type: ignore[attr-defined]
    if _levels() is X86:
        llvm.set_option("calibrant", "-x86-cmov-converter=false")


def _modules() -> dict[str, list[Signature]]:
    """Return the modules and what is built of each, largest first."""
    found: dict[str, list[Signature]] = {}
    for line in SIGNATURES.read_text().splitlines():
        name, _, words = line.partition(" ")
        found.setdefault(name.partition(".")[0], []).append((name, words))
    return dict(sorted(found.items(), key=lambda module: len(module[1]), reverse=True))


def build_module(folder: Path, module: str, signatures: list[Signature]) -> Module:
    """Write the machine code of one module, and return what is in it."""
    whole = llvm.parse_assembly("")
    kernels: built.Kernels = {}
    symbols = set()
    for k, (name, words) in enumerate(signatures):
        symbol = f"calibrant_{module}_{k}"
        part, results = Entry(name, words).compiled(symbol)
        whole.link_in(part)
        symbols.add(symbol)
        kernels.setdefault(name, {})[words] = symbol, results
    digests = {}
    for level in _levels():
        code = optimised(llvm.parse_assembly(str(whole)), symbols, level)
        (folder / level).mkdir(exist_ok=True)
        (folder / level / f"{module}.o").write_bytes(code)
        digests[level] = sha256(code).hexdigest()
    return kernels, digests


def optimised(module: llvm.ModuleRef, symbols: set[str], level: str) -> bytes:
    """Return machine code of the functions of these names, and of what they call."""
    for function in module.functions:
        if not function.is_declaration and function.name not in symbols:
            function.linkage = "internal"  # known to nobody else, so it may be changed
    triple = llvm.Target.from_default_triple()
    target = triple.create_target_machine(cpu=level, opt=3, jit=True)
    builder = llvm.create_pass_builder(target, llvm.create_pipeline_tuning_options(speed_level=3))
    builder.getModulePassManager().run(module, builder)
    called = {function.name for function in module.functions if function.is_declaration}
    unknown = sorted(
        name for name in called.difference(built.C_LIBRARY) if not name.startswith("llvm.")
    )
    if unknown:
        raise RuntimeError(f"Kernels must do without {', '.join(unknown)}.")
    code: bytes = target.emit_object(module)
    return code


def _rows_of(kind: Any) -> Any:
    """Return the type of an address where addresses of numbers stand."""
    return types.CPointer(types.CPointer(kind))  # type: ignore[no-untyped-call]


class Entry:
    """A function of plain C types that calls a kernel with what they stand for."""

    def __init__(self, name: str, words: str) -> None:
        module, _, kernel = name.partition(".")
        self.types: list[Any] = []
        self.names: dict[str, Any] = {
            "carray": carray,
            "kernel": getattr(getattr(engine, module), kernel).compiled,
        }
        arguments, _ = self._arguments(words.split(), 0)
        takes = ", ".join(f"p{k}" for k in range(len(self.types)))
        exec(f"def entry({takes}):\n    return kernel({arguments})\n", self.names)

    def compiled(self, symbol: str) -> tuple[llvm.ModuleRef, str]:
        """Return a module in which the function has this name, and words for its results."""
        function = numba.njit(tuple(self.types), **OPTIONS)(self.names["entry"])
        (signature,) = function.nopython_signatures
        module = llvm.parse_assembly(function.inspect_llvm(signature.args))
        defined = (each for each in module.functions if not each.is_declaration)
        (found,) = (each for each in defined if each.linkage == llvm.Linkage.external)
        found.name = symbol
        returned = signature.return_type
        several = getattr(returned, "types", [returned])  # of a tuple
        return module, "".join(RESULTS[kind] for kind in several)

    def _arguments(self, words: list[str], at: int) -> tuple[str, int]:
        """Return what words stand for up to the one that closes a tuple, and where that is."""
        found = []
        while at < len(words) and words[at] != ")":
            word = words[at]
            if word.endswith("("):
                inner, at = self._arguments(words, at + 1)
                found.append(f"{self._tuple(word)}({inner})")
            elif ":" in word:
                found.append(self._array(*word.split(":")))
            else:
                found.append(self._scalar(word))
            at += 1
        return "".join(f"{each}, " for each in found), at

    def _tuple(self, word: str) -> str:
        module, _, name = word[:-1].partition(".")
        if name:
            self.names[name] = getattr(import_module(f"calibrant.engine.{module}"), name)
        return name

    def _array(self, dtype: str, dimensions: str) -> str:
        number = numba.from_dtype(np.dtype(dtype))
        data, lengths = self._take(_rows_of(number)), self._take(_rows_of(types.int64))
        shape = "".join(f"{lengths}[{built.LENGTHS}][{d}], " for d in range(int(dimensions)))
        return f"carray({data}[{built.DATA}], ({shape}))"

    def _scalar(self, word: str) -> str:
        if word == "-":
            return "None"
        value = self._take(SCALARS[word])
        return f"({value} != 0)" if word == "b" else value

    def _take(self, kind: Any) -> str:
        self.types.append(kind)
        return f"p{len(self.types) - 1}"


if __name__ == "__main__":
    build()
