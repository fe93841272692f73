"""Ways to compute a kernel statistic, and its moments under redrawn labels.

Each form knows the predictions, and turns outcomes into sum_ij w_i w_j k(p_i, p_j) r_i'r_j, with
r = e_y - p; of the unbiased statistic less sum_i w_i k(p_i, p_i) |r_i|², as if a row of weight w
were w rows and none paired with itself.
"""

from dataclasses import dataclass, field
from functools import cached_property
from math import fsum
from typing import Any, NamedTuple, Self, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.calibration import View
from calibrant.engine import threads
from calibrant.statistics.statistic import (
    Array,
    Floats,
    Outcomes,
    RowSums,
    Sums,
    Ties,
    spans,
    unit_for,
)

Whole = NDArray[np.int64]

BATCH = 1 << 23  # outcomes of a batch, or sums of one
SPAN = 1 << 12  # rows that are drawn and added up together, of many rows or classes
PARTS = 64  # into which fewer rows are cut, so that threads share them
KEPT = 1 << 26  # bytes of features that are kept, whatever the size of the data


@final
@dataclass(frozen=True, eq=False)
class PositiveRows:
    """The rows that count: those of positive weight."""

    n: int  # of all rows
    rows: Whole | None  # (k,) the numbers of those that count; None if all do
    view: View  # of these

    @classmethod
    def of(cls, view: View) -> Self:
        """Take the rows of positive weight."""
        data, held = view.data, view.data.weights > 0
        if held.all():
            return cls(data.n, None, view)
        rows = np.flatnonzero(held)
        return cls(data.n, rows, View.of(data.take(rows)))

    @property
    def size(self) -> int:
        """The number of rows that count."""
        return self.view.data.n

    @property
    def event(self) -> int | None:
        """The outcome of two that the problem is about."""
        return self.view.event

    @property
    def weights(self) -> Floats:
        """Their weights (k,)."""
        return np.asarray(self.view.data.weights)

    @cached_property
    def mass(self) -> float:
        """The weight of all rows."""
        return float(self.weights.sum())

    @cached_property
    def points(self) -> Any:
        """Their predictions and weights; of two outcomes the event tells the other."""
        probs = np.ascontiguousarray(self.view.data.probs)
        if self.event is not None:
            events = probs[:, self.event].astype(np.float64)
            both = (events, 1.0 - events) if self.event == 0 else (1.0 - events, events)
            probs = np.stack(both, axis=1)
        return engine.pairs.Points(probs, self.weights)

    @property
    def ties(self) -> Ties:
        """The different predictions of the event of two outcomes, and the rows of each."""
        return Ties.of(self, self.view)

    @property
    def probs(self) -> Floats:
        """Their predictions in float64."""
        return np.asarray(self.points.probs, np.float64)

    def numbers(self, rows: Whole) -> Whole:
        """Return the numbers of some of them among all rows."""
        return rows if self.rows is None else np.asarray(self.rows[rows])


@final
@dataclass(frozen=True, slots=True, eq=False)
class WeightedPairs:
    """Pairs of rows and a kernel; a row of weight w is w rows that share one label."""

    sample: PositiveRows
    kernel: Any  # engine.pairs.KernelSum
    unbiased: bool  # whether no row is paired with itself

    @property
    def on_a_line(self) -> bool:
        """Whether one sweep over sorted predictions does: two outcomes and exponential kernels."""
        exponential = self.kernel.kind == engine.pairs.EXPONENTIAL
        return self.sample.event is not None and bool(exponential)

    @property
    def count(self) -> float:
        """The number of pairs; 0 if there are none."""
        mass = self.sample.mass
        if not self.unbiased:
            return mass**2
        return mass * (mass - 1) if mass >= 2 else 0.0

    @property
    def own(self) -> Floats:
        """How often each row is paired with its own prediction and label (k,)."""
        weights = self.sample.weights
        return np.asarray(weights * (weights - 1) if self.unbiased else weights**2)

    def decays(self, values: Floats) -> Floats:
        """Return what each scale leaves of a sum from a sorted value to the next: (scales, k)."""
        gaps = np.append(np.diff(values), 0.0)
        if self.kernel.distance == engine.pairs.EUCLIDEAN:
            gaps = gaps * np.sqrt(2.0)
        return np.asarray(np.exp(-gaps / self.kernel.scales[:, None]))

    def null_mean(self) -> float:
        """Return the mean under redrawn labels."""
        variances = 1.0 - (self.sample.probs**2).sum(axis=1)  # tr C
        summed = self.kernel.scales.size * (self.own * variances).sum()
        return float(summed / self.count) if self.count else 0.0

    def null_spread(self) -> float:
        """Return the standard deviation under redrawn labels."""
        if self.count == 0:
            return 0.0
        if self.on_a_line:
            between = self._line_spread()
        else:
            between = engine.pairs.spread(self.sample.points, self.kernel)
        p = self.sample.probs
        lengths = 4 * ((p**3).sum(axis=1) - (p**2).sum(axis=1) ** 2)  # variance of |e_y - p|²
        own = self.kernel.scales.size * self.own
        return float(np.sqrt(4 * between + (own**2 * lengths).sum()) / self.count)

    def _line_spread(self) -> float:
        """Return what `engine.pairs.spread` does, for two outcomes and exponential kernels."""
        values, group = self.sample.ties.values, self.sample.ties.cells.of_rows
        weights = self.sample.weights
        variances = values * (1.0 - values)
        sums = np.bincount(group, weights**2) * variances
        squares = np.bincount(group, weights**4) * variances**2
        alike = self.kernel.scales.size**2 * (sums**2 - squares).sum() / 2
        steps = self.decays(values)
        apart = sum(engine.line.pair_sum(sums, one * two) for one in steps for two in steps)
        return float(4 * (apart + alike))


