"""Batches of rows, and how fragments of files become such."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from calibrant.predictions import Predictions
from calibrant.scanning.columns import Coded, Columns, Where
from calibrant.scanning.fragments import Fragment, FrameFragment, open_parquet

AnyFragment = Fragment | FrameFragment

ENTRIES = 1 << 22  # numbers of a batch: what a worker lays out at a time


class Batch(NamedTuple):
    """Rows of a data set: those from number `first` on, or those with these numbers."""

    data: Predictions
    first: int = 0
    numbers: NDArray[np.int64] | None = None  # (n,)
    beside: Mapping[str, Coded] = MappingProxyType({})  # columns that were kept

    def take(self, rows: NDArray[np.intp]) -> "Batch":
        """Return some of the rows, which keep their numbers."""
        numbers = rows + self.first if self.numbers is None else self.numbers[rows]
        return Batch(self.data.take(rows), 0, numbers.astype(np.int64))


class Group(NamedTuple):
    """Rows of which a column that was kept has one of these values."""

    column: str
    values: tuple[str, ...]

    def of(self, batch: Batch) -> Batch:
        """Return the rows of a batch that belong to it."""
        return batch.take(batch.beside[self.column].rows(set(self.values)))


@final
@dataclass(frozen=True, slots=True)
class Reader:
    """What turns fragments into batches; it travels to workers.

    Parameters
    ----------
    columns : Columns
        Which columns hold what.
    unit : float, optional
        What weights are rounded to multiples of.
    """

    columns: Columns
    unit: float | None = None

    def batches(self, fragments: Iterable[AnyFragment]) -> Iterator[Batch]:
        """Yield checked batches of all rows, one fragment after the other."""
        for table, first, where in self.tables(fragments, self.columns.names):
            yield self.batch(table, first, where)

    def batch(self, table: Any, first: int, where: Where) -> Batch:
        """Check the rows of an Arrow batch whose first row has this number."""
        columns = self.columns
        data = columns.predictions(table, where, self.unit)
        return Batch(data, first, columns.numbers(table, where), columns.beside(table, where))

    def tables(
        self, fragments: Iterable[AnyFragment], names: list[str]
    ) -> Iterator[tuple[Any, int, Where]]:
        """Yield Arrow batches with the number of the first row, and words for rows."""
        size = max(1, ENTRIES // self.columns.m)
        path, file = "", None
        for fragment in fragments:
            done = 0
            if isinstance(fragment, FrameFragment):
                for table in fragment.tables(names, size):
                    yield table, fragment.first + done, partial(_in_frame, fragment.name, done)
                    done += table.num_rows
                continue
            if fragment.path != path:
                path, file = fragment.path, open_parquet(fragment.path)
            with fragment.unchanged(file):
                for table in fragment.tables(file, names, size):
                    yield table, fragment.first + done, partial(_in_file, fragment, done)
                    done += table.num_rows
                fragment.check_rows(done)


def _in_file(fragment: Fragment, done: int, row: int) -> str:
    """Return words for a row of the batch that begins after so many rows of a fragment."""
    number = fragment.first + done + row
    return f"row {number - fragment.start:,} of {fragment.name} (row {number:,} of all)"


def _in_frame(name: str, done: int, row: int) -> str:
    """Return words for a row of a part of a frame."""
    return f"row {done + row:,} of {name}"
