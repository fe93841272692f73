"""What tests say about one aspect of calibration: whether, in which direction, how far."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, Literal, final

import numpy as np

from calibrant import words
from calibrant.inference.replicates.problem import Problem, fields, find_moments
from calibrant.inference.testing.binwise import standardise
from calibrant.inference.testing.families import default_tree, holm
from calibrant.lenses import Canonical, Lens
from calibrant.partitions import EqualWidth, Partition
from calibrant.predictions import Predictions
from calibrant.statistics import SquaredMiscalibration
from calibrant.statistics.squared import covering_interval, pieces_of
from calibrant.words import ALPHA, CLUSTERS, NEEDED

Direction = Literal["high", "low", "both"]

LEVEL = 0.95  # of intervals
SMALLEST = 0.0005  # size that is told: below it, no more was seen than chance gives
ENOUGH = 0.5  # share of the rows that must be in cells of two or more for a size to be told
CELLS, WHOLE = EqualWidth(10), EqualWidth(1)  # in which directions are looked for
BALANCED = (
    "the weights depend on the labels: they are the same within each class and differ between"
    " classes, which makes a calibrated model look miscalibrated"
)


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Verdict:
    """What is known about one aspect of calibration.

    Parameters
    ----------
    lens : Lens
        The aspect.
    subject : str
        Its name in a sentence, a plural.
    pvalue : float
        The smallest p-value of its tests, adjusted for all tests that were made.
    n_tests : int
        How many these were.
    n_resamples : int
        Number of data sets drawn under the hypothesis.
    direction : {"high", "low", "both"} or None
        Of two outcomes: whether predictions are too high or too low on average, or too high in
        some bins and too low in others. None if nothing was shown.
    bias : float or None
        Of two outcomes: mean prediction minus rate.
    size : float or None
        The root mean square deviation on bins, without bias, in units of the total variation:
        the square root of half of `SquaredMiscalibration`, or 0 if that is negative. None if bins
        hold too few rows to say.
    interval : tuple of float or None
        95 % interval of it.
    balanced : bool
        Whether weights look as if they depend on what occurred: the same within each class, and
        different between classes. Then none of this is valid.
    detectable : float or None
        Where nothing was shown: by how much, as `size` measures it, a model would have to be too
        confident for these tests to show it in four of five data sets.
    scanned : bool
        Whether rows were read in batches, so that their size was not worked out.
    n_clusters : int or None
        Number of clusters of rows; None if rows are independent.
    """

    lens: Lens
    subject: str
    pvalue: float
    n_tests: int
    n_resamples: int
    direction: Direction | None
    bias: float | None
    size: float | None
    interval: tuple[float, float] | None
    balanced: bool = False
    detectable: float | None = None
    scanned: bool = False
    n_clusters: int | None = None

    @property
    def rejected(self) -> bool:
        """Whether calibration is rejected at 5 %."""
        return self.pvalue <= ALPHA

    def shown_below(self, limit: float) -> bool:
        """Whether predictions are shown to be off by less: the interval ends below the limit."""
        return self.interval is not None and self.interval[1] < limit

    def shown_above(self, limit: float) -> bool:
        """Whether predictions are shown to be off by more: the interval begins above the limit."""
        return self.interval is not None and self.interval[0] > limit

    @property
    def decided(self) -> bool:
        """Whether resamples and clusters were enough to reject anything, whatever the data."""
        return self.rejected or (self.n_resamples >= NEEDED and not self._few_clusters)

    @property
    def _few_clusters(self) -> bool:
        return self.n_clusters is not None and self.n_clusters < CLUSTERS

    @property
    def lead(self) -> str:
        """The answer, in a few words."""
        if not self.decided:
            few = words.many(self.n_resamples, "resample")
            if self._few_clusters:
                few = words.many(self.n_clusters or 0, "cluster")
            return f"Cannot tell with {few} whether {self.subject} are calibrated"
        if not self.rejected:
            return f"No evidence that {self.subject} are miscalibrated"
        subject = words.capital(self.subject)
        if self.direction == "both":
            return f"{subject} are too high in some places and too low in others"
        if self.direction is not None and self.bias is not None:
            return (
                f"{subject} are too {self.direction}, by {words.points(abs(self.bias))} on average"
            )
        return f"{subject} are miscalibrated"

    @property
    def facts(self) -> str:
        """The numbers."""
        tests = f", adjusted for {self.n_tests:,} tests" if self.n_tests > 1 else ""
        p = f"{words.pvalue(self.pvalue, self.n_resamples)}{tests}"
        needed = words.too_few(CLUSTERS, "cluster") if self._few_clusters else words.too_few()
        told = f"{p if self.decided else needed}; {self._told_size()}{self._told_power()}"
        return told + (f". Yet {BALANCED}" if self.balanced else "")

    @property
    def sentence(self) -> str:
        """All of it in one sentence."""
        return f"{self.lead}: {self.facts}."

    @property
    def amount(self) -> str:
        """How far off they are, in a few words."""
        if self.size is None:
            return "not known"
        if self.size >= SMALLEST:
            return words.points(self.size)
        return "unclear" if self.rejected else "none seen"

    def _told_size(self) -> str:
        """Say how far off they are, or may be."""
        if self.scanned:
            return "how far off they are is not worked out for scanned rows"
        if self.size is None:
            return "bins hold too few rows to say how far off they are"
        if self.interval is None:
            return f"estimated size {self.amount} (root mean square; clusters allow no interval)"
        kind = f"root mean square, {words.percent(LEVEL)} interval"
        if not self.rejected or self.size < SMALLEST:
            return f"off by at most {words.points(self.interval[1])} ({kind})"
        return f"off by {words.points(self.size)} ({kind} {words.span(*self.interval)} points)"

    def _told_power(self) -> str:
        """Say what would have been seen."""
        if self.detectable is None or self.rejected:
            return ""
        amount = f"{100 * self.detectable:.2g} points"
        return f"; over-confidence of about {amount} would show in 80 % of such data sets"

    def cells(self) -> list[str]:
        """Return the texts of a line of a table: size, interval, bias, p-value."""
        interval = "" if self.interval is None else words.span(*self.interval)
        bias = "" if self.bias is None else words.signed(100 * self.bias, 1)
        return [self.amount, interval, bias, f"{self.pvalue:.3g}"]

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        names = "lens", "rejected", "pvalue", "direction", "bias", "size", "interval", "balanced"
        return fields(self, *names, "detectable", "sentence")

    def __repr__(self) -> str:
        return f"<{self.lens}: {self.sentence[:400]}>"

    def __str__(self) -> str:
        return self.sentence


def judge(problem: Problem, p: float, n_tests: int, n_resamples: int) -> Verdict:
    """Say what tests through one lens mean: the smallest of their p-values, adjusted for all."""
    held, clusters = problem.rows.held, problem.view.clusters
    bias = _bias(problem)
    size, interval = _size(problem) if held else (None, None)
    return Verdict(
        lens=problem.lens,
        subject=subject_of(problem),
        pvalue=p,
        n_tests=n_tests,
        n_resamples=n_resamples,
        direction=_direction(problem, bias) if bias is not None and p <= ALPHA else None,
        bias=bias,
        size=size,
        interval=interval,
        balanced=held and balanced(problem.view.batch.given),
        scanned=not held,
        n_clusters=None if clusters is None else int(np.unique(clusters).size),
    )


def balanced(data: Predictions) -> bool:
    """Whether weights are the same within each class, and differ between classes."""
    if not data.weighted:
        return False
    held = data.weights > 0
    labels, weights = data.labels[held], data.weights[held]
    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
    low = np.minimum.reduceat(weights[order], starts)
    high = np.maximum.reduceat(weights[order], starts)
    enough = labels.size >= 3 * starts.size and starts.size > 1
    return bool(enough and np.allclose(low, high) and not np.allclose(low, low[0]))


def subject_of(problem: Problem) -> str:
    """Return what the problem is about, as a sentence names it."""
    seen = problem.view
    of_all = problem.lens == Canonical()
    if of_all and problem.rows.held and problem.seen.of_confidences:
        return "the confidences"
    if seen.event is not None:
        about = problem.lens.subject or f"“{seen.classes[seen.event]}”"
        return f"the probabilities of {about}"
    if of_all:
        return f"the full distributions over all {seen.m:,} classes"
    return f"the probabilities of {problem.lens}"


def _bias(problem: Problem) -> float | None:
    """Return mean prediction minus rate; None if there are more than two outcomes."""
    event = problem.view.event
    if event is None:
        return None
    if not problem.rows.held:
        _, (predicted,), (observed,) = problem.view.cells(WHOLE).means()
        return float(predicted[event] - observed[event])
    seen = problem.seen
    predicted = seen.probs[:, event].astype(np.float64)
    gaps = predicted - (seen.labels == event)
    return float(seen.weights @ gaps / seen.weights.sum())


def squared_size(problem: Problem) -> tuple[Any, float]:
    """Return the cells of a tree, and the squared miscalibration on them, without bias."""
    tree = default_tree(problem.seen)
    cells = problem.view.cells(tree)
    if problem.resampler.flips_signs:
        return cells, problem.draws.sums(cells).unbiased  # type: ignore[attr-defined]
    return cells, SquaredMiscalibration(tree)(problem.seen)


def _size(problem: Problem) -> tuple[float | None, tuple[float, float] | None]:
    """Return the root mean square deviation on cells, and its interval; None if they are sparse."""
    cells, squared = squared_size(problem)
    if problem.resampler.flips_signs:
        return _root(squared), None
    pieces = pieces_of(cells, squared)
    if pieces.share < ENOUGH:
        return None, None
    low, high = covering_interval(pieces, LEVEL)
    return _root(pieces.unbiased), (_root(low), _root(high))


def _root(squared: float) -> float:
    """Return a squared Euclidean distance in units of the total variation."""
    return sqrt(max(squared, 0.0) / 2)


def _direction(problem: Problem, bias: float) -> Direction | None:
    """Return what significant cells have in common, or what the mean of all rows shows."""
    if all(_off(problem, CELLS)):
        return "both"
    if not any(_off(problem, WHOLE)):
        return None
    return "high" if bias > 0 else "low"


def find_moments_away(problems: Sequence[Problem]) -> None:
    """Find the moments that directions of rows elsewhere need, in one pass."""
    asked = [
        (problem, problem.view.cells(partition))
        for problem in problems
        if not problem.rows.held and problem.view.event is not None and not _counted(problem)
        for partition in (CELLS, WHOLE)
    ]
    find_moments(asked)


def _counted(problem: Problem) -> bool:
    """Whether the distributions of counts say all, so that no moments are needed."""
    return problem.exact_counts and problem.calibrated


def _off(problem: Problem, partition: Partition) -> tuple[bool, bool]:
    """Return whether predictions are too high, and too low, in some cells, by Holm's procedure."""
    from scipy.special import ndtr  # noqa: PLC0415

    event = problem.view.event
    cells = problem.view.cells(partition)
    means = cells.means()
    if _counted(problem):
        centre: Any = 0.0
    else:
        centre, spread = problem.moments(cells)
    if problem.exact_counts:
        far = problem.event_distributions(cells).scores(means.observed[:, event] * cells.mass)
    else:
        far = standardise(means.observed - means.predicted, centre, spread)
    gaps = (means.observed - means.predicted - centre)[:, event]
    held = cells.mass > 0
    off = holm(2 * ndtr(-far[held])) <= ALPHA
    return bool((off & (gaps[held] < 0)).any()), bool((off & (gaps[held] > 0)).any())
