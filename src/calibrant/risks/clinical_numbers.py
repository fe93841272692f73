"""The numbers by which a clinical prediction model is judged, in one call."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from calibrant.arguments import takes_arrays
from calibrant.checks.parameters import fraction
from calibrant.lenses import Canonical, Lens
from calibrant.predictions import Predictions
from calibrant.risks.curve import FlexibleCurve, flexible_curve
from calibrant.risks.discrimination import area
from calibrant.risks.logistic import in_the_large, observed_expected, slope_and_intercept
from calibrant.risks.parts import brier, scaled_brier
from calibrant.risks.sample import Measured, Risks, number
from calibrant.risks.utility import (
    NetBenefit,
    curve_thresholds,
    net_benefit,
    table_thresholds,
)
from calibrant.tables import Lines, Tabular
from calibrant.words import capital, many, percent

INTERVALS = {  # name of the measure, and what it is if the model is calibrated
    "observed_expected": ("observed to expected (O/E)", "1"),
    "in_the_large": ("calibration in the large, log-odds", "0"),
    "slope": ("calibration slope", "1"),
    "intercept": ("intercept beside that slope, log-odds", "0"),
    "auc": ("area under the ROC curve (AUC)", ""),
    "brier": ("Brier score of the event", ""),
    "scaled_brier": ("scaled Brier score", ""),
}


class Spoken(NamedTuple):
    """Intervals of two numbers that are wide enough to be spoken of together."""

    observed_expected: Measured
    slope: Measured


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Clinical(Tabular):
    """The numbers that validate a clinical prediction model; `print` shows them.

    Parameters
    ----------
    n : int
        Number of rows.
    events : int
        Number of rows with the event.
    rate : float
        Share of the rows with the event, weighted if they are.
    observed_expected : Measured
        Observed over expected number of events, with its interval; 1 if calibrated.
    in_the_large : Measured
        Intercept of a logistic regression on the log-odds if its slope is 1; 0 if calibrated.
    slope, intercept : Measured
        Of that regression; 1 and 0 if calibrated, a slope below 1 if predictions are too extreme.
    auc : Measured
        Area under the ROC curve.
    brier, scaled_brier : Measured
        Mean of (y - p)², and how much lower it is than that of the rate, as a share.
    curve : FlexibleCurve
        The observed frequency over the prediction, with pointwise limits; ICI, E50 and E90.
    decision : NetBenefit
        Net benefit over thresholds.
    benefits : NetBenefit
        Net benefit at the thresholds of the table.
    certain : int
        Rows with a prediction of 0 or 1, which slope, intercept and calibration in the large leave
        out.
    spoken : Spoken
        What the sentences rest on: intervals of both, which hold together at `level`.
    settings : mapping
        What it was made with.
    """

    n: int
    events: int
    rate: float
    observed_expected: Measured
    in_the_large: Measured
    slope: Measured
    intercept: Measured
    auc: Measured
    brier: Measured
    scaled_brier: Measured
    curve: FlexibleCurve
    decision: NetBenefit
    benefits: NetBenefit
    certain: int
    spoken: Spoken
    settings: Mapping[str, Any]

    @property
    def level(self) -> float:
        """Level of the intervals."""
        return float(self.settings["level"])

    def lines(self) -> Lines:
        """Return header and lines of the table, in the order of the items of TRIPOD+AI."""
        header = ("item", "measure", "value", f"{percent(self.level)} interval", "if calibrated")
        return header, [list(row) for row in self._rows()]

    def _rows(self) -> Iterator[tuple[str, str, str, str, str]]:
        yield "participants", "rows", f"{self.n:,}", "", ""
        if self.certain:
            name = "rows with log-odds (not 0 or 1)"
            yield "participants", name, f"{self.n - self.certain:,}", "", ""
        yield "participants", "events", f"{self.events:,}", "", ""
        yield "participants", "share of events", number(self.rate), "", ""
        for name in ("observed_expected", "in_the_large", "slope", "intercept"):
            yield self._cells_of("calibration", name)
        yield "calibration", "ICI, mean distance", number(self.curve.ici), "", self._expected
        yield "calibration", "E50, median distance", number(self.curve.e50), "", ""
        yield "calibration", "E90, 90 % quantile", number(self.curve.e90), "", ""
        yield self._cells_of("discrimination", "auc")
        yield self._cells_of("overall", "brier")
        yield self._cells_of("overall", "scaled_brier")
        found = self.benefits
        for t, value, *ends, treat_all in zip(*found[:5], strict=True):
            low, high = map(number, ends)
            name = f"net benefit at {t:g} (treat all {number(treat_all)})"
            yield "clinical utility", name, number(value), f"{low} to {high}", ""

    @property
    def _expected(self) -> str:
        return f"about {number(self.curve.expected_ici)}"

    def _cells_of(self, item: str, field: str) -> tuple[str, str, str, str, str]:
        measured: Measured = getattr(self, field)
        low, high = map(number, measured.interval)
        title, ideal = INTERVALS[field]
        return item, title, number(measured.value), f"{low} to {high}", ideal

    @property
    def sentences(self) -> list[str]:
        """What the numbers say."""
        return [
            f"{many(self.events, 'event')} in {many(self.n, 'row')}.",
            self._on_average(),
            self._spread(),
            f"AUC {self.auc}. {capital(self.decision.text())}.",
            *self._left_out(),
        ]

    @property
    def facts(self) -> list[str]:
        """The sentences that judge nothing which a page of tests judges."""
        first, _, _, *others = self.sentences
        return [first, *others]

    def _on_average(self) -> str:
        value, (low, high) = self.observed_expected
        start = (
            f"Observed to expected events: {number(value)} ({percent(self.level)} interval"
            f" {number(low)} to {number(high)})"
        )
        low, high = self.spoken.observed_expected.interval
        if low > 1:
            return f"{start}: risks are too low on average."
        if high < 1:
            return f"{start}: risks are too high on average."
        return f"{start}: risks are not shown to be off on average."

    def _spread(self) -> str:
        value, (low, high) = self.slope
        if np.isnan(value):
            return (
                "Calibration slope: cannot be told, since outcomes are all the same or a threshold"
                " of the prediction separates them."
            )
        start = f"Calibration slope: {number(value)} ({number(low)} to {number(high)})"
        low, high = self.spoken.slope.interval
        if high < 1:
            return f"{start}: risks are too extreme, high ones too high and low ones too low."
        if low > 1:
            return f"{start}: risks are not extreme enough."
        return f"{start}: not shown to differ from 1."

    def _left_out(self) -> Iterator[str]:
        if self.certain:
            rows = "row was" if self.certain == 1 else "rows were"
            yield (
                f"{self.certain:,} {rows} given 0 or 1, whose log-odds are infinite: slope,"
                " intercept and calibration in the large leave them out; the other numbers do not."
            )

    def records(self) -> list[dict[str, Any]]:
        """Return plain values for each row of a data frame."""
        found = []
        for name, (title, _) in INTERVALS.items():
            value, (low, high) = getattr(self, name)
            found.append({"measure": title, "value": value, "low": low, "high": high})
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and texts."""
        measured = {name: getattr(self, name) for name in INTERVALS}
        return {
            **{name: getattr(self, name) for name in ("n", "events", "rate", "certain")},
            **{name: {"value": v, "interval": list(ends)} for name, (v, ends) in measured.items()},
            **{name: getattr(self.curve, name) for name in ("ici", "e50", "e90", "expected_ici")},
            "curve": {
                name: getattr(self.curve, name).tolist() for name in ("x", "y", "low", "high")
            },
            "net_benefit": self.benefits.to_dict(),
            "decision_curve": self.decision.to_dict(),
            "sentences": self.sentences,
            "settings": dict(self.settings),
        }

    def __str__(self) -> str:
        return "\n".join(self.sentences)

    def __repr__(self) -> str:
        return f"<{self.events:,} events in {self.n:,} rows; O/E {self.observed_expected}>"


