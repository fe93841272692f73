"""Text files: opened once as UTF-8, compressed or not, and what their first bytes reveal."""

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


def belongs(path: Path, *expected: bytes) -> None:
    """Refuse a file whose first bytes are those of another format."""
    head = first_bytes(path)
    if any(head.startswith(magic) for magic in expected):
        return
    for magic, what, remedy in MAGIC:
        if head.startswith(magic):
            raise ValueError(f"the ending must fit what is in the file; this is {what}. {remedy}")
    if expected:
        start = head.decode("latin-1")
        raise ValueError(
            f"the ending must fit what is in the file; {path.suffix} files do not start with"
            f" {start!r}. Is it a text file? Rename it to .csv."
        )


@contextmanager
def opened(path: Path) -> Iterator[io.TextIOWrapper]:
    """Open a text file, compressed or not, and refuse what is not UTF-8 where it is met."""
    compressed = first_bytes(path).startswith(GZIP)
    with (
        gzip.open(path) if compressed else path.open("rb") as raw,
        io.TextIOWrapper(raw, "utf-8-sig", newline="") as file,
    ):
        try:
            yield file
        except UnicodeDecodeError:
            raise ValueError(_not_utf8(path)) from None
        except (EOFError, OSError, zlib.error) as error:
            raise damaged(error) from error


def _not_utf8(path: Path) -> str:
    if first_bytes(path).startswith((b"\xff\xfe", b"\xfe\xff")):
        return "the text must be UTF-8; this is UTF-16. Save it as UTF-8."
    with gzip.open(path) if first_bytes(path).startswith(GZIP) else path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                found = f"line {number} has the byte 0x{line[error.start]:02x}"
                return f"the text must be UTF-8; {found}. Save it as UTF-8."
    return "the text must be UTF-8; found other bytes. Save it as UTF-8."
