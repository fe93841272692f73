"""From the columns of a table to one matrix, a group of columns at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant.checks.parameters import more
from calibrant.loading.table import Table

if TYPE_CHECKING:
    import polars as pl

BLOCK = 1 << 18  # numbers that are laid side by side at a time: they stay in the cache


@final
@dataclass(frozen=True, slots=True)
class Read:
    """What was read: a matrix (n, m) that nobody else holds, and two columns."""

    matrix: NDArray[Any]
    label: pl.Series
    weight: pl.Series | None


def read(table: Table, probs: Sequence[str], label: str, weight: Sequence[str]) -> Read:
    """Read the columns, without a gap.

    Where the table can be read in groups of columns, the memory beside the matrix is that of
    one group.
    """
    groups = table.groups(probs)
    frame = _whole(table, [*groups[0], *weight], label)
    labels = frame.to_series(frame.width - 1)
    weights = frame.to_series(len(groups[0])) if weight else None
    frame = frame[:, : len(groups[0])]
    if len(groups) == 1:
        return Read(frame.to_numpy(order="c", writable=True), labels, weights)
    matrix = np.empty((frame.height, len(probs)), frame.to_series(0).head(0).to_numpy().dtype)
    _lay(frame, matrix[:, : frame.width])
    del frame
    start = len(groups[0])
    for group in groups[1:]:
        _lay(_whole(table, group, None), matrix[:, start : start + len(group)])
        start += len(group)
    return Read(matrix, labels, weights)


def _whole(table: Table, numbers: Sequence[str], label: str | None) -> pl.DataFrame:
    frame = table.read(numbers, label)
    if frame.height == 0:
        raise ValueError("there must be at least one row; found only the names of columns.")
    for series in frame.get_columns():
        if series.null_count():
            row = series.is_null().arg_max() or 0
            raise ValueError(
                "every row must have a value in the columns that are used;"
                f" {table.place(row)} has none in column"
                f" {series.name!r}{more(series.null_count())}."
            )
    return frame


def _lay(frame: pl.DataFrame, out: NDArray[Any]) -> None:
    step = max(1024, BLOCK // frame.width)
    for start in range(0, frame.height, step):
        out[start : start + step] = frame.slice(start, step).to_numpy(order="c")
