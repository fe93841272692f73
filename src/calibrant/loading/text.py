"""Text files: opened once as UTF-8, compressed or not, and what their first bytes reveal."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

GZIP = b"\x1f\x8b"
MAGIC = (
    (b"PAR1", "a Parquet file", "Rename it to .parquet."),
    (b"ARROW1", "an Arrow file", "Rename it to .arrow."),
    (b"FEA1", "a Feather file of version 1", "Write it as version 2."),
    (b"\xff\xff\xff\xff", "a stream of Arrow batches", "Rename it to .arrow."),
    (b"PK\x03\x04", "a ZIP archive", "Rename it to .npz, or save an Excel sheet as CSV."),
    (b"\x93NUMPY", "a single NumPy array", "Save arrays together with numpy.savez."),
    (GZIP, "compressed with gzip", "Rename it to .csv.gz."),
    (b"\x89HDF", "an HDF5 file", "Save it as Parquet."),
)


def reason(error: Exception) -> str:
    """Return the first line of what a library says, without the insides that it may print."""
    line = next(iter(str(error).splitlines()), "")
    return line.partition(" {")[0].partition("(Error")[0].strip().rstrip(".")[:120]


def damaged(error: Exception) -> ValueError:
    """Return the sentence for a file that a library cannot read."""
    return ValueError(
        f"the file must be whole and readable; it is damaged or cut short ({reason(error)}). Write"
        " or copy it again."
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
def opened(path: Path) -> Iterator[io.TextIOWrapper[io.BufferedReader | gzip.GzipFile]]:
    """Open a text file, compressed or not, and refuse what is not UTF-8 where it is met."""
    with _unpacked(path) as raw, io.TextIOWrapper(raw, "utf-8-sig", newline="") as file:
        try:
            yield file
        except UnicodeDecodeError:
            raise ValueError(_not_utf8(path)) from None
        except (EOFError, OSError, zlib.error) as error:
            raise damaged(error) from error


@contextmanager
def _unpacked(path: Path) -> Iterator[io.BufferedReader | gzip.GzipFile]:
    """Open a file once, look at its first bytes, and decompress it if it ends with .gz."""
    with path.open("rb") as raw:
        start = raw.peek(8)[:8]
        if path.suffix.lower() != ".gz":
            refuse_other_formats(path, start)
            yield raw
            return
        refuse_other_formats(path, start, GZIP)
        with gzip.open(raw) as unpacked:
            yield unpacked


def _not_utf8(path: Path) -> str:
    with _unpacked(path) as file:
        for line, content in enumerate(file, 1):
            if line == 1 and content.startswith((b"\xff\xfe", b"\xfe\xff")):
                return "the text must be UTF-8; this is UTF-16. Save it as UTF-8."
            try:
                content.decode()
            except UnicodeDecodeError as error:
                found = f"line {line} has the byte 0x{content[error.start]:02x}"
                return f"the text must be UTF-8; {found}. Save it as UTF-8."
    return "the text must be UTF-8; found other bytes. Save it as UTF-8."
