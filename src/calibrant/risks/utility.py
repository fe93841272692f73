r"""Net benefit over thresholds: the decision curve of Vickers and Elkin (2006).

.. math:: \mathrm{NB}(t) = \frac{TP}{n} - \frac{FP}{n} \cdot \frac{t}{1 - t}

Treated are rows with :math:`p \ge t`. Treating none has a net benefit of 0, treating all one of
:math:`\pi - (1 - \pi) t / (1 - t)`.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from calibrant.checks.parameters import brief
from calibrant.risks.parts import Formula, Parts, influence_of
from calibrant.risks.sample import Floats, Risks, limits_of_share, number

POINTS = 100  # thresholds of a curve
TOLD = (0.05, 0.1, 0.2, 0.3, 0.5)  # in the table, if predictions reach them


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

    def told(self) -> str:
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
            f" {span}{gaps}, each by itself"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        return {name: values.tolist() for name, values in self._asdict().items()}


def net_benefit(risks: Risks, thresholds: Floats) -> NetBenefit:
    """Return the net benefit at each threshold, with limits."""
    odds = thresholds / (1 - thresholds)

    def benefit(rate: Any, hits: Any, alarms: Any) -> Any:
        return rate * hits - (1 - rate) * alarms * odds

    def over_all(rate: Any, hits: Any, alarms: Any) -> Any:
        return (1 - rate) * (1 - alarms) * odds - rate * (1 - hits)

    value, low, high = _measured(risks, thresholds, benefit)
    _, least, _ = _measured(risks, thresholds, over_all)
    return NetBenefit(thresholds, value, low, high, benefit(risks.rate, 1.0, 1.0), least)


def _measured(risks: Risks, thresholds: Floats, formula: Formula) -> tuple[Any, Any, Any]:
    """Measure a formula of the rate, and of the shares of either outcome that are treated (k,)."""
    z = _quantiles(risks, thresholds, formula)
    shares: list[Any] = []
    limits: list[Any] = [limits_of_share(risks.rate, risks.total, z)]
    for some in (risks.occurred, ~risks.occurred):
        weights = risks.weights[some]
        rows = float(weights.sum() ** 2 / (weights**2).sum()) if weights.size else 0.0
        shares.append(_treated(risks.p[some], weights, thresholds))
        none = np.zeros_like(thresholds), np.ones_like(thresholds)
        limits.append(limits_of_share(shares[-1], rows, z) if rows else none)
    limits[0] = tuple(np.broadcast_to(end, thresholds.shape) for end in limits[0])
    return Parts(risks.rate, (shares[0], shares[1]), tuple(limits)).measure(formula)


def _treated(p: Floats, weights: Floats, thresholds: Floats) -> Floats:
    """Return the share of rows at or above each threshold (k,); all where there are none."""
    if not p.size:
        return np.ones_like(thresholds)
    order = np.argsort(p, kind="stable")
    below = np.concatenate(([0.0], np.cumsum(weights[order])))
    return np.asarray(1.0 - below[np.searchsorted(p[order], thresholds, "left")] / below[-1])


def _quantiles(risks: Risks, thresholds: Floats, formula: Formula) -> Any:
    """Return the quantile of each threshold (k,), which differ where rows come in clusters."""
    if risks.clusters is None:
        return risks.z
    found = []
    for i, t in enumerate(thresholds.tolist()):
        treated = (risks.p >= t).astype(np.float64)
        influence = influence_of(risks, treated, lambda *parts, i=i: formula(*parts)[i])
        found.append(risks.stretched(influence))
    return np.array(found)


def curve_thresholds(risks: Risks) -> Floats:
    """Return round thresholds, at even steps, up to the largest prediction."""
    top = min(0.99, max(0.001, float(risks.p.max())))
    power = 10.0 ** np.floor(np.log10(top / POINTS))
    step = next(s * power for s in (1, 2, 5, 10) if s * power >= top / POINTS * (1 - 1e-9))
    return np.asarray((np.arange(1, int(top / step + 1e-9) + 1) * step).round(12))


def told_thresholds(risks: Risks, given: float | Sequence[float] | None) -> list[float]:
    """Return the thresholds for a table: those that were asked for, or round ones."""
    if given is None:
        top = max(float(risks.p.max()), 1e-6)
        return [t for t in TOLD if t <= top] or [float(f"{top:.1g}")]
    found = np.atleast_1d(np.asarray(given, np.float64))
    if not ((found > 0) & (found < 1)).all():
        raise ValueError(
            f"`thresholds` must be probabilities between 0 and 1; found {brief(given)}."
        )
    return [float(t) for t in found]
