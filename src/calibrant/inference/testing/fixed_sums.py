"""A tally as arrays of fixed shape that add up, whatever the number of rows: for metrics.

The null distribution of a bin's number of events follows from sums of powers of its predictions
where their variance is large. Where it is small, the predictions themselves are needed
(`EventSums`). Here they are counted at 256 levels of each bin, with their exact sum: rows of one
level count as if all had their mean. That leaves the mean number of events exact and adds to its
variance at most n / (4 · (256 · bins)²): for 15 bins less than 2e-8 for each row, of a variance of
2^-10 or more. A level that holds one row loses nothing.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from calibrant.calibration.cells import ENOUGH, CellSums, EventSums
from calibrant.calibration.tables import CellState
from calibrant.engine.arrays import Floats, Ints
from calibrant.engine.poisson_binomial import COLUMNS, PowerSums, add_values
from calibrant.engine.sums import Sums, value

LEVELS = 256  # of each bin


class FixedSums(NamedTuple):
    """Sums over the rows of every bin of equal width, of two outcomes; all are whole numbers."""

    rows: Ints  # (bins, 2) how many there are, and how many that are nearly certain
    powers: Ints  # (3, bins, COLUMNS) limbs of sums of powers of the event's probability
    observed: Ints  # (bins, 2) how often each outcome occurred
    limbs: Ints  # (3, bins, 1) of the sums of predictions
    levels: Ints  # (4, bins, LEVELS) rows at each level, and limbs of the sum of their predictions

    @classmethod
    def zero(cls, n_bins: int) -> "FixedSums":
        """Return the sums of no rows."""
        shapes = ((n_bins, 2), (3, n_bins, COLUMNS), (n_bins, 2), (3, n_bins, 1))
        return cls(*(np.zeros(shape, np.int64) for shape in (*shapes, (4, n_bins, LEVELS))))

    @classmethod
    def of(cls, state: CellState, n_bins: int) -> "FixedSums":
        """Return the sums of the rows of a tally."""
        out = cls.zero(n_bins)
        events = state.events
        assert events is not None
        bins = state.fitted.keys[:, 0].astype(np.int64)
        out.rows[bins], out.powers[:, bins] = events.powers
        out.observed[bins] = state.sums.sums.observed.astype(np.int64)
        out.limbs[:, bins] = state.sums.sums.limbs
        mine, size = bins[events.cells], n_bins * LEVELS
        inside = np.floor((events.p * n_bins - mine) * LEVELS).clip(0, LEVELS - 1)
        place = (mine * LEVELS + inside).astype(np.int32)
        out.levels[0] = np.bincount(place, minlength=size).reshape(n_bins, LEVELS)
        out.levels[1:] = add_values(events.p, place, size).reshape(3, n_bins, LEVELS)
        return out

    def state(self, like: CellState) -> CellState:
        """Return the bins that hold rows, and their sums; `like` is of other rows alike."""
        held = np.flatnonzero(self.rows[:, 0])
        fitted = replace(like.fitted, keys=held.astype(np.uint64)[:, None])
        mass = self.rows[held, 0].astype(float)
        sums = Sums(mass, self.observed[held].astype(float), self.limbs[:, held])
        powers = PowerSums(self.rows[held], self.powers[:, held])
        small = value(powers.limbs[:, :, 1]) < ENOUGH  # of variance: their rows are needed
        counts = np.where(small[:, None], self.levels[0, held], 0)
        cells, level = np.nonzero(counts)
        times = counts[cells, level]
        means: Floats = value(self.levels[1:, held][:, cells, level]) / times
        rows = np.repeat(cells, times).astype(np.int32)
        events = EventSums(powers, rows, np.repeat(means, times))
        return CellState(fitted, CellSums(sums, like.sums.unit, like.sums.event), events)
