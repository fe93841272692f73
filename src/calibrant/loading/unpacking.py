"""How much a compressed file may unpack to: no more than its size and the memory allow."""

import os
from pathlib import Path

VARIABLE = "CALIBRANT_MAX_UNPACKED"
RATIO = 100  # texts of predictions become 2 to 20 times as large
LEAST = 1 << 28  # bytes that any file may unpack to


def limit(path: Path) -> int:
    """Return how many bytes a file may unpack to."""
    asked = os.environ.get(VARIABLE, "")
    if asked:
        return _asked(asked)
    return min(max(LEAST, RATIO * path.stat().st_size), memory() // 2)


def refuse(size: int, path: Path, what: str = "the file") -> None:
    """Refuse what unpacks to more bytes than it may."""
    most = limit(path)
    if size > most:
        raise ValueError(
            f"{what} must not unpack to more than {most:,} bytes; it would take {size:,} or more."
            f" If that is meant, set {VARIABLE} to the number of bytes that it may take."
        )


def memory() -> int:
    """Return how many bytes of memory the machine has."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not on Windows
        return 1 << 40


def _asked(text: str) -> int:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 < number < 1e18:
        raise ValueError(f"{VARIABLE} must be a number of bytes; found {text!r}.")
    return int(number)
