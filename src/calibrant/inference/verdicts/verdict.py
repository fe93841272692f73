"""What tests say about one aspect of calibration: whether, in which direction, how far."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from calibrant import words
from calibrant.checks.parameters import derive
from calibrant.inference.replicates.problem import Problem, fields, find_moments
from calibrant.inference.testing.binwise import standardise
from calibrant.inference.testing.families import holm
from calibrant.lenses import Canonical, Lens, TopLabel
from calibrant.partitions import EqualWidth, Partition
from calibrant.predictions import Predictions
from calibrant.scores import Impossible, impossible
from calibrant.sizes import LEVEL, CrossFit, bias_of, size_of
from calibrant.words import ALPHA, CLUSTERS, NEEDED

Direction = Literal["high", "low", "both"]

SMALLEST = 0.0005  # size that is told: below it, no more was seen than chance gives
SIZES = 11  # sets the draws of sizes apart from others of the same key
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
    bias_interval : tuple of float or None
        95 % interval of it; None of scanned rows.
    size : float or None
        The root mean square deviation, in units of the total variation of two outcomes: what
        directions show that were learned on other rows. None if there are fewer than 10 rows.
    interval : tuple of float or None
        95 % limits of it. The upper one is None for more than two outcomes: deviations that no
        direction finds have no upper bound.
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
    impossible : Impossible or None
        Outcomes that were given probability 0, each of which refutes calibration by itself; None
        if there are none, and of scanned rows.
    clusters_worth : float or None
        How many clusters they are worth for a test: fewer where an outcome is rare, or some are
        large beside the others. With fewer than six nothing can be told, and the p-value is 1.
    """

    lens: Lens
    subject: str
    pvalue: float
    n_tests: int
    n_resamples: int
    direction: Direction | None
    bias: float | None
    bias_interval: tuple[float, float] | None
    size: float | None
    interval: tuple[float, float | None] | None
    balanced: bool = False
    detectable: float | None = None
    scanned: bool = False
    n_clusters: int | None = None
    impossible: Impossible | None = None
    clusters_worth: float | None = None

    @property
    def rejected(self) -> bool:
        """Whether calibration is rejected at 5 %."""
        return self.pvalue <= ALPHA

    def shown_below(self, limit: float) -> bool:
        """Whether predictions are shown to be off by less: the interval ends below the limit."""
        high = None if self.interval is None else self.interval[1]
        return high is not None and high < limit

    def shown_above(self, limit: float) -> bool:
        """Whether predictions are shown to be off by more: the interval begins above the limit."""
        return self.interval is not None and self.interval[0] > limit

    @property
    def decided(self) -> bool:
        """Whether resamples and clusters were enough to reject anything, whatever the data."""
        return self.rejected or (self.n_resamples >= NEEDED and self.clusters_tell)

    @property
    def clusters_tell(self) -> bool:
        """Whether rows are independent, or come in clusters enough to tell."""
        return self.clusters_worth is None or self.clusters_worth >= CLUSTERS

    @property
    def lead(self) -> str:
        """The answer, in a few words."""
        if not self.rejected:
            return self._not_rejected()
        subject = words.capital(self.subject)
        if self.direction == "both":
            return f"{subject} are too high in some places and too low in others"
        if self.direction is not None:
            return f"{subject} are too {self.direction}, by {self._told_bias()} on average"
        return f"{subject} are miscalibrated"

    def _not_rejected(self) -> str:
        """Say what is known if the tests do not reject."""
        if self.impossible is not None:
            return f"{words.capital(self.subject)} are miscalibrated, though no test rejects"
        if self.decided:
            return f"No evidence that {self.subject} are miscalibrated"
        few = words.many(self.n_resamples, "resample")
        if not self.clusters_tell:
            few = words.many(self.n_clusters or 0, "cluster")
        return f"Cannot tell with {few} whether {self.subject} are calibrated"

    def _told_bias(self) -> str:
        """Say by how much mean prediction and rate differ."""
        by = words.points(abs(self.bias or 0.0))
        if self.bias_interval is None:
            return by
        return f"{by} ({words.span(*sorted(map(abs, self.bias_interval)))})"

    @property
    def facts(self) -> str:
        """The numbers."""
        tests = f", adjusted for {self.n_tests:,} tests" if self.n_tests > 1 else ""
        p = f"{words.pvalue(self.pvalue, self.n_resamples)}{tests}"
        needed = words.too_few()
        if not self.clusters_tell:
            needed = words.few_clusters(self.clusters_worth or 0.0, self.n_clusters or 0)
        told = f"{p if self.decided else needed}; {self._told_size()}{self._told_power()}"
        if self.impossible is not None:
            told = f"{self.impossible.sentence}, which alone refutes calibration; {told}"
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
        if self.size is None or self.interval is None:
            return "too few rows to say how far off they are"
        low, high = self.interval
        kind = f"root mean square, {words.percent(LEVEL)} interval"
        if high is None:
            return self._told_bound(low)
        if not self.rejected or self.size < SMALLEST:
            return f"off by at most {words.points(high)} ({kind})"
        return f"off by {words.points(self.size)} ({kind} {words.span(low, high)} points)"

    def _told_bound(self, low: float) -> str:
        """Say how far off they are at least: of more than two outcomes there is no upper bound."""
        if not self.rejected:
            return "how far off they may be has no upper bound for more than two outcomes"
        about = f"calibrators would repair about {words.points(self.size or 0.0)}"
        if low < SMALLEST:
            return f"how far off they are is not shown ({about}, root mean square)"
        sure = words.percent((1 + LEVEL) / 2)
        return f"off by at least {words.points(low)} (root mean square, {sure} sure); {about}"

    def _told_power(self) -> str:
        """Say what would have been seen."""
        if self.detectable is None or self.rejected:
            return ""
        amount = f"{100 * self.detectable:.2g} points"
        return f"; overconfidence of about {amount} would show in 80 % of such data sets"

    def cells(self) -> list[str]:
        """Return the texts of a line of a table: size, interval, bias, p-value."""
        interval = "" if self.interval is None else words.span(*self.interval)
        bias = "" if self.bias is None else words.signed(100 * self.bias, 1)
        p = f"{self.pvalue:.3g}" if self.clusters_tell else "cannot tell"
        return [self.amount, interval, bias, p]

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        names = (
            "lens",
            "rejected",
            "decided",
            "pvalue",
            "direction",
            "bias",
            "bias_interval",
            "size",
        )
        return fields(self, *names, "interval", "balanced", "detectable", "sentence")

    def __repr__(self) -> str:
        return f"<{self.lens}: {self.sentence[:400]}>"

    def __str__(self) -> str:
        return self.sentence


