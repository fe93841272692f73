"""Text files: opened once as UTF-8, and what the first bytes of a file reveal."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

BOM = b"\xef\xbb\xbf"
GZIP = b"\x1f\x8b"
STREAM = b"\xff\xff\xff\xff"  # how a stream of Arrow batches starts; with four zeros, how it ends
MAGIC = (
    (b"PAR1", "a Parquet file", "Rename it to .parquet."),
    (b"ARROW1", "an Arrow file", "Rename it to .arrow."),
    (b"FEA1", "a Feather file of version 1", "Write it as version 2."),
    (STREAM, "a stream of Arrow batches", "Rename it to .arrow."),
    (b"PK\x03\x04", "a ZIP archive", "Rename it to .npz, or save an Excel sheet as CSV."),
    (b"\x93NUMPY", "a single NumPy array", "Save arrays together with numpy.savez."),
    (GZIP, "compressed with gzip", "Rename it to .csv.gz."),
    (b"\x89HDF", "an HDF5 file", "Save it as Parquet."),
)


def first_bytes(path: Path, count: int = 8) -> bytes:
    """Return the start of a file."""
    with path.open("rb") as file:
        return file.read(count)


def refuse_other_formats(path: Path, start: bytes, *expected: bytes) -> None:
    """Refuse a file that starts as files of another format do.

    Parameters
    ----------
    path : Path
        The file.
    start : bytes
        Its first bytes.
    *expected : bytes
        How it may start; a text file without any may start with all but the bytes in `MAGIC`.
    """
    if start.startswith(expected):
        return
    for magic, what, remedy in MAGIC:
        if start.startswith(magic):
            raise ValueError(f"the ending must fit what is in the file; this is {what}. {remedy}")
    if expected:
        raise ValueError(
            f"the ending must fit what is in the file; {path.suffix} files do not start with"
            f" {start.decode('latin-1')!r}. Is it a text file? Rename it to .csv."
        )


@contextmanager
def opened(path: Path) -> Iterator[io.TextIOWrapper]:
    """Open a text file once, look at its first bytes, and refuse what is not UTF-8."""
    with path.open("rb") as raw:
        refuse_other_formats(path, raw.peek(8)[:8])
        with io.TextIOWrapper(raw, "utf-8-sig", newline="") as file:
            try:
                yield file
            except UnicodeDecodeError:
                raise ValueError(_not_utf8(path)) from None


def _not_utf8(path: Path) -> str:
    """Say where the first byte is that is not UTF-8."""
    with path.open("rb") as file:
        for line, content in enumerate(file, 1):
            if line == 1 and content.startswith((b"\xff\xfe", b"\xfe\xff")):
                return "the text must be UTF-8; this is UTF-16. Save it as UTF-8."
            try:
                content.decode()
            except UnicodeDecodeError as error:
                found = f"line {line} has the byte 0x{content[error.start]:02x}"
                return f"the text must be UTF-8; {found}. Save it as UTF-8."
    return "the text must be UTF-8; found other bytes. Save it as UTF-8."
