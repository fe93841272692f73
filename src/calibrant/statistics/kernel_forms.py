"""Ways to compute a kernel statistic, and its moments under redrawn labels.

Each form knows the predictions, and turns outcomes into sum_ij w_i w_j k(p_i, p_j) r_i'r_j, with
r = e_y - p; of the unbiased statistic less sum_i w_i k(p_i, p_i) |r_i|², as if a row of weight w
were w rows and none paired with itself.
"""

from dataclasses import dataclass
from math import fsum
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.predictions import Predictions
from calibrant.statistics.statistic import Floats, Outcomes, spans, unit_for

Whole = NDArray[np.int64]

BATCH = 1 << 23  # outcomes of a batch, or sums of one
SPAN = 512  # rows that are drawn and added up together: whole blocks of the engine's


@final
@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """The rows that count: those of positive weight."""

    rows: Whole  # (k,) their numbers
    points: Any  # engine.pairs.Points: their predictions in float64, and weights
    event: int | None  # the outcome of two that the problem is about

    @classmethod
    def of(cls, data: Predictions) -> Self:
        """Take the rows of positive weight; of two outcomes the event tells the other."""
        rows = np.flatnonzero(data.weights > 0)
        chosen = data.probs if rows.size == data.n else data.probs[rows]
        probs = np.ascontiguousarray(chosen, np.float64)
        if data.event is not None:
            events = probs[:, data.event]
            both = (events, 1.0 - events) if data.event == 0 else (1.0 - events, events)
            probs = np.stack(both, axis=1)
        return cls(rows, engine.pairs.Points(probs, data.weights[rows].copy()), data.event)

    @property
    def mass(self) -> float:
        """The weight of all rows."""
        return float(self.points.weights.sum())


