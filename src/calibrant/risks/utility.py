r"""Net benefit over thresholds: the decision curve of Vickers and Elkin (2006).

.. math:: \mathrm{NB}(t) = \frac{TP}{n} - \frac{FP}{n} \cdot \frac{t}{1 - t}

Treated are rows with :math:`p \ge t`. Treating none has a net benefit of 0, treating all one of
:math:`\pi - (1 - \pi) t / (1 - t)`.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from calibrant.checks.parameters import brief
from calibrant.risks.parts import Formula, Sides, measure
from calibrant.risks.sample import Floats, Measured, Risks

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

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        return {name: values.tolist() for name, values in self._asdict().items()}


def net_benefit(risks: Risks, thresholds: Floats) -> NetBenefit:
    """Return the net benefit at each threshold, with limits."""
    lines = [_at(risks, float(t)) for t in thresholds]
    return NetBenefit(thresholds, *(np.array(column) for column in zip(*lines, strict=True)))


def benefit_at(risks: Risks, threshold: float) -> Measured:
    """Return the net benefit at one threshold."""
    value, low, high, *_ = _at(risks, threshold)
    return Measured(value, (low, high))


def _at(risks: Risks, threshold: float) -> tuple[float, float, float, float, float]:
    odds = threshold / (1 - threshold)
    treated = (risks.p >= threshold).astype(np.float64)
    sides = Sides(treated, treated)

    def benefit(rate: float, hits: float, alarms: float) -> float:
        return rate * hits - (1 - rate) * alarms * odds

    def over_all(rate: float, hits: float, alarms: float) -> float:
        return (1 - rate) * (1 - alarms) * odds - rate * (1 - hits)

    model, gain = (_measured(risks, sides, formula) for formula in (benefit, over_all))
    return model.value, *model.interval, benefit(risks.rate, 1.0, 1.0), gain.interval[0]


def _measured(risks: Risks, sides: Sides, formula: Formula) -> Measured:
    """Measure; where no rows are on one side, the answer is known to be 0."""
    found = measure(risks, sides, formula)
    value, (low, high) = found
    return Measured(value, (min(value, low), max(value, high)))


def curve_thresholds(risks: Risks) -> Floats:
    """Return even thresholds up to the largest prediction."""
    top = min(0.99, max(0.01, float(risks.p.max())))
    return np.linspace(0.0, top, POINTS + 1)[1:]


def told_thresholds(risks: Risks, given: float | Sequence[float] | None) -> list[float]:
    """Return the thresholds for a table: those that were asked for, or round ones."""
    if given is None:
        top = float(risks.p.max())
        return [t for t in TOLD if t <= top] or [float(f"{max(top, 1e-6):.1g}")][: top < 1]
    found = [given] if isinstance(given, float | int) else list(given)
    for t in found:
        if not isinstance(t, float | int) or not 0 < t < 1:
            raise ValueError(
                f"`thresholds` must be probabilities between 0 and 1; found {brief(t)}."
            )
    return [float(t) for t in found]
