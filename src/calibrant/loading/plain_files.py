"""A plain file to read, whatever was given: compressed, standard input, an odd name, other bytes.

Here is also what the first bytes of a file reveal, how much a compressed one may unpack to, and the
one place that turns whatever goes wrong into a sentence.
"""

import bz2
import gzip
import io
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from errno import ENOSPC
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from typing import Any, TextIO

from calibrant.checks.doors import needs

STANDARD_INPUT = Path("-")
BOM = b"\xef\xbb\xbf"
GZIP = b"\x1f\x8b"
PACKED = {".gz": GZIP, ".bz2": b"BZh", ".zst": b"\x28\xb5\x2f\xfd"}  # ending → first bytes
STREAM = b"\xff\xff\xff\xff"  # how a stream of Arrow batches starts; with four zeros, how it ends
STARTS = {b"PAR1": ".parquet", b"ARROW1": ".arrow", STREAM: ".arrow", b"PK": ".npz"}
MAGIC = (
    (b"PAR1", "a Parquet file", "Rename it to .parquet."),
    (b"ARROW1", "an Arrow file", "Rename it to .arrow."),
    (b"FEA1", "a Feather file of version 1", "Write it as version 2."),
    (STREAM, "a stream of Arrow batches", "Rename it to .arrow."),
    (b"PK\x03\x04", "a ZIP archive", "Rename it to .npz, or to .xlsx if it is an Excel sheet."),
    (b"\x93NUMPY", "a single NumPy array", "Save arrays together with numpy.savez."),
    (GZIP, "compressed with gzip", "Rename it to .csv.gz."),
    (PACKED[".bz2"], "compressed with bzip2", "Rename it to .csv.bz2."),
    (PACKED[".zst"], "compressed with zstd", "Rename it to .csv.zst."),
    (b"\x89HDF", "an HDF5 file", "Save it as Parquet."),
)
VARIABLE = "CALIBRANT_MAX_UNPACKED"
RATIO = 100  # texts of predictions become 2 to 20 times as large
LEAST = 1 << 26  # bytes that any file may unpack to
STEP = 1 << 20  # bytes that are unpacked at a time


class NoRowsError(ValueError):
    """A file that names columns and has no rows: the cause of the ValueError that readers see."""


@contextmanager
def plain_file(path: Path) -> Iterator[Path]:
    """Give a file that is not compressed and that every library can open by its name.

    It is the file itself, or one in a temporary folder, which ends as the content does.
    """
    compressed = path.suffix.lower() in PACKED
    if path != STANDARD_INPUT and not compressed and _is_utf8(path):
        yield path
        return
    with TemporaryDirectory(prefix="calibrant-") as name:
        folder = Path(name)
        if path == STANDARD_INPUT:
            yield _standard_input(folder)
        elif compressed:
            refuse_other_formats(path, PACKED[path.suffix.lower()])
            yield _unpacked(path, folder / f"unpacked{Path(path.stem).suffix}")
        else:
            link = folder / f"link{path.suffix}"
            link.symlink_to(path.absolute())
            yield link


def _is_utf8(path: Path) -> bool:
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


def _standard_input(folder: Path) -> Path:
    """Keep what comes, and name it by how it starts."""
    spool = folder / "input"
    with spool.open("wb") as file:
        copyfileobj(sys.stdin.buffer, file)
    if first_bytes(spool).startswith(GZIP):
        spool = _unpacked(spool, folder / "unpacked")
    start = first_bytes(spool, 64)
    is_json = start.removeprefix(BOM).lstrip()[:1] in (b"{", b"[")
    known = (ending for magic, ending in STARTS.items() if start.startswith(magic))
    return spool.rename(spool.with_suffix(next(known, ".json" if is_json else ".csv")))


def _unpacked(path: Path, plain: Path) -> Path:
    """Decompress a file into another, unless it is too large."""
    try:
        with _unpacking(path, "rb", path.suffix.lower()) as packed, plain.open("wb") as file:
            while part := packed.read(STEP):
                file.write(part)
                refuse_bomb(file.tell(), path)
    except (EOFError, zlib.error, OSError) as error:
        raise damaged(error) from error
    return plain


