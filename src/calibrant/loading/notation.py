"""Numbers that are written otherwise: percentages, decimal commas, and rows with missing values.

A store is wrapped, so that every format that has columns gets all of them.
"""

from collections.abc import Mapping, Sequence
from typing import Any, final

import numpy as np
import polars as pl
import polars.selectors as cs
from numpy.typing import NDArray

from calibrant.checks.labels import shown
from calibrant.checks.parameters import more
from calibrant.loading.columns import ColumnStore
from calibrant.loading.roles import IDS, MISSING, MODELS, Kind, Options, remedy

PLACES = 5  # of rows that were dropped, which a reading names


def understood(store: ColumnStore, options: Options, *, texts: bool) -> ColumnStore:
    """Return a store whose columns are read as the user says they are written.

    texts : whether the store can give every column as texts, as lines of cells can
    """
    asked = options.percent or options.decimal_comma or options.drop_missing
    kinds: Sequence[Kind] = ("text", "float", "whole", "other") if texts else ("text",)
    return Noted(store, options, kinds) if asked else store


@final
class Noted:
    """Columns of which some are texts that mean numbers, and rows that may have gaps."""

    def __init__(self, store: ColumnStore, options: Options, texts: Sequence[Kind]) -> None:
        self._store, self._options, self._texts = store, options, texts
        self._kept: NDArray[Any] | None = None  # places of the rows that were read last
        self._n = 0  # rows of the file
        self.kinds: Mapping[str, Kind] = {
            name: "float" if kind == "text" and self._numbers(name) else kind
            for name, kind in store.kinds.items()
        }
        said = {options.model, options.id, options.cluster}
        named = (name for name in store.kinds if name.lower() in (*MODELS, *IDS))
        self._gaps = {name for name in named if name not in said}  # may be missing

    @property
    def dropped(self) -> tuple[int, tuple[str, ...]]:
        """How many rows were dropped, and the words for the first of them."""
        if self._kept is None or self._n == self._kept.size:
            return 0, ()
        gone = np.setdiff1d(np.arange(self._n), self._kept)
        return gone.size, tuple(self._store.where(int(row)) for row in gone[:PLACES])

    def first_labels(self, label: str) -> list[str]:
        """Return the labels of the first rows."""
        found = self._store.first_labels(label)
        if not self._options.drop_missing:
            return found
        return _numbered(pl.Series(found, dtype=pl.String)).drop_nulls().to_list()

    def read(self, numeric: Sequence[str], named: Sequence[str]) -> pl.DataFrame:
        """Return the columns, without rows that lack a value if these are to be dropped."""
        texts = [name for name in numeric if self._store.kinds[name] in self._texts]
        plain = [name for name in numeric if name not in texts]
        frame = self._store.read(plain, [*named, *texts])
        frame = frame.with_columns(self._parsed(frame[name]) for name in texts)
        frame = frame.select(*numeric, *named)
        return self._complete(frame, named[:1]) if self._options.drop_missing else frame

    def groups(self, numeric: Sequence[str]) -> list[Sequence[str]]:
        """Return one group: which rows have gaps, all columns tell."""
        return [numeric]

    def where(self, row: int) -> str:
        """Return the words for a row that was read."""
        return self._store.where(row if self._kept is None else int(self._kept[row]))

    def _numbers(self, name: str) -> bool:
        """Whether the first texts of a column mean numbers."""
        cells = pl.Series(name, self._store.first_labels(name), pl.String)
        there = self._meant(cells)
        return len(there) > 0 and there.null_count() < len(there) and not self._bad(cells, there)

    def _meant(self, cells: pl.Series) -> pl.Series:
        """Return the numbers that texts mean; nothing where they mean none."""
        plain = cells.cast(pl.String).str.strip_chars()
        if self._options.percent:
            plain = plain.str.strip_suffix("%").str.strip_chars()
        if self._options.decimal_comma:
            plain = plain.str.replace(",", ".", literal=True)
        return plain.cast(pl.Float64, strict=False)

    def _bad(self, cells: pl.Series, numbers: pl.Series) -> list[int]:
        """Return the places of texts that mean no number, and are not missing."""
        bad = numbers.is_null() & cells.is_not_null()
        if self._options.drop_missing:
            plain = cells.cast(pl.String).str.strip_chars().str.to_lowercase()
            bad &= ~plain.is_in([*MISSING, ""])
        return bad.arg_true().to_list()

    def _parsed(self, cells: pl.Series) -> pl.Series:
        """Return the numbers of a column, or say which text means none."""
        numbers = self._meant(cells)
        bad = self._bad(cells, numbers)
        if bad:
            cell = str(cells[bad[0]])
            raise ValueError(
                f"numbers must be written like 0.25; {self._store.where(bad[0])} has {shown(cell)}"
                f" in column {shown(cells.name)}{more(len(bad))}.{remedy(cell)}"
            )
        return numbers

    def _complete(self, frame: pl.DataFrame, labels: Sequence[str]) -> pl.DataFrame:
        """Leave out rows that lack a value in a column that must have one."""
        frame = frame.with_columns(_numbered(frame[name]) for name in labels)
        used = cs.by_name(*(name for name in frame.columns if name not in self._gaps))
        there = frame.fill_nan(None).select(pl.all_horizontal(used.is_not_null())).to_series()
        self._n, self._kept = frame.height, there.arg_true().to_numpy()
        if frame.height and not self._kept.size:
            raise ValueError("some row must have a value in every column that is used; none has.")
        return frame.filter(there)


def _numbered(labels: pl.Series) -> pl.Series:
    """Return labels without words such as NA, where all others are numbers; these name classes."""
    if labels.dtype != pl.String:
        return labels
    there = ~labels.str.strip_chars().str.to_lowercase().is_in(MISSING)
    others = labels.filter(there)
    numbers = others.str.strip_chars().cast(pl.Float64, strict=False)
    named = numbers.null_count() > others.null_count() or not numbers.count()
    return labels if named else labels.set(~there, None)