@final
@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Pairs of rows and a kernel; a row of weight w is w rows that share one label."""

    sample: Sample
    kernel: Any  # engine.pairs.Kernel
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
        weights = self.sample.points.weights
        return np.asarray(weights * (weights - 1) if self.unbiased else weights**2)

    def decays(self, values: Floats) -> Floats:
        """Return what each scale leaves of a sum from a sorted value to the next: (scales, k)."""
        gaps = np.append(np.diff(values), 0.0)
        if self.kernel.distance == engine.pairs.EUCLIDEAN:
            gaps = gaps * np.sqrt(2.0)
        return np.asarray(np.exp(-gaps / self.kernel.scales[:, None]))

    def null_mean(self) -> float:
        """Return the mean under redrawn labels."""
        variances = 1.0 - (self.sample.points.probs**2).sum(axis=1)  # tr C
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
        p = self.sample.points.probs
        lengths = 4 * ((p**3).sum(axis=1) - (p**2).sum(axis=1) ** 2)  # variance of |e_y - p|²
        own = self.kernel.scales.size * self.own
        return float(np.sqrt(4 * between + (own**2 * lengths).sum()) / self.count)

    def _line_spread(self) -> float:
        """Return what `engine.pairs.spread` does, for two outcomes and exponential kernels."""
        probs, weights = self.sample.points
        values, group = np.unique(probs[:, self.sample.event], return_inverse=True)
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

    rows: Whole  # (k,) numbers of the rows, sorted by the prediction of the event
    line: Any  # engine.line.Line: the sorted rows
    event: int  # the outcome that the predictions are of
    unbiased: bool  # whether no row is paired with itself

    @classmethod
    def of(cls, pairs: Pairs) -> Self:
        """Sort the rows."""
        sample = pairs.sample
        event = sample.event or 0
        p = sample.points.probs[:, event]
        order = np.argsort(p, kind="stable")
        p, weights = p[order], sample.points.weights[order]
        ends = np.append(np.flatnonzero(np.diff(p)) + 1, p.size)
        mass = np.add.reduceat(weights, np.append(0, ends[:-1]))
        values = p[ends - 1]
        line = engine.line.Line(weights, ends, values, mass, pairs.decays(values))
        return cls(sample.rows[order], line, event, pairs.unbiased)

    most = 512  # the largest number of replicates of a batch

    def sums(self, outcomes: Outcomes) -> Floats:
        """Return the sum over the pairs in each replicate: (size,)."""
        walk = engine.arrays.blank(
            engine.line.Walk, scales=len(self.line.decays), size=outcomes.size
        )
        for span in spans(self.rows.size, outcomes.size):
            drawn = outcomes.of(self.rows[span[0] : span[1]])
            engine.line.walk_rows(self.line, span, drawn, (self.event, self.unbiased), walk)
        return np.asarray(2 * (walk.high + walk.low))


@final
@dataclass(frozen=True, slots=True, eq=False)
class FullForm:
    """All pairs, a table of some rows and columns at a time.

    With g_i = sum_j k_ij p_j the sum is that of k_ij over pairs of one outcome, less twice the
    entries of g_i for the outcomes of the rows, plus a number.
    """

    sample: Sample
    kernel: Any  # engine.pairs.Kernel
    table: Whole  # (k, m) the g_i, in units
    number: int  # what does not depend on outcomes, in units
    unit: float

    @classmethod
    def of(cls, pairs: Pairs) -> Self:
        """Add up the predictions."""
        sample, kernel = pairs.sample, pairs.kernel
        probs, weights = sample.points
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
            drawn = outcomes.of(self.sample.rows[block])
            engine.pairs.sort_outcomes(drawn, first, matching)
            engine.pairs.add_entries(self.table[block], drawn, entries)
        alike = engine.pairs.matches(self.sample.points, self.kernel, self.unit, matching)
        off = alike.plus(entries, -1)
        return np.asarray(off.plus(off).shifted(self.number).value * self.unit)


@final
@dataclass(frozen=True, slots=True, eq=False)
class LowRankForm:
    """All pairs, as seen from a few landmarks."""

    pairs: Pairs
    landmarks: Any  # engine.landmarks.Landmarks
    expected: Any  # engine.landmarks.Expected: the predictions of all rows, seen from there

    @classmethod
    def of(cls, pairs: Pairs, rank: int, seed: int) -> Self:
        """Choose the landmarks."""
        points = pairs.sample.points
        rows = engine.landmarks.choose(points.probs, rank, seed)
        landmarks = engine.landmarks.place(points.probs[rows], pairs.kernel)
        expected = engine.landmarks.expected(points, landmarks, pairs.kernel)
        return cls(pairs, landmarks, expected)

    @property
    def most(self) -> int:
        return max(1, BATCH // int(self.expected.sums.size))

    def sums(self, outcomes: Outcomes) -> Floats:
        sample, kernel = self.pairs.sample, self.pairs.kernel
        m, rank = self.expected.sums.shape
        unit = unit_for(4 * kernel.scales.size * sample.mass)
        sums = np.zeros((outcomes.size, m, rank), np.int64)
        own = engine.arrays.blank(engine.pairs.Words, size=outcomes.size)
        for first in range(0, sample.rows.size, SPAN):
            part = self._part(first)
            drawn = outcomes.of(sample.rows[first : first + part.weights.size])
            matching = engine.pairs.Matching.empty(outcomes.size, part.weights.size, m)
            engine.pairs.sort_outcomes(drawn, 0, matching)
            engine.landmarks.add_rows(part, self.landmarks, (kernel, unit), matching, sums)
            if self.pairs.unbiased:
                engine.pairs.add_entries(self._lengths(first, unit), drawn, own)
        expected, factor = self.expected.sums, self.landmarks.factor
        found = engine.landmarks.squared_lengths(sums, unit, expected, factor)
        return np.asarray(found - own.value * unit)

    def _part(self, first: int) -> Any:
        """Return the predictions and weights of a block of rows."""
        block = slice(first, first + SPAN)
        return engine.pairs.Points(*(part[block] for part in self.pairs.sample.points))

    def _lengths(self, first: int, unit: float) -> Whole:
        """Return w_i k(p_i, p_i) |e_y - p_i|² of a block of rows for each outcome: (rows, m)."""
        probs, weights = self._part(first)
        own = weights * self.expected.own[first : first + weights.size]
        squares = (probs**2).sum(axis=1)[:, None] + (1.0 - 2.0 * probs)
        return np.asarray((squares * (own / unit)[:, None]).astype(np.int64))


Form = LineForm | FullForm | LowRankForm
