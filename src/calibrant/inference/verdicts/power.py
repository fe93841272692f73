"""Is the data enough to tell? How often a test would reject if the model were off.

Labels are drawn from something else than the predictions, and tested as ever.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, sqrt
from numbers import Real
from typing import Any, final

import numpy as np

from calibrant import tables
from calibrant.arguments import as_lens, check_data, takes_arrays
from calibrant.checks.parameters import Rng, derive, fraction, function
from calibrant.engine.arrays import Floats
from calibrant.inference.replicates.driver import replicates, values_and_replicates
from calibrant.inference.replicates.problem import Plan, Problem, Progress, Settings, fields
from calibrant.inference.testing.families import combined, omnibus, omnibus_weights, pvalue
from calibrant.lenses import Canonical, Lens
from calibrant.predictions import Predictions
from calibrant.resampling import Exact, Shifted, Tempered
from calibrant.statistics import Statistic
from calibrant.statistics.spelled import as_statistic
from calibrant.statistics.statistic import AnyStatistic
from calibrant.words import BIAS, listed, percent, points, signed

Rho = Callable[[Any], Any]

HEADER = ("if the model were", "truth", "off by", BIAS, "power")
STEPS = 5  # halvings of the span of amounts in which the smallest one is looked for
POWER = 0.8  # with which something is said to be seen
LIMIT = 6.0  # the largest amount that is tried, of log temperature or log-odds
LOOKED_AT = 1 << 20  # probabilities up to which evaluate says what it would have seen
FINEST = 199  # resamples from which it does
DATA_SETS = 50  # that are drawn for it at each step


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PowerRow:
    """How often one way of being off would be seen.

    Parameters
    ----------
    name : str
        What would be wrong with the model.
    truth : callable
        What labels would be drawn from, as a function of the predictions.
    size : float or None
        Root mean square deviation of the predictions from it, in units of the total variation.
    bias : float or None
        Of two outcomes: mean prediction minus mean truth.
    power : float
        Share of data sets that would be rejected.
    n_data_sets : int
        How many were drawn.
    found : bool
        Whether this is the smallest amount that reaches the target; False for the largest that was
        tried, or if the user chose it.
    """

    name: str
    truth: Rho
    size: float | None
    bias: float | None
    power: float
    n_data_sets: int
    found: bool

    @property
    def standard_error(self) -> float:
        """Of the power, from the number of data sets."""
        return sqrt(self.power * (1 - self.power) / self.n_data_sets)

    @property
    def amount(self) -> str:
        """What would be wrong, and by how much."""
        return self.name + ("" if self.size is None else f" by {points(self.size)}")

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        numbers = "size", "bias", "power", "standard_error", "n_data_sets", "found"
        return {"truth": _said(self.truth)} | fields(self, "name", *numbers)

    def cells(self) -> list[str]:
        """Return the texts of a line of the table."""
        size = "" if self.size is None else points(self.size)
        bias = "" if self.bias is None else signed(100 * self.bias, 1)
        return [self.name, _said(self.truth), size, bias, f"{100 * self.power:.0f} %"]

    def __repr__(self) -> str:
        return f"<{', '.join(self.cells())}>"


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Power(tables.Tabular):
    """How far off a model must be for a data set to show it.

    Parameters
    ----------
    rows : tuple of PowerRow
        One for each way of being off.
    n : int
        Rows of the data.
    target : float or None
        The power that was searched for; None for alternatives that the user chose.
    settings : mapping
        What it was made with.
    """

    rows: tuple[PowerRow, ...]
    n: int
    target: float | None
    settings: Settings

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        return fields(self, "n", "target", "rows", "settings")

    def lines(self) -> tables.Lines:
        """Return header and lines of the table; without the bias where there is none."""
        kept = [c for c in range(len(HEADER)) if HEADER[c] != BIAS or self.rows[0].bias is not None]
        rows = [row.cells() for row in self.rows]
        return [HEADER[c] for c in kept], [[row[c] for c in kept] for row in rows]

    def __repr__(self) -> str:
        return f"<power: {str(self)[:450]}>"

    def __str__(self) -> str:
        amounts = [row.amount for row in self.rows if row.found]
        if not amounts:
            return self._how_often()
        hidden = [row.name for row in self.rows if not row.found]
        but = f", but not one that is {listed(hidden, 'or')}, however far" if hidden else ""
        return (
            f"{self.n:,} rows would show, in {percent(self.target or 0.0)} of data sets, a model"
            f" that is {listed(amounts, 'or')}{but}"
        )

    def _how_often(self) -> str:
        """Say how often alternatives that were given would be seen."""
        chances = [f"in {100 * row.power:.0f} % if it were {row.name}" for row in self.rows]
        chances[0] = chances[0].replace(" %", " % of data sets").replace(" it ", " the model ")
        return f"{self.n:,} rows would show it {listed(chances)}"


@takes_arrays
def power(
    data: Predictions,
    alternatives: Mapping[str, Rho] | float = POWER,
    *,
    lens: Lens | str = Canonical(),
    statistic: AnyStatistic | None = None,
    alpha: float = 0.05,
    n_resamples: int = 999,
    rng: Rng = None,
    progress: Progress | None = None,
) -> Power:
    r"""Find out whether the rows are enough: how far off a model must be for them to show it.

    Ask before you look at outcomes. Labels are drawn from rho(g(x)) instead of the predictions
    g(x), and tested as by `calibration_test`. Predictions stay, so all data sets share one null
    distribution.

    Parameters
    ----------
    data : Predictions
        Predictions; their outcomes are not looked at.
    alternatives : mapping of str to callable, or float, default 0.8
        What labels are drawn from: functions rho of the predictions (n, m) -> (n, m), such as
        `resampling.Tempered` and `resampling.Shifted`. Or a power: then four families are searched
        for the smallest amount that is seen with it: a model that is over- or underconfident by
        a temperature, and one whose event (of more classes, the most probable one) has log-odds
        that are too high or too low.
    lens : Lens, default Canonical()
        What aspect is tested.
    statistic : Statistic or callable, optional
        Default: the omnibus test.
    alpha : float, default 0.05
        Level of the test.
    n_resamples : int, default 999
        Size B of the null distribution. For each alternative, and each amount that is tried,
        (B + 1) / 5 data sets are drawn: 200, of which a power of 0.8 has a standard error of 0.03.
    rng, progress
        As in `calibration_test`.

    Returns
    -------
    Power

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.resampling import Tempered
    >>> data = Predictions(np.linspace(0.01, 0.99, 500), np.zeros(500, int))
    >>> found = power(data, {"far too confident": Tempered(3.0)}, rng=0)
    >>> found.rows[0].power
    1.0
    """
    check_data(data)
    lens = as_lens(lens, data)
    alpha = fraction("alpha", alpha)
    searched, target = _searched(data, alternatives)
    if data.clusters is not None:
        raise ValueError(
            "`data` must have independent rows: how outcomes of one cluster depend on each other is"
            " not known, so they cannot be drawn."
        )
    plan = Plan.of(data, Exact(), n_resamples, rng, progress)
    problem = plan.look(data, lens)
    one = None if statistic is None else (as_statistic(statistic),)
    tested = omnibus(problem.view) if one is None else one
    count = max(1, (plan.n_resamples + 1) // 5)
    _, nulls = values_and_replicates(problem, tested, plan.part(0, 1 + len(searched)))
    detector = Detector(problem, tested, nulls, alpha)
    rows = []
    for number, (name, family) in enumerate(searched.items(), 1):
        rows.append(_row(detector, name, family, target, count))
        if progress is not None:
            progress(1000 * (number + 1), 1000 * (1 + len(searched)))
    said = "omnibus" if one is None else one[0]
    made_with = plan.settings(
        lens=lens, statistic=said, alpha=alpha, target=target, n_data_sets=count
    )
    return Power(tuple(rows), data.n, target, made_with)


def _row(
    detector: "Detector", name: str, family: Callable[..., Any], target: float | None, count: int
) -> PowerRow:
    """Return the power of an alternative, or the smallest of a family that reaches the target."""
    truth, found = family, False
    if target is not None:
        amount = detector.smallest(family, target, count)
        found = amount is not None
        truth = family(LIMIT if amount is None else amount)
    return PowerRow(name, truth, *detector.size(truth), detector.power(truth, count), count, found)


def _families(data: Predictions) -> dict[str, Callable[..., Any]]:
    """Return ways of being off, each by an amount from 0."""
    event = shifted_class(data)
    about = f"“{data.classes[event]}”"
    return {
        "overconfident": too_confident,
        "underconfident": lambda amount: Tempered(exp(-amount)),
        f"too high for {about}": lambda amount: Shifted(event, -amount),
        f"too low for {about}": lambda amount: Shifted(event, amount),
    }


def shifted_class(data: Predictions) -> int:
    """Return the class whose log-odds are shifted: the event, or the most probable of more."""
    return data.event if data.event is not None else int((data.weights @ data.probs).argmax())


def _searched(
    data: Predictions, alternatives: Any
) -> tuple[dict[str, Callable[..., Any]], float | None]:
    """Return alternatives, or else families of them and the power that is searched for."""
    if isinstance(alternatives, Real):
        return _families(data), fraction("alternatives", alternatives)
    if not isinstance(alternatives, Mapping) or not alternatives:
        raise TypeError(
            "`alternatives` must be a dict of functions, such as {'overconfident': Tempered(1.5)},"
            " or the power that is searched for, such as 0.8."
        )
    for rho in alternatives.values():
        function("alternatives", rho, "probs")
    return {str(name): rho for name, rho in alternatives.items()}, None


def _said(truth: Rho) -> str:
    """Return what labels would be drawn from, in a few words."""
    return str(truth) if isinstance(truth, Tempered | Shifted) else getattr(truth, "__name__", "")


def too_confident(amount: float) -> Tempered:
    """Return the truth of a model that is too confident by a logarithm of the temperature."""
    return Tempered(exp(amount))


@final
class Detector:
    """Tests that share one null distribution, and how often they would reject together.

    problem : predictions as a lens shows them; their labels do not matter
    nulls : (statistics, B)
    alpha : level of the test
    """

    def __init__(
        self, problem: Problem, statistics: Sequence[Statistic], nulls: Floats, alpha: float
    ) -> None:
        self.problem, self.statistics, self.nulls, self.alpha = problem, statistics, nulls, alpha
        self._prepared = [statistic.prepare(problem.view) for statistic in statistics]
        self._weights = omnibus_weights(statistics)

    def power(self, rho: Rho, n_data_sets: int) -> float:
        """Return the share of data sets that would be rejected if labels came from rho."""
        other = self.problem.under(Exact(rho), derive(self.problem.redraw.key, 7))
        plan = Plan(other.resampler, n_data_sets, 0)
        drawn = replicates(other, self.statistics, self._prepared, plan)
        return float(np.mean([self._pvalue(values) <= self.alpha for values in drawn.T]))

    def _pvalue(self, values: Floats) -> float:
        if len(self.statistics) == 1:
            return float(pvalue(values[0], self.nulls[0]))
        return float(pvalue(*combined(values, self.nulls, self._weights)))

    def smallest(
        self, family: Callable[[float], Rho], target: float, n_data_sets: int
    ) -> float | None:
        """Return the smallest amount that is seen with a power of `target`; None if none is.

        All amounts see the same random numbers, so that power hardly ever falls with the amount.
        """
        low, high = 0.0, 0.05
        while self.power(family(high), n_data_sets) < target:
            if high >= LIMIT:
                return None
            low, high = high, min(2 * high, LIMIT)
        for _ in range(STEPS):
            middle = (low + high) / 2
            if self.power(family(middle), n_data_sets) < target:
                low = middle
            else:
                high = middle
        return high

    def size(self, rho: Rho) -> tuple[float | None, float | None]:
        """Return how far predictions would be off, as verdicts say it: root mean square and bias.

        None where a lens takes rows apart, and the bias of more than two outcomes.
        """
        problem, seen = self.problem, self.problem.seen
        if not problem.lens.rowwise:
            return None, None
        other = problem.under(Exact(rho), problem.redraw.key)
        gaps = seen.probs - np.asarray(other.hypothesis.seen_probs, np.float64)
        share = seen.weights / seen.weights.sum()
        bias = None if seen.event is None else float(share @ gaps[:, seen.event])
        return sqrt(float(share @ (gaps**2).sum(axis=1)) / 2), bias


def detectable(
    problem: Problem, tests: Sequence[tuple[Statistic, Floats]], alpha: float
) -> float | None:
    """Return how far overconfident predictions would have to be off to be seen in 80 of 100.

    None if they never are, and where it cannot be said, or not in reasonable time.
    """
    statistics, nulls = zip(*tests, strict=True)
    few = problem.rows.n * problem.rows.m <= LOOKED_AT and nulls[0].size >= FINEST
    if not (few and problem.rows.held and problem.redraws_labels and problem.calibrated):
        return None
    detector = Detector(problem, statistics, np.stack(nulls), alpha)
    amount = detector.smallest(too_confident, POWER, DATA_SETS)
    return None if amount is None else detector.size(too_confident(amount))[0]
