"""Predictions that are read when they are needed, in batches."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, TypeVar, cast, final

import numpy as np
from numpy.typing import NDArray

from calibrant.checks.arrays import weight_unit
from calibrant.checks.parameters import listed
from calibrant.predictions import Predictions
from calibrant.predictions.held import Beside
from calibrant.scanning.batches import Batch, Reader
from calibrant.scanning.columns import Columns
from calibrant.scanning.fragments import Fragment
from calibrant.scanning.reductions import Reduction, Together
from calibrant.scanning.row_numbers import RowNumbers
from calibrant.workers import Threads, Workers

S = TypeVar("S")
Progress = Callable[[int, int], None]

SEEN = ("largest_weight", "distinct")  # what a pass over the rows has told of all of them


@final
@dataclass(frozen=True, slots=True)
class Work:
    """What a worker does with fragments: read, check and add up.

    Parameters
    ----------
    reader : Reader
        How fragments are read.
    reduction : Reduction
        What is added up.
    """

    reader: Reader
    reduction: Any

    @property
    def names(self) -> list[str]:
        """The columns that are read."""
        return self.reader.columns.names

    def __call__(self, fragments: Iterable[Fragment]) -> Any:
        """Return the state of the rows of some fragments."""
        return self.on_batches(self.reader.batches(fragments))

    def on_batches(self, batches: Iterable[Batch]) -> Any:
        """Return the state of the rows of batches."""
        state = self.reduction.zero()
        for batch in batches:
            state = self.reduction.update(state, batch)
        return state


@final
@dataclass(frozen=True, eq=False, repr=False)
class Scan:
    """Predictions in files, read in batches whenever something is asked of them.

    `calibrant.scan` makes them. Functions take a Scan where they take `Predictions`, if what they
    do can be added up over rows; else they say so before anything is read.

    Parameters
    ----------
    columns : Columns
        Which columns hold what.
    fragments : tuple of Fragment
        Where the rows are.
    workers : Workers
        Who reads them.
    reading : Reading, optional
        Which columns were taken for what, and which were left out.
    """

    columns: Columns
    fragments: tuple[Any, ...]
    workers: Workers = field(default_factory=Threads)
    reading: Any = None

    def keeping(self, columns: str | Sequence[str]) -> "Scan":
        """Return the same rows with further columns beside them, for `slices` and reports.

        Examples
        --------
        >>> import tempfile, polars as pl
        >>> from calibrant import scan
        >>> path = tempfile.mkdtemp() + "/rows.parquet"
        >>> rows = {"label": [0, 1], "prob": [0.2, 0.9], "hospital": ["north", "south"]}
        >>> pl.DataFrame(rows).write_parquet(path)
        >>> scan(path).keeping("hospital").load().columns["hospital"].tolist()
        ['north', 'south']
        """
        wanted = (columns,) if isinstance(columns, str) else tuple(columns)
        new = tuple(name for name in dict.fromkeys(wanted) if name not in self.columns.kept)
        _check_there(new, self.reading.left_out)
        return self._with_columns(new)

    def _with_columns(self, new: tuple[str, ...]) -> "Scan":
        """Return the same rows with these columns, and what is known of the rows already."""
        kept = (*self.columns.kept, *new)
        left_out = tuple(name for name in self.reading.left_out if name not in new)
        found = replace(
            self,
            columns=replace(self.columns, kept=kept),
            reading=replace(self.reading, kept=kept, left_out=left_out),
        )
        found.__dict__.update({name: self.__dict__[name] for name in SEEN if name in self.__dict__})
        return found

    @property
    def n(self) -> int:
        """Number of rows."""
        return sum(fragment.n for fragment in self.fragments)

    @property
    def m(self) -> int:
        """Number of classes."""
        return self.columns.m

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes."""
        return self.columns.known.names

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return self.columns.weight is not None

    @property
    def clusters(self) -> None:
        """Clusters of rows that depend on each other: none, rows are taken as independent."""
        return None

    @property
    def numbered(self) -> bool:
        """Whether rows have numbers: by their place, or by a column."""
        return self.columns.row is not None or self.workers.ordered

    @cached_property
    def largest_weight(self) -> float:
        """The largest weight; of rows without weights, 1."""
        if not self.weighted:
            return 1.0
        reader = Reader(self.columns)
        found = self.workers.reduce(self.fragments, LargestWeight(reader), max, None)
        if not found > 0:
            raise ValueError("the weights must not all be zero.")
        return float(found)

    @property
    def unit(self) -> float:
        """The smallest power of 2 that no weight exceeds."""
        return float(2.0 ** np.ceil(np.log2(self.largest_weight)))

    @property
    def reader(self) -> Reader:
        """What turns fragments into batches."""
        if not self.weighted:
            return Reader(self.columns)
        return Reader(self.columns, weight_unit(self.largest_weight, self.n))

    def add_up(self, reduction: Reduction[S], progress: Progress | None = None) -> S:
        """Add up all rows; `progress` is called with the numbers of rows that are done, and all."""
        if self.columns.row is None or "distinct" in self.__dict__:
            return self._add_up(reduction, progress)
        both: Any = Together([(None, reduction), (None, RowNumbers())])
        found, numbers = self._add_up(both, progress)
        numbers.check()
        self.__dict__["distinct"] = True  # the first pass has seen that row numbers are
        return cast(S, found)

    def _add_up(self, reduction: Reduction[S], progress: Progress | None) -> S:
        work = Work(self.reader, reduction)
        found: S = self.workers.reduce(self.fragments, work, reduction.merge, progress)
        return found

    def load(self) -> Predictions:
        """Read all rows into memory, in the order of their numbers."""
        batches: list[Batch] = self.add_up(Everything())
        batches.sort(key=lambda batch: batch.first)
        data = [batch.data for batch in batches]
        weights = np.concatenate([one.weights for one in data]) if self.weighted else None
        whole = Predictions.trusted(
            np.concatenate([one.probs for one in data]),
            np.concatenate([one.labels for one in data]),
            self.classes,
            weights,
            1,
            None,
            Beside(None, MappingProxyType(_joined(batches, self.columns.kept))),
        )
        if self.columns.row is None:
            return whole
        return whole.take(_order(np.concatenate([batch.numbers for batch in batches])))

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        shown = self.classes if self.m <= 4 else (*self.classes[:3], "…")
        files = len({getattr(fragment, "path", 0) for fragment in self.fragments})
        return f"Scan(n={self.n}, m={self.m}, classes={shown}, files={files}, on={self.workers})"


