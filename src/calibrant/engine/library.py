"""The library of machine code that was built with the package: found, checked and loaded.

`engine.build` writes one library for each level of processors, and an index that says for what
each is and what its bytes are. A library that is missing, damaged, or made from other kernels or
for another machine is refused by name before it is loaded: nothing else can run the kernels.
"""

import ctypes
import json
import platform
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).with_name("machine")
INDEX = "index.json"
REMEDY = "Install calibrant again (`pip install --force-reinstall`; `make` in a clone of it)."


class LibraryError(ImportError):
    """There is no library that can be loaded here."""


@cache
def load() -> ctypes.CDLL:
    """Return the library for this processor."""
    path = choose(FOLDER)
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise LibraryError(f"{path} cannot be loaded ({error}). {REMEDY}") from None


def choose(folder: Path) -> Path:
    """Return the best library for this processor, after a look at its bytes."""
    index = _index(folder)
    if index["digest"] != digest():
        raise LibraryError(f"The kernels have changed since {folder} was built. {REMEDY}")
    if index["machine"] != machine():
        raise LibraryError(
            f"{folder} was built for {index['machine']}, but this is {machine()}. {REMEDY}"
        )
    has = features()
    for level, library in index["levels"].items():
        if all(has.get(name) for name in library["needs"]):
            return _checked(folder / library["file"], library)
    raise LibraryError(
        f"{folder} needs a processor of level {level}: {', '.join(library['needs'])}."
    )


def _index(folder: Path) -> dict[str, Any]:
    try:
        index: dict[str, Any] = json.loads((folder / INDEX).read_text())
        index["digest"], index["machine"], index["levels"].items()
    except FileNotFoundError:
        raise LibraryError(f"{folder / INDEX} is missing: the kernels were not built. {REMEDY}")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise LibraryError(f"{folder / INDEX} cannot be read ({error!r}). {REMEDY}")
    return index


def _checked(path: Path, library: dict[str, Any]) -> Path:
    """Refuse a file that is not the one that was written."""
    try:
        code = path.read_bytes()
    except OSError as error:
        raise LibraryError(f"{path} cannot be read ({error.strerror}). {REMEDY}") from None
    if len(code) != library["size"] or sha256(code).hexdigest() != library["sha256"]:
        raise LibraryError(f"{path} is damaged. {REMEDY}")
    return path


def digest() -> str:
    """Return a digest of all kernels, and of what builds them."""
    sources = sorted(Path(__file__).parent.glob("*.py"))
    return sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()


def machine() -> str:
    """Return the system and the kind of machine."""
    return f"{platform.system()} {platform.machine()}"


def features() -> dict[str, bool]:
    """Return what the processor has, as NumPy has found out."""
    from numpy._core._multiarray_umath import __cpu_features__  # noqa: PLC0415

    return dict(__cpu_features__)
