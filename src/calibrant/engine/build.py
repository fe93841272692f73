"""Build the library of machine code: ``python -m calibrant.engine.build``.

Building the package runs this; it is the only module that names numba and LLVM, and nothing of it
is needed later. For every kernel and choice of types, numba compiles a function that takes the
addresses of arrays' interfaces and numbers in one block of words. It looks at the arrays, puts
tuples together and calls the kernel. LLVM optimises each for every level of processors, and a
linker makes one library of all that is for a level.
"""

import json
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numba
import numpy as np
from llvmlite import binding as llvm
from numba import carray, types
from numba.extending import intrinsic, register_jitable

from calibrant.engine import library
from calibrant.engine.kernel import Declared, Kernel, f8, fields, helpers

V3 = ["AVX", "AVX2", "BMI", "BMI2", "F16C", "FMA3", "LZCNT", "MOVBE"]  # as NumPy names them
V4 = [*V3, "AVX512F", "AVX512BW", "AVX512CD", "AVX512DQ", "AVX512VL"]
X86 = {"x86-64-v4": V4, "x86-64-v3": V3}
# Levels of processors that code is built for, and what each needs, the best first.
LEVELS = X86 if platform.machine() in ("x86_64", "AMD64") else {"generic": []}
SUFFIX = {"Darwin": ".dylib", "Windows": ".dll"}.get(platform.system(), ".so")
GLIBC = "2.17"  # the oldest that a library for Linux is to run with
C_LIBRARY = ("exp", "log", "memcpy", "memmove", "memset", "sqrt")  # what machine code may call
OPTIONS: Any = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
C_CONTIGUOUS, ALIGNED, NATIVE, WRITEABLE = 0x1, 0x100, 0x200, 0x400  # flags of an interface


def build(folder: Path = library.FOLDER) -> None:
    """Write the libraries, unless they are there."""
    with suppress(library.LibraryError):
        library.choose(folder)
        return
    digest = library.digest()
    folder.mkdir(exist_ok=True)
    (folder / library.INDEX).unlink(missing_ok=True)  # there is none while files are replaced
    levels = []
    with TemporaryDirectory() as place:
        compile_all(Path(place))
        for level, needs in LEVELS.items():
            path = link(sorted(Path(place).glob(f"*.{level}.o")), folder / f"{level}{SUFFIX}")
            code = sha256(path.read_bytes()).hexdigest()
            levels.append({"file": path.name, "needs": needs, "sha256": code})
    index = {"digest": digest, "machine": library.machine(), "levels": levels}
    (folder / library.INDEX).write_text(json.dumps(index, indent=1))


def kernels() -> dict[str, Kernel]:
    """Return all kernels of the package by their names."""
    modules = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))
    found = [import_module(f"calibrant.engine.{name}") for name in modules if name != "build"]
    everything = (value for module in found for value in vars(module).values())
    return {each.name: each for each in everything if isinstance(each, Kernel)}


def compile_all(folder: Path) -> None:
    """Write an object file for each variant of each kernel, for each level."""
    longest = sorted(kernels().values(), key=lambda each: -len(each.variants) * len(each.leaves))
    count = min(os.cpu_count() or 1, 16)  # each takes a third of a gigabyte
    with ProcessPoolExecutor(count, get_context("spawn"), _start) as pool:
        jobs = [pool.submit(compile_kernel, each.name, folder) for each in longest]
        for job in jobs:
            job.result()


def _start() -> None:
    """Settle what holds for a whole process.

    LLVM keeps moves that depend on a condition, since which label is drawn cannot be foreseen: for
    processors that it does not know closely, it would turn them into jumps.
    """
    if LEVELS is X86:
        llvm.set_option("calibrant", "-x86-cmov-converter=false")
    kernels()
    while helpers:
        register_jitable(nogil=True, error_model="numpy")(helpers.pop())


def compile_kernel(name: str, folder: Path) -> None:
    """Write the object files of all variants of a kernel, for each level."""
    kernel = kernels()[name]
    for symbol in kernel.variants:
        whole = str(Entry(kernel, symbol).compiled())
        for level in LEVELS:
            code = optimised(llvm.parse_assembly(whole), symbol, level)
            (folder / f"{symbol}.{level}.o").write_bytes(code)