def _check_there(names: Sequence[str], columns: Sequence[str]) -> None:
    """Refuse columns that files do not have, or that hold something else."""
    missing = sorted(set(names) - set(columns))
    if missing:
        raise ValueError(
            f"`by` must name columns of the files that hold nothing else; {listed(missing)} not"
            f" among {listed(columns)}."
        )


def _order(numbers: NDArray[np.int64]) -> NDArray[np.intp]:
    """Return the order of rows by their numbers, which must differ."""
    order = np.argsort(numbers, kind="stable")
    again = np.flatnonzero(np.diff(numbers[order]) == 0)
    if again.size:
        twice = numbers[order[again[0]]]
        raise ValueError(f"`row` must be unique; {twice} stands more than once.")
    return order


def _joined(batches: Sequence[Batch], names: Sequence[str]) -> dict[str, Any]:
    """Return the texts of columns that were kept beside several batches."""
    columns = {name: [batch.beside[name] for batch in batches] for name in names}
    return {
        name: np.concatenate([np.array(one.texts, object)[one.codes] for one in parts])
        for name, parts in columns.items()
    }


@final
@dataclass(frozen=True, slots=True)
class LargestWeight:
    """The work of finding the largest weight, from one column alone.

    Parameters
    ----------
    reader : Reader
        How fragments are read.
    """

    reader: Reader

    @property
    def names(self) -> list[str]:
        """The columns that are read."""
        return [str(self.reader.columns.weight)]

    def __call__(self, fragments: Iterable[Fragment]) -> float:
        """Return the largest weight of some fragments."""
        columns = self.reader.columns
        largest = 0.0
        for table, _, where in self.reader.tables(fragments, self.names):
            largest = max(largest, float(columns.weights(table, where).max(initial=0.0)))
        return largest


@final
@dataclass(frozen=True, slots=True)
class Everything:
    """What keeps all batches."""

    def zero(self) -> list[Batch]:
        """Return no batches."""
        return []

    def update(self, state: list[Batch], batch: Batch) -> list[Batch]:
        """Keep a batch."""
        return [*state, batch]

    def merge(self, a: list[Batch], b: list[Batch]) -> list[Batch]:
        """Keep the batches of both."""
        return a + b