@final
@dataclass(frozen=True, slots=True, eq=False)
class LineForm:
    """Two outcomes and exponential kernels: one sweep over sorted predictions."""

    pairs: WeightedPairs

    most = 512  # the largest number of replicates of a batch

    def sums(self, outcomes: Outcomes) -> Floats:
        """Return the sum over the pairs in each replicate: (size,)."""
        sample, kernel = self.pairs.sample, self.pairs.kernel
        walk = engine.arrays.blank(engine.line.Walk, scales=kernel.scales.size, size=outcomes.size)
        how = sample.ties.event, self.pairs.unbiased
        order = sample.ties.cells.order
        for first, last in spans(sample.size, outcomes.size):
            rows = order.rows[first:last]
            drawn = outcomes.of(sample.numbers(rows))
            engine.line.walk_rows(self._part(first, last, sample.weights[rows]), drawn, how, walk)
        return np.asarray(2 * (walk.high + walk.low))

    def _part(self, first: int, last: int, weights: Floats) -> Any:
        """Return some of the sorted rows, and the groups that they are in."""
        ties = self.pairs.sample.ties
        ends = ties.cells.order.starts[1:]
        groups = slice(
            int(np.searchsorted(ends, first, side="right")),
            int(np.searchsorted(ends, last, side="left")) + 1,
        )
        values = ties.values[groups.start : groups.stop + 1]  # and the one after these
        here = groups.stop - groups.start
        decays = np.ascontiguousarray(self.pairs.decays(values)[:, :here])
        mass = ties.mass[groups]
        return engine.line.Line(weights, ends[groups] - first, values[:here], mass, decays)