def optimised(module: llvm.ModuleRef, symbol: str, level: str) -> bytes:
    """Return machine code of the function of this name, and of what it calls."""
    for function in module.functions:
        if not function.is_declaration and function.name != symbol:
            function.linkage = "internal"  # known to nobody else, so it may be changed
    target = llvm.Target.from_default_triple().create_target_machine(
        cpu=level, opt=3, reloc="pic", codemodel="default"
    )
    builder = llvm.create_pass_builder(target, llvm.create_pipeline_tuning_options(speed_level=3))
    builder.getModulePassManager().run(module, builder)
    called = {function.name for function in module.functions if function.is_declaration}
    unknown = sorted(name for name in called.difference(C_LIBRARY) if not name.startswith("llvm."))
    if unknown:
        raise RuntimeError(f"{symbol} must do without {', '.join(unknown)}.")
    code: bytes = target.emit_object(module)
    return code


def link(objects: list[Path], path: Path) -> Path:
    """Link object files into one library."""
    mathematics = [] if platform.system() == "Windows" else ["-lm"]
    with TemporaryDirectory() as cache:
        run = subprocess.run(
            [*linker(), "-shared", "-s", "-o", str(path), *map(str, objects), *mathematics],
            env={**os.environ, "ZIG_GLOBAL_CACHE_DIR": cache, "ZIG_LOCAL_CACHE_DIR": cache},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    if run.returncode:
        raise RuntimeError(f"{' '.join(linker())} could not link {path.name}:\n{run.stdout}")
    return path


def linker() -> list[str]:
    """Return the command that links: zig's, which comes as a wheel, or else a C compiler's."""
    if find_spec("ziglang"):
        target = ["-target", f"{platform.machine()}-linux-gnu.{GLIBC}"]
        old = target if platform.system() == "Linux" else []
        return [sys.executable, "-m", "ziglang", "cc", *old]
    found = os.environ.get("CC") or shutil.which("cc")
    if not found:
        raise RuntimeError("A linker is needed: install ziglang, or a C compiler.")
    return [found]


@intrinsic
def pointer(_typing: Any, address: Any) -> Any:
    """Take a number for an address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return types.voidptr(address), generate


@intrinsic
def fetch(_typing: Any, address: Any, kind: Any) -> Any:
    """Return the number of a kind that is at an address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number = context.get_value_type(signature.return_type)
        return builder.load(builder.inttoptr(arguments[0], number.as_pointer()))

    return kind.instance_type(address, kind), generate


# Where the interface of an array has what: a structure that NumPy documents.
TWO, DIMENSIONS, KIND, ITEM_SIZE, FLAGS, SHAPE, DATA = 0, 4, 8, 12, 16, 24, 40


@register_jitable
def plain(interface: Any, dimensions: Any, kind: Any, size: Any, flags: Any) -> Any:
    """Whether an array is of this type and form."""
    return (
        interface != 0
        and fetch(interface + TWO, np.int32) == 2
        and fetch(interface + DIMENSIONS, np.int32) == dimensions
        and fetch(interface + KIND, np.uint8) == kind
        and fetch(interface + ITEM_SIZE, np.int32) == size
        and fetch(interface + FLAGS, np.int32) & flags == flags
    )


@register_jitable
def length(interface: Any, axis: Any) -> Any:
    """Return how long an array is along an axis."""
    return fetch(fetch(interface + SHAPE, np.int64) + 8 * axis, np.int64)


@register_jitable
def numbers(interface: Any) -> Any:
    """Return where the numbers of an array are."""
    return pointer(fetch(interface + DATA, np.int64) if interface != 0 else 0)


class Entry:
    """A function that takes a block of words and calls a kernel with what they stand for."""

    def __init__(self, kernel: Kernel, symbol: str) -> None:
        self.kernel = kernel
        self.symbol = symbol
        self.types = kernel.variants[symbol]
        compiled = numba.njit(_nrt=False, **OPTIONS)(kernel.function)
        self.names: dict[str, Any] = {**globals(), "carray": carray, "kernel": compiled}
        self.known: set[str] = set()  # names of lengths
        self.zero = 0.0 if f8 in kernel.returns else 0  # all that is returned is of one type

    def compiled(self) -> llvm.ModuleRef:
        """Return a module in which the function has the name of this variant."""
        exec(self.source(), self.names)
        function = numba.njit((types.int64,), **OPTIONS)(self.names["entry"])
        (signature,) = function.nopython_signatures
        module = llvm.parse_assembly(function.inspect_llvm(signature.args))
        defined = (each for each in module.functions if not each.is_declaration)
        (found,) = (each for each in defined if each.linkage == llvm.Linkage.external)
        found.name = self.symbol
        return module

    def source(self) -> str:
        """Return the function in Python: 0 and what the kernel returns, or who is refused."""
        lines = []
        for k, leaf in enumerate(self.kernel.leaves):
            if leaf.shape is not None:
                lines += self._checks(k, leaf, leaf.shape)
        at = iter(range(len(self.kernel.leaves)))
        arguments = ", ".join(self._argument(each, at) for each in self.kernel.takes)
        results = "".join(f", found{k}" for k in range(len(self.kernel.returns)))
        lines.append(f"{results[2:] or '_'} = kernel({arguments})")
        lines.append(f"return {self.zero}{results}")
        return "def entry(block):\n" + "".join(f"    {line}\n" for line in lines)

    def _checks(self, k: int, leaf: Declared, shape: tuple[str, ...]) -> list[str]:
        """Return lines that refuse another array than the declared one, and name its lengths."""
        dtype = np.dtype(self.types[k])
        there = f"w{k} != 0 and " if leaf.optional else ""
        refuse = f"return {self.zero + k + 1}" + f", {self.zero}" * len(self.kernel.returns)
        flags = C_CONTIGUOUS | ALIGNED | NATIVE | (WRITEABLE if leaf.written else 0)
        form = f"{len(shape)}, {ord(dtype.kind)}, {dtype.itemsize}, {flags}"
        lines = [f"w{k} = fetch(block + {8 * k}, np.int64)"]
        lines += [f"if {there}not plain(w{k}, {form}): {refuse}"]
        for axis, name in enumerate(shape):
            lines.append(f"n{k}_{axis} = length(w{k}, {axis}) if w{k} != 0 else 0")
            symbol, _, more = name.partition("+")
            if name.isdigit() or symbol in self.known:
                lines.append(f"if {there}n{k}_{axis} != {name}: {refuse}")
            elif name != "_":
                assert not leaf.optional, leaf
                self.known.add(symbol)
                lines.append(f"{symbol} = n{k}_{axis} - {more or 0}")
        return lines

    def _argument(self, declared: Any, at: Any) -> str:
        """Return an expression for what the next words stand for."""
        if isinstance(declared, tuple):
            return f"({''.join(f'{self._argument(part, at)}, ' for part in declared)})"
        if not isinstance(declared, Declared):
            self.names[declared.__name__] = declared
            parts = [self._argument(part, at) for part in fields(declared).values()]
            return f"{declared.__name__}({', '.join(parts)})"
        k = next(at)
        if declared.shape is not None:
            shape = "".join(f"n{k}_{axis}, " for axis in range(len(declared.shape)))
            dtype = np.dtype(self.types[k]).type.__name__
            return f"carray(numbers(w{k}), ({shape}), np.{dtype})"
        kind = {"f8": "np.float64", "u8": "np.uint64"}.get(declared.types[0], "np.int64")
        value = f"fetch(block + {8 * k}, {kind})"
        return f"({value} != 0)" if declared.types == ("b1",) else value


def platform_tag() -> str:
    """Return the name that wheels give to the systems on which the libraries run."""
    if platform.system() == "Linux" and find_spec("ziglang"):
        return f"manylinux_{GLIBC.replace('.', '_')}_{platform.machine()}"
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")


if __name__ == "__main__":
    build()
    print(platform_tag())
