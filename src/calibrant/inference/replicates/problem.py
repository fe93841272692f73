"""What is tested, and with which replicates: a problem, and the plan of its draws."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.arguments import as_rows
from calibrant.calibration import Cells, Draws, View
from calibrant.checks.parameters import Rng, as_seed, function, make_key, whole
from calibrant.engine.arrays import Floats, Ints
from calibrant.lenses import Lens
from calibrant.predictions import Predictions
from calibrant.resampling import Resampler
from calibrant.resampling.draws.counts import CountDistributions
from calibrant.resampling.draws.labels import Labels, Redraw
from calibrant.resampling.resamplers import as_resampler
from calibrant.rows import Batch, Rows
from calibrant.words import CLUSTERS

Progress = Callable[[int, int], None]
Settings = Mapping[str, Any]

MOST = 10**9  # resamples
TENTH = 0, 10  # of the progress, of what comes before replicates
REST = 1, 10, 9

T = TypeVar("T")


@final
@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """Which replicates to make, and how progress is shown."""

    resampler: Resampler
    n_resamples: int
    seed: int
    progress: Progress | None = None  # called with (done, total)

    @property
    def key(self) -> np.uint64:
        """The key of the draws."""
        return make_key(self.seed)

    @classmethod
    def of(
        cls,
        data: Any,
        resampler: Resampler | str,
        n_resamples: Any,
        rng: Rng,
        progress: Progress | None,
        *,
        least: int = 1,
    ) -> Self:
        """Check what most functions take, and respect the clusters of the data."""
        if progress is not None:
            function("progress", progress, "done", "total")
        chosen = as_resampler(resampler)
        count = check_resamples(n_resamples, least=least)
        return cls(chosen.respecting(data), count, as_seed(rng), progress)

    def look(self, data: Any, lens: Lens, *, distributions: bool = False) -> "Problem":
        """Look at Predictions, or at a Scan, through a lens, and draw as planned."""
        redraw = Redraw(lens, self.resampler, self.key)
        return Problem(as_rows(data), redraw, distributions=distributions)

    def part(self, number: int, parts: int, width: int = 1) -> Self:
        """Return the same plan for one of several parts, which shows its part of the progress."""
        progress = part(self.progress, number, parts, width)
        return self if parts == 1 else replace(self, progress=progress)

    def settings(self, **chosen: Any) -> dict[str, Any]:
        """Return what a result was made with, as plain values, from which it can be made again."""
        drawn = {"resampler": self.resampler, "n_resamples": self.n_resamples, "seed": self.seed}
        return {name: _plain(value) for name, value in (chosen | drawn).items()}


def part(progress: Progress | None, number: int, parts: int, width: int = 1) -> Progress | None:
    """Report the progress of one of several parts as progress of the whole, in thousandths.

    width : how many parts it is, from this number on
    """
    if progress is None:
        return None
    return lambda done, total: progress(1000 * number + 1000 * width * done // total, 1000 * parts)


def watched(items: Iterable[T], total: int, progress: Progress | None) -> Iterator[T]:
    """Yield items, and tell that each is done when the next one is asked for."""
    for done, item in enumerate(items, 1):
        yield item
        if progress is not None:
            progress(done, total)


def check_resamples(value: Any, *, least: int = 1) -> int:
    """Return a number of data sets to draw."""
    return whole("n_resamples", value, least=least, most=MOST)


def fields(result: Any, *names: str) -> dict[str, Any]:
    """Return attributes of a result as plain values, by their names."""
    return {name: _plain(getattr(result, name)) for name in names}


def _plain(value: Any) -> Any:
    """Return numbers and texts as they are, arrays as lists, results as dictionaries, or a text."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return dict(value)
    return value.to_dict() if hasattr(value, "to_dict") else str(value)


