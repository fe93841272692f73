"""Many tests at once, adjusted together, and what they say."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, final

import numpy as np

from calibrant import tables
from calibrant.arguments import as_lens, as_rows, check_data, takes_arrays
from calibrant.checks.parameters import Rng, brief, is_list
from calibrant.distances import Distance, name_of
from calibrant.engine.arrays import Floats
from calibrant.inference.replicates.driver import Found, of_all
from calibrant.inference.replicates.problem import (
    REST,
    TENTH,
    Plan,
    Problem,
    Progress,
    Settings,
    fields,
)
from calibrant.inference.testing.families import (
    Evidence,
    adjust,
    omnibus,
    omnibus_weights,
    pvalue,
    said_of,
    spread,
    summary_of,
    together,
)
from calibrant.inference.verdicts.ece import Ece
from calibrant.inference.verdicts.judging import (
    CELLS,
    WHOLE,
    Sizes,
    find_moments_away,
    judge,
    sizes_of,
)
from calibrant.inference.verdicts.power import detectable
from calibrant.inference.verdicts.verdict import Verdict
from calibrant.lenses import Canonical, Lens, TopLabel
from calibrant.partitions import Partition
from calibrant.predictions import Predictions
from calibrant.resampling import Exact, Resampler
from calibrant.rows import Scan
from calibrant.statistics import Statistic
from calibrant.statistics.calibration_errors import ECE
from calibrant.statistics.spelled import as_statistic
from calibrant.statistics.statistic import AnyStatistic
from calibrant.words import ALPHA

HEADER = ("lens", "statistic", "value", "if calibrated", "p", "adjusted p")


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EvaluationRow:
    """One statistic through one lens.

    Parameters
    ----------
    lens : Lens
        What aspect is looked at.
    statistic : Statistic
        How it is measured.
    value : float
        Of the data.
    null : array of shape (n_resamples,)
        The same for data sets drawn from the predictions.
    adjusted_pvalue : float
        Adjusted for the number of rows of the table, on their joint draws: by step-down min-P,
        or max-T where there are many; never below the p-value of the lens's verdict.
    decided : bool
        Whether the rows can tell; if not, for want of clusters, `null` repeats the value.
    """

    lens: Lens
    statistic: Statistic
    value: float
    null: Floats
    adjusted_pvalue: float
    decided: bool = True

    @property
    def pvalue(self) -> float:
        """P-value of the hypothesis that the predictions are calibrated through this lens."""
        return float(pvalue(self.value, self.null))

    @property
    def partition(self) -> Partition | None:
        """The bins; None if the statistic has none."""
        return getattr(self.statistic, "partition", None)

    @property
    def distance(self) -> Distance | None:
        """How frequencies are compared with predictions; None if the statistic has its own way."""
        return getattr(self.statistic, "distance", None)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        found = fields(self, "lens", "statistic", "partition")
        found["distance"] = name_of(self.distance) if callable(self.distance) else None
        found |= {"value": self.value} | summary_of(self.null)
        return found | fields(self, "pvalue", "adjusted_pvalue")

    def cells(self) -> list[str]:
        """Return the texts of a line of the table."""
        return [
            str(self.lens),
            str(self.statistic),
            f"{self.value:.4g}".replace("inf", "∞"),
            f"{self.null.mean():.4g} ± {spread(self.null):.2g}" if self.decided else "cannot tell",
            f"{self.pvalue:.3g}",
            f"{self.adjusted_pvalue:.3g}",
        ]

    def __repr__(self) -> str:
        return f"<{', '.join(self.cells())}>"


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Evaluation(tables.Tabular):
    """The verdicts and tests of `evaluate`.

    Parameters
    ----------
    verdicts : tuple of Verdict
        One for each lens: whether probabilities are off, in which direction and how far.
    rows : tuple of EvaluationRow
        The tests, one for each lens and statistic.
    n, m : int
        Number of rows and of classes of the data.
    settings : mapping
        What it was made with.
    ece : Ece, optional
        The expected calibration error of the event of two classes, or of the predicted class of
        more: a number that people know, beside the tests. None of scanned rows of which it was
        not tested.
    evidence : float and array of shape (n_resamples,)
        Of all tests, in the data and in the draws; its p-value is the smallest of a verdict.
    """

    verdicts: tuple[Verdict, ...]
    rows: tuple[EvaluationRow, ...]
    n: int
    m: int
    settings: Settings
    ece: Ece | None
    evidence: Evidence

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        return fields(self, "n", "m", "verdicts", "ece", "rows", "settings")

    def lines(self) -> tables.Lines:
        """Return header and lines of the table."""
        return HEADER, [row.cells() for row in self.rows]

    def __repr__(self) -> str:
        off = ", ".join(str(verdict.lens) for verdict in self.verdicts if verdict.rejected)
        found = f"miscalibrated: {off}" if off else "no evidence of miscalibration"
        return f"<evaluation of {self.n:,} rows, {self.m} classes: {found[:300]}>"

    def __str__(self) -> str:
        lines = [verdict.sentence for verdict in self.verdicts]
        return "\n".join(lines if self.ece is None else [*lines, f"{self.ece}."])


@takes_arrays
def evaluate(
    data: Predictions | Scan,
    *,
    lenses: Lens | str | Sequence[Lens | str] | None = None,
    statistics: AnyStatistic | Sequence[AnyStatistic] | None = None,
    resampler: Resampler | str = Exact(),
    n_resamples: int = 999,
    rng: Rng = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Find out whether the probabilities are calibrated, and how far off they are if not.

    ``print`` shows a sentence for each lens: whether, in which direction and how far predictions
    are off. No choices are needed; p-values are adjusted for everything that is tested.

    Each lens gets the omnibus test of `calibration_test`: complementary statistics, combined by
    the harmonic mean of their p-values. Lenses are adjusted by the step-down min-P of Westfall and
    Young. The verdict on the full distributions combines all tests, since a calibrated model is
    calibrated through every lens. All tests see the same draws, so the adjustment is exact. Rows
    must be independent or have clusters, and weights must be known before the outcome.

    Parameters
    ----------
    data : Predictions or Scan
        Or probabilities, with labels after them; or a data frame, with ``label="y"``. The
        default tests of a Scan are statistics on bins.
    lenses : sequence of Lens, optional
        Default: canonical and, for more than two classes, top label.
    statistics : sequence of Statistic, optional
        What to test through each lens instead; `statistics.grid` gives the tables of the paper.
    resampler, n_resamples, rng, progress
        As in `calibration_test`.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> import numpy as np
    >>> p = np.linspace(0.01, 0.99, 500)
    >>> labels = np.arange(500) * 0.618 % 1 < p
    >>> evaluate(Predictions(p, labels), rng=0)
    <evaluation of 500 rows, 2 classes: no evidence of miscalibration>
    """
    check_data(data, scans=True)
    chosen, tested = chosen_lenses(data, lenses), chosen_statistics(statistics)
    return through_all(data, chosen, tested, Plan.of(data, resampler, n_resamples, rng, progress))


