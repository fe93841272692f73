"""From chosen columns to one matrix, a group of columns at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant.checks.parameters import more
from calibrant.loading.column_store import ColumnStore

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
    """

    matrix: NDArray[Any]
    label: pl.Series
    weight: pl.Series | None


def load_columns(
    store: ColumnStore, probs: Sequence[str], label: str, weight: Sequence[str]
) -> Loaded:
    """Read the columns.

    Where they can be read in groups, the memory beside the matrix is that of one group.
    """
    groups = store.groups(probs)
    frame = _complete(store, [*groups[0], *weight], label)
    labels = frame.to_series(frame.width - 1)
    weights = frame.to_series(len(groups[0])) if weight else None
    frame = frame[:, : len(groups[0])]
    if len(groups) == 1:
        return Loaded(frame.to_numpy(order="c", writable=True), labels, weights)
    matrix = np.empty((frame.height, len(probs)), frame.to_series(0).head(0).to_numpy().dtype)
    _lay(frame, matrix[:, : frame.width])
    del frame
    start = len(groups[0])
    for group in groups[1:]:
        _lay(_complete(store, group, None), matrix[:, start : start + len(group)])
        start += len(group)
    return Loaded(matrix, labels, weights)


def _complete(store: ColumnStore, numeric: Sequence[str], label: str | None) -> pl.DataFrame:
    """Read columns; refuse them if they are empty or have gaps."""
    frame = store.read(numeric, label)
    if frame.height == 0:
        raise ValueError("there must be at least one row; found only the names of columns.")
    for column in frame.get_columns():
        if column.null_count():
            row = column.is_null().arg_max() or 0
            raise ValueError(
                "every row must have a value in the columns that are used;"
                f" {store.where(row)} has none in column"
                f" {column.name!r}{more(column.null_count())}."
            )
    return frame


def _lay(frame: pl.DataFrame, out: NDArray[Any]) -> None:
    step = max(1024, BLOCK // frame.width)
    for start in range(0, frame.height, step):
        out[start : start + step] = frame.slice(start, step).to_numpy(order="c")
