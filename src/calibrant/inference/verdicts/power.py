"""Is the data enough to tell? The power of a test for these predictions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import exp, sqrt
from numbers import Real
from typing import Any, final

from calibrant import tables
from calibrant.arguments import as_lens, check_data, takes_arrays
from calibrant.checks.parameters import Rng, fraction, function
from calibrant.inference.replicates.driver import values_and_replicates
from calibrant.inference.replicates.plan import Plan, Progress, Settings, part
from calibrant.inference.replicates.problem import Problem
from calibrant.inference.testing.families import omnibus
from calibrant.inference.verdicts.detection import LIMIT, POWER, Detector, Rho, too_confident
from calibrant.lenses import Canonical, Lens
from calibrant.predictions import Predictions
from calibrant.resampling import Exact
from calibrant.resampling.alternatives import Shifted, Tempered
from calibrant.statistics.spelled import as_statistic
from calibrant.statistics.statistic import AnyStatistic
from calibrant.words import listed, percent, points, signed

HEADER = ("if the model were", "truth", "off by", "bias", "power")
BIAS = HEADER.index("bias")


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
    def told(self) -> str:
        """What would be wrong, and by how much."""
        return self.name + ("" if self.size is None else f" by {points(self.size)}")

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        names = ("name", "size", "bias", "power", "standard_error", "n_data_sets", "found")
        return {"truth": _said(self.truth)} | {name: getattr(self, name) for name in names}

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
    """What a data set can show.

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
        rows = [row.to_dict() for row in self.rows]
        return {"n": self.n, "target": self.target, "rows": rows, "settings": dict(self.settings)}

    def lines(self) -> tables.Lines:
        """Return header and lines of the table; without the bias where there is none."""
        kept = [c for c in range(len(HEADER)) if c != BIAS or self.rows[0].bias is not None]
        rows = [row.cells() for row in self.rows]
        return [HEADER[c] for c in kept], [[row[c] for c in kept] for row in rows]

    def records(self) -> list[dict[str, Any]]:
        """Return one record a way of being off."""
        return [row.to_dict() for row in self.rows]

    def __repr__(self) -> str:
        return f"<power: {str(self)[:450]}>"

    def __str__(self) -> str:
        told = [row.told for row in self.rows if row.found]
        if not told:
            return self._how_often()
        hidden = [row.name for row in self.rows if not row.found]
        but = f", but not one that is {listed(hidden, 'or')}, however far" if hidden else ""
        return (
            f"{self.n:,} rows would show, in {percent(self.target or 0.0)} of data sets, a model"
            f" that is {listed(told, 'or')}{but}"
        )

    def _how_often(self) -> str:
        """Say how often alternatives that were given would be seen."""
        told = [f"in {100 * row.power:.0f} % if it were {row.name}" for row in self.rows]
        told[0] = told[0].replace(" %", " % of data sets").replace(" it ", " the model ")
        return f"{self.n:,} rows would show it {listed(told)}"


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
    r"""Say how far off the model would have to be for these predictions to show it.

    Labels are drawn from rho(g(x)) instead of the predictions g(x), and tested as
    `calibration_test` does. Predictions stay, so that all data sets share one null distribution.

    Parameters
    ----------
    data : Predictions
        Predictions; their outcomes are not looked at.
    alternatives : mapping of str to callable, or float, default 0.8
        What labels are drawn from: functions rho of the predictions (n, m) -> (n, m), such as
        `resampling.Tempered` and `resampling.Shifted`. Or a power: then four families are searched
        for the smallest amount that is seen with it: a model that is too confident or too timid by
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
    rng : int, Generator or None
        The same seed gives the same draws.
    progress : callable, optional
        Function of (done, total), called now and then.

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
    plan = Plan.of(_independent(data), Exact(), n_resamples, rng, progress)
    problem = Problem.of(data, lens, plan.resampler, plan.key)
    one = None if statistic is None else (as_statistic(statistic),)
    tested = omnibus(problem.view) if one is None else one
    count = max(1, (plan.n_resamples + 1) // 5)
    first = Plan(plan.resampler, plan.n_resamples, plan.seed, part(progress, 0, 1 + len(searched)))
    _, nulls = values_and_replicates(problem, tested, first)
    detector = Detector.of(problem, tested, nulls, alpha)
    rows = []
    for number, (name, family) in enumerate(searched.items(), 1):
        rows.append(_row(detector, name, family, target, count))
        if progress is not None:
            progress(1000 * (number + 1), 1000 * (1 + len(searched)))
    settings = plan.settings(
        lens=lens,
        statistic="omnibus" if one is None else one[0],
        alpha=alpha,
        target=target,
        n_data_sets=count,
    )
    return Power(tuple(rows), data.n, target, settings)


def _row(
    detector: Detector, name: str, family: Callable[..., Any], target: float | None, count: int
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
        "too confident": too_confident,
        "too timid": lambda amount: Tempered(exp(-amount)),
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
            "`alternatives` must be a dict of functions, such as {'too confident': Tempered(1.5)},"
            " or the power that is searched for, such as 0.8."
        )
    for rho in alternatives.values():
        function("alternatives", rho)
    return {str(name): rho for name, rho in alternatives.items()}, None


def _independent(data: Predictions) -> Predictions:
    """Refuse clusters: how labels depend on each other within them is not known."""
    if data.clusters is not None:
        raise ValueError(
            "`data` must have independent rows: how outcomes of one cluster depend on each other is"
            " not known, so they cannot be drawn."
        )
    return data


def _said(truth: Rho) -> str:
    """Return what labels would be drawn from, in a few words."""
    return str(truth) if isinstance(truth, Tempered | Shifted) else getattr(truth, "__name__", "")