def chosen_lenses(data: Any, lenses: Any) -> tuple[Lens, ...]:
    """Return what somebody chose; else canonical and, for more than two classes, top label."""
    if lenses is None:
        return (Canonical(),) if data.m == 2 else (Canonical(), TopLabel())
    return tuple(as_lens(lens, data) for lens in _listed("lenses", lenses, Lens))


def chosen_statistics(statistics: Any) -> tuple[Statistic, ...] | None:
    """Return what somebody chose to test, functions as statistics; None for the omnibus test."""
    if statistics is None:
        return None
    return tuple(as_statistic(one) for one in _listed("statistics", statistics, Statistic))


def _listed(name: str, given: Any, kind: type) -> tuple[Any, ...]:
    """Return one or a list of them as a tuple; refuse an empty list, and what is no list."""
    if isinstance(given, str | kind):
        return (given,)
    if not is_list(given):
        raise TypeError(f"`{name}` must be a list; found {brief(given)}.")
    found = tuple(given)
    if not found:
        raise ValueError(f"`{name}` must not be empty.")
    return found


def through_all(
    data: Predictions | Scan,
    lenses: Sequence[Lens],
    statistics: Sequence[Statistic] | None,
    plan: Plan,
) -> Evaluation:
    """Test statistics through lenses; the omnibus ones, if there are none."""
    rows = as_rows(data)
    problems = [plan.look(rows, lens, distributions=True) for lens in lenses]
    sizes = sizes_of(problems, plan.part(*TENTH).progress)
    return of_problems(data, problems, statistics, plan.part(*REST), sizes)


def of_problems(
    data: Predictions | Scan,
    problems: Sequence[Problem],
    statistics: Sequence[Statistic] | None,
    plan: Plan,
    sizes: Sizes,
) -> Evaluation:
    """Test statistics of several views of the same data; the omnibus ones, if there are none."""
    found = judged(problems, statistics, plan, sizes, with_ece=True)
    verdicts = found.verdicts
    if statistics is None:
        pairs = zip(problems, verdicts, strict=True)
        verdicts = tuple(_with_detectable(*pair, found.rows, len(problems)) for pair in pairs)
    said = said_of(problems[0].rows) if statistics is None else statistics
    made_with = plan.settings(lenses=[problem.lens for problem in problems], statistics=said)
    return Evaluation(verdicts, found.rows, data.n, data.m, made_with, found.ece, found.evidence)


