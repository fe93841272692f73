"""Groups of rows of Parquet files: the one list from which rows have their numbers."""

import glob
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np

from calibrant.checks.parameters import listed

ENDINGS = (".parquet", ".pq")
WILD = ("*", "?", "[")


class Fragment(NamedTuple):
    """A group of rows of a file."""

    path: str
    group: int
    start: int  # number of the file's first row among all rows
    first: int  # and of the group's
    n: int
    total: int  # how many rows the file had when it was listed
    stamp: tuple[int, int] | None  # its size and time then

    @property
    def name(self) -> str:
        """What the file is called, without its folder."""
        return self.path.rsplit("/", 1)[-1]

    def where(self, done: int, row: int) -> str:
        """Return words for a row of the batch that begins after so many rows of the group."""
        number = self.first + done + row
        return f"row {number - self.start:,} of {self.name} (row {number:,} of all)"

    def tables(self, names: list[str], size: int, opened: dict[str, Any]) -> Iterator[Any]:
        """Yield the rows in batches of at most so many, with what the names of folders say.

        opened : the file that was opened last, by its path
        """
        if self.path not in opened:
            opened.clear()
            opened[self.path] = open_parquet(self.path)
        file, done = opened[self.path], 0
        stored = [name for name in names if name in file.schema_arrow.names]
        how = {"row_groups": [self.group], "columns": stored, "use_threads": False}
        with self._unchanged(file):
            for batch in file.iter_batches(size, **how):
                yield _with_folders(batch, self.path, names)
                done += batch.num_rows
            if done != self.n:
                raise ValueError(
                    f"{self.name} changed while it was read (a group had {self.n:,} rows, now"
                    f" {done:,})."
                )

    @contextmanager
    def _unchanged(self, file: Any) -> Iterator[None]:
        """Refuse a file that is not as it was, and turn what a reader says into a sentence."""
        if file.metadata.num_rows != self.total:
            raise ValueError(
                f"{self.name} changed while it was read ({self.total:,} rows, now"
                f" {file.metadata.num_rows:,})."
            )
        try:
            yield
        except (OSError, EOFError) as error:
            raise ValueError(f"{self.name} cannot be read any more; {_reason(error)}.") from None
        if self.stamp is not None and self.stamp != _stamp(self.path):
            raise ValueError(f"{self.name} changed while it was read.")


class FrameFragment(NamedTuple):
    """A part of a frame of Dask or Spark, which a worker has at hand."""

    table: Any  # pyarrow.Table or RecordBatch
    first: int
    name: str

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.table.num_rows)

    def where(self, done: int, row: int) -> str:
        """Return words for a row of the batch that begins after so many rows."""
        return f"row {done + row:,} of {self.name}"

    def tables(self, names: list[str], size: int, opened: dict[str, Any]) -> Iterator[Any]:  # noqa: ARG002
        """Yield the rows in batches of at most so many."""
        for start in range(0, self.n, size):
            yield self.table.slice(start, size).select(names)


def listed_files(path: Any) -> list[str]:
    """Return the Parquet files that a path, folder, pattern or list of them means, sorted as text.

    Sorted as text, since other tools have other orders, and rows have their numbers from this one.
    """
    found = [file for one in _paths(path) for file in _files_of(os.fspath(one))]
    if len(set(found)) < len(found):
        twice = sorted({file for file in found if found.count(file) > 1})
        raise ValueError(f"`path` must name each file once; found {listed(twice)} twice.")
    return sorted(found)


def _paths(path: Any) -> Sequence[Any]:
    """Return what the user names: one path, or a list of them."""
    if isinstance(path, str | os.PathLike):
        return [path]
    if isinstance(path, Sequence) and path and all(isinstance(p, str | Path) for p in path):
        return path
    raise TypeError(
        "`path` must be a file, a folder, a pattern, a list of them, or a frame of Dask or"
        f" Spark; found {path!r}."
    )


def _files_of(path: str) -> list[str]:
    if "://" in path:
        return _remote_files(path)
    if os.path.isdir(path):
        return _inside(path)
    if os.path.isfile(path):
        return [path]
    if any(mark in path for mark in WILD):
        return _matching(path)
    raise FileNotFoundError(f"`path` must be a file or folder; {path!r} does not exist.")


def _matching(pattern: str) -> list[str]:
    """Return the files that match a pattern."""
    found = [file for file in glob.glob(pattern, recursive=True) if os.path.isfile(file)]
    if not found:
        raise FileNotFoundError(f"`path` must match Parquet files; {pattern!r} matches none.")
    return found


def _inside(folder: str) -> list[str]:
    """Return the Parquet files of a folder, and of folders inside it."""
    files = (file for file in Path(folder).rglob("*") if file.is_file())
    kept = [file for file in files if _is_data(file.relative_to(folder).parts)]
    if not kept:
        raise FileNotFoundError(f"`path` must hold Parquet files; {folder!r} holds none.")
    return [str(file).replace(os.sep, "/") for file in kept]


