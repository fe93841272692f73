"""The column of labels: its different values, and the classes that they are of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from calibrant.checks.labels import Classes, shown, written
from calibrant.checks.parameters import Source

if TYPE_CHECKING:
    import polars as pl

BLOCK = 1 << 16  # rows at a time: what polars keeps beside a column is larger than the column


def distinct(column: pl.Series) -> list[str]:
    """Return the different labels as texts, in the order of their first rows."""
    return [written(value) for value in _values(column).to_list()]


def codes(column: pl.Series, known: Classes, source: Source) -> NDArray[np.int32]:
    """Return the places (n,) of the classes of all rows.

    Parameters
    ----------
    column : Series of n labels
        Numbers, truths, texts or bytes.
    known : Classes
        The classes that they may be of.
    source : Source
        How to speak of labels and rows.
    """
    import polars as pl  # noqa: PLC0415 (only files need it)

    values = _values(column)
    found = known.codes([written(value) for value in values.to_list()])
    rows = np.empty(len(column), np.int32)
    for start in range(0, len(column), BLOCK):
        part = column.slice(start, BLOCK).replace_strict(values, found, return_dtype=pl.Int32)
        rows[start : start + BLOCK] = part.to_numpy()
    known.refuse(rows, column.__getitem__, source, f" in column {shown(column.name)}")
    return rows


def _values(column: pl.Series) -> pl.Series:
    found = column.clear()
    for start in range(0, len(column), BLOCK):
        part = column.slice(start, BLOCK).unique(maintain_order=True)
        found = found.append(part).unique(maintain_order=True)
    return found
