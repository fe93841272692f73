"""Which module opens which file: its ending says what is in it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from calibrant.checks.convert import to_polars
from calibrant.loading.columnar import Columnar, arrow, parquet
from calibrant.loading.columns import ColumnStore
from calibrant.loading.delimited import delimited
from calibrant.loading.json_files import json_file, json_lines
from calibrant.loading.npz import npz
from calibrant.loading.options import Options
from calibrant.loading.plain_files import STANDARD_INPUT, plain_file
from calibrant.loading.table import Table, read_columns

# ending → how to open it; arrays of NPZ files are no columns
FORMATS: dict[str, Callable[[Path], ColumnStore] | None] = {
    **dict.fromkeys((".csv", ".tsv", ".tab", ".txt"), delimited),
    **dict.fromkeys((".parquet", ".pq"), parquet),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), arrow),
    ".json": json_file,
    **dict.fromkeys((".jsonl", ".ndjson"), json_lines),
    ".npz": None,
}
COMPRESSED = (".csv", ".tsv", ".tab", ".txt", ".json", ".jsonl", ".ndjson")


def read_frame(frame: Any, options: Options) -> Table:
    """Check the rows of a frame."""
    return read_columns(Columnar.of(to_polars(frame).lazy()), options)


def read_file(file: Path, options: Options) -> Table:
    """Read and check the rows of a file."""
    if file != STANDARD_INPUT:
        _ending(file)
    with plain_file(file) as plain:
        open_columns = _format(plain)
        if open_columns is None:
            return npz(plain, options)
        return read_columns(open_columns(plain), options)


def open_store(plain: Path) -> ColumnStore:
    """Open a file that must have columns."""
    open_columns = _format(plain)
    if open_columns is None:
        raise ValueError("the file must have columns; NPZ has arrays. Use the map in Python.")
    return open_columns(plain)


def _format(plain: Path) -> Callable[[Path], ColumnStore] | None:
    """Return how to open a file, which must not be empty."""
    if not plain.stat().st_size:
        raise ValueError("the file must have a header and rows; it is empty.")
    return FORMATS[_ending(plain)]


def _ending(file: Path) -> str:
    """Return the ending that says what is in the file, without that of a compression."""
    last = file.suffix.lower()
    if last == ".gz" and Path(file.stem).suffix.lower() in COMPRESSED:
        return Path(file.stem).suffix.lower()
    if last in FORMATS:
        return last
    found = repr(file.suffix) if file.suffix else "none"
    raise ValueError(
        f"the ending must say what is in the file: {', '.join(FORMATS)}, or .csv.gz; found {found}."
    )
