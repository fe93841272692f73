"""Parquet and Arrow files, and frames in memory: they know the types of their columns."""

import glob
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import SEEK_END
from pathlib import Path
from typing import Any, TypeVar, final

import numpy as np
import polars as pl
import polars.selectors as cs
from numpy.typing import NDArray

from calibrant.loading.columns import FAILURES, SAMPLE, distinct
from calibrant.loading.plain_files import STREAM, damaged, first_bytes, refuse_other_formats
from calibrant.loading.roles import Kind, remedy, spelled
from calibrant.loading.stated_sizes import ParquetSizes, check_arrow

T = TypeVar("T")
Check = Callable[[Sequence[str]], None]
PARTS = 10  # of a file: beside the matrix, a tenth of the data is in memory
TEXTS = ("String", "Categorical", "Enum")
NUMBERS = ("whole", "float", "list")

PARQUET = (".parquet", ".pq")
ARROW = (".arrow", ".feather", ".ipc")


@final
@dataclass(frozen=True, slots=True)
class Columnar:
    """A lazy frame; only the columns that are asked for are read."""

    frame: pl.LazyFrame
    spelled: dict[str, str]  # name without spaces around it → as it is in the file
    types: dict[str, pl.DataType]
    kinds: dict[str, Kind]
    parts: int  # how many groups columns are read in
    check: Check  # refuses columns of the file that would not be safe to read

    @classmethod
    def of(cls, frame: pl.LazyFrame, parts: int = 1, check: Check = lambda _: None) -> "Columnar":
        """Wrap a lazy frame whose columns shall be read in so many parts."""
        schema = _guarded(frame.collect_schema)
        keys = spelled(schema)
        types = {name: schema[key] for name, key in keys.items()}
        kinds = {name: _kind(found) for name, found in types.items()}
        return cls(frame, keys, types, kinds, parts, check)

    def first_labels(self, label: str) -> list[str]:
        """Return the labels of the first rows."""
        self.check([self.spelled[label]])
        frame = _guarded(self.frame.select(self._names(label, label=True)).head(SAMPLE).collect)
        return distinct(frame.to_series().drop_nulls())

    def read(self, numeric: Sequence[str], named: Sequence[str]) -> pl.DataFrame:
        """Return the columns; floats of 32 bits stay so, whatever the others are."""
        order = [*numeric, *named]
        self.check([self.spelled[name] for name in order])
        asked = self._numbers(numeric)
        asked += [self._names(name, label=not j) for j, name in enumerate(named)]
        frame = _guarded(self.frame.select(asked).collect)
        return pl.DataFrame([frame.get_column(self.spelled[name]).alias(name) for name in order])

    def _numbers(self, numeric: Sequence[str]) -> list[Any]:
        """Return the expressions for columns of numbers, or of lists of numbers."""
        groups: dict[Any, list[str]] = {}
        for name in numeric:
            if self.kinds[name] not in NUMBERS and self.types[name] != pl.Null():
                cells = self.first_labels(name) if self.kinds[name] == "text" else []
                hint = next(filter(None, map(remedy, cells)), "")
                raise TypeError(
                    f"column {name!r} must hold numbers; found {self.types[name]}.{hint}"
                )
            groups.setdefault(_target(self.types[name]), []).append(self.spelled[name])
        return [
            cs.by_name(*names) if target is None else cs.by_name(*names).cast(target)
            for target, names in groups.items()
        ]

    def _names(self, name: str, *, label: bool) -> Any:
        """Return the expression for a column of numbers or texts that name something."""
        kind = self.types[name]
        column = cs.by_name(self.spelled[name])
        if isinstance(kind, pl.Boolean | pl.Categorical | pl.Enum):
            return column.cast(pl.String)
        if kind.is_temporal() and not label:
            return column.cast(pl.String)
        if not (kind.is_numeric() or isinstance(kind, pl.String | pl.Binary | pl.Null)):
            what = "the labels" if label else f"column {name!r}"
            raise TypeError(f"{what} must be whole numbers or names; found {kind}.")
        return column

    def groups(self, numeric: Sequence[str]) -> list[Sequence[str]]:
        """Return a few groups if the columns have one type and lie apart from one another."""
        if len({self.types[name] for name in numeric}) > 1:
            return [numeric]
        size = -(-len(numeric) // self.parts)
        return [numeric[start : start + size] for start in range(0, len(numeric), size)]

    def where(self, row: int) -> str:
        """Return the words for a row."""
        return f"row {row}"

    def write(self, output: Path, columns: Mapping[str, NDArray[np.float64]]) -> None:
        """Write the frame with other numbers in some columns, in the format of the ending."""
        by_key = {self.spelled[name]: values for name, values in columns.items()}
        self.check(list(self.spelled.values()))
        changed = [pl.Series(key, values) for key, values in by_key.items()]
        lists = [one.arr.to_list() if one.dtype.is_nested() else one for one in changed]
        frame = _guarded(self.frame.collect).with_columns(lists)
        ending = output.suffix.lower()
        if ending in PARQUET:
            frame.write_parquet(output)
        elif ending in ARROW:
            frame.write_ipc(output)
        else:
            raise ValueError(
                f"this kind of {ending} file is read, not written; save it as CSV or Parquet."
            )

    def same_rest(self, other: "Columnar", names: Sequence[str]) -> bool:
        """Whether another file has the same columns beside these, with the same values."""
        changed = [self.spelled[name] for name in names]
        mine, theirs = (_guarded(each.frame.drop(changed).collect) for each in (self, other))
        return list(self.spelled) == list(other.spelled) and _equal(mine, theirs)


def parquet(path: Path) -> Columnar:
    """Open a Parquet file."""
    refuse_other_formats(path, b"PAR1")
    check = ParquetSizes(path).check
    return Columnar.of(pl.scan_parquet(path, glob=False, hive_partitioning=False), PARTS, check)


def arrow(path: Path) -> Columnar:
    """Open an Arrow or Feather file, or a stream of Arrow batches."""
    refuse_other_formats(path, b"ARROW1", STREAM)
    check_arrow(path)
    if not first_bytes(path).startswith(STREAM):
        return Columnar.of(pl.scan_ipc(glob.escape(str(path)), hive_partitioning=False), PARTS)
    with path.open("rb") as file:
        file.seek(-min(8, path.stat().st_size), SEEK_END)
        if file.read() != STREAM + bytes(4):  # the batches before a cut would be taken for all
            raise damaged(ValueError("the stream has no end"))
    return Columnar.of(_guarded(lambda: pl.read_ipc_stream(path)).lazy())


def _equal(mine: pl.DataFrame, theirs: pl.DataFrame) -> bool:
    return mine.schema == theirs.schema and mine.equals(theirs)


def _guarded(read: Callable[[], T]) -> T:
    """Turn what polars says of a damaged file into a sentence."""
    try:
        return read()
    except FAILURES as error:
        raise damaged(error) from error


def _kind(kind: pl.DataType) -> Kind:
    if kind.is_integer():
        return "whole"
    if kind.is_numeric():
        return "float"
    inner = _inner(kind)
    if inner is not None and inner.is_numeric():
        return "list"
    if kind.is_nested():
        return "nested"
    return "text" if type(kind).__name__ in TEXTS else "other"


def _inner(kind: pl.DataType) -> Any:
    """Return the type of the entries of lists; None of other types, and of lists of lists."""
    if isinstance(kind, pl.Array) and len(kind.shape) > 1:
        return None
    return kind.inner if isinstance(kind, pl.List | pl.Array) else None


def _target(kind: pl.DataType) -> Any:
    """Return the type that numbers become, or lists of them; None if they stay as they are."""
    inner = _inner(kind)
    if inner is not None:
        return pl.List(_target(inner) or inner)
    if isinstance(kind, pl.Float32 | pl.Float64):
        return None
    return pl.Float32() if str(kind) == "Float16" else pl.Float64()
