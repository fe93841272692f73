"""Parquet and Arrow files, and frames in memory: they know the types of their columns."""

from __future__ import annotations

import glob
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import SEEK_END
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, final

from calibrant.checks.parameters import listed
from calibrant.loading.table import Kind
from calibrant.loading.text import damaged, first_bytes

if TYPE_CHECKING:
    import polars as pl

T = TypeVar("T")
PARTS = 10  # of a file: beside the matrix, a tenth of the data is in memory
WIDTHS = {"Float16": "half", "Float32": "same", "Float64": "same"}
STREAM = b"\xff\xff\xff\xff"  # how a stream of batches starts; with four zeros, how it ends


@final
@dataclass(frozen=True, slots=True)
class Columnar:
    """A lazy frame; only the columns that are asked for are read."""

    frame: pl.LazyFrame
    spelled: dict[str, str]  # name without spaces around it → as it is in the file
    types: dict[str, pl.DataType]
    kinds: dict[str, Kind]
    parts: int

    @classmethod
    def of(cls, frame: pl.LazyFrame, parts: int = 1) -> Columnar:
        """Wrap a lazy frame whose columns shall be read in so many parts."""
        schema = guarded(frame.collect_schema)
        spelled = {name.strip(): name for name in schema}
        if len(spelled) < len(schema):
            names = [name.strip() for name in schema]
            twice = sorted({name for name in names if names.count(name) > 1})
            raise ValueError(f"columns must have different names; found {listed(twice)} twice.")
        types = {name: schema[column] for name, column in spelled.items()}
        return cls(
            frame, spelled, types, {name: _kind(kind) for name, kind in types.items()}, parts
        )

    def read(self, numbers: Sequence[str], label: str | None) -> pl.DataFrame:
        """Return the columns; floats of 32 bits stay so, whatever the others are."""
        import polars as pl  # noqa: PLC0415 (only files need it)
        import polars.selectors as cs  # noqa: PLC0415

        for name in numbers:
            if self.kinds[name] == "other" and self.types[name] != pl.Null():
                raise TypeError(f"column {name!r} must hold numbers; found {self.types[name]}.")
        groups: dict[str, list[str]] = {"same": [], "half": [], "other": []}
        for name in numbers:
            groups[WIDTHS.get(str(self.types[name]), "other")].append(self.spelled[name])
        asked = [
            cs.by_name(*groups["same"]),
            cs.by_name(*groups["half"]).cast(pl.Float32()),
            cs.by_name(*groups["other"]).cast(pl.Float64()),
        ]
        if label is not None:
            asked.append(_label(cs.by_name(self.spelled[label]), self.types[label]))
        frame = guarded(self.frame.select(asked).collect)
        order = [*numbers, *([] if label is None else [label])]
        return pl.DataFrame([frame.get_column(self.spelled[name]).alias(name) for name in order])

    def groups(self, numbers: Sequence[str]) -> list[Sequence[str]]:
        """Return a few groups if the columns have one type and lie apart from one another."""
        if len({self.types[name] for name in numbers}) > 1:
            return [numbers]
        size = -(-len(numbers) // self.parts)
        return [numbers[start : start + size] for start in range(0, len(numbers), size)]

    def place(self, row: int) -> str:
        """Return the words for a row."""
        return f"row {row}"


def parquet(path: Path) -> Columnar:
    """Open a Parquet file."""
    import polars as pl  # noqa: PLC0415

    return Columnar.of(pl.scan_parquet(path, glob=False, hive_partitioning=False), PARTS)


def arrow(path: Path) -> Columnar:
    """Open an Arrow or Feather file, or a stream of Arrow batches."""
    import polars as pl  # noqa: PLC0415

    if first_bytes(path).startswith(STREAM):
        _whole_stream(path)
        return Columnar.of(guarded(lambda: pl.read_ipc_stream(path)).lazy())
    return Columnar.of(pl.scan_ipc(glob.escape(str(path)), hive_partitioning=False), PARTS)


def _whole_stream(path: Path) -> None:
    """Refuse a stream without its end: a reader would take the batches before the cut for all."""
    with path.open("rb") as file:
        file.seek(-min(8, path.stat().st_size), SEEK_END)
        if file.read() != STREAM + bytes(4):
            raise damaged(ValueError("the stream has no end"))


def guarded(read: Callable[[], T]) -> T:
    """Turn what polars says of a damaged file into a sentence."""
    import polars as pl  # noqa: PLC0415

    try:
        return read()
    except (pl.exceptions.PolarsError, OSError, pl.exceptions.PanicException) as error:
        raise damaged(error) from error


def _label(column: Any, kind: pl.DataType) -> Any:
    import polars as pl  # noqa: PLC0415

    if isinstance(kind, pl.Categorical | pl.Enum | pl.Binary):
        return column.cast(pl.String)
    if isinstance(kind, pl.List | pl.Array | pl.Struct | pl.Object):
        raise TypeError(f"labels must be whole numbers or names; found {kind}.")
    return column


def _kind(kind: pl.DataType) -> Kind:
    if kind.is_integer():
        return "whole"
    return "float" if kind.is_numeric() else "other"
