"""Kernels and their helpers, compiled by numba when they are first called."""

import logging
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from threading import Lock
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

_lock = Lock()
_compiled: dict[Callable[..., Any], Any] = {}


def compiled(function: Callable[..., Any], helpers: list[Callable[..., Any]], digest: str) -> Any:
    """Return `function` as numba compiles it, once per type of its arguments.

    The machine code is kept on disk. numba looks at one file's time and size when it decides
    whether stored code is still right. Kernels call functions of other files, and built packages
    have fixed file times, so the name under which the code is stored carries a digest of all
    kernels.

    helpers : functions that it may call; emptied when numba knows them
    """
    with _lock:
        while helpers:
            register_jitable(nogil=True, error_model="numpy")(helpers.pop())
        if function not in _compiled:
            function.__qualname__ = f"{function.__qualname__}_{digest}"
            _compiled[function] = _kept(function)
        return _compiled[function]


def _kept(function: Callable[..., Any]) -> Any:
    try:
        return numba.njit(**OPTIONS, cache=True)(function)
    except RuntimeError:  # neither the package nor the user's home can be written to
        return _elsewhere(function)


def _elsewhere(function: Callable[..., Any]) -> Any:
    """Keep the machine code in a private folder among temporary files, or nowhere."""
    folder = Path(tempfile.gettempdir(), f"calibrant-{os.getuid()}")
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.stat()
        if status.st_uid != os.getuid() or status.st_mode & 0o077:
            raise OSError("somebody else could write to it")
        numba.config.CACHE_DIR = str(folder)  # type: ignore[attr-defined]
        function_kept = numba.njit(**OPTIONS, cache=True)(function)
    except (OSError, RuntimeError) as error:
        log.info("machine code is not kept on disk (%s: %s)", folder, error)
        return numba.njit(**OPTIONS)(function)
    log.info("machine code is kept in %s, since the package cannot be written to", folder)
    return function_kept


class _Notes(events.Listener):
    """Notes in the log that something is compiled, since all of it takes long."""

    def on_start(self, event: Any) -> None:  # noqa: ARG002 (numba names it)
        """Make a note."""
        log.debug("compiling for this machine, once")

    def on_end(self, event: Any) -> None:
        """Do nothing."""


events.register("numba:compile", _Notes())  # type: ignore[no-untyped-call]
