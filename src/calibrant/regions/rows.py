"""Rows as a search sees them: with codes and events, at hand, or elsewhere in batches."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.cuts.coders import Codes
from calibrant.cuts.columns import Cut, DistinctValues, code_rows
from calibrant.engine.arrays import Array, Floats, Ints, Replicates
from calibrant.predictions import Predictions
from calibrant.resampling.draws.labels import Labels, Redraw
from calibrant.rows import Batch
from calibrant.rows.passes import smallest_hashes

SAMPLE = 1 << 16  # rows by which columns of scanned rows are cut


class Event(NamedTuple):
    """What may occur in a row: its probability, whether it did, and the outcome that it is."""

    name: str  # that sentences give its probability
    probs: Floats  # (n,)
    occurred: NDArray[np.bool_]  # (n,)
    outcome: int


class Flips(NamedTuple):
    """How the signs of clusters are flipped, and what rows count where they keep theirs."""

    key: np.uint64
    of_rows: Array  # (n,) keys of the rows' clusters
    doubled: Sequence[Ints]  # of each event

    def draw(self, span: tuple[int, int], some: Replicates) -> Array:
        """Return whether each row keeps its sign: the highest bit of what its cluster draws."""
        replicates = engine.draws.replicate_keys(self.key, some)
        bits = engine.draws.mix(self.of_rows[slice(*span), None] + replicates)
        return np.asarray(bits >> np.uint64(63) == 1)


@final
@dataclass(frozen=True, slots=True, eq=False)
class CodedRows:
    """Rows with their codes, the events that are looked at, and what outcomes are drawn from."""

    codes: Codes  # (n, columns)
    events: Sequence[Event]
    drawing: Any = None
    clusters: NDArray[np.int32] | None = None
    flips: Flips | None = None

    held: ClassVar[bool] = True  # whether all rows are at hand

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.codes)

    def add_up(self, work: "Work", progress: Any = None) -> list[Array]:  # noqa: ARG002
        """Return tables of all rows."""
        return work(self)

    def draw(self, span: tuple[int, int], some: Replicates) -> Array:
        """Return the outcomes that rows draw, or whether they keep their sign: (k, size)."""
        if self.flips is not None:
            return self.flips.draw(span, some)
        return engine.draws.draw_rows(self.drawing, np.arange(*span), some)


Work = Callable[[CodedRows], list[Array]]  # tables of whole numbers, which travel; it does, too


@final
@dataclass(frozen=True, slots=True)
class Aspect:
    """What a search looks at in rows, wherever they are; it travels to workers."""

    redraw: Redraw
    events: tuple[tuple[str, int], ...]  # names and outcomes
    made: Mapping[str, str]  # columns that predictions make: what of them, and the column's name
    cuts: tuple[Cut, ...] = ()

    def events_in(self, seen: Predictions) -> list[Event]:
        """Return the events of rows."""
        return [
            Event(name, seen.probs[:, j].astype(np.float64), seen.labels == j, j)
            for name, j in self.events
        ]

    def predicted(self, batch: Batch) -> dict[str, Array]:
        """Return the columns that predictions make: numbers, and names of classes."""
        of: dict[str, Callable[[], Array]] = {
            "event": lambda: batch.seen.probs[:, self.events[0][1]].astype(np.float64),
            "confidence": lambda: np.asarray(batch.given.top.probs, float),
            "class": lambda: np.array(batch.given.classes)[batch.given.top.classes],
        }
        return {name: of[what]() for what, name in self.made.items()}

    def rows(self, batch: Batch) -> CodedRows:
        """Return the rows of a batch with the columns that were kept beside them."""
        n = batch.given.n
        values = {
            name: DistinctValues(np.array(column.texts, object), column.codes, np.empty(0))
            for name, column in batch.columns.items()
        }
        for name, column in self.predicted(batch).items():
            values[name] = DistinctValues(column, np.arange(n), np.empty(0))
        drawing = Labels(batch, self.redraw).drawing
        return CodedRows(code_rows(self.cuts, values, n), self.events_in(batch.seen), drawing)


@final
@dataclass(frozen=True, slots=True)
class ScannedRows:
    """Scanned rows, as a search sees them."""

    scan: Any
    aspect: Aspect

    held: ClassVar[bool] = False
    clusters: ClassVar[None] = None

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.scan.n)

    @property
    def events(self) -> tuple[tuple[str, int], ...]:
        """The events that are looked at: names and outcomes."""
        return self.aspect.events

    def add_up(self, work: Work, progress: Any = None) -> list[Array]:
        """Return tables of all rows, added up in one pass."""
        part = self.scan.part(RegionTables(self.aspect, work), self.aspect.redraw.lens)
        found: list[Array] = self.scan.fold([part], progress)[0]
        return found


@final
@dataclass(frozen=True, slots=True)
class RegionTables:
    """Tables of whole numbers that are added up over rows elsewhere."""

    aspect: Aspect
    work: Work

    def zero(self) -> list[Array]:
        """Return the tables of no rows."""
        return []

    def add(self, state: list[Array], batch: Batch) -> list[Array]:
        """Add the tables of a batch."""
        return self.merge(state, self.work(self.aspect.rows(batch)))

    def merge(self, a: list[Array], b: list[Array]) -> list[Array]:
        """Return the tables of the rows of both."""
        return [one + other for one, other in zip(a, b, strict=True)] if a and b else a or b


class Seen(NamedTuple):
    """Some rows, by which columns are cut and looked through: all, or a sample."""

    columns: dict[str, Array]  # that were kept, as texts, or given
    made: dict[str, Array]  # of predictions
    labels: list[Array]  # outcomes of the data, and of the lens where that has others
    confidence: Floats
    classes: Ints  # that are predicted

    def take(self, rows: Array) -> "Seen":
        """Return some of the rows."""
        return Seen(
            {name: column[rows] for name, column in self.columns.items()},
            {name: column[rows] for name, column in self.made.items()},
            [labels[rows] for labels in self.labels],
            self.confidence[rows],
            self.classes[rows],
        )

    def join(self, other: "Seen") -> "Seen":
        """Return the rows of both."""
        both = np.concatenate
        return Seen(
            {name: both((mine, other.columns[name])) for name, mine in self.columns.items()},
            {name: both((mine, other.made[name])) for name, mine in self.made.items()},
            [both(pair) for pair in zip(self.labels, other.labels, strict=True)],
            both((self.confidence, other.confidence)),
            both((self.classes, other.classes)),
        )


def seen_of(batch: Batch, columns: Mapping[str, Any], aspect: Aspect) -> Seen:
    """Return all rows of a batch, with columns beside them."""
    given, events = batch.given, aspect.events_in(batch.seen)
    several = given.m > 2
    beside = [events[0].occurred.astype(np.int32)] * (several and len(events) == 1)
    confidence = given.top.probs if several else given.probs[:, 1]
    classes = given.top.classes if several else np.zeros(given.n)
    return Seen(
        dict(columns),
        aspect.predicted(batch),
        [given.labels, *beside],
        np.asarray(confidence, float),
        np.asarray(classes, np.int64),
    )


@final
@dataclass(frozen=True, slots=True)
class Sampled:
    """Rows whose numbers have the smallest hashes: they do not depend on how rows are cut."""

    aspect: Aspect

    def zero(self) -> tuple[Ints, Seen] | None:
        """Return no rows."""
        return None

    def add(self, state: tuple[Ints, Seen] | None, batch: Batch) -> tuple[Ints, Seen] | None:
        """Look at the rows of a batch."""
        numbers = batch.numbers
        if numbers is None:
            numbers = np.arange(batch.first, batch.first + batch.given.n)
        texts = {
            name: np.array(column.texts, object)[column.codes]
            for name, column in batch.columns.items()
        }
        return self.merge(state, self._fewest(numbers, seen_of(batch, texts, self.aspect)))

    def merge(
        self, a: tuple[Ints, Seen] | None, b: tuple[Ints, Seen] | None
    ) -> tuple[Ints, Seen] | None:
        """Return the sample of the rows of both."""
        if a is None or b is None:
            return a or b
        return self._fewest(np.concatenate((a[0], b[0])), a[1].join(b[1]))

    def _fewest(self, numbers: Ints, seen: Seen) -> tuple[Ints, Seen]:
        """Return the rows of the sample in the order of their numbers."""
        rows = smallest_hashes(numbers, SAMPLE)
        rows = rows[np.argsort(numbers[rows], kind="stable")]
        return numbers[rows], seen.take(rows)