def _is_data(parts: Sequence[str]) -> bool:
    """Whether this is a Parquet file, and neither it nor a folder around it is hidden."""
    return parts[-1].lower().endswith(ENDINGS) and not any(p.startswith(("_", ".")) for p in parts)


def _remote_files(uri: str) -> list[str]:
    """Return the Parquet files at an address, or below it."""
    from pyarrow import fs  # noqa: PLC0415 (an extra)

    system, path = _system(uri)
    if system.get_file_info(path).type == fs.FileType.File:
        return [uri]
    found = system.get_file_info(fs.FileSelector(path, recursive=True, allow_not_found=True))
    inside = [file.path for file in found if file.type == fs.FileType.File]
    kept = [file for file in inside if _is_data(Path(file).relative_to(path).parts)]
    if not kept:
        raise FileNotFoundError(f"`path` must hold Parquet files; {uri!r} holds none.")
    address, mark, options = uri.partition("?")
    root = address.rstrip("/").removesuffix(path.strip("/"))
    return [f"{root}{file.lstrip('/')}{mark}{options}" for file in kept]


def _system(uri: str) -> tuple[Any, str]:
    """Return the file system of an address, of pyarrow or else of fsspec, and the path in it."""
    import pyarrow  # noqa: PLC0415 (an extra)
    from pyarrow import fs  # noqa: PLC0415

    try:
        found: tuple[Any, str] = fs.FileSystem.from_uri(_spelled(uri))
    except pyarrow.ArrowInvalid as error:
        try:
            from fsspec.core import url_to_fs  # noqa: PLC0415 (whoever has such addresses has it)

            system, path = url_to_fs(uri)
        except (ImportError, ValueError):
            raise ValueError(
                f"`path` must be an address that pyarrow or fsspec can open; found {uri!r}"
                f" ({_reason(error)})."
            ) from None
        return fs.PyFileSystem(fs.FSSpecHandler(system)), path
    return found


def _spelled(uri: str) -> str:
    """Return an address as pyarrow spells it; what Hadoop calls s3a is s3."""
    return "s3://" + uri.removeprefix("s3a://") if uri.startswith("s3a://") else uri


def folder_keys(path: str) -> dict[str, str]:
    """Return what the names of folders say of the rows inside.

    Examples
    --------
    >>> folder_keys("predictions/day=2026-11-16/site=St.%20Mary/part-0.parquet")
    {'day': '2026-11-16', 'site': 'St. Mary'}
    """
    pairs = (part.partition("=") for part in path.split("/")[:-1])
    return {unquote(key): unquote(value) for key, mark, value in pairs if key and mark}


def _with_folders(batch: Any, path: str, names: list[str]) -> Any:
    """Return an Arrow batch with the columns that it lacks and that names of folders tell."""
    import pyarrow  # noqa: PLC0415 (an extra)

    for name, value in folder_keys(path).items():
        if name in names and name not in batch.schema.names:
            codes = pyarrow.array(np.zeros(batch.num_rows, np.int8))
            column = pyarrow.DictionaryArray.from_arrays(codes, [value])
            batch = batch.append_column(name, column)
    return batch


def open_parquet(path: str) -> Any:
    """Open a Parquet file and read its footer."""
    import pyarrow  # noqa: PLC0415 (an extra)
    from pyarrow import parquet  # noqa: PLC0415

    name = path.rsplit("/", 1)[-1]
    try:
        if "://" in path:
            system, inner = _system(path)
            return parquet.ParquetFile(system.open_input_file(inner))
        return parquet.ParquetFile(path)
    except FileNotFoundError:
        raise ValueError(f"{name} vanished: it was listed, but is not there any more.") from None
    except (OSError, pyarrow.ArrowInvalid) as error:
        raise ValueError(
            f"{name} must be a whole Parquet file; it is damaged or cut short ({_reason(error)})."
        ) from None


def fragments_of(path: str, file: Any, start: int) -> list[Fragment]:
    """Return the groups of rows of an open file whose first row has this number."""
    metadata = file.metadata
    found, first, stamp = [], start, _stamp(path)
    for group in range(metadata.num_row_groups):
        n = metadata.row_group(group).num_rows
        if n:
            found.append(Fragment(path, group, start, first, n, metadata.num_rows, stamp))
        first += n
    return found


def _stamp(path: str) -> tuple[int, int] | None:
    """Return size and time of a local file; None of others."""
    if "://" in path:
        return None
    try:
        status = os.stat(path)
    except OSError:
        return (-1, -1)
    return status.st_size, status.st_mtime_ns


def _reason(error: BaseException) -> str:
    """Return the first line of what a library says."""
    line = next(iter(str(error).splitlines()), "") or type(error).__name__
    return line.strip().rstrip(".")[:120]
