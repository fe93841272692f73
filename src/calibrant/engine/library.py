"""The library of machine code that was built with the package: found, checked and loaded.

`engine.build` writes a library for each level of processors, and an index that says what each is
for and what its bytes are. A library that is missing, damaged, built from other kernels or for
another machine is refused by name before it is loaded. Nothing else can run the kernels.
"""

import ctypes
import json
import platform
from functools import cache
from hashlib import sha256
from importlib import import_module
from pathlib import Path

FOLDER = Path(__file__).with_name("machine")
IMPLIED = ("BMI", "BMI2", "LZCNT", "MOVBE")  # by AVX2; NumPy 2.0 does not name them
INDEX = "index.json"
REMEDY = "Install calibrant again (pip install --force-reinstall calibrant; in a clone, make test)."


class LibraryError(ImportError):
    """There is no library that can be loaded here."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} {REMEDY}")


@cache
def load() -> ctypes.CDLL:
    """Return the library for this processor."""
    path = choose(FOLDER)
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise LibraryError(f"{path} cannot be loaded ({error}).") from None


def choose(folder: Path) -> Path:
    """Return the best library for this processor, if its bytes are those that were written."""
    built_for, built_from, levels = _index(folder / INDEX)
    if built_for != machine():
        raise LibraryError(f"{folder} was built for {built_for}; this is {machine()}.")
    if built_from != digest():
        raise LibraryError(f"The kernels have changed since {folder} was built.")
    named = import_module("numpy._core._multiarray_umath").__cpu_features__
    has = dict.fromkeys(IMPLIED, named.get("AVX2")) | named
    for file, needs, expected in levels:
        if all(has.get(name) for name in needs):
            return _checked(folder / file, expected)
    raise LibraryError(f"The processor lacks what {folder} needs: {', '.join(needs)}.")


def _index(path: Path) -> tuple[str, str, list[tuple[str, list[str], str]]]:
    """Read the machine, the digest, and each level's file, what it needs and its bytes' digest."""
    try:
        index = json.loads(path.read_text())
        levels = [
            (str(level["file"]), [str(name) for name in level["needs"]], level["sha256"])
            for level in index["levels"]
        ]
        if not levels:
            raise ValueError("it names no library")
        return index["machine"], index["digest"], levels
    except FileNotFoundError:
        raise LibraryError(f"{path} is missing: compiled loops were not built.") from None
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
        raise LibraryError(f"{path} cannot be read ({error!r}).") from None


def _checked(path: Path, expected: str) -> Path:
    try:
        found = sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise LibraryError(f"{path} cannot be read ({error.strerror}).") from None
    if found != expected:
        raise LibraryError(f"{path} is damaged.")
    return path


def digest() -> str:
    """Return a digest of all kernels, and of what builds them."""
    sources = sorted(Path(__file__).parent.glob("*.py"))
    return sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()


def machine() -> str:
    """Return the system and the kind of machine."""
    return f"{platform.system()} {platform.machine()}"
