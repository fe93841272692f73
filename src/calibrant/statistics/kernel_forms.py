"""Ways to compute a kernel statistic of many replicates.

Each knows the predictions, and turns outcomes into sum_ij w_i w_j k(p_i, p_j) r_i'r_j, with
r = e_y - p; of the unbiased statistic less sum_i w_i k(p_i, p_i) |r_i|², as if a row of weight w
were w rows and none paired with itself.
"""

from dataclasses import dataclass
from math import fsum
from typing import Any, Protocol, Self, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.statistics.kernel_sample import Sample, decays
from calibrant.statistics.outcomes import Outcomes, spans, unit_for

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

ROOM = 1 << 23  # outcomes of a batch, or sums of one
SPAN = 512  # rows that are drawn and added up together: whole blocks of the engine's


class Form(Protocol):
    """A way to compute the sums."""

    @property
    def most(self) -> int:
        """The largest number of replicates of a batch."""
        ...

    def sums(self, outcomes: Outcomes) -> Floats:
        """Return the sum over the pairs in each replicate: (size,)."""
        ...


@final
@dataclass(frozen=True, slots=True, eq=False)
class LineForm:
    """Two outcomes and exponential kernels: one sweep over sorted predictions.

    Parameters
    ----------
    rows : array of int of shape (k,)
        Numbers of the rows, sorted by the prediction of the event.
    line : engine.line.Line
        The sorted rows.
    event : int
        The outcome that the predictions are of.
    unbiased : bool
        Whether no row is paired with itself.
    """

    rows: Whole
    line: Any
    event: int
    unbiased: bool

    @classmethod
    def of(cls, sample: Sample, kernel: Any, *, unbiased: bool) -> Self:
        """Sort the rows."""
        event = sample.event or 0
        p = sample.points.probs[:, event]
        order = np.argsort(p, kind="stable")
        p, weights = p[order], sample.points.weights[order]
        ends = np.append(np.flatnonzero(np.diff(p)) + 1, p.size)
        mass = np.add.reduceat(weights, np.append(0, ends[:-1]))
        values = p[ends - 1]
        line = engine.line.Line(weights, ends, values, mass, decays(values, kernel))
        return cls(sample.rows[order], line, event, unbiased)

    @property
    def most(self) -> int:
        """The largest number of replicates of a batch."""
        return 512

    def sums(self, outcomes: Outcomes) -> Floats:
        """Return the sum over the pairs in each replicate: (size,)."""
        walk = engine.line.Walk.zeros(self.line.decays.shape[0], outcomes.size)
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

    Parameters
    ----------
    sample : Sample
        The rows.
    kernel : engine.kernels.Kernel
        The kernel.
    table : array of int of shape (k, m)
        The g_i, in units.
    number : int
        What does not depend on outcomes, in units.
    unit : float
        The unit.
    """

    sample: Sample
    kernel: Any
    table: Whole
    number: int
    unit: float

    @classmethod
    def of(cls, sample: Sample, kernel: Any, *, unbiased: bool) -> Self:
        """Add up the predictions."""
        probs, weights = sample.points
        alone = kernel.scales.size * weights  # of a row and itself
        g = engine.pairs.weighted_means(sample.points, kernel) * weights[:, None]
        if unbiased:
            g -= alone[:, None] * probs
        own = kernel.scales.size * sample.own(unbiased=unbiased)
        pair = kernel.scales.size * float(weights.max()) ** 2
        unit = unit_for(max(pair * engine.matching.BLOCK**2, float(g.max()), 1.0))
        number = round(fsum(own) / unit) + round(fsum((probs * g).sum(axis=1)) / unit)
        return cls(sample, kernel, np.rint(g / unit).astype(np.int64), number, unit)

    @property
    def most(self) -> int:
        """The largest number of replicates of a batch."""
        n, m = self.table.shape
        blocks = -(-n // engine.matching.BLOCK)
        return int(max(1, ROOM // (n + blocks * (m + 1))))

    def sums(self, outcomes: Outcomes) -> Floats:
        """Return the sum over the pairs in each replicate: (size,)."""
        matching = engine.matching.Matching.empty(outcomes.size, *self.table.shape)
        entries = engine.matching.Words.zeros(outcomes.size)
        for first in range(0, self.table.shape[0], engine.matching.BLOCK):
            block = slice(first, first + engine.matching.BLOCK)
            drawn = outcomes.of(self.sample.rows[block])
            engine.matching.sort_outcomes(drawn, first, matching)
            engine.matching.add_entries(self.table[block], drawn, entries)
        alike = engine.pairs.matches(self.sample.points, self.kernel, self.unit, matching)
        off = alike.plus(entries, -1)
        return np.asarray(off.plus(off).shifted(self.number).value * self.unit)


@final
@dataclass(frozen=True, slots=True, eq=False)
class LowRankForm:
    """All pairs, as seen from a few landmarks.

    Parameters
    ----------
    sample : Sample
        The rows.
    kernel : engine.kernels.Kernel
        The kernel.
    landmarks : engine.landmarks.Landmarks
        The landmarks.
    expected : engine.landmarks.Expected
        The predictions of all rows, as seen from there.
    unbiased : bool
        Whether no row is paired with itself.
    """

    sample: Sample
    kernel: Any
    landmarks: Any
    expected: Any
    unbiased: bool

    @classmethod
    def of(cls, sample: Sample, kernel: Any, rank: int, seed: int, *, unbiased: bool) -> Self:
        """Choose the landmarks."""
        rows = engine.landmarks.choose(sample.points.probs, rank, seed)
        landmarks = engine.landmarks.place(sample.points.probs[rows], kernel)
        expected = engine.landmarks.expected(sample.points, landmarks, kernel)
        return cls(sample, kernel, landmarks, expected, unbiased)

    @property
    def most(self) -> int:
        """The largest number of replicates of a batch."""
        return max(1, ROOM // int(self.expected.sums.size))

    def sums(self, outcomes: Outcomes) -> Floats:
        """Return the sum over the pairs in each replicate: (size,)."""
        m, rank = self.expected.sums.shape
        unit = unit_for(4 * self.kernel.scales.size * self.sample.mass)
        sums = np.zeros((outcomes.size, m, rank), np.int64)
        own = engine.matching.Words.zeros(outcomes.size)
        for first in range(0, self.sample.rows.size, SPAN):
            part = self._part(first)
            drawn = outcomes.of(self.sample.rows[first : first + part.weights.size])
            matching = engine.matching.Matching.empty(outcomes.size, part.weights.size, m)
            engine.matching.sort_outcomes(drawn, 0, matching)
            engine.landmarks.add_rows(part, self.landmarks, (self.kernel, unit), matching, sums)
            if self.unbiased:
                engine.matching.add_entries(self._lengths(first, unit), drawn, own)
        found = engine.landmarks.squared_lengths(
            sums, unit, self.expected.sums, self.landmarks.factor
        )
        return np.asarray(found - own.value * unit)

    def _part(self, first: int) -> Any:
        """Return the predictions and weights of a block of rows."""
        block = slice(first, first + SPAN)
        return engine.pairs.Points(*(part[block] for part in self.sample.points))

    def _lengths(self, first: int, unit: float) -> Whole:
        """Return w_i k(p_i, p_i) |e_y - p_i|² of a block of rows for each outcome: (rows, m)."""
        probs, weights = self._part(first)
        own = weights * self.expected.own[first : first + weights.size]
        squares = (probs**2).sum(axis=1)[:, None] + (1.0 - 2.0 * probs)
        return np.asarray((squares * (own / unit)[:, None]).astype(np.int64))
