"""Predictions that are read when they are needed, in batches."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any, NoReturn, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from calibrant.checks.arrays import weight_unit
from calibrant.checks.parameters import listed
from calibrant.predictions import Beside, Predictions
from calibrant.rows.columns import Columns, Where
from calibrant.rows.fragments import Fragment, FrameFragment
from calibrant.rows.passes import Everything, Fold, Pass, RowNumbers, Shuffle
from calibrant.rows.rows import Batch, Exchange, Group, Lens, Memory, Part, Progress, refuse_rows
from calibrant.rows.workers import Threads, Workers

S = TypeVar("S")

LOADED = 1 << 29  # bytes of float64 that a folder may have to be loaded by the tool
ENTRIES = 1 << 22  # numbers of a batch: what a worker lays out at a time


@final
@dataclass(frozen=True, slots=True)
class Reader:
    """What turns fragments into batches; it travels to workers."""

    columns: Columns
    unit: float | None = None  # what weights are rounded to multiples of

    def batches(self, fragments: Iterable[Any]) -> Iterator[Batch]:
        """Yield checked batches of all rows, one fragment after the other."""
        columns = self.columns
        for table, first, where in self.tables(fragments, columns.names):
            data = columns.predictions(table, where, self.unit)
            numbers = columns.numbers(table, where)
            yield Batch(data, data, first, numbers, columns.beside(table, where))

    def tables(
        self, fragments: Iterable[Fragment | FrameFragment], names: list[str]
    ) -> Iterator[tuple[Any, int, Where]]:
        """Yield Arrow batches with the number of the first row, and words for rows."""
        size = max(1, ENTRIES // self.columns.m)
        opened: dict[str, Any] = {}
        for fragment in fragments:
            done = 0
            for table in fragment.tables(names, size, opened):
                yield table, fragment.first + done, partial(fragment.where, done)
                done += table.num_rows


@dataclass(slots=True, eq=False)
class KnownOfAll:
    """What passes have told of all rows; copies of a Scan share it."""

    largest_weight: float | None = None
    distinct: bool = False  # whether row numbers are


@final
@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Scan:
    """Predictions in files, read in batches when they are needed.

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
    learned : KnownOfAll
        What is known of all rows already.
    group : Group, optional
        Which rows; None for all.
    size : int, optional
        How many they are, if not all.
    """

    columns: Columns
    fragments: tuple[Any, ...]
    workers: Workers = field(default_factory=Threads)
    reading: Any = None
    learned: KnownOfAll = field(default_factory=KnownOfAll)
    group: Group | None = None
    size: int | None = None

    held = False
    clusters = None  # rows are taken as independent

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
        _check_left_out(new, self.reading.left_out)
        kept = (*self.columns.kept, *new)
        left_out = tuple(name for name in self.reading.left_out if name not in new)
        return replace(
            self,
            columns=replace(self.columns, kept=kept),
            reading=replace(self.reading, kept=kept, left_out=left_out),
        )

    def only(self, group: Group, size: int) -> "Scan":
        """Return the rows of a group, of which there are so many."""
        return replace(self, group=group, size=size)

    @property
    def n(self) -> int:
        """Number of rows."""
        return self._all if self.size is None else self.size

    @property
    def _all(self) -> int:
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
    def fits(self) -> bool:
        """Whether probabilities, as float64, take at most 512 MiB: then the tool loads them."""
        return 8 * self.n * self.m <= LOADED

    @property
    def kept(self) -> tuple[str, ...]:
        """Names of the columns that are kept beside the predictions."""
        return self.columns.kept

    @property
    def largest_weight(self) -> float:
        """The largest weight; of rows without weights, 1."""
        if not self.weighted:
            return 1.0
        if self.learned.largest_weight is None:
            work = LargestWeight(Reader(self.columns))
            found = float(self.workers.reduce(self.fragments, work, max, None))
            if not found > 0:
                raise ValueError("the weights must not all be zero.")
            self.learned.largest_weight = found
        return self.learned.largest_weight

    @property
    def unit(self) -> float:
        """The smallest power of 2 that no weight exceeds."""
        return float(2.0 ** np.ceil(np.log2(self.largest_weight)))

    @property
    def reader(self) -> Reader:
        """What turns fragments into batches."""
        if not self.weighted:
            return Reader(self.columns)
        return Reader(self.columns, weight_unit(self.largest_weight, self._all))

    def part(self, reduction: Any, lens: Lens | None = None) -> Part:
        """Return a part of a pass over these rows."""
        return Part(reduction, lens, self.group)

    def fold(self, parts: Sequence[Part], progress: Progress | None = None) -> list[Any]:
        """Add up rows, in one pass; `progress` is called with rows that are done, and all.

        Parts may be of several groups of the same scan. The first pass looks whether row numbers
        are distinct, too.
        """
        if self.columns.row is None or self.learned.distinct:
            return self._fold(parts, progress)
        *found, numbers = self._fold([*parts, Part(RowNumbers())], progress)
        numbers.check()
        self.learned.distinct = True
        return found

    def _fold(self, parts: Sequence[Part], progress: Progress | None) -> list[Any]:
        work = Fold(self.reader, Pass(parts))
        return list(self.workers.reduce(self.fragments, work, work.reduction.merge, progress))

    def exchange(self, work: Exchange[S], lens: Lens | None, progress: Progress | None = None) -> S:
        """Bring the rows of each owner together, and return the merged states of all owners."""
        shuffle = Shuffle(self.reader, self.group, lens, work)
        found: S = self.workers.exchange(self.fragments, shuffle, progress)
        return found

    def at_hand(self, asker: str) -> NoReturn:
        """Refuse: rows come in batches."""
        refuse_rows(asker)

    @property
    def has_numbers(self) -> bool:
        """Whether rows have numbers: by a column, or by their place."""
        return self.columns.row is not None or self.workers.ordered

    def numbered(self) -> None:
        """Refuse rows without numbers, by which labels are drawn."""
        if not self.has_numbers:
            raise ValueError(
                "`row` must name a column of unique whole numbers for this test: labels are redrawn"
                " row by row, and a frame has no order. With two outcomes, Exact(draws='counts')"
                " does not need it."
            )

    def load(self) -> Predictions:
        """Read all rows into memory, in the order of their numbers."""
        batches: list[Batch] = self.fold([self.part(Everything())])[0]
        batches.sort(key=lambda batch: batch.first)
        data = [batch.given for batch in batches]
        weights = np.concatenate([one.weights for one in data]) if self.weighted else None
        whole = Predictions.trusted(
            np.concatenate([one.probs for one in data]),
            np.concatenate([one.labels for one in data]),
            self.classes,
            weights,
            1,
            self.reading,
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


def _check_left_out(names: Sequence[str], columns: Sequence[str]) -> None:
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
    columns = {name: [batch.columns[name] for batch in batches] for name in names}
    return {
        name: np.concatenate([np.array(one.texts, object)[one.codes] for one in parts])
        for name, parts in columns.items()
    }


@final
@dataclass(frozen=True, slots=True)
class LargestWeight:
    """The work of finding the largest weight, from one column alone."""

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


Rows = Memory | Scan  # rows, wherever they are
