"""Comparison of models, §4.3."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from calibrant import tables
from calibrant.arguments import check_data, takes_models
from calibrant.checks.parameters import Rng, truth
from calibrant.inference.replicates.plan import Plan, Progress, Settings, part
from calibrant.inference.replicates.problem import Problem
from calibrant.inference.testing.families import chosen_lenses, chosen_statistics
from calibrant.inference.verdicts.differences import Difference, differences, size_of
from calibrant.inference.verdicts.evaluation import Evaluation, through_all
from calibrant.lenses import Lens
from calibrant.predictions import Predictions
from calibrant.resampling import Exact
from calibrant.scores import all_scores
from calibrant.statistics.statistic import AnyStatistic
from calibrant.words import decimal, score_name


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Comparison(tables.Tabular):
    """Models side by side.

    Parameters
    ----------
    evaluations : mapping of str to Evaluation
        The evaluation of each model.
    scores : mapping of str to mapping
        Accuracy, log, Brier and spherical score of each model.
    differences : tuple of Difference
        Of every two models, for each lens.
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

    def records(self) -> list[dict[str, Any]]:
        """Return one record a model and test."""
        return [
            {"model": name, **row.to_dict()}
            for name, evaluation in self.evaluations.items()
            for row in evaluation.rows
        ]

    def lines(self) -> tuple[list[str], list[list[str]]]:
        """Return header and lines of the models' sizes, for each lens the furthest off first."""
        lines = []
        for verdicts in zip(*(e.verdicts for e in self.evaluations.values()), strict=True):
            models = sorted(
                zip(self.evaluations, verdicts, strict=True),
                key=lambda pair: -1.0 if pair[1].size is None else pair[1].size,
                reverse=True,
            )
            lines += [[str(verdict.lens), name, *verdict.cells()] for name, verdict in models]
        return ["lens", "model", "off by", "95 % interval", "bias", "adjusted p"], lines

    def score_rows(self) -> tuple[list[str], list[list[str]]]:
        """Return header and lines of the scores."""
        names = next(iter(self.scores.values()))
        header = ["model", *(score_name(name) for name in names)]
        lines = [[name, *map(decimal, s.values())] for name, s in self.scores.items()]
        return header, lines

    def score_table(self) -> str:
        """Return the scores as a table."""
        return tables.text(*self.score_rows())

    def __repr__(self) -> str:
        return f"<comparison of {len(self.evaluations)} models>"

    def __str__(self) -> str:
        return "\n".join(difference.sentence for difference in self.differences)


@takes_models
def compare(
    models: Mapping[str, Predictions],
    *,
    lenses: Lens | str | Sequence[Lens | str] | None = None,
    statistics: AnyStatistic | Sequence[AnyStatistic] | None = None,
    n_resamples: int = 999,
    paired: bool = True,
    rng: Rng = None,
    progress: Progress | None = None,
) -> Comparison:
    """Compare models without being fooled by raw estimates, §4.3.

    Estimates on cells have different biases for different models, so each model is tested, and
    sizes are compared that have none: the squared miscalibration on the cells of a tree. Of every
    two models one is named as further off only if it is shown to be miscalibrated and the
    difference is significant, adjusted for all pairs and lenses.

    Parameters
    ----------
    models : mapping of str to Predictions
        Names and predictions.
    lenses : sequence of Lens, optional
        As in `evaluate`.
    statistics : sequence of Statistic, optional
        As in `evaluate`.
    n_resamples : int, default 999
        Number of data sets drawn under the hypothesis.
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
    >>> compare(models, rng=0).differences[0].conclusion
    'sharp is further off than fine'
    """
    _check_models(models)
    truth("paired", paired)
    if paired:
        _check_pairs(models)
    smallest = min(models.values(), key=lambda data: data.n)
    chosen, tested = chosen_lenses(smallest, lenses), chosen_statistics(statistics)
    plan = Plan.of(smallest, Exact(), n_resamples, rng, progress)
    evaluations, sizes = {}, {}
    for number, (name, data) in enumerate(models.items()):
        mine = replace(plan, progress=part(progress, number, len(models)))
        evaluations[name] = through_all(data, chosen, tested, mine)
        seen = [Problem.of(data, lens, plan.resampler, plan.key) for lens in chosen]
        sizes[name] = [size_of(problem) for problem in seen]
    verdicts = {name: evaluation.verdicts for name, evaluation in evaluations.items()}
    scores = {name: all_scores(data) for name, data in models.items()}
    made_with = plan.settings(**evaluations[name].settings, paired=paired)
    return Comparison(evaluations, scores, differences(sizes, verdicts, paired=paired), made_with)


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
    if len({data.clusters is None for data in models.values()}) > 1:
        raise ValueError("`models` must all have clusters, or none of them.")
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
        for what in ("weights", "clusters"):
            if not np.array_equal(getattr(a, what), getattr(b, what)):
                raise ValueError(
                    f"`models` must have the same {what}; those of {first!r} and {name!r} differ."
                )


def _first_difference(a: Predictions, b: Predictions) -> str:
    if a.of_confidences and b.of_confidences:
        return ""  # the same cases, of which each model has its own right
    differ = np.flatnonzero(a.labels != b.labels)
    return f"first at row {differ[0]}" if differ.size else ""
