"""The one module that names numba."""

import logging
import os
import tempfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numba
from numba.core import event as events
from numba.extending import register_jitable

log = logging.getLogger("calibrant")

OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
    "_nrt": False,
}


def _digest() -> str:
    sources = sorted(Path(__file__).parent.glob("*.py"))
    return sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:12]


DIGEST = _digest()


def kernel(function: Callable[..., Any]) -> Any:
    """Compile `function`, once per type of its arguments, and keep the machine code on disk.

    numba looks at one file's time and size when it decides whether stored code is still
    right. Kernels call functions of other files, and built packages have fixed file times, so
    the name under which the code is stored carries a digest of all kernels.

    Kernels check nothing and allocate nothing. They are called by the functions of this
    package alone, which see to it that shapes and types are right.
    """
    function.__qualname__ = f"{function.__qualname__}_{DIGEST}"
    try:
        return numba.njit(**OPTIONS, cache=True)(function)
    except RuntimeError:  # neither the package nor the user's home can be written to
        return _elsewhere(function)


def helper(function: Callable[..., Any]) -> Any:
    """Let kernels call `function`; for Python it stays the plain function that it is."""
    return register_jitable(nogil=True, error_model="numpy")(function)


class _Notes(events.Listener):
    """Notes in the log that something is compiled, since all of it takes long."""

    def on_start(self, event: Any) -> None:  # noqa: ARG002 (numba names it)
        """Make a note."""
        log.debug("compiling for this machine, once")

    def on_end(self, event: Any) -> None:
        """Do nothing."""


def _elsewhere(function: Callable[..., Any]) -> Any:
    """Keep the machine code in a private folder among temporary files, or nowhere."""
    folder = Path(tempfile.gettempdir(), f"calibrant-{os.getuid()}")
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.stat()
        if status.st_uid != os.getuid() or status.st_mode & 0o077:
            raise OSError("somebody else could write to it")
        numba.config.CACHE_DIR = str(folder)  # type: ignore[attr-defined]
        compiled = numba.njit(**OPTIONS, cache=True)(function)
    except (OSError, RuntimeError) as error:
        log.info("machine code is not kept on disk (%s: %s)", folder, error)
        return numba.njit(**OPTIONS)(function)
    log.info("machine code is kept in %s, since the package cannot be written to", folder)
    return compiled


events.register("numba:compile", _Notes())  # type: ignore[no-untyped-call]