def _unpacking(file: Any, mode: str, ending: str) -> Any:
    """Open a compressed file; what comes from standard input has no ending, and is of gzip."""
    if ending == ".bz2":
        return bz2.open(file, mode)
    if ending != ".zst":
        return gzip.open(file, mode)
    needs("reading .zst", "zstandard", extra="files")
    import zstandard  # noqa: PLC0415 (an extra)

    return zstandard.open(file, mode)


def refuse_bomb(size: int, path: Path) -> None:
    """Refuse a file that unpacks to more bytes than its size and the memory allow."""
    packed = path.stat().st_size
    asked = os.environ.get(VARIABLE, "")
    most = _asked(asked) if asked else min(max(LEAST, RATIO * packed), memory() // 2)
    if size > max(most, packed):
        raise ValueError(
            f"the file must not unpack to more than {most:,} bytes; it would take {size:,} or more."
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


def first_bytes(path: Path, count: int = 8) -> bytes:
    """Return the start of a file."""
    with path.open("rb") as file:
        return file.read(count)


def refuse_other_formats(path: Path, *expected: bytes, start: bytes | None = None) -> None:
    """Refuse a file that does not start as expected, or as files of other formats do."""
    start = first_bytes(path) if start is None else start
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
def opened_text(path: Path) -> Iterator[io.TextIOWrapper]:
    """Open a text file once, look at its first bytes, and refuse what is not UTF-8."""
    with path.open("rb") as raw:
        refuse_other_formats(path, start=raw.peek(8)[:8])
        with io.TextIOWrapper(raw, "utf-8-sig", newline="\n") as file:  # \r alone ends no line
            try:
                yield file
            except UnicodeDecodeError:
                raise ValueError(f"the text must be UTF-8; {_not_utf8(path)}") from None


def _not_utf8(path: Path) -> str:
    """Say where the first byte is that is not UTF-8."""
    with path.open("rb") as file:
        for line, content in enumerate(file, 1):
            if line == 1 and content.startswith((b"\xff\xfe", b"\xfe\xff")):
                return "this is UTF-16. Save it as UTF-8."
            try:
                content.decode()
            except UnicodeDecodeError as error:
                return f"line {line} has the byte 0x{content[error.start]:02x}. Save it as UTF-8."
    return "found other bytes. Save it as UTF-8."


@contextmanager
def created_text(path: Path) -> Iterator[TextIO]:
    """Open a text file to write, compressed if its name says so.

    Neither the time nor the name, which is a temporary one, becomes part of what is compressed.
    """
    ending = path.suffix.lower()
    with path.open("wb") as raw, ExitStack() as stack:
        file: Any = raw
        if ending == ".gz":
            file = stack.enter_context(gzip.GzipFile("", "wb", fileobj=raw, mtime=0))
        elif ending in PACKED:
            file = stack.enter_context(_unpacking(raw, "wb", ending))
        yield stack.enter_context(io.TextIOWrapper(file, "utf-8", newline=""))


@contextmanager
def one_sentence(file: str) -> Iterator[None]:
    """Raise one sentence, with the name of the file in front, whatever a reader raises.

    Our own sentences are ValueErrors and TypeErrors. Anything else, also the panic of a compiled
    reader, is damage to the file.
    """
    try:
        yield
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        kind = TypeError if type(error) is TypeError else ValueError
        raise kind(f"{file}: {_sentence(error)}") from error


def _sentence(error: BaseException) -> str:
    """Say what is wrong."""
    if type(error) in (ValueError, TypeError, ImportError, NoRowsError):
        return str(error)
    if isinstance(error, OSError):
        full = error.errno == ENOSPC  # where the file is unpacked, or written again
        must = "there must be room" if full else "the file must be readable"
        return f"{must}; {error.strerror or reason_of(error)}."
    if isinstance(error, MemoryError):
        return "the file must fit in memory; it asks for too much."
    if isinstance(error, OverflowError):
        return "integers must fit in 64 bits; found larger ones. Write them as texts."
    return str(damaged(error))


def damaged(error: BaseException) -> ValueError:
    """Return the sentence for a file that a library cannot read."""
    return ValueError(
        f"the file must be whole and readable; it is damaged or cut short ({reason_of(error)})."
        " Write or copy it again."
    )


def reason_of(error: BaseException) -> str:
    """Return the first line of what a library says, without the insides that it may print."""
    line = next(iter(str(error).splitlines()), "")
    line = line.partition(" {")[0].partition("(Error")[0].strip().rstrip(".")[:120]
    return line or type(error).__name__
