"""Directions of rows that are elsewhere: learned from a sample, and looked at by all rows.

Two passes. The first takes a sample of rows, by their numbers, and the sums that weights are scaled
with. Directions are learned from it, as in memory. The second adds up what all rows say of them,
each of directions that rows of its fold have not seen. Any direction gives a valid limit, so a
sample does. Sums are exact: they have the same bits in whatever order rows come.
"""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.engine.poisson_binomial import add_values
from calibrant.rows import Batch
from calibrant.sizes.cross_fit import (
    FOLDS,
    Learned,
    along,
    changes_of,
    moments,
    most_learned,
    present,
)
from calibrant.sizes.directions import Direction
from calibrant.sizes.grades import Grades, add_grades, thresholds
from calibrant.sizes.samples import NOTHING, Sample, SizeTotals, dot

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Marks = NDArray[np.uint64]

LARGEST = 8.0  # that gains, lengths and variances of a row stay below
POWERS = (1, 1, 1, 2, 2, 2, 2, 2, 2, 2)  # of the weight, in `Along.columns`


class DrawnSample(NamedTuple):
    """The rows with the smallest marks, sorted by these, and sums over all rows."""

    marks: Marks  # (k,)
    sample: Sample
    n: int  # rows of positive weight
    limbs: Ints  # (3, 2) of w and w², in the unit of the weights


@final
@dataclass(frozen=True, slots=True)
class SampleDrawing:
    """A sample of rows, by their numbers: no more than so many."""

    key: np.uint64
    most: int
    unit: float  # of the weights

    def zero(self) -> DrawnSample | None:
        """Return the sample of no rows."""
        return None

    def add(self, state: DrawnSample | None, batch: Batch) -> DrawnSample | None:
        """Add the rows of a batch."""
        kept = np.flatnonzero(batch.seen.weights > 0)
        if not kept.size:
            return state
        weights, marks = batch.seen.weights[kept] / self.unit, marks_of(batch, self.key)[kept]
        none = np.zeros(kept.size, np.int32)
        limbs = np.concatenate([add_values(weights**power, none, 1) for power in (1, 2)], axis=1)
        some = np.arange(kept.size)
        if state is not None and state.marks.size == self.most:
            some = np.flatnonzero(marks < state.marks[-1])
        if some.size > self.most:
            some = some[np.argpartition(marks[some], self.most)[: self.most]]
        some.sort()  # as rows that are present are taken
        sample, order = present(batch.seen, kept[some]), np.argsort(marks[some])
        columns = (each[order] for each in sample)
        found = DrawnSample(marks[some[order]], Sample(*columns), kept.size, limbs)
        return self.merge(state, found)

    def merge(self, a: DrawnSample | None, b: DrawnSample | None) -> DrawnSample | None:
        """Return the sample of the rows of both."""
        if a is None or b is None:
            return b if a is None else a
        marks = np.concatenate((a.marks, b.marks))
        first = np.argsort(marks)[: self.most]
        columns = (np.concatenate(both)[first] for both in zip(a.sample, b.sample, strict=True))
        return DrawnSample(marks[first], Sample(*columns), a.n + b.n, a.limbs + b.limbs)


def marks_of(batch: Batch, key: np.uint64) -> Marks:
    """Return whole numbers that look drawn by chance (n,), different for different rows."""
    numbers = batch.numbers
    if numbers is None:
        numbers = np.arange(batch.first, batch.first + batch.given.n)
    return np.asarray(engine.draws.mix(numbers.astype(np.uint64) ^ key), np.uint64)


class ScannedSums(NamedTuple):
    """What all rows say."""

    limbs: Ints  # (3, columns) of sums over rows
    grades: Ints | None  # (3, columns, groups), of two outcomes