class Judged(NamedTuple):
    """What tests of several problems say."""

    rows: tuple[EvaluationRow, ...]
    verdicts: tuple[Verdict, ...]
    evidence: Evidence  # of all tests, whose p-value is the smallest of a verdict
    ece: Ece | None


def judged(
    problems: Sequence[Problem],
    statistics: Sequence[Statistic] | None,
    plan: Plan,
    sizes: Sizes,
    *,
    with_ece: bool = False,
) -> Judged:
    """Test problems, the omnibus statistics if none are chosen, and adjust them together.

    The expected calibration error sees the same draws, if its aspect is looked at. It is no test,
    so nothing is adjusted for it.
    """
    tested = [_tested(problem, statistics) for problem in problems]
    found, ece = _found(problems, tested, plan, with_ece=with_ece)
    weights = [omnibus_weights(s) if statistics is None else np.ones(len(s)) for s in tested]
    families = [(np.array(v), null, w) for (v, null), w in zip(found, weights, strict=True)]
    pvalues, evidence = together(families, _implies_all(problems))
    pvalues[[not problem.tells for problem in problems]] = 1.0
    known = sizes()
    rows = _adjusted(problems, tested, found, pvalues)
    if pvalues.min() <= ALPHA:
        find_moments_away(problems, known)
    verdicts = tuple(
        judge(problem, mine, p, len(rows), plan.n_resamples)
        for problem, mine, p in zip(problems, known, pvalues.tolist(), strict=True)
    )
    return Judged(rows, verdicts, evidence, ece)


def _found(
    problems: Sequence[Problem],
    tested: Sequence[Sequence[Statistic]],
    plan: Plan,
    *,
    with_ece: bool,
) -> tuple[list[Found], Ece | None]:
    """Return the statistics and their replicates, and the calibration error beside them."""
    main = [with_ece and _is_main(problem) for problem in problems]
    asked = [[*some, ECE()] if own else some for some, own in zip(tested, main, strict=True)]
    found, ece = of_all(problems, asked, plan, (CELLS, WHOLE)), None
    for problem in problems:
        problem.view.forget_rows()
    for i in np.flatnonzero(main).tolist():
        values, nulls = found[i]
        ece, found[i] = Ece(ECE(), values[-1], nulls[-1]), (values[:-1], nulls[:-1])
    return found, ece


def _implies_all(problems: Sequence[Problem]) -> list[bool]:
    """Return which problems, if calibrated, make all others so: the full distributions of rows."""
    same = all(problem.rows is problems[0].rows for problem in problems)
    return [same and problem.lens == Canonical() for problem in problems]


def _is_main(problem: Problem) -> bool:
    """Whether it is about what the expected calibration error is about."""
    return problem.lens == (Canonical() if problem.rows.m == 2 else TopLabel())


def _tested(problem: Problem, statistics: Sequence[Statistic] | None) -> Sequence[Statistic]:
    """Return what is tested of a problem, under a hypothesis that allows it."""
    problem.check_hypothesis()
    return omnibus(problem.view) if statistics is None else statistics


def _adjusted(
    problems: Sequence[Problem],
    tested: Sequence[Sequence[Statistic]],
    found: Sequence[Found],
    pvalues: Floats,
) -> tuple[EvaluationRow, ...]:
    """Return the tests of all problems, adjusted together, none below its problem's p-value."""
    tests = [
        (problem, test, p)
        for problem, some, (values, nulls), p in zip(problems, tested, found, pvalues, strict=True)
        for test in zip(some, values, nulls, strict=True)
    ]
    _, values, nulls = zip(*(test for _, test, _ in tests), strict=True)
    adjusted = adjust(np.array(values), np.stack(nulls)).tolist()
    return tuple(
        EvaluationRow(problem.lens, *test, max(alone, float(p)), problem.tells)
        for (problem, test, p), alone in zip(tests, adjusted, strict=True)
    )


def _with_detectable(
    problem: Problem, verdict: Verdict, rows: Sequence[EvaluationRow], n_lenses: int
) -> Verdict:
    """Add what would have been seen, where nothing was."""
    if verdict.rejected:
        return verdict
    tests = [(row.statistic, row.null) for row in rows if row.lens is problem.lens]
    return replace(verdict, detectable=detectable(problem, tests, ALPHA / n_lenses))