@final
class Problem:
    """Rows, the lens they are seen through, and what replicates are drawn from.

    view : the rows as the lens shows them, if somebody has looked already
    distributions : whether distributions of counts are going to be asked for, where they are known
    """

    def __init__(
        self, rows: Rows, redraw: Redraw, view: View | None = None, *, distributions: bool = False
    ) -> None:
        self.rows, self.redraw = rows, redraw
        self.lens: Lens = redraw.lens  # what rows are seen through
        self.resampler: Resampler = redraw.resampler  # the source of data sets
        self.view = View(rows, redraw.lens) if view is None else view
        self._moments: dict[Cells, tuple[Floats, Floats]] = {}
        if not rows.held:
            _ = self.away  # it would refuse, before anything is read
            if self.exact_counts and (distributions or not self.away.entries):
                self.view.event_probs = redraw.event_probs

    def under(self, resampler: Resampler, key: np.uint64) -> "Problem":
        """Return the same rows and cells under another hypothesis."""
        return Problem(self.rows, Redraw(self.lens, resampler, key), self.view)

    @property
    def seen(self) -> Predictions:
        """All rows as the lens shows them; refused of rows that are elsewhere."""
        return self.view.data

    @cached_property
    def draws(self) -> Draws:
        """Replicates of rows that are at hand."""
        return self.resampler.redraw(self.view.batch, self.redraw)

    @cached_property
    def away(self) -> Any:
        """How replicates of rows that are elsewhere are drawn."""
        return self.resampler.away(self.view, self.redraw)

    @cached_property
    def hypothesis(self) -> Labels:
        """What labels are drawn from: of rows elsewhere, known of a sample."""
        if self.rows.held:
            found: Labels = self.draws.hypothesis
            return found
        return Labels(self.view.sample, self.redraw)

    @property
    def calibrated(self) -> bool:
        """Whether labels are drawn from the predictions: the hypothesis is that of calibration."""
        return self.hypothesis.own

    @property
    def redraws_labels(self) -> bool:
        """Whether labels of rows that stay are drawn, row by row."""
        drawn = self.draws if self.rows.held else self.away
        return self.lens.rowwise and not (drawn.rows_change or self.resampler.flips_signs)

    @property
    def exact_counts(self) -> bool:
        """Whether the distribution of a cell's count is known: two outcomes and no weights."""
        return self.redraws_labels and self.view.m == 2 and not self.view.weighted

    @property
    def n_clusters(self) -> int | None:
        """How many clusters rows come in; None if they are independent."""
        clusters = self.view.clusters
        if clusters is None:
            return None
        return int(np.unique(clusters[self.seen.weights > 0]).size)

    @cached_property
    def clusters_worth(self) -> float | None:
        """How many clusters of alike rows there are; None if rows are taken as independent."""
        return self.draws.worth if self.resampler.flips_signs else None  # type: ignore[attr-defined]

    @property
    def tells(self) -> bool:
        """Whether a test can tell: rows are independent, or come in clusters enough."""
        return self.clusters_worth is None or self.clusters_worth >= CLUSTERS

    def check_hypothesis(self) -> None:
        """Refuse a resampler that does not draw labels under a hypothesis."""
        drawn = self.calibrated or self.resampler.draws_data_sets
        if not drawn and self.hypothesis.probs is None:
            raise ValueError(
                "`resampler` must draw labels under the hypothesis, as Exact does;"
                f" {type(self.resampler).__name__} keeps those that were observed. Use it in"
                " estimate()."
            )

    def event_distributions(self, cells: Cells) -> CountDistributions:
        """Return the exact distribution of the number of events in each cell."""
        return CountDistributions.of(cells.event_sums(lambda: self.hypothesis.event_probs))

    def moments(self, cells: Any) -> tuple[Floats, Floats]:
        """Return mean and standard deviation (cells, m) of the deviations under the hypothesis."""
        if cells not in self._moments:
            if self.resampler.flips_signs:
                self._moments[cells] = self.draws.moments(cells)  # type: ignore[attr-defined]
            elif self.rows.held:
                located = cells.of_rows, cells.n_cells
                self.take_sums(cells, moment_sums(self.hypothesis, located, self.view.unit))
            else:
                find_moments([(self, cells)])
        return self._moments[cells]

    def take_sums(self, cells: Any, limbs: Ints) -> None:
        """Remember the moments of cells that follow from sums of w p and of w² p (1 - p)."""
        divisor = np.where(cells.mass > 0, cells.mass, 1.0)[:, None]
        mean, variance = engine.sums.value(limbs)
        centre = np.zeros_like(mean)
        if not self.calibrated:
            centre = mean * self.view.unit / divisor - cells.means().predicted
        self._moments[cells] = centre, np.sqrt(variance) * self.view.unit / divisor


def find_moments(asked: Sequence[tuple[Problem, Any]]) -> None:
    """Find moments of cells of problems of the same rows, which are elsewhere, in one pass."""
    parts = []
    for problem, cells in asked:
        work = MomentReduction(problem.redraw, cells.cut, cells.fitted, cells.m, problem.view.unit)
        parts.append(problem.rows.part(work, problem.lens))
    states = asked[0][0].rows.fold(parts) if asked else []
    for (problem, cells), limbs in zip(asked, states, strict=True):
        problem.take_sums(cells, limbs)


def moment_sums(labels: Labels, cells: tuple[NDArray[np.int32], int], unit: float) -> Ints:
    """Return limbs of the sums of w p and of w² p (1 - p) in every cell: (3, 2, cells, m)."""
    of_rows, n_cells = cells
    seen, probs = labels.seen, labels.seen_probs
    out = np.empty((3, 2, n_cells, seen.m), np.int64)
    weights = seen.weights / unit
    for j in range(seen.m):
        p = probs[:, j].astype(np.float64)
        terms = weights * p, weights**2 * (p * (1.0 - p))
        for kind, values in enumerate(terms):
            out[:, kind, :, j] = engine.poisson_binomial.add_values(values, of_rows, n_cells)
    return out


@final
@dataclass(frozen=True, slots=True)
class MomentReduction:
    """Sums over rows that are elsewhere, from which moments follow."""

    redraw: Redraw
    partition: Any
    fitted: Any  # all cells
    m: int  # outcomes
    unit: float  # of the weights

    def zero(self) -> Ints:
        """Return the sums of no rows: (3, 2, cells, m)."""
        return np.zeros((3, 2, self.fitted.n_cells, self.m), np.int64)

    def add(self, state: Ints, batch: Batch) -> Ints:
        """Add up the rows of a batch."""
        mine, of_rows = self.partition.locate(batch.seen)
        _, _, at = self.fitted.join(mine)
        labels = Labels(batch, self.redraw)
        state[:, :, at] += moment_sums(labels, (of_rows, mine.n_cells), self.unit)
        return state

    def merge(self, a: Ints, b: Ints) -> Ints:
        """Return the sums of the rows of both."""
        return a + b
