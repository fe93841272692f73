"""What tests say about one aspect of calibration: whether, in which direction, how far."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, Literal, Protocol, final

import numpy as np
from numpy.typing import NDArray

from calibrant.inference.clusters import sums_of
from calibrant.inference.directions import CELLS_OF_VERDICTS, direction_of
from calibrant.inference.families import default_tree
from calibrant.inference.problem import Problem
from calibrant.inference.scanned import AnyProblem, ScannedProblem
from calibrant.lenses import Canonical, Lens
from calibrant.predictions import Predictions
from calibrant.statistics import SquaredMiscalibration
from calibrant.statistics.squared_intervals import covering_interval
from calibrant.statistics.squared_pieces import pieces_of
from calibrant.words import ALPHA, NEEDED, capital, many, percent, points, pvalue, too_few

Floats = NDArray[np.float64]

LEVEL = 0.95  # of intervals
ENOUGH = 0.5  # share of the rows that must be in cells of two or more for a size to be told
BALANCED = (
    "the weights depend on the labels: they are the same within each class and differ between"
    " classes, which makes a calibrated model look miscalibrated"
)


class Tested(Protocol):
    """A test that was made."""

    @property
    def adjusted_pvalue(self) -> float:
        """P-value, adjusted for all tests."""
        ...


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
        some cells and too low in others. None if nothing was shown.
    bias : float or None
        Of two outcomes: mean prediction minus rate.
    size : float or None
        The root mean square deviation on cells, without bias, in units of the total variation:
        the square root of half of `SquaredMiscalibration`, or 0 if that is negative. None if cells
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
    """

    lens: Lens
    subject: str
    pvalue: float
    n_tests: int
    n_resamples: int
    direction: Literal["high", "low", "both"] | None
    bias: float | None
    size: float | None
    interval: tuple[float, float] | None
    balanced: bool = False
    detectable: float | None = None
    scanned: bool = False

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
        """Whether there were enough resamples to reject anything, whatever the data."""
        return self.rejected or self.n_resamples >= NEEDED

    @property
    def lead(self) -> str:
        """The answer, in a few words."""
        if not self.decided:
            resamples = many(self.n_resamples, "resample")
            return f"Cannot tell whether {self.subject} are calibrated with {resamples}"
        if not self.rejected:
            return f"No evidence that {self.subject} are miscalibrated"
        subject = capital(self.subject)
        if self.direction == "both":
            return f"{subject} are too high in some places and too low in others"
        if self.direction is not None and self.bias is not None:
            return f"{subject} are too {self.direction}, by {points(abs(self.bias))} on average"
        return f"{subject} are miscalibrated"

    @property
    def facts(self) -> str:
        """The numbers."""
        least = self.pvalue * (self.n_resamples + 1) < 1.5
        tests = f", adjusted for {self.n_tests} tests" if self.n_tests > 1 else ""
        p = f"{pvalue(self.pvalue, least=least)}{tests}"
        told = f"{p if self.decided else too_few()}; {self._told_size()}{self._told_power()}"
        return told + (f". Yet {BALANCED}" if self.balanced else "")

    @property
    def sentence(self) -> str:
        """All of it in one sentence."""
        return f"{self.lead}: {self.facts}."

    def _told_size(self) -> str:
        """Say how far off they are, or may be."""
        if self.scanned:
            return "how far off they are is not worked out for scanned rows"
        if self.size is None:
            return "cells hold too few rows to say how far off they are"
        if self.interval is None:
            return f"off by {points(self.size)} (root mean square; clusters allow no interval)"
        low, high = self.interval
        if not self.rejected:
            return f"off by at most {points(high)} (root mean square, {percent(LEVEL)} interval)"
        span = f"{100 * low:.1f} to {points(high)}"
        return f"off by {points(self.size)} (root mean square, {percent(LEVEL)} interval {span})"

    def _told_power(self) -> str:
        """Say what would have been seen."""
        if self.detectable is None or self.rejected:
            return ""
        return (
            f"; over-confidence of {points(self.detectable)} would show in 80 % of such data sets"
        )

    def cells(self) -> list[str]:
        """Return the texts of a line of a table: size, interval, bias, p-value."""
        size = "not known" if self.size is None else points(self.size)
        span = "" if self.interval is None else " to ".join(f"{100 * v:.1f}" for v in self.interval)
        bias = "" if self.bias is None else f"{100 * self.bias:+.1f}"
        return [size, span, bias, f"{self.pvalue:.3g}"]

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        return {
            "lens": str(self.lens),
            "rejected": self.rejected,
            "pvalue": self.pvalue,
            "direction": self.direction,
            "bias": self.bias,
            "size": self.size,
            "interval": None if self.interval is None else list(self.interval),
            "balanced": self.balanced,
            "detectable": self.detectable,
            "sentence": self.sentence,
        }

    def __repr__(self) -> str:
        return f"<{self.lens}: {self.sentence[:400]}>"

    def __str__(self) -> str:
        return self.sentence


def judge(problem: AnyProblem, rows: Sequence[Tested], n_tests: int, n_resamples: int) -> Verdict:
    """Say what tests through one lens mean."""
    p = min(row.adjusted_pvalue for row in rows)
    bias = _bias(problem)
    direction = direction_of(problem, bias) if bias is not None and p <= ALPHA else None
    size = interval = None
    weights_tell = False
    if isinstance(problem, Problem):
        size, interval = _size(problem)
        weights_tell = balanced(problem.data)
    return Verdict(
        problem.lens,
        subject_of(problem),
        p,
        n_tests,
        n_resamples,
        direction,
        bias,
        size,
        interval,
        weights_tell,
        scanned=isinstance(problem, ScannedProblem),
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


def subject_of(problem: AnyProblem) -> str:
    """Return what the problem is about, as a sentence names it."""
    seen = problem.seen
    if seen.event is not None:
        about = problem.lens.subject or f"“{seen.classes[seen.event]}”"
        return f"the probabilities of {about}"
    if problem.lens == Canonical():
        return f"the full distributions over all {seen.m} classes"
    return f"the probabilities of {problem.lens}"


def _bias(problem: AnyProblem) -> float | None:
    """Return mean prediction minus rate; None if there are more than two outcomes."""
    seen = problem.seen
    if seen.event is None:
        return None
    if isinstance(problem, ScannedProblem):
        cells: Any = [problem.shared.cells(cut) for cut in CELLS_OF_VERDICTS]
        _, (predicted,), (observed,) = cells[1].means()
        return float(predicted[seen.event] - observed[seen.event])
    predicted = seen.probs[:, seen.event].astype(np.float64)
    gaps = predicted - (seen.labels == seen.event)
    return float(seen.weights @ gaps / seen.weights.sum())


def _size(problem: Problem) -> tuple[float | None, tuple[float, float] | None]:
    """Return the root mean square deviation on cells, and its interval; None if they are sparse."""
    tree = default_tree(problem.seen)
    cells = problem.shared.cells(tree)
    if problem.resampler.flips_signs:
        return _root(sums_of(problem, cells).unbiased), None
    pieces = pieces_of(cells, SquaredMiscalibration(tree)(problem.seen))
    if pieces.share < ENOUGH:
        return None, None
    low, high = covering_interval(pieces, LEVEL)
    return _root(pieces.unbiased), (_root(low), _root(high))


def _root(squared: float) -> float:
    """Return a squared Euclidean distance in units of the total variation."""
    return sqrt(max(squared, 0.0) / 2)
