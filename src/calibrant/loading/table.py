"""What a file or a frame must offer: columns by name, and words for its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    import polars as pl

Kind = Literal["float", "whole", "other"]


class Table(Protocol):
    """Columns that are read only when they are asked for.

    `kinds` has the names of the columns in their order, without spaces around them. `read`
    returns the columns `numbers`, as floats, and then the column `label`, if one is given.
    """

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """Return what each column holds."""

    def read(self, numbers: Sequence[str], label: str | None) -> pl.DataFrame:
        """Return some columns, in this order."""

    def groups(self, numbers: Sequence[str]) -> list[Sequence[str]]:
        """Cut columns of one type into groups that can be read one after the other."""

    def place(self, row: int) -> str:
        """Return the words for a row, counted from 0."""
