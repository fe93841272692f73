"""Comparison of models, §4.3: which is further off, without bias and without choosing by chance."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, starmap
from math import erfc, sqrt
from typing import Any, final

import numpy as np

from calibrant import tables
from calibrant.arguments import as_rows, check_data, takes_models
from calibrant.checks.parameters import Rng, truth
from calibrant.inference.replicates.problem import Plan, Problem, Progress, Settings, fields
from calibrant.inference.testing.families import holm
from calibrant.inference.verdicts.evaluation import (
    Evaluation,
    chosen_lenses,
    chosen_statistics,
    of_problems,
)
from calibrant.inference.verdicts.judging import Known, Sizes, cross_fit, fit_directions
from calibrant.inference.verdicts.verdict import Verdict
from calibrant.lenses import Lens
from calibrant.predictions import Predictions
from calibrant.resampling import Exact
from calibrant.scores import all_scores
from calibrant.sizes import CrossFit, size_of
from calibrant.sizes import compare as further
from calibrant.statistics.statistic import AnyStatistic
from calibrant.words import ALPHA, BIAS, capital, decimal, listed, many, pvalue, score_name


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Difference:
    """How much further off one model is than another, as seen through a lens.

    Parameters
    ----------
    first, second : str
        Names of the models.
    verdicts : tuple of Verdict
        What is known of each.
    value : float
        What calibrators would repair of the first minus that of the second, in squared sizes: gains
        in Brier score along directions that were learned on other rows, the same kinds for both.
    standard_error : float
        Of the difference; of the same rows, if the models are paired.
    adjusted_pvalue : float
        Two-sided, adjusted by Holm's procedure for all pairs and lenses of a comparison.
    """

    first: str
    second: str
    verdicts: tuple[Verdict, Verdict]
    value: float
    standard_error: float
    adjusted_pvalue: float = 1.0

    @property
    def lens(self) -> Lens:
        """The aspect that is compared."""
        return self.verdicts[0].lens

    @property
    def pvalue(self) -> float:
        """Twice the two-sided p-value of a normal deviation of so many standard errors.

        Directions were learned from the same rows, which the standard error does not count.
        """
        if self.standard_error == 0:
            return 1.0 if self.value == 0 else 0.0
        return min(1.0, 2 * erfc(abs(self.value) / self.standard_error / sqrt(2.0)))

    @property
    def worse(self) -> str | None:
        """The model that is shown to be further off; None if neither is.

        It must be shown to be miscalibrated, by some amount, and further off than the other one.
        """
        more = 0 if self.value > 0 else 1
        verdict = self.verdicts[more]
        if self.adjusted_pvalue <= ALPHA and verdict.rejected and verdict.shown_above(0.0):
            return (self.first, self.second)[more]
        return None

    @property
    def conclusion(self) -> str:
        """Say what may and what may not be concluded."""
        names = self.first, self.second
        off = [verdict.rejected for verdict in self.verdicts]
        if self.worse is not None:
            other = self.second if self.worse == self.first else self.first
            return f"{self.worse} is further off than {other}, by what calibrators would repair"
        if all(off):
            which = " or ".join(names)
            return f"both are off, and the data do not tell whether {which} is more so"
        if any(off):
            bad, other = names if off[0] else names[::-1]
            return (
                f"{bad} is shown to be miscalibrated and {other} is not, but the data do not tell"
                f" that {bad} is further off"
            )
        return self._neither()

    def _neither(self) -> str:
        if all(verdict.decided for verdict in self.verdicts):
            return "neither is shown to be miscalibrated"
        return "cannot tell whether either is miscalibrated"

    @property
    def sentence(self) -> str:
        """The conclusion, with its numbers."""
        first, second = self.verdicts
        amounts = ""
        if first.size is not None and second.size is not None:
            amounts = f"{self.first}: {first.amount}, {self.second}: {second.amount}; "
        p = pvalue(self.adjusted_pvalue)
        aspect = capital(self.verdicts[0].subject)
        return tables.visible(f"{aspect}: {self.conclusion} ({amounts}{p}, adjusted).")

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        numbers = {"difference": self.value}
        numbers |= fields(self, "standard_error", "pvalue", "adjusted_pvalue", "worse", "sentence")
        return fields(self, "first", "second", "lens") | numbers

    def __repr__(self) -> str:
        return f"<difference {self.first} minus {self.second}, {self.lens}: {self.value:+.4g}>"

    def __str__(self) -> str:
        return self.sentence


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Comparison(tables.Tabular):
    """Models side by side, and which of them is further off.

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
    unmatched : mapping of str to int
        How many rows of each model were left out, since other models have none of that ``id``.
    """

    evaluations: Mapping[str, Evaluation]
    scores: Mapping[str, Mapping[str, float]]
    differences: tuple[Difference, ...]
    settings: Settings
    unmatched: Mapping[str, int]

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        models = {
            name: {"scores": dict(self.scores[name]), **evaluation.to_dict()}
            for name, evaluation in self.evaluations.items()
        }
        return {"models": models} | fields(self, "differences", "settings")

    def records(self) -> list[dict[str, Any]]:
        """Return one record a model and test."""
        return [
            {"model": name, **row.to_dict()}
            for name, evaluation in self.evaluations.items()
            for row in evaluation.rows
        ]

    def lines(self) -> tables.Lines:
        """Return header and lines of the models' sizes, for each lens the furthest off first."""
        lines = []
        for verdicts in zip(*(e.verdicts for e in self.evaluations.values()), strict=True):
            models = sorted(
                zip(self.evaluations, verdicts, strict=True),
                key=lambda pair: -1.0 if pair[1].size is None else pair[1].size,
                reverse=True,
            )
            lines += [[str(verdict.lens), name, *verdict.cells()] for name, verdict in models]
        return ["lens", "model", "off by", "95 % interval", BIAS, "adjusted p"], lines

    def score_rows(self) -> tables.Lines:
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
        sentences = [difference.sentence for difference in self.differences]
        counts = {name: count for name, count in self.unmatched.items() if count}
        if counts:
            rows = listed([f"{many(count, 'row')} of {name}" for name, count in counts.items()])
            sentences.append(tables.visible(f"Left out {rows} that other models lack."))
        return "\n".join(sentences)


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
    """Find out which model is better calibrated, without being fooled by raw estimates, §4.3.

    ECEs of different models have different biases. So `compare` tests each model, and compares
    what calibrators would repair: the gain in Brier score on rows they have not seen, with the same
    folds and kinds of calibrators for all models. A model is named as further off only if it is
    shown to be miscalibrated and the difference is significant, adjusted for all pairs and lenses.

    Parameters
    ----------
    models : mapping of str to Predictions
        Names and predictions.
    lenses, statistics
        As in `evaluate`.
    paired : bool, default True
        Whether row i is the same for all models; then their labels must agree.
    n_resamples, rng, progress
        As in `calibration_test`.

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
    'sharp is further off than fine, by what calibrators would repair'
    """
    _check_models(models)
    truth("paired", paired)
    if paired:
        _check_pairs(models)
    smallest = min(models.values(), key=lambda data: data.n)
    chosen, tested = chosen_lenses(smallest, lenses), chosen_statistics(statistics)
    plan = Plan.of(smallest, Exact(), n_resamples, rng, progress)
    evaluations, fits = {}, dict[str, list[CrossFit]]()
    for number, (name, data) in enumerate(models.items()):
        mine = plan.part(number, len(models))
        rows = as_rows(data)
        problems = [mine.look(rows, lens, distributions=True) for lens in chosen]
        found = fit_directions(problems)
        sizes: Sizes = partial(list, list(map(Known, starmap(size_of, found))))
        evaluations[name] = of_problems(data, problems, tested, mine, sizes)
        fits[name] = [fit.own for fit in found]
        if paired and number:
            fits[name] = _refit(problems, next(iter(fits.values())))
    verdicts = {name: evaluation.verdicts for name, evaluation in evaluations.items()}
    scores = dict(zip(models, map(all_scores, models.values()), strict=True))
    made_with = plan.settings(**evaluations[name].settings, paired=paired)
    compared = differences(fits, verdicts, paired=paired)
    return Comparison(evaluations, scores, compared, made_with, _unmatched(models))


