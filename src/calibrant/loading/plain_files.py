"""A plain file to read, whatever was given: a compressed one, standard input, an odd name."""

import gzip
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory

from calibrant.loading import unpacking
from calibrant.loading.failures import damaged
from calibrant.loading.text import BOM, GZIP, STREAM, first_bytes, refuse_other_formats

STANDARD_INPUT = Path("-")
STEP = 1 << 20  # bytes that are unpacked at a time
STARTS = {b"PAR1": ".parquet", b"ARROW1": ".arrow", STREAM: ".arrow", b"PK": ".npz"}


@contextmanager
def plain_file(path: Path) -> Iterator[Path]:
    """Give a file that is not compressed and that every library can open by its name.

    Parameters
    ----------
    path : Path
        A file, also one that ends in .gz, or ``-`` for standard input.

    Yields
    ------
    Path
        The file itself, or one in a temporary folder, which ends as the content does.
    """
    compressed = path.suffix.lower() == ".gz"
    if path != STANDARD_INPUT and not compressed and _is_utf8(path):
        yield path
        return
    with TemporaryDirectory(prefix="calibrant-") as name:
        folder = Path(name)
        if path == STANDARD_INPUT:
            yield _standard_input(folder)
        elif compressed:
            refuse_other_formats(path, first_bytes(path), GZIP)
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


def _unpacked(path: Path, plain: Path) -> Path:
    """Decompress a file into another, unless it is too large."""
    try:
        with gzip.open(path) as packed, plain.open("wb") as file:
            while part := packed.read(STEP):
                file.write(part)
                unpacking.refuse(file.tell(), path)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise damaged(error) from error
    return plain


def _standard_input(folder: Path) -> Path:
    """Keep what comes, and name it by how it starts."""
    spool = folder / "input"
    with spool.open("wb") as file:
        copyfileobj(sys.stdin.buffer, file)
    if first_bytes(spool).startswith(GZIP):
        spool = _unpacked(spool, folder / "unpacked")
    return spool.rename(spool.with_suffix(_ending(first_bytes(spool, 64))))


def _ending(start: bytes) -> str:
    for magic, ending in STARTS.items():
        if start.startswith(magic):
            return ending
    return ".json" if start.removeprefix(BOM).lstrip()[:1] in (b"{", b"[") else ".csv"