@takes_arrays
def clinical(
    data: Predictions,
    *,
    thresholds: float | Sequence[float] | None = None,
    lens: Lens | str = Canonical(),
    level: float = 0.95,
) -> Clinical:
    r"""Validate the predicted risks of an event: the numbers that TRIPOD+AI asks for.

    .. math:: \frac{O}{E} = \frac{\sum_i y_i}{\sum_i p_i}, \qquad
        \operatorname{logit} P(y = 1) = \alpha + \beta \operatorname{logit} p

    α is the intercept and β the slope; with β = 1, α is calibration in the large.

    Parameters
    ----------
    data : Predictions
        Or probabilities, with labels after them; two outcomes, of which class 1 is the event.
    thresholds : float or sequence of float, optional
        Risks from which somebody is treated, for the net benefit in the table. Default: round
        numbers. The decision curve has its own, up to the largest prediction.
    lens : Lens, default Canonical()
        What aspect to look at, if there are more outcomes: "class:dog".
    level : float, default 0.95
        Level of the intervals.

    Returns
    -------
    Clinical
        `.observed_expected`, `.in_the_large`, `.slope`, `.intercept`, `.auc`, `.brier` and
        `.scaled_brier`, each with `.value` and `.interval`; `.curve`, `.decision`, and a table.

    Notes
    -----
    Intervals hold with few events: from the exact distribution of their number (O/E and in the
    large), the modified profile likelihood (slope and intercept), and a score interval with the
    variance of DeLong (AUC). They hold for the population that rows were drawn from, with whatever
    shape miscalibration has. Rows in clusters widen them, and of unequal weight too. Sentences
    speak of O/E and slope with intervals that hold for both at once.

    References
    ----------
    Collins et al. (2024), "TRIPOD+AI statement", BMJ. Van Calster et al. (2019), "Calibration: the
    Achilles heel of predictive analytics", BMC Medicine.

    Examples
    --------
    >>> data = Predictions([0.1, 0.2, 0.6, 0.7, 0.9] * 20, [0, 1, 0, 1, 1] * 20)
    >>> found = clinical(data)
    >>> print(found.observed_expected)
    1.200 (1.009 to 1.384)
    >>> round(found.slope.value, 4), found.auc.value
    (0.6597, 0.8333333333333333)
    """
    fraction("level", level)
    risks = Risks.of(data, lens, level, "clinical")
    shown = table_thresholds(risks, thresholds)
    inner = (risks.p > 0.0) & (risks.p < 1.0)
    between = risks if inner.all() else risks.rows(inner)
    slope, intercept = slope_and_intercept(between)
    both = risks.at((1 + level) / 2), between.at((1 + level) / 2)
    spoken = Spoken(observed_expected(both[0]), slope_and_intercept(both[1])[0])
    return Clinical(
        n=int(risks.p.size),
        events=int(risks.occurred.sum()),
        rate=risks.rate,
        observed_expected=observed_expected(risks),
        in_the_large=in_the_large(between),
        slope=slope,
        intercept=intercept,
        auc=area(risks),
        brier=brier(risks),
        scaled_brier=scaled_brier(risks),
        curve=flexible_curve(risks),
        decision=net_benefit(risks, curve_thresholds(risks)),
        benefits=net_benefit(risks, np.array(shown)),
        certain=int((~inner).sum()),
        spoken=spoken,
        settings={"lens": str(lens), "level": level, "clusters": risks.clusters is not None},
    )