@final
@dataclass(frozen=True, slots=True)
class Along:
    """Sums over all rows of what they say of directions that their fold has not seen."""

    key: np.uint64
    unit: float  # of the weights
    marks: Marks  # of the sample, sorted
    directions: tuple[tuple[Direction, ...], ...]  # of each fold
    shares: tuple[Floats, ...]
    swapped: bool
    cuts: Floats | None  # of groups, of two outcomes

    def zero(self) -> ScannedSums | None:
        """Return the sums of no rows."""
        return None

    def add(self, state: ScannedSums | None, batch: Batch) -> ScannedSums | None:
        """Add the rows of a batch."""
        kept = np.flatnonzero(batch.seen.weights > 0)
        if not kept.size:
            return state
        sample = present(batch.seen, kept)
        sample = sample.complement() if self.swapped else sample
        weights = sample.weights / self.unit
        folds, said = self.folds(marks_of(batch, self.key)[kept]), np.empty((5, kept.size))
        for fold, (directions, shares) in enumerate(zip(self.directions, self.shares, strict=True)):
            rows = np.flatnonzero(folds == fold)
            for some, block, h in along(sample, rows, directions, shares):
                said[0, some], said[1, some], said[2:, some] = moments(block, h)
        none, said = np.zeros(kept.size, np.int32), said / LARGEST
        limbs = [add_values(each, none, 1) for each in columns(weights, said)]
        grades = None if self.cuts is None else add_grades(sample, weights, self.cuts)
        return self.merge(state, ScannedSums(np.concatenate(limbs, axis=1), grades))

    def folds(self, marks: Marks) -> NDArray[np.int8]:
        """Return the fold of each row; those of the sample have turns, by their marks."""
        found = (marks % np.uint64(FOLDS)).astype(np.int8)
        inside = np.flatnonzero(marks <= self.marks[-1])
        found[inside] = np.searchsorted(self.marks, marks[inside]) % FOLDS
        return found

    def merge(self, a: ScannedSums | None, b: ScannedSums | None) -> ScannedSums | None:
        """Return the sums over the rows of both."""
        if a is None or b is None:
            return b if a is None else a
        grades = None if a.grades is None or b.grades is None else a.grades + b.grades
        return ScannedSums(a.limbs + b.limbs, grades)


def columns(weights: Floats, said: Floats) -> tuple[Floats, ...]:
    """Return w, w g, w l, w², w² g, w² g², w² l, w² l², and w² times two parts of the variance.

    said : gains g, lengths l and coefficients of the variance (5, n), of which the last is -l²
    """
    g, lengths, constant, slope, _ = said
    w = weights**2
    of_gains, of_lengths = w * g, w * lengths
    first = weights, weights * g, weights * lengths, w, of_gains, of_gains * g
    return *first, of_lengths, of_lengths * lengths, w * constant, w * slope


@final
@dataclass(frozen=True, slots=True)
class Directions:
    """What directions show of rows that are elsewhere."""

    m: int
    count: int
    totals: SizeTotals
    groups: Grades | None = None  # of two outcomes
    swapped: bool = False

    clusters = None  # rows are taken as independent

    @property
    def sample(self) -> Grades:
        """The rows of two outcomes, in groups; the rarer one is the event."""
        assert self.groups is not None
        return self.groups

    @property
    def of_event(self) -> Grades | None:
        """The same with the event that rows have; None of more outcomes."""
        return self.sample.complement() if self.swapped else self.groups


def fitting(m: int, key: np.uint64, unit: float, share: int) -> Generator[Any, Any, Directions]:
    """Yield what to add up over all rows, twice, and return what directions show.

    share : by how much a sample is smaller than in memory, for many groups of rows
    """
    drawn: DrawnSample | None = yield SampleDrawing(key, max(1, most_learned(m) // share), unit)
    if drawn is None or drawn.n < FOLDS:
        return Directions(m, 0, SizeTotals(0.0, 0.0, 0.0, np.zeros(3)))
    first, second = engine.sums.value(drawn.limbs)
    scale = float(first / second) / unit
    sample = drawn.sample._replace(weights=drawn.sample.weights * scale)
    swapped = sample.likely
    sample = sample.complement() if swapped else sample
    folds = np.arange(drawn.marks.size) % FOLDS
    learned = Learned([sample.take(np.flatnonzero(folds == fold)) for fold in range(FOLDS)])
    shares = learned.shares()
    cuts = thresholds(sample) if m == 2 else None
    directions = tuple(map(tuple, learned.without))
    work = Along(key, unit, drawn.marks, directions, tuple(shares), swapped, cuts)
    pieces: ScannedSums = yield work
    groups = None if pieces.grades is None else Grades.of(pieces.grades, unit, scale)
    totals = _totals(learned, shares, pieces.limbs, unit * scale)
    return Directions(m, drawn.n, totals, groups, swapped)


def _totals(learned: Learned, shares: list[Floats], limbs: Ints, scale: float) -> SizeTotals:
    """Return what the lower limit follows from, of sums over all rows."""
    sums = engine.sums.value(limbs) * scale ** np.array(POWERS)
    scaled = LARGEST ** np.array((0, 1, 1, 0, 1, 2, 1, 2, 1, 1))
    mass, gains, lengths, squares, g, gg, of_length, ll, constant, slope = (sums * scaled).tolist()
    gain, length = gains / mass, lengths / mass
    spread = np.array([constant, slope, -ll])
    if length < NOTHING:
        return SizeTotals(mass, gain, length, spread)
    without, _ = learned.as_left_out(shares)
    weights = np.concatenate([part.weights for part in learned.parts])
    scatter = max(gg - 2 * gain * g + gain * gain * squares, 1e-300)
    noise = min(1.0, dot(weights**2, changes_of(without)) / scatter)
    uneven = max(0.0, squares - 2 * of_length / length + ll / length**2)
    return SizeTotals(mass, gain, length, spread, noise, uneven)
