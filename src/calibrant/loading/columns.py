"""Columns: what a file or a frame must offer, and what is made of those that are chosen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from calibrant.checks.labels import Classes, shown, written
from calibrant.checks.parameters import Wording, more
from calibrant.loading.plain_files import NoRowsError
from calibrant.loading.roles import Kind, Roles

FAILURES = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)  # of its readers
MOST = 1_000_000  # columns, or entries of a list
SAMPLE = 100  # rows that are looked at before columns are chosen
ENTRIES = 1 << 18  # of a matrix that are laid side by side at a time: they stay in the cache
ROWS = 1 << 16  # labels at a time: what polars keeps beside a column is larger than the column


class ColumnStore(Protocol):
    """Columns that are read only when they are asked for."""

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """What each column holds, by its name without spaces around it, in their order."""

    def first_labels(self, label: str) -> list[str]:
        """Return the labels of the first rows, if the column `label` holds them."""

    def read(self, numeric: Sequence[str], named: Sequence[str]) -> pl.DataFrame:
        """Return the columns `numeric` as floats, or lists of them, and then those of names."""

    def groups(self, numeric: Sequence[str]) -> list[Sequence[str]]:
        """Cut columns of one type into groups that can be read one after the other."""

    def where(self, row: int) -> str:
        """Return the words for a row, counted from 0."""


class Rewritable(ColumnStore, Protocol):
    """Columns of a file that can be written again."""

    def write(self, output: Path, columns: Mapping[str, NDArray[np.float64]]) -> None:
        """Write the file again with other numbers (n,), or lists of them (n, m), in columns."""

    def same_rest(self, other: Any, names: Sequence[str]) -> bool:
        """Whether another file of this format holds the same beside the columns `names`."""


@final
@dataclass(frozen=True, slots=True)
class Loaded:
    """What the chosen columns hold, without a gap."""

    matrix: NDArray[Any]  # (n, k), probabilities or logits; nobody else holds it
    label: pl.Series
    weight: pl.Series | None
    names: dict[str, pl.Series]  # that name the model, case or cluster of a row, or are kept


def load_columns(store: ColumnStore, probs: Sequence[str], roles: Roles) -> Loaded:
    """Read the columns; where that can be done in groups, one of them lies beside the matrix."""
    groups = store.groups(probs)
    weight = [] if roles.weight is None else [roles.weight]
    first = [*groups[0], *weight]
    named = [roles.label, *roles.beside, *roles.suspects]
    frame = _complete(store, first, named, (*roles.suspects, *roles.kept))
    labels, *names = frame.get_columns()[len(first) :]
    weights = frame.to_series(len(groups[0])) if weight else None
    frame = frame[:, : len(groups[0])]
    by_name = {series.name: series for series in names}
    return Loaded(_matrix(store, frame, groups, len(probs)), labels, weights, by_name)


def load_matrix(store: ColumnStore, probs: Sequence[str]) -> NDArray[Any]:
    """Read columns of numbers, or one of lists, as a matrix (n, k)."""
    return _matrix(store, _complete(store, probs), [probs], len(probs))


def _matrix(
    store: ColumnStore, frame: pl.DataFrame, groups: list[Sequence[str]], width: int
) -> NDArray[Any]:
    """Return the columns side by side; `frame` is the first group."""
    if frame.dtypes[0].is_nested():
        return _unnested(frame.to_series(0), store)
    if len(groups) == 1:
        return frame.to_numpy(order="c", writable=True)
    matrix = np.empty((frame.height, width), frame.to_series(0).head(0).to_numpy().dtype)
    _lay(frame, matrix[:, : frame.width])
    del frame
    start = len(groups[0])
    for group in groups[1:]:
        _lay(_complete(store, group), matrix[:, start : start + len(group)])
        start += len(group)
    return matrix


def _lay(frame: pl.DataFrame, out: NDArray[Any]) -> None:
    step = max(1024, ENTRIES // frame.width)
    for start in range(0, frame.height, step):
        out[start : start + step] = frame.slice(start, step).to_numpy(order="c")


def _unnested(lists: pl.Series, store: ColumnStore) -> NDArray[Any]:
    """Return lists of one length as the rows of a matrix."""
    start = f"the lists of column {lists.name!r} must"
    sizes = lists.list.len()
    width = int(sizes[0])
    uneven = (sizes != width).arg_true()
    if len(uneven):
        row = int(uneven[0])
        raise ValueError(
            f"{start} have one length; {store.where(row)} has {sizes[row]}, and row 0 has"
            f" {width}{more(len(uneven))}."
        )
    if not width:
        raise ValueError(f"{start} hold numbers; they are empty.")
    refuse_width(width)
    entries = lists.explode()
    if entries.null_count():
        row = (entries.is_null().arg_max() or 0) // width
        raise ValueError(f"{start} have no gaps; {store.where(row)} has one.")
    return np.array(entries.to_numpy().reshape(len(lists), width))


def refuse_width(width: int) -> None:
    """Refuse more columns, or entries of a list, than a table of predictions can have."""
    if width > MOST:
        raise ValueError(f"a row must have at most {MOST:,} entries; found {width:,}.")


def _complete(
    store: ColumnStore, numeric: Sequence[str], named: Sequence[str] = (), gaps: Sequence[str] = ()
) -> pl.DataFrame:
    """Read columns; refuse them if they are empty, or have gaps where they may not."""
    frame = store.read(numeric, named)
    if frame.height == 0:
        raise NoRowsError("there must be at least one row; found only the names of columns.")
    for column in frame.get_columns():
        if column.null_count() and column.name not in gaps:
            row = column.is_null().arg_max() or 0
            raise ValueError(
                "every row must have a value in the columns that are used;"
                f" {store.where(row)} has none in column"
                f" {shown(column.name)}{more(column.null_count())}. Leave out such rows with"
                " `drop_missing=True`."
            )
    return frame


def distinct(column: pl.Series) -> list[str]:
    """Return the different labels as texts, in the order of their first rows."""
    return [written(value) for value in _values(column).to_list()]


def codes(column: pl.Series, known: Classes, source: Wording) -> NDArray[np.int32]:
    """Return the places (n,) of the classes of labels: numbers, truths, texts or bytes."""
    values = _values(column)
    found = known.codes([written(value) for value in values.to_list()])
    rows = np.empty(len(column), np.int32)
    for start in range(0, len(column), ROWS):
        part = column.slice(start, ROWS).replace_strict(values, found, return_dtype=pl.Int32)
        rows[start : start + ROWS] = part.to_numpy()
    known.refuse(rows, column.__getitem__, source, f" in column {shown(column.name)}")
    return rows


def _values(column: pl.Series) -> pl.Series:
    found = column.clear()
    for start in range(0, len(column), ROWS):
        part = column.slice(start, ROWS).unique(maintain_order=True)
        found = found.append(part).unique(maintain_order=True)
    return found