@final
@dataclass(frozen=True, slots=True, eq=False)
class FullForm:
    """All pairs, a table of some rows and columns at a time.

    With g_i = sum_j k_ij p_j the sum is that of k_ij over pairs of one outcome, less twice the
    entries of g_i for the outcomes of the rows, plus a number.
    """

    sample: PositiveRows
    kernel: Any  # engine.pairs.KernelSum
    table: Whole  # (k, m) the g_i, in units
    number: int  # what does not depend on outcomes, in units
    unit: float

    @classmethod
    def of(cls, pairs: WeightedPairs) -> Self:
        """Add up the predictions."""
        sample, kernel = pairs.sample, pairs.kernel
        probs, weights = sample.probs, sample.weights
        alone = kernel.scales.size * weights  # of a row and itself
        g = engine.pairs.weighted_means(sample.points, kernel) * weights[:, None]
        if pairs.unbiased:
            g -= alone[:, None] * probs
        pair = kernel.scales.size * float(weights.max()) ** 2
        unit = unit_for(max(pair * engine.pairs.BLOCK**2, float(g.max()), 1.0))
        own = kernel.scales.size * pairs.own
        number = round(fsum(own) / unit) + round(fsum((probs * g).sum(axis=1)) / unit)
        return cls(sample, kernel, np.rint(g / unit).astype(np.int64), number, unit)

    @property
    def most(self) -> int:
        n, m = self.table.shape
        blocks = -(-n // engine.pairs.BLOCK)
        return int(max(1, BATCH // (n + blocks * (m + 1))))

    def sums(self, outcomes: Outcomes) -> Floats:
        matching = engine.pairs.Matching.empty(outcomes.size, *self.table.shape)
        entries = engine.arrays.blank(engine.pairs.Words, size=outcomes.size)
        for first in range(0, self.table.shape[0], engine.pairs.BLOCK):
            block = slice(first, first + engine.pairs.BLOCK)
            rows = np.arange(self.sample.size)[block]
            drawn = outcomes.of(self.sample.numbers(rows))
            engine.pairs.sort_outcomes(drawn, first, matching)
            engine.pairs.add_entries(self.table[block], drawn, entries)
        alike = engine.pairs.matches(self.sample.points, self.kernel, self.unit, matching)
        off = alike.plus(entries, -1)
        return np.asarray(off.plus(off).shifted(self.number).value * self.unit)


class Averages(NamedTuple):
    """What rows bring on average, or whatever their labels."""

    expected: Floats  # (m, rank) sums of p_ik f_i, in units
    alone: float  # sum of w_i k_ii (1 + |p_i|²): pairs of a row and itself


@final
@dataclass(frozen=True, eq=False)
class LowRankForm(RowSums):
    """All pairs, as seen from a few landmarks: a row is a few features, whole numbers of a unit.

    With S_k the sum of the features of rows of outcome k, and E_k what it is on average, the sum
    over the pairs is that of |S_k - E_k|².
    """

    pairs: WeightedPairs
    landmarks: Any  # engine.landmarks.Landmarks
    unit: float  # of features
    features: Any  # engine.landmarks.Features of all rows; None if they would take too much memory
    parts: dict[tuple[int, int], "Averages"] = field(default_factory=dict)  # of rows that were seen

    @classmethod
    def of(cls, pairs: WeightedPairs, rank: int, seed: int) -> Self:
        """Choose the landmarks, and look at all rows from there."""
        points = pairs.sample.points
        rows = engine.landmarks.choose(points.probs, rank, seed)
        landmarks = engine.landmarks.place(points.probs[rows], pairs.kernel)
        unit = engine.landmarks.unit_for(points.weights, pairs.kernel)
        features = None
        if 4 * len(points.probs) * landmarks.columns.shape[1] <= max(KEPT, points.probs.nbytes / 2):
            features = engine.landmarks.see(points, landmarks, pairs.kernel, unit)
        return cls(pairs, landmarks, unit, features)

    @cached_property
    def averages(self) -> "Averages":
        """What rows bring whatever their labels.

        Features that are not kept are worked out once: whoever adds up the outcomes of whole spans
        keeps what features are on average, and what nobody has kept is worked out here.
        """
        known = self.parts

        def work(first: int, last: int) -> Averages:
            found = known.get((first, last))
            return (
                self._averages(first, last, self._features(first, last)) if found is None else found
            )

        parts = threads.run(work, threads.blocks(self.pairs.sample.size, SPAN))
        expected = np.sum([part.expected for part in parts], axis=0)
        return Averages(expected, fsum(part.alone for part in parts))

    def _averages(self, first: int, last: int, features: Any) -> "Averages":
        """Return what some rows add to averages."""
        probs, weights = self._points(first, last)
        squares = np.einsum("ij,ij->i", probs, probs, dtype=np.float64)
        expected = engine.landmarks.expected(probs, features.units)
        return Averages(expected, fsum(weights * features.own * (1.0 + squares)))

    @property
    def n(self) -> int:  # type: ignore[override]
        return self.pairs.sample.n

    @property
    def shape(self) -> tuple[int, int]:
        """Outcomes, and features."""
        m, rank = self.landmarks.columns.shape
        return m, rank

    @property
    def step(self) -> int:  # type: ignore[override]
        few = self.features is not None and self.shape[0] <= engine.landmarks.FEW
        return min(SPAN, max(engine.landmarks.NEAR, self.n // PARTS)) if few else SPAN

    @property
    def most(self) -> int:  # type: ignore[override]
        m, rank = self.shape
        return max(1, BATCH // (m * rank))

    @cached_property
    def scale(self) -> float:
        """How many units of its own sum 1 is."""
        return 1.0 / unit_for(max(1.0, self.pairs.kernel.scales.size * self.pairs.sample.mass))

    def start(self, size: int) -> Sums:
        """Return sums of features (size, m, rank), and of what rows bring by themselves (size,)."""
        return np.zeros((size, *self.shape), np.int64), np.zeros(size, np.int64)

    def add(self, sums: Sums, first: int, last: int, outcomes: Array) -> None:
        """Add the features of rows to those of their outcomes."""
        rows, start, stop = self.pairs.sample.rows, first, last
        if rows is not None:
            start, stop = np.searchsorted(rows, (first, last)).tolist()
            outcomes = outcomes[rows[start:stop] - first]
        features, span = self._features(start, stop), (start, stop)
        whole = start % SPAN == 0 and stop == min(start + SPAN, self.pairs.sample.size)
        if whole and self.features is None and span not in self.parts:
            self.parts[span] = self._averages(start, stop, features)
        engine.landmarks.add_features(features.units, outcomes, sums[0])
        if self.pairs.unbiased:
            points = self._points(start, stop)
            engine.landmarks.add_own(points, features.own, outcomes, self.scale, sums[1])

    def finish(self, sums: Sums) -> Floats:
        """Return the sum over the pairs in each replicate: (size,)."""
        (features, own), (expected, alone) = sums, self.averages
        found = engine.landmarks.squared_lengths(features, expected) * self.unit**2
        return np.asarray(found - (alone - 2.0 * (own / self.scale)) * self.pairs.unbiased)

    def _points(self, first: int, last: int) -> Any:
        """Return the predictions and weights of some rows."""
        return engine.pairs.Points(*(part[first:last] for part in self.pairs.sample.points))

    def _features(self, first: int, last: int) -> Any:
        """Return the features of some rows: kept ones, or made again."""
        if self.features is not None:
            return engine.landmarks.Features(*(part[first:last] for part in self.features))
        points = self._points(first, last)
        return engine.landmarks.see(points, self.landmarks, self.pairs.kernel, self.unit)


Form = LineForm | FullForm | LowRankForm
