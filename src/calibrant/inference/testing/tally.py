"""A test of rows that come in batches and are not kept: for loops that see each row once."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn, final

import numpy as np
from numpy.typing import ArrayLike

from calibrant.calibration import Block, observed
from calibrant.calibration.tables import CellState, TableReduction
from calibrant.checks.parameters import Rng, as_seed
from calibrant.engine.arrays import Floats, Ints, Replicates
from calibrant.inference.replicates.problem import Plan, Problem, check_resamples
from calibrant.inference.testing.resampled import CalibrationTest
from calibrant.lenses import Canonical, Lens
from calibrant.partitions.partition import Fitted
from calibrant.predictions import Predictions
from calibrant.resampling import Exact, Resampler
from calibrant.resampling.draws.labels import CountReduction, Redraw
from calibrant.resampling.resamplers import as_resampler
from calibrant.rows import Batch
from calibrant.rows.rows import refuse_rows
from calibrant.statistics.spelled import as_statistic
from calibrant.statistics.statistic import AnyStatistic


class Added(NamedTuple):
    """Rows that were added and are gone: what a problem must know of them."""

    n: int
    m: int
    classes: tuple[str, ...]
    weighted: bool = False
    unit: float = 1.0
    held: bool = False
    clusters: None = None

    def at_hand(self, asker: str) -> NoReturn:
        """Refuse: rows are not kept."""
        refuse_rows(asker)

    def numbered(self) -> None:
        """Accept: rows are numbered as they come, or as `update` is told."""


@dataclass(slots=True, eq=False)
class _Part:
    """Cells that were seen, their sums, and what was drawn in them."""

    cells: CellState
    drawn: Floats | None  # (cells, size), or (cells, m, size)

    def plus(self, other: "_Part") -> "_Part":
        """Return the cells, sums and draws of the rows of both."""
        fitted, mine, theirs = self.cells.fitted.join(other.cells.fitted)
        drawn = None
        if self.drawn is not None and other.drawn is not None:
            drawn = np.zeros((fitted.n_cells, *self.drawn.shape[1:]))
            drawn[mine] = self.drawn
            drawn[theirs] += other.drawn
        return _Part(self.cells.merge(other.cells), drawn)


@final
class Tally:
    """Test predictions that come in batches, once all of them are there.

    For loops that see each row once, or parts that lie in different places: no rows are kept. The
    result is that of `calibration_test` on all rows, to the last bit. Tallies of parts can be
    merged, in any order.

    Test once. A test at 5 % that is repeated as rows come in rejects some 30 % of calibrated models
    within 20 looks, and more than 40 % within 100 (``examples/repeated_looks.py``). If you want to
    look at any time, use a `Monitor`.

    Parameters
    ----------
    statistic : Statistic
        On bins that do not depend on the rows, such as
        ``ExpectedMiscalibration(EqualWidth(15))``.
    lens : Lens, default Canonical()
        What aspect of the predictions is tested.
    resampler : Resampler, default Exact()
        ``Exact(draws="counts")`` needs little memory for any number of resamples.
    n_resamples : int, default 999
        Number of data sets drawn under the hypothesis.
    rng : int, Generator or None
        The same seed gives the same draws. Tallies that are merged need the same one.

    Examples
    --------
    >>> from calibrant import partitions, statistics
    >>> eta = statistics.ExpectedMiscalibration(partitions.EqualWidth(10))
    >>> tally = Tally(eta, rng=0)
    >>> for labels in ([1] * 30, [0] * 20):
    ...     tally.update([0.9] * len(labels), labels)
    >>> tally.n, tally.result().pvalue
    (50, 0.001)
    """

    __slots__ = ("_numbered", "_parts", "_plan", "_problem", "lens", "n", "statistic")

    def __init__(
        self,
        statistic: AnyStatistic,
        *,
        lens: Lens = Canonical(),
        resampler: Resampler | str = Exact(),
        n_resamples: int = 999,
        rng: Rng = None,
    ) -> None:
        self.statistic = as_statistic(statistic)
        self.lens = lens
        self.n = 0
        self._plan = Plan(as_resampler(resampler), check_resamples(n_resamples), as_seed(rng))
        self._problem: Problem | None = None
        self._parts: list[_Part] = []
        self._numbered: bool | None = None

    def update(self, probs: Any, labels: Any, rows: ArrayLike | None = None) -> None:
        """Add a batch.

        Parameters
        ----------
        probs : array_like of shape (n, m) or (n,)
            As in `Predictions`, which may also be given in place of both.
        labels : array_like of shape (n,)
            Outcomes.
        rows : array_like of int of shape (n,), optional
            The numbers of the rows in the whole data set, by which labels are drawn. Default: in
            the order in which they come.
        """
        data = probs if isinstance(probs, Predictions) else Predictions(probs, labels)
        batch = Batch(data, data, self.n, self._numbers(rows, data.n)).through(self.lens)
        problem = self._problem_of(data)
        partitions = tuple(cells.partition for cells in problem.view.asked)
        work = TableReduction(partitions, 1.0, problem.view.event_probs)
        states: list[Any] = work.add(work.zero(), batch)
        self._add([_Part(state, self._draw(problem, batch, state)) for state in states], data.n)

    def merge(self, other: "Tally") -> None:
        """Add the rows of another tally of the same statistic, lens and draws."""
        if not isinstance(other, Tally) or self._settings != other._settings:
            raise ValueError("`other` must be a Tally of the same statistic, lens, draws and seed.")
        if not self._draws_counts and False in (self._numbered, other._numbered):
            raise ValueError(
                "`rows` must have been given to `update` of tallies that are merged: labels are"
                " drawn by the number of a row, and both counted from 0."
            )
        if other._problem is not None:
            self._problem = self._problem or other._problem
            self._add(other._parts, other.n)

    def result(self) -> CalibrationTest:
        """Return the test of all rows that were added."""
        if self._problem is None:
            raise ValueError("`update` must have been called before there is a result.")
        known = self._problem.rows
        problem = self._look(Added(self.n, known.m, known.classes))
        evaluate = self.statistic.prepare(problem.view)
        some = Replicates(0, self._plan.n_resamples)
        tables = {}
        for cells, part in zip(problem.view.asked, self._parts, strict=True):
            cells.state = part.cells
            tables[cells] = part.drawn
        block = Block(problem.away.over(tables, some), some)
        value = float(observed(None).numbers(evaluate)[0])
        settings = self._plan.settings(statistic=self.statistic, lens=self.lens)
        return CalibrationTest(value, block.numbers(evaluate), problem.calibrated, settings)

    @property
    def states(self) -> tuple[CellState, ...]:
        """The bins that were seen and the sums of their rows, of each partition."""
        return tuple(part.cells for part in self._parts)

    def holding(self, states: Sequence[CellState], n: int) -> CalibrationTest:
        """Return the test of n other rows, of which these are the sums; counts must be drawn."""
        other = copy(self)
        other._parts, other.n = [_Part(state, None) for state in states], n
        return other.result()

    def _look(self, rows: Any) -> Problem:
        """Look at rows that were added."""
        return Problem(rows, Redraw(self.lens, self._plan.resampler, self._plan.key))

    @property
    def _settings(self) -> tuple[Any, ...]:
        """What tallies that are merged have in common."""
        return self.statistic, self.lens, self._plan.settings()

    @property
    def _draws_counts(self) -> bool:
        return self._problem is not None and not self._problem.away.entries

    def _numbers(self, rows: ArrayLike | None, n: int) -> Ints | None:
        """Return the numbers of rows, given always or never."""
        if self._numbered is not None and self._numbered != (rows is not None):
            raise ValueError("`rows` must be given to every `update`, or to none.")
        self._numbered = rows is not None
        if rows is None:
            return None
        numbers = np.ascontiguousarray(rows)
        if numbers.shape != (n,) or numbers.dtype.kind not in "iu":
            raise ValueError(f"`rows` must be a whole number for each of the {n:,} rows.")
        return numbers.astype(np.int64)

    def _problem_of(self, data: Predictions) -> Problem:
        """Return what is known of the problem from the first batch on."""
        if data.weighted or data.clusters is not None:
            raise ValueError(
                "`probs` must have no weights and no clusters: a Tally cannot know all of them."
            )
        if self._problem is None:
            problem = self._look(Added(0, data.m, data.classes))
            problem.check_hypothesis()
            self.statistic.prepare(problem.view)
            for cells in problem.view.asked:
                if not cells.partition.fixed:
                    raise ValueError(
                        "`partition` must not depend on the rows of a Tally;"
                        f" {cells.partition} does."
                    )
            self._problem = problem
        elif data.classes != self._problem.rows.classes:
            raise ValueError(
                f"`probs` must have the same classes in every batch; found {data.classes}."
            )
        return self._problem

    def _draw(self, problem: Problem, batch: Batch, state: CellState) -> Floats | None:
        """Draw the outcomes of a batch in its cells."""
        if self._draws_counts:
            return None
        cells = ((Fitted(state.fitted, ""), state.fitted),)
        some = Replicates(0, self._plan.n_resamples)
        work = CountReduction(problem.redraw, cells, problem.view.m, some)
        return work.add(work.zero(), batch)[0]

    def _add(self, found: list[_Part], n: int) -> None:
        pairs = zip(self._parts, found, strict=True)
        self._parts = [mine.plus(theirs) for mine, theirs in pairs] if self._parts else list(found)
        self.n += n

    def __repr__(self) -> str:
        return f"<tally of {self.n:,} rows: {self.statistic}, {self.lens}>"
