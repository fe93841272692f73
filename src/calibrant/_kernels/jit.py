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


def kernel(function: Callable[..., Any]) -> Any:
    """Compile `function`, once per type of its arguments, and keep the machine code on disk.

    numba looks at one file's time and size when it decides whether stored code is still
    right. Kernels call kernels of other files, and built packages have fixed file times, so
    the name under which the code is stored carries a digest of all kernels.
    """
    function.__qualname__ = f"{function.__qualname__}_{_DIGEST}"
    return njit(cache=True, nogil=True, error_model="numpy")(function)
