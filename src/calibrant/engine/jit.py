"""The one module that names numba."""

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from numba import njit


def _digest() -> str:
    sources = sorted(Path(__file__).parent.glob("*.py"))
    return sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:12]


_DIGEST = _digest()
_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
    "_nrt": False,  # nothing is allocated
}


def kernel(function: Callable[..., Any]) -> Any:
    """Compile `function`, once per type of its arguments, and keep the machine code on disk.

    numba looks at one file's time and size when it decides whether stored code is still
    right. Kernels call functions of other files, and built packages have fixed file times, so
    the name under which the code is stored carries a digest of all kernels.

    Compiling is most of the first call ever, and it costs by the loop and by the function. So
    kernels walk over row numbers instead of slices, leave to NumPy what is not done for every
    row, and allocate nothing: the room they work in is handed in.
    """
    function.__qualname__ = f"{function.__qualname__}_{_DIGEST}"
    return njit(**_OPTIONS, cache=True)(function)


def helper(function: Callable[..., Any]) -> Any:
    """Compile a function that only kernels call, and that is stored within them.

    It has no entry for Python, which would be a fifth of the time of compiling it: calling it
    from Python crashes. `helper(f).py_func` is the plain function.
    """
    options = _OPTIONS | {"no_cpython_wrapper": True}  # the stubs of numba do not know it
    return njit(**options)(function)
