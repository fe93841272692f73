"""What a file or a frame must offer: columns by name, and words for its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    import polars as pl

Kind = Literal["float", "whole", "list", "text", "other"]

SAMPLE = 100  # rows that are looked at before columns are chosen


class ColumnStore(Protocol):
    """Columns that are read only when they are asked for."""

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """Return what each column holds, by its name without spaces around it, in their order."""

    def first_labels(self, label: str) -> list[str]:
        """Return the labels of the first rows, if the column `label` holds them."""

    def read(self, numeric: Sequence[str], named: Sequence[str]) -> pl.DataFrame:
        """Return the columns `numeric` as floats, or lists of them, and then those of names."""

    def groups(self, numeric: Sequence[str]) -> list[Sequence[str]]:
        """Cut columns of one type into groups that can be read one after the other."""

    def where(self, row: int) -> str:
        """Return the words for a row, counted from 0."""


def repeated(names: Iterable[str]) -> list[str]:
    """Return the names that occur more than once."""
    return sorted(name for name, count in Counter(names).items() if count > 1)
