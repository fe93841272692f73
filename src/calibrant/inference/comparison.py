"""Comparison of models, §4.3."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, final

import numpy as np

from calibrant import tables
from calibrant.checks.seeds import Rng
from calibrant.distances import Distance, euclidean, total_variation
from calibrant.inference.differences import Difference
from calibrant.inference.estimation import Estimate
from calibrant.inference.evaluation import HEADER, Evaluation, EvaluationRow, on_grid
from calibrant.inference.grids import Grid
from calibrant.inference.plans import Plan, Progress, Settings, part
from calibrant.lenses import Lens
from calibrant.partitions import Partition
from calibrant.predictions import Predictions, check_data
from calibrant.resampling import Exact
from calibrant.scores import all_scores


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Comparison:
    """Models side by side.

    Parameters
    ----------
    evaluations : mapping of str to Evaluation
        The evaluation of each model.
    scores : mapping of str to mapping
        Accuracy, log, Brier and spherical score of each model.
    differences : tuple of Difference
        Of every pair, for each lens, partition and distance; empty if not paired.
    settings : mapping
        What it was made with.
    """

    evaluations: Mapping[str, Evaluation]
    scores: Mapping[str, Mapping[str, float]]
    differences: tuple[Difference, ...]
    settings: Settings

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        return {
            "models": {
                name: {"scores": dict(self.scores[name]), **evaluation.to_dict()}
                for name, evaluation in self.evaluations.items()
            },
            "differences": [difference.to_dict() for difference in self.differences],
            "settings": dict(self.settings),
        }

    def to_frame(self, backend: tables.Backend | None = None) -> Any:
        """Return one row a model and combination as a data frame of polars or pandas."""
        records = [
            {"model": name, **row.to_dict()}
            for name, evaluation in self.evaluations.items()
            for row in evaluation.rows
        ]
        return tables.frame(records, backend)

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
        return tables.text(*self.rows())

    def score_table(self) -> str:
        """Return the scores as a table."""
        return tables.text(*self.score_rows())

    def _repr_html_(self) -> str:
        return tables.html(*self.rows())

    def __repr__(self) -> str:
        return f"<comparison of {len(self.evaluations)} models>"

    def __str__(self) -> str:
        return f"comparison of {', '.join(self.evaluations)}"


def compare(
    models: Mapping[str, Predictions],
    *,
    lenses: Sequence[Lens] | None = None,
    partitions: Sequence[Partition] | None = None,
    distances: Sequence[Distance] = (total_variation, euclidean),
    n_resamples: int = 999,
    paired: bool = True,
    rng: Rng = None,
    progress: Progress | None = None,
) -> Comparison:
    """Compare models without being fooled by raw estimates, §4.3.

    Estimates of different models have different biases, so each is shown with its null
    distribution and p-value. For models of the same rows, the bootstrap draws the same rows
    for all of them, which gives the paired difference of every two with its 95 % interval.

    Parameters
    ----------
    models : mapping of str to Predictions
        Names and predictions.
    lenses : sequence of Lens, optional
        As in `evaluate`.
    partitions : sequence of Partition, optional
        As in `evaluate`; the default is that of the smallest model for all.
    distances : sequence of callable
        As in `evaluate`.
    n_resamples : int, default 999
        Number of data sets drawn under the hypothesis, and as many with rows drawn again.
    paired : bool, default True
        Whether row i is the same for all models; then their labels must agree.
    rng : int, Generator or None
        The same seed gives the same draws.
    progress : callable, optional
        Function of (done, total), called now and then.

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
    _check_models(models)
    if paired:
        _check_pairs(models)
    smallest = min(models.values(), key=lambda data: data.n)
    grid = Grid.of(smallest, lenses, partitions, distances)
    plan = Plan.of(Exact(), n_resamples, rng, progress)
    again = max(2, plan.n_resamples)
    evaluations = {}
    for number, (name, data) in enumerate(models.items()):
        mine = replace(plan, progress=part(progress, number, len(models)))
        evaluations[name] = on_grid(data, grid, mine, again)
    scores = {name: all_scores(data) for name, data in models.items()}
    made_with = plan.settings(**grid.settings(), n_bootstrap=again, paired=paired)
    differences = _differences(evaluations) if paired else ()
    return Comparison(evaluations, scores, differences, made_with)


def _differences(evaluations: Mapping[str, Evaluation]) -> tuple[Difference, ...]:
    return tuple(
        Difference(first, second, (a, b), _difference(a, b, evaluations[first].settings))
        for first, second in combinations(evaluations, 2)
        for a, b in zip(evaluations[first].rows, evaluations[second].rows, strict=True)
    )


def _difference(a: EvaluationRow, b: EvaluationRow, made_with: Settings) -> Estimate:
    with np.errstate(invalid="ignore"):  # the difference of two infinite estimates is not known
        return Estimate(a.value - b.value, a.replicates - b.replicates, made_with)


def _check_models(models: Any) -> None:
    """Refuse what is not at least two models of the same classes."""
    if not isinstance(models, Mapping):
        raise TypeError(
            f"`models` must be a dict of names and Predictions; found {type(models).__name__}."
        )
    for data in models.values():
        check_data(data)
    if len(models) < 2:
        raise ValueError(f"`models` must be at least two; found {len(models)}.")
    _check_classes(models)


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
                f" ({where}). Use `paired=False` if they have different rows."
            )
        if not np.array_equal(a.weights, b.weights):
            raise ValueError(
                f"`models` must have the same weights; those of {first!r} and {name!r} differ."
            )


def _first_difference(a: Predictions, b: Predictions) -> str:
    differ = np.flatnonzero(a.labels != b.labels)
    return f"first at row {differ[0]}" if differ.size else ""