def _refit(problems: Sequence[Problem], alike: Sequence[CrossFit]) -> list[CrossFit]:
    """Learn the directions of a model with the folds of another one."""
    pairs = zip(problems, alike, strict=True)
    return [cross_fit(problem, problem.lens, like) for problem, like in pairs]


def _unmatched(models: Mapping[str, Predictions]) -> dict[str, int]:
    """Return how many rows of each model a join has left out."""
    return {name: getattr(data.reading, "unmatched", 0) for name, data in models.items()}


def _check_models(models: Any) -> None:
    """Refuse what is not at least two models of the same classes."""
    if not isinstance(models, Mapping):
        raise TypeError(
            f"`models` must be a dict of names and Predictions; found {type(models).__name__}. If a"
            " column of a data frame names the models, say which: `model=…`."
        )
    for data in models.values():
        check_data(data)
    if len(models) < 2:
        raise ValueError(f"`models` must be at least two; found {len(models)}.")
    if len({data.clusters is None for data in models.values()}) > 1:
        raise ValueError("`models` must all have clusters, or none of them.")
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
                f" ({where}). Data frames and files are joined, in any order, by the column that"
                " names rows: `id=…`. Use `paired=False` if they have different rows."
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
    return f"first at row {differ[0]:,}, counted from 0" if differ.size else ""


def differences(
    fits: Mapping[str, Sequence[CrossFit]],
    verdicts: Mapping[str, Sequence[Verdict]],
    *,
    paired: bool,
) -> tuple[Difference, ...]:
    """Compare every two models through every lens, adjusted together."""
    found = [
        Difference(first, second, (va, vb), *further(a, b, paired=paired))
        for first, second in combinations(fits, 2)
        for a, b, va, vb in zip(
            fits[first], fits[second], verdicts[first], verdicts[second], strict=True
        )
    ]
    adjusted = holm(np.array([one.pvalue for one in found]))
    pairs = zip(found, adjusted.tolist(), strict=True)
    return tuple(replace(one, adjusted_pvalue=p) for one, p in pairs)
