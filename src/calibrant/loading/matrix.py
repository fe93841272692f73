"""From chosen columns to one matrix, a group of columns at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant.checks.labels import shown
from calibrant.checks.parameters import more
from calibrant.loading.column_store import ColumnStore
from calibrant.loading.roles import Roles

if TYPE_CHECKING:
    import polars as pl

BLOCK = 1 << 18  # entries that are laid side by side at a time: they stay in the cache


@final
@dataclass(frozen=True, slots=True)
class Loaded:
    """What the chosen columns hold, without a gap.

    Parameters
    ----------
    matrix : array (n, k)
        The columns of probabilities or logits; nobody else holds it.
    label : Series
        The labels.
    weight : Series, optional
        The weights.
    names : dict
        Columns that name the model, the case or the cluster of a row, or are kept; by name.
    """

    matrix: NDArray[Any]
    label: pl.Series
    weight: pl.Series | None
    names: dict[str, pl.Series]


def load_columns(store: ColumnStore, probs: Sequence[str], roles: Roles) -> Loaded:
    """Read the columns.

    Where they can be read in groups, the memory beside the matrix is that of one group.
    """
    groups = store.groups(probs)
    weight = [] if roles.weight is None else [roles.weight]
    first = [*groups[0], *weight]
    named = [roles.label, *roles.beside, *roles.suspects]
    frame = complete(store, first, named, roles.suspects)
    labels, *names = frame.get_columns()[len(first) :]
    weights = frame.to_series(len(groups[0])) if weight else None
    frame = frame[:, : len(groups[0])]
    by_name = {series.name: series for series in names}
    return Loaded(_matrix(store, frame, groups, len(probs)), labels, weights, by_name)


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
        _lay(complete(store, group, (), ()), matrix[:, start : start + len(group)])
        start += len(group)
    return matrix


def _unnested(lists: pl.Series, store: ColumnStore) -> NDArray[Any]:
    """Return lists of one length as the rows of a matrix."""
    sizes = lists.list.len()
    width = int(sizes[0])
    uneven = (sizes != width).arg_true()
    if len(uneven):
        row = int(uneven[0])
        raise ValueError(
            f"the lists of column {lists.name!r} must have one length; {store.where(row)} has"
            f" {sizes[row]}, and row 0 has {width}{more(len(uneven))}."
        )
    if not width:
        raise ValueError(f"the lists of column {lists.name!r} must hold numbers; they are empty.")
    entries = lists.explode()
    if entries.null_count():
        row = (entries.is_null().arg_max() or 0) // width
        raise ValueError(
            f"the lists of column {lists.name!r} must have no gaps; {store.where(row)} has one."
        )
    return np.array(entries.to_numpy().reshape(len(lists), width))


def complete(
    store: ColumnStore, numeric: Sequence[str], named: Sequence[str], gaps: Sequence[str]
) -> pl.DataFrame:
    """Read columns; refuse them if they are empty, or have gaps where they may not."""
    frame = store.read(numeric, named)
    if frame.height == 0:
        raise ValueError("there must be at least one row; found only the names of columns.")
    for column in frame.get_columns():
        if column.null_count() and column.name not in gaps:
            row = column.is_null().arg_max() or 0
            raise ValueError(
                "every row must have a value in the columns that are used;"
                f" {store.where(row)} has none in column"
                f" {shown(column.name)}{more(column.null_count())}."
            )
    return frame


def _lay(frame: pl.DataFrame, out: NDArray[Any]) -> None:
    step = max(1024, BLOCK // frame.width)
    for start in range(0, frame.height, step):
        out[start : start + step] = frame.slice(start, step).to_numpy(order="c")
