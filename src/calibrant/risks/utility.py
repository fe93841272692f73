r"""Net benefit over thresholds: the decision curve of Vickers and Elkin (2006).

.. math:: \mathrm{NB}(t) = \frac{TP}{n} - \frac{FP}{n} \cdot \frac{t}{1 - t}

Treated are rows with :math:`p \ge t`. Treating none has a net benefit of 0, treating all one of
:math:`\pi - (1 - \pi) t / (1 - t)`.

Limits are those of the shares TP/n and FP/n, put together as those of a difference of shares that
exclude each other are (Zou and Donner, 2008).
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from calibrant.checks.parameters import brief
from calibrant.risks.sample import Floats, Risks, limits_of_share, number

POINTS = 100  # thresholds of a curve
ROUND_THRESHOLDS = (0.05, 0.1, 0.2, 0.3, 0.5)  # in the table, if predictions reach them


class NetBenefit(NamedTuple):
    """Net benefit of treating rows by a model, at each of some thresholds."""

    thresholds: Floats  # (k,)
    value: Floats  # (k,) of the model
    low: Floats  # (k,) limits of it, at each threshold by itself
    high: Floats
    treat_all: Floats  # (k,) of treating everybody; treating nobody has 0
    over_all: Floats  # (k,) lower limit of how much better the model is than treating all

    @property
    def shown(self) -> Any:
        """Where the model is shown to be better than treating all, and than treating none (k,)."""
        return (self.low > 0) & (self.over_all > 0)

    def text(self) -> str:
        """Say at which thresholds the model is shown to be better than both."""
        if not self.shown.any():
            return (
                "at no threshold is the net benefit shown to be above that of treating all and of"
                " treating none"
            )
        places = self.thresholds[self.shown]
        span = f"at a threshold of {number(places[0])}"
        if places.size > 1:
            span = f"at thresholds from {number(places[0])} to {number(places[-1])}"
        first, last = np.flatnonzero(self.shown)[[0, -1]]
        gaps = "" if self.shown[first : last + 1].all() else ", not all of them"
        return (
            "the net benefit is above that of treating all and of treating none"
            f" {span}{gaps} (intervals of both differences are above 0, each by itself)"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        return {name: values.tolist() for name, values in self._asdict().items()}


def net_benefit(risks: Risks, thresholds: Floats) -> NetBenefit:
    """Return the net benefit at each threshold, with limits."""
    odds = thresholds / (1 - thresholds)
    ones = np.ones_like(odds)
    hits, alarms = (_treated(risks, some, thresholds) for some in (risks.occurred, ~risks.occurred))
    model = Balance(hits, alarms, ones, odds)
    over_all = Balance(1 - risks.rate - alarms, risks.rate - hits, odds, ones)
    low, high = model.limits(risks, _quantiles(risks, thresholds, 0.0))
    least, _ = over_all.limits(risks, _quantiles(risks, thresholds, 1.0))
    treat_all = risks.rate - (1 - risks.rate) * odds
    return NetBenefit(thresholds, model.value, low, high, treat_all, least)


class Balance(NamedTuple):
    """Shares of all rows that count for and against, and how much one of either counts (k,)."""

    good: Floats
    bad: Floats
    gain: Floats
    loss: Floats

    @property
    def value(self) -> Floats:
        """What counts for, less what counts against."""
        return self.gain * self.good - self.loss * self.bad

    def limits(self, risks: Risks, z: Any) -> tuple[Floats, Floats]:
        """Put the limits of both together. No row is in both: they vary against each other."""
        good, bad = self.good.clip(0.0, 1.0), self.bad.clip(0.0, 1.0)
        ends = [limits_of_share(share, risks.total, z) for share in (good, bad)]
        others = (1 - good) * (1 - bad)
        together = np.sqrt(good * bad / np.where(others > 0, others, 1.0))
        together = np.where(others > 0, together, 1.0).clip(0.0, 1.0)
        found = []
        for j, sign in enumerate((-1, 1)):
            first, second = self.gain * (ends[0][j] - good), self.loss * (bad - ends[1][1 - j])
            far = first**2 + second**2 + 2 * together * first * second
            found.append(self.value + sign * np.sqrt(far))
        return found[0], found[1]


def _treated(risks: Risks, some: Any, thresholds: Floats) -> Floats:
    """Return how many of all rows are some rows at or above each threshold, as a share (k,)."""
    order = np.argsort(risks.p[some], kind="stable")
    upto = np.concatenate(([0.0], np.cumsum(risks.weights[some][order])))
    below = upto[np.searchsorted(risks.p[some][order], thresholds, "left")]
    return np.asarray((upto[-1] - below) / risks.total)


def _quantiles(risks: Risks, thresholds: Floats, all_treated: float) -> Any:
    """Return the quantile of each threshold (k,), which differ where rows come in clusters.

    all_treated : 1 for the net benefit over that of treating all
    """
    if risks.clusters is None:
        return risks.z
    found = []
    for t in thresholds.tolist():
        worth = np.where(risks.occurred, 1.0, -t / (1 - t)) * ((risks.p >= t) - all_treated)
        mean = risks.weights @ worth / risks.total
        found.append(risks.stretched(risks.weights * (worth - mean)))
    return np.array(found)


def curve_thresholds(risks: Risks) -> Floats:
    """Return round thresholds, at even steps, up to the largest prediction."""
    top = min(0.99, max(0.001, float(risks.p.max())))
    power = 10.0 ** np.floor(np.log10(top / POINTS))
    step = next(s * power for s in (1, 2, 5, 10) if s * power >= top / POINTS * (1 - 1e-9))
    return np.asarray((np.arange(1, int(top / step + 1e-9) + 1) * step).round(12))


def table_thresholds(risks: Risks, given: float | Sequence[float] | None) -> list[float]:
    """Return the thresholds for a table: those that were asked for, or round ones."""
    if given is None:
        top = max(float(risks.p.max()), 1e-6)
        return [t for t in ROUND_THRESHOLDS if t <= top] or [float(f"{top:.1g}")]
    found = np.atleast_1d(np.asarray(given, np.float64))
    if not ((found > 0) & (found < 1)).all():
        raise ValueError(
            f"`thresholds` must be probabilities between 0 and 1; found {brief(given)}."
        )
    return [float(t) for t in found]