class Fits(NamedTuple):
    """Directions of what a lens shows, from which its size follows."""

    own: CrossFit
    top: CrossFit | None  # of the predicted class, if there are more than two outcomes


def fit_directions(problems: Sequence[Problem]) -> tuple[Fits, ...]:
    """Learn the directions of rows at hand, as lenses show them."""
    found: list[Fits] = []
    predicted: CrossFit | None = None  # directions of the predicted class
    for problem in problems:
        own = predicted if problem.lens == TopLabel() else None
        top = None
        if problem.view.m > 2:
            of_all = problem.lens == Canonical()
            top = cross_fit(problem, TopLabel() if of_all else problem.lens >> TopLabel())
            predicted = top if of_all else predicted
        found.append(Fits(own or cross_fit(problem, problem.lens), top))
    return tuple(found)


def cross_fit(problem: Problem, lens: Lens, like: CrossFit | None = None) -> CrossFit:
    """Learn directions of the data of a problem, through a lens.

    like : of another model of the same rows, whose folds are taken
    """
    given, seed = problem.view.batch.given, int(derive(problem.redraw.key, SIZES))
    seen = problem.seen if lens is problem.lens else lens(given)
    return CrossFit(seen, seed, clusters_of(given, lens), like)


def judge(problem: Problem, fits: Fits | None, p: float, n_tests: int, n_resamples: int) -> Verdict:
    """Say what tests through one lens mean: the smallest of their p-values, adjusted for all.

    fits : of rows at hand; None of others
    """
    held = problem.rows.held
    bias, bias_interval = _bias(problem)
    size = None if fits is None else size_of(*fits)
    return Verdict(
        lens=problem.lens,
        subject=subject_of(problem),
        pvalue=p,
        n_tests=n_tests,
        n_resamples=n_resamples,
        direction=(
            _direction(problem, bias, bias_interval) if bias is not None and p <= ALPHA else None
        ),
        bias=bias,
        bias_interval=bias_interval,
        size=None if size is None else size.value,
        interval=None if size is None else (size.low, size.high),
        balanced=held and balanced(problem.view.batch.given),
        scanned=not held,
        n_clusters=problem.n_clusters,
        clusters_worth=problem.clusters_worth,
        impossible=_impossible(problem) if held else None,
    )


def _impossible(problem: Problem) -> Impossible | None:
    """Return outcomes that were given probability 0, by the number of the row as it was given."""
    found = impossible(problem.seen)
    if found is None:
        return None
    return found._replace(row=found.row * problem.view.batch.given.n // problem.seen.n)


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


def _bias(problem: Problem) -> tuple[float | None, tuple[float, float] | None]:
    """Return mean prediction minus rate, and its interval; None of more than two outcomes."""
    event = problem.view.event
    if event is None:
        return None, None
    if not problem.rows.held:
        _, (predicted,), (observed,) = problem.view.cells(WHOLE).means()
        return float(predicted[event] - observed[event]), None
    found = bias_of(problem.seen, _clusters(problem))
    return found.value, (found.low, found.high)


def clusters_of(data: Predictions, lens: Lens) -> NDArray[Any] | None:
    """Return the clusters of what a lens shows: rows that it makes of one row belong together."""
    if lens.rowwise:
        return data.clusters
    rows = np.arange(data.n) if data.clusters is None else data.clusters
    return np.repeat(rows, lens(data).n // data.n)


def _clusters(problem: Problem) -> NDArray[Any] | None:
    return clusters_of(problem.view.batch.given, problem.lens)


def _direction(
    problem: Problem, bias: float, interval: tuple[float, float] | None
) -> Direction | None:
    """Return what bins show that are off in opposite ways, or the mean of all rows."""
    if interval is None:
        if all(_off(problem, CELLS)):
            return "both"
        return ("high" if bias > 0 else "low") if any(_off(problem, WHOLE)) else None
    if {"high", "low"} <= _directions_of_bins(problem):
        return "both"
    if interval[0] > 0:
        return "high"
    return "low" if interval[1] < 0 else None


def _directions_of_bins(problem: Problem) -> set[str | None]:
    """Return which ways bins are off on average, all of them at once at 5 %."""
    cells, clusters = problem.view.cells(CELLS), _clusters(problem)
    level = 1 - ALPHA / cells.n_cells
    found = set()
    for c in range(cells.n_cells):
        rows = np.flatnonzero(cells.of_rows == c)
        some = problem.seen.take(rows)
        if some.weights.any():
            mine = None if clusters is None else clusters[rows]
            found.add(bias_of(some, mine, level).direction)
    return found


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
