"""A problem, the lens it is seen through, and what its replicates are drawn from.

Labels are drawn for the problem as it was given; the lens then sees what it makes of them. So one
key gives every statistic, through every lens, the same labels.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.calibration import Cells
from calibrant.calibration.law_sums import LawSums
from calibrant.engine.tuples import Rows, Source
from calibrant.inference.counts import CountDistributions
from calibrant.lenses import Lens, Outcomes
from calibrant.predictions import Predictions
from calibrant.resampling import Resampler
from calibrant.statistics import Shared

Array = NDArray[Any]
Floats = NDArray[np.float64]


@final
@dataclass(frozen=True, eq=False)
class Problem:
    """Data, the lens they are seen through, and what replicates are drawn from.

    Parameters
    ----------
    data : Predictions
        The problem as it was given.
    lens : Lens
        What aspect of it is looked at.
    resampler : Resampler
        The source of data sets.
    key : uint64
        Of the draws.
    shared : Shared
        The problem as the lens shows it.
    first : int, default 0
        The number of row 0, if these are some rows of many.
    numbers : array of shape (n,), optional
        The numbers of all rows, if they are not consecutive.
    """

    data: Predictions
    lens: Lens
    resampler: Resampler
    key: np.uint64
    shared: Shared
    first: int = 0
    numbers: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, data: Predictions, lens: Lens, resampler: Resampler, key: np.uint64) -> "Problem":
        """Look through the lens."""
        return cls(data, lens, resampler, key, Shared(lens(data)))

    @property
    def rows(self) -> Rows:
        """The rows as the lens shows them and the engine takes them, with their numbers."""
        return self.seen.rows._replace(first=self.first, numbers=self.numbers)

    @property
    def seen(self) -> Predictions:
        """The data as the lens shows them."""
        return self.shared.data

    @cached_property
    def probs(self) -> Array | None:
        """What labels are drawn from (n, m); None if they stay."""
        return self.resampler.checked_distributions(self.data)

    @property
    def calibrated(self) -> bool:
        """Whether labels are drawn from the predictions: the hypothesis is that of calibration."""
        return self.resampler.identity or self.probs is self.data.probs

    @property
    def there(self) -> bool:
        """Whether labels can be drawn on the device that the rows are on."""
        drawn = getattr(self.resampler, "draws", "labels")
        plain = self.resampler.identity and drawn == "labels" and not self.rows_change
        return plain and self.seen.there is not None

    @cached_property
    def outcomes(self) -> Outcomes:
        """What the lens makes of every class."""
        return self.lens.outcomes(self.data)

    @cached_property
    def source(self) -> Source:
        """What the engine draws outcomes from."""
        table = self.outcomes.table if self.lens.rowwise else None
        assert self.probs is not None
        key = self.resampler.label_key(self.key)
        return Source(self.probs, table, key, self.first, self.numbers)

    @cached_property
    def cuts(self) -> NDArray[np.int64] | None:
        """For two outcomes, when a row draws the event: (n, 2); None if a table must tell."""
        if not self.drawn_by_cuts:
            return None
        found: NDArray[np.int64] = engine.cuts.event_cuts(self.source.probs, self._events)
        return found

    @property
    def drawn_by_cuts(self) -> bool:
        """Whether the event is one class of each row."""
        return self.lens.rowwise and self.outcomes.table is None

    @property
    def _events(self) -> Array:
        """The class of the predictions that is the event of each row (n,), or of all (1,)."""
        event = self.outcomes.event
        return np.array([self.seen.event]) if event is None else event

    @property
    def seen_probs(self) -> Array:
        """What outcomes are drawn from (n, outcomes)."""
        if self.calibrated:
            return self.seen.probs
        name = type(self.resampler).__name__
        if self.probs is None:
            raise ValueError(
                "`resampler` must say with `distributions` what labels are drawn from, as Exact"
                f" does; {name} does not. Use it in calibration_test()."
            )
        if not self.lens.rowwise:
            raise ValueError(
                f"`resampler` must draw labels from the predictions through the lens {self.lens},"
                f" which takes a row apart; {name} has another hypothesis."
            )
        return self.outcomes.distributions(self.probs, self.seen.m)

    @property
    def draws_counts(self) -> bool:
        """Whether counts of cells are drawn, and not labels of rows."""
        return getattr(self.resampler, "draws", "labels") == "counts"

    @property
    def rows_change(self) -> bool:
        """Whether rows are drawn again, or may be, not only labels."""
        return self.resampler.draws_data_sets or self.resampler.draws_rows

    @property
    def row_by_row(self) -> bool:
        """Whether a row of a replicate is a row of the data, as the lens shows it."""
        return self.lens.rowwise and not self.resampler.draws_data_sets

    @property
    def draws_own_labels(self) -> bool:
        """Whether labels are drawn from the predictions, row by row, and rows stay."""
        stays = not (self.rows_change or self.resampler.flips_signs)
        return stays and self.lens.rowwise and self.probs is self.data.probs

    @property
    def exact_counts(self) -> bool:
        """Whether the distribution of a cell's count is known: two outcomes and no weights."""
        plain = not (self.seen.weighted or self.rows_change or self.resampler.flips_signs)
        return plain and self.seen.m == 2 and self.lens.rowwise

    @property
    def event_probs(self) -> Floats:
        """The probability that a row draws the event (n,)."""
        if not self.drawn_by_cuts:
            assert self.seen.event is not None
            return self.seen_probs[:, self.seen.event].astype(float)
        found: Floats = engine.cuts.event_probs(self.source.probs, self._events)
        return found

    def event_distributions(self, cells: Cells) -> CountDistributions:
        """Return the exact distribution of the number of events in each cell."""
        sums = LawSums.of(self.event_probs, cells.of_rows, cells.n_cells)
        return CountDistributions.of(sums)


def check_hypothesis(problem: Any) -> None:
    """Refuse a resampler that does not draw labels under a hypothesis."""
    if not (problem.calibrated or problem.resampler.draws_data_sets) and problem.probs is None:
        name = type(problem.resampler).__name__
        raise ValueError(
            f"`resampler` must draw labels under the hypothesis, as Exact does; {name} keeps those"
            " that were observed. Use it in estimate()."
        )
