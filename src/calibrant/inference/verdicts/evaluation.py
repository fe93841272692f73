"""Many tests at once, adjusted together, and what they say."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant import tables
from calibrant.arguments import check_data, takes_arrays
from calibrant.checks.parameters import Rng
from calibrant.distances import Distance, name_of
from calibrant.inference.replicates.driver import of_all
from calibrant.inference.replicates.plan import Plan, Progress, Settings
from calibrant.inference.replicates.problem import Problem, check_hypothesis
from calibrant.inference.testing.families import chosen_lenses, chosen_statistics, omnibus, said_of
from calibrant.inference.testing.pvalues import adjust, pvalue, spread
from calibrant.inference.verdicts.detection import can_tell, detectable
from calibrant.inference.verdicts.directions import CELLS_OF_VERDICTS, find_moments_away
from calibrant.inference.verdicts.judging import judge
from calibrant.inference.verdicts.verdict import Verdict
from calibrant.lenses import Lens
from calibrant.partitions import Partition
from calibrant.predictions import Predictions
from calibrant.resampling import Exact, Resampler
from calibrant.rows import Scan
from calibrant.statistics import Statistic
from calibrant.statistics.statistic import AnyStatistic
from calibrant.words import ALPHA

Floats = NDArray[np.float64]
Test = tuple[Lens, Statistic, float, Floats]  # lens, statistic, value and null

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
        or max-T where there are many.
    """

    lens: Lens
    statistic: Statistic
    value: float
    null: Floats
    adjusted_pvalue: float

    @property
    def pvalue(self) -> float:
        """P-value of the hypothesis that the predictions are calibrated through this lens."""
        return float(pvalue(self.value, self.null))

    @property
    def partition(self) -> Partition | None:
        """The cells; None if the statistic has none."""
        return getattr(self.statistic, "partition", None)

    @property
    def distance(self) -> Distance | None:
        """How frequencies are compared with predictions; None if the statistic has its own way."""
        return getattr(self.statistic, "distance", None)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        return {
            "lens": str(self.lens),
            "statistic": str(self.statistic),
            "partition": None if self.partition is None else str(self.partition),
            "distance": name_of(self.distance) if callable(self.distance) else None,
            "value": self.value,
            "null_mean": float(self.null.mean()),
            "null_sd": spread(self.null),
            "pvalue": self.pvalue,
            "adjusted_pvalue": self.adjusted_pvalue,
        }

    def cells(self) -> list[str]:
        """Return the texts of a line of the table."""
        return [
            str(self.lens),
            str(self.statistic),
            f"{self.value:.4g}".replace("inf", "∞"),
            f"{self.null.mean():.4g} ± {spread(self.null):.2g}",
            f"{self.pvalue:.3g}",
            f"{self.adjusted_pvalue:.3g}",
        ]

    def __repr__(self) -> str:
        return f"<{', '.join(self.cells())}>"


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Evaluation(tables.Tabular):
    """What many tests say.

    Parameters
    ----------
    verdicts : tuple of Verdict
        One for each lens: whether probabilities are off, in which direction and how far.
    rows : tuple of EvaluationRow
        The tests, one for each lens and statistic.
    n : int
        Rows of the data.
    m : int
        Classes of the data.
    settings : mapping
        What it was made with.
    """

    verdicts: tuple[Verdict, ...]
    rows: tuple[EvaluationRow, ...]
    n: int
    m: int
    settings: Settings

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        return {
            "n": self.n,
            "m": self.m,
            "verdicts": [verdict.to_dict() for verdict in self.verdicts],
            "rows": [row.to_dict() for row in self.rows],
            "settings": dict(self.settings),
        }

    def lines(self) -> tables.Lines:
        """Return header and lines of the table."""
        return HEADER, [row.cells() for row in self.rows]

    def records(self) -> list[dict[str, Any]]:
        """Return one record a test."""
        return [row.to_dict() for row in self.rows]

    def __repr__(self) -> str:
        off = ", ".join(str(verdict.lens) for verdict in self.verdicts if verdict.rejected)
        found = f"miscalibrated: {off}" if off else "no evidence of miscalibration"
        return f"<evaluation of {self.n:,} rows, {self.m} classes: {found[:300]}>"

    def __str__(self) -> str:
        return "\n".join(verdict.sentence for verdict in self.verdicts)


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
    """Say whether probabilities are off in several respects, in which direction, and how far.

    Through each lens a few statistics that complement each other are tested, those of the
    omnibus test of `calibration_test`. All of them see the same draws, so the adjustment for
    their number is exact (step-down min-P of Westfall and Young, or max-T of more than
    (n_resamples + 1) / 40 tests), and statistics that are the same test count once. Rows are
    taken to be independent unless they have clusters, and weights to depend on what is known
    before the outcome.

    Parameters
    ----------
    data : Predictions or Scan
        Predictions and outcomes. Of scanned rows, statistics on cells are tested if none are
        chosen, and how far off they are is not worked out.
    lenses : sequence of Lens, optional
        Default: canonical and, for more than two classes, top label.
    statistics : sequence of Statistic, optional
        What to test through each lens instead; `statistics.grid` gives the tables of the paper.
    resampler : Resampler, default Exact()
        Draws data sets under the hypothesis.
    n_resamples : int, default 999
        Number of data sets drawn under the hypothesis.
    rng : int, Generator or None
        The same seed gives the same draws.
    progress : callable, optional
        Function of (done, total), called now and then.

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


def through_all(
    data: Predictions | Scan,
    lenses: Sequence[Lens],
    statistics: Sequence[Statistic] | None,
    plan: Plan,
) -> Evaluation:
    """Test statistics through lenses; the omnibus ones, if there are none."""
    problems = [
        Problem.of(data, lens, plan.resampler, plan.key, distributions=True) for lens in lenses
    ]
    rows, verdicts = judged(problems, statistics, plan)
    if statistics is None:
        pairs = zip(problems, verdicts, strict=True)
        verdicts = tuple(_with_detectable(*pair, rows, len(lenses)) for pair in pairs)
    said = said_of(problems[0].rows) if statistics is None else statistics
    made_with = plan.settings(lenses=lenses, statistics=said)
    return Evaluation(verdicts, rows, data.n, data.m, made_with)


def judged(
    problems: Sequence[Problem], statistics: Sequence[Statistic] | None, plan: Plan
) -> tuple[tuple[EvaluationRow, ...], tuple[Verdict, ...]]:
    """Return the tests of all problems, adjusted together, and what they say of each problem."""
    found = _examine_all(problems, statistics, plan)
    rows = _adjusted([test for tests in found for test in tests])
    if any(row.adjusted_pvalue <= ALPHA for row in rows):
        find_moments_away(problems)
    left = iter(rows)
    verdicts = tuple(
        judge(problem, [next(left) for _ in tests], len(rows), plan.n_resamples)
        for problem, tests in zip(problems, found, strict=True)
    )
    return rows, verdicts


def _with_detectable(
    problem: Problem, verdict: Verdict, rows: Sequence[EvaluationRow], n_lenses: int
) -> Verdict:
    """Add what would have been seen, where nothing was."""
    if verdict.rejected or not can_tell(problem, verdict.n_resamples):
        return verdict
    tests = [(row.statistic, row.null) for row in rows if row.lens is problem.lens]
    return replace(verdict, detectable=detectable(problem, tests, ALPHA / n_lenses))


def _examine_all(
    problems: Sequence[Problem], statistics: Sequence[Statistic] | None, plan: Plan
) -> list[list[Test]]:
    """Return the tests of all problems; the omnibus ones, if no statistics are chosen."""
    for problem in problems:
        check_hypothesis(problem)
    tested = [omnibus(p.view) if statistics is None else statistics for p in problems]
    found = of_all(problems, tested, plan, CELLS_OF_VERDICTS)
    return [
        [(problem.lens, *one) for one in zip(some, *values, strict=True)]
        for problem, some, values in zip(problems, tested, found, strict=True)
    ]


def _adjusted(tests: Sequence[Test]) -> tuple[EvaluationRow, ...]:
    """Return the rows of all tests, adjusted together."""
    values, nulls = np.array([test[2] for test in tests]), np.stack([test[3] for test in tests])
    pairs = zip(tests, adjust(values, nulls), strict=True)
    return tuple(EvaluationRow(*test, float(p)) for test, p in pairs)
