"""Comparison of models, §4.3."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, final

import numpy as np

from calibrant.checks.parameters import fraction
from calibrant.checks.seeds import Rng, make_key
from calibrant.distances import Distance, euclidean, total_variation
from calibrant.inference import table
from calibrant.inference.arguments import check_data, check_progress
from calibrant.inference.estimation import Estimate
from calibrant.inference.evaluation import (
    HEADER,
    Evaluation,
    EvaluationRow,
    bootstraps,
    default_partitions,
    distance_name,
    evaluate,
)
from calibrant.inference.replicates import Progress, part
from calibrant.lenses import Lens
from calibrant.partitions import Partition
from calibrant.predictions import Predictions
from calibrant.resampling import Exact, Resampler
from calibrant.scores import all_scores


@final
@dataclass(frozen=True, slots=True, eq=False)
class Difference:
    """The difference of two models' estimates on the same rows, first minus second.

    Parameters
    ----------
    first, second : names of the models
    rows : their rows of the evaluation
    estimate : the difference, with paired bootstrap replicates
    level : of the interval
    alpha : level of the tests that the sentence speaks of
    """

    first: str
    second: str
    rows: tuple[EvaluationRow, EvaluationRow]
    estimate: Estimate
    level: float
    alpha: float = 0.05

    @property
    def interval(self) -> tuple[float, float]:
        """Paired bootstrap percentile interval, moved so that the difference is its median.

        Replicates of either estimate are larger than it, by different amounts, so their
        quantiles alone may lie beside the difference. nan if both estimates are infinite, in
        the data or in a replicate.
        """
        if np.isnan(self.estimate.value) or np.isnan(self.estimate.replicates).any():
            return np.nan, np.nan
        low, high = self.estimate.interval(self.level)
        shift = self.estimate.value - float(np.median(self.estimate.replicates))
        return low + shift, high + shift

    @property
    def conclusion(self) -> str:
        """Say what may and what may not be concluded."""
        a, b = (row.adjusted_pvalue <= self.alpha for row in self.rows)
        low, high = self.interval
        if not a and not b:
            return (
                f"Neither {self.first} nor {self.second} is shown to be miscalibrated here, so the"
                " difference of the estimates says nothing about calibration."
            )
        if a != b:
            bad, other = (self.first, self.second) if a else (self.second, self.first)
            return (
                f"{bad} is shown to be miscalibrated; {other} is not, which does not prove that it"
                " is calibrated."
            )
        if not (low > 0 or high < 0):
            return (
                f"Both are shown to be miscalibrated; the data do not tell whether {self.first} or"
                f" {self.second} is more so."
            )
        more, less = (self.first, self.second) if low > 0 else (self.second, self.first)
        return (
            f"Both are shown to be miscalibrated, and the estimate of {more} is above that of"
            f" {less}. The estimates may be biased by different amounts, so this is evidence about"
            " the models only if the difference is large against their values if calibrated."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        row = self.rows[0]
        return {
            "first": self.first,
            "second": self.second,
            "lens": str(row.lens),
            "partition": str(row.partition),
            "distance": distance_name(row.distance),
            "difference": self.estimate.value,
            "standard_error": self.estimate.standard_error,
            "interval": list(self.interval),
            "level": self.level,
            "conclusion": self.conclusion,
        }

    def __str__(self) -> str:
        low, high = self.interval
        row = self.rows[0]
        return (
            f"{self.first} minus {self.second} ({row.lens}, {row.partition},"
            f" {distance_name(row.distance)}): {self.estimate.value:+.4f}, {self.level:.0%}"
            f" interval {low:+.4f} to {high:+.4f}. {self.conclusion}"
        )


@final
@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Models side by side.

    Parameters
    ----------
    evaluations : the evaluation of each model
    scores : accuracy, log, Brier and spherical score of each model
    differences : of every pair, for each lens, partition and distance; empty if not paired
    """

    evaluations: Mapping[str, Evaluation]
    scores: Mapping[str, Mapping[str, float]]
    differences: tuple[Difference, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        return {
            "models": {
                name: {"scores": dict(self.scores[name]), **evaluation.to_dict()}
                for name, evaluation in self.evaluations.items()
            },
            "differences": [difference.to_dict() for difference in self.differences],
        }

    def rows(self) -> tuple[list[str], list[list[str]]]:
        """Return header and lines of the evaluations, the models beside each other."""
        count = len(next(iter(self.evaluations.values())).rows)
        lines = [
            [name, *evaluation.rows[r].cells()]
            for r in range(count)
            for name, evaluation in self.evaluations.items()
        ]
        return ["model", *HEADER], lines

    def score_rows(self) -> tuple[list[str], list[list[str]]]:
        """Return header and lines of the scores."""
        names = next(iter(self.scores.values()))
        header = ["model", *(name.replace("_", " ") for name in names)]
        lines = [[name, *(f"{v:.4f}" for v in s.values())] for name, s in self.scores.items()]
        return header, lines

    def table(self) -> str:
        """Return the evaluations as a table."""
        return table.text(*self.rows())

    def score_table(self) -> str:
        """Return the scores as a table."""
        return table.text(*self.score_rows())

    def _repr_html_(self) -> str:
        return table.html(*self.rows())

    def __str__(self) -> str:
        return f"comparison of {', '.join(self.evaluations)}"


def comparison_bootstraps(models: Mapping[str, Predictions]) -> int:
    """Return how many data sets to draw for the intervals of differences of models."""
    return 5 * min(bootstraps(model) for model in models.values()) - 1


def compare(
    models: Mapping[str, Predictions],
    *,
    lenses: Sequence[Lens] | None = None,
    partitions: Sequence[Partition] | None = None,
    distances: Sequence[Distance] = (total_variation, euclidean),
    resampler: Resampler = Exact(),
    n_resamples: int = 999,
    n_bootstrap: int = 999,
    level: float = 0.95,
    paired: bool = True,
    rng: Rng = None,
    progress: Progress | None = None,
) -> Comparison:
    """Compare models without being fooled by raw estimates, §4.3.

    Estimates of different models have different biases, so each is shown with its null
    distribution and p-value. For models of the same rows, the bootstrap draws the same rows
    for all of them, which gives the paired difference of every two with its interval.

    Parameters
    ----------
    models : names and predictions
    lenses, partitions, distances, resampler, n_resamples, n_bootstrap, rng, progress : see
        `evaluate`
    level : of the intervals
    paired : whether row i is the same for all models; then their labels must agree

    Returns
    -------
    Comparison

    Examples
    --------
    >>> import numpy as np
    >>> p = np.linspace(0.01, 0.99, 500)
    >>> labels = np.arange(500) * 0.618 % 1 < p
    >>> models = {"fine": Predictions(p, labels), "sharp": Predictions(p**3, labels)}
    >>> found = compare(models, distances=[total_variation], rng=0)
    >>> found.differences[0].conclusion
    'sharp is shown to be miscalibrated; fine is not, which does not prove that it is calibrated.'
    """
    fraction("level", level)
    if not isinstance(models, Mapping):
        raise TypeError(
            f"`models` must be a dict of names and Predictions; found {type(models).__name__}."
        )
    check_progress(progress)
    for data in models.values():
        check_data(data)
    if len(models) < 2:
        raise ValueError(f"`models` must be at least two; found {len(models)}.")
    _check_classes(models)
    if paired:
        _check_pairs(models)
    key = int(make_key(rng))
    if partitions is None:
        partitions = default_partitions(min(models.values(), key=lambda data: data.n))
    evaluations = {
        name: evaluate(
            data,
            lenses=lenses,
            partitions=partitions,
            distances=distances,
            resampler=resampler,
            n_resamples=n_resamples,
            n_bootstrap=n_bootstrap,
            rng=key,
            progress=part(progress, number, len(models)),
        )
        for number, (name, data) in enumerate(models.items())
    }
    scores = {name: all_scores(data) for name, data in models.items()}
    differences = _differences(evaluations, level) if paired else ()
    return Comparison(evaluations, scores, differences)


def _differences(evaluations: Mapping[str, Evaluation], level: float) -> tuple[Difference, ...]:
    return tuple(
        Difference(first, second, (a, b), _difference(a, b), level)
        for first, second in combinations(evaluations, 2)
        for a, b in zip(evaluations[first].rows, evaluations[second].rows, strict=True)
    )


def _difference(a: EvaluationRow, b: EvaluationRow) -> Estimate:
    with np.errstate(invalid="ignore"):  # the difference of two infinite estimates is not known
        return Estimate(a.value - b.value, a.replicates - b.replicates)


def _check_classes(models: Mapping[str, Predictions]) -> None:
    (first, a), *others = models.items()
    for name, b in others:
        if a.classes != b.classes:
            raise ValueError(
                f"`models` must have the same classes; those of {first!r} and {name!r} differ."
            )


def _check_pairs(models: Mapping[str, Predictions]) -> None:
    (first, a), *others = models.items()
    for name, b in others:
        where = f"{a.n:,} and {b.n:,} rows" if a.n != b.n else _first_difference(a, b)
        if where:
            raise ValueError(
                f"`models` must have the same labels row by row; {first!r} and {name!r} differ"
                f" ({where}). Use paired=False for models of different rows."
            )
        if not np.array_equal(a.weights, b.weights):
            raise ValueError(
                f"`models` must have the same weights; those of {first!r} and {name!r} differ."
            )


def _first_difference(a: Predictions, b: Predictions) -> str:
    differ = np.flatnonzero(a.labels != b.labels)
    return f"first at row {differ[0]}" if differ.size else ""
