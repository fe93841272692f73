"""What recalibration does to scores, calibration and refinement: before and after, side by side."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant import tables
from calibrant.checks.parameters import brief
from calibrant.inference import CalibrationTest
from calibrant.inference.replicates.problem import Settings, fields
from calibrant.predictions import Predictions
from calibrant.recalibration import Map, Method
from calibrant.words import decimal, signed

Floats = NDArray[np.float64]
Folds = NDArray[np.int32]

LEVEL = 0.95  # of the intervals
AS_IT_IS = "as it is"
HEADER = ("method", "log loss", "change", "Brier", "change", "size²", "refinement", "p")
RULE = (
    "the best cross-fitted log loss, or the first method whose score is within one standard error"
    " of the difference"
)
NOTE = (
    "Changes are 95 % intervals; size² is the squared miscalibration without bias. p is exact for"
    " the model as it is. Of recalibrated predictions its hypothesis is that the outcome of each"
    " row is drawn from its cross-fitted prediction. It would be exact if the calibrators were"
    " given, but each was fitted to the outcomes of other rows: a large p then says little, and a"
    " small one that the calibrator is not right yet."
)


@final
@dataclass(frozen=True, slots=True)
class Change:
    r"""The mean difference of the scores of the same rows, after minus before.

    .. math:: \bar d = \frac{\sum_i w_i d_i}{\sum_i w_i}, \qquad
        \mathrm{se}^2 = \frac{n}{n - 1} \frac{\sum_i w_i^2 (d_i - \bar d)^2}{(\sum_i w_i)^2}

    Notes
    -----
    The standard error is that of independent rows and given maps: how well these rows tell what
    these maps do. It says nothing of maps that other rows would have given.

    Examples
    --------
    >>> Change.of(np.array([-1.0, -2.0, -3.0]), np.ones(3))
    <change -2 ± 0.58>
    """

    value: float  # negative if the score became better
    standard_error: float  # nan if a difference is infinite
    n: int  # rows that have weight
    level: float = LEVEL  # of the interval

    @classmethod
    def of(cls, differences: Floats, weights: Floats) -> "Change":
        """Return the mean of differences (n,) and its standard error."""
        held = weights > 0
        d, w = differences[held], weights[held]
        n, total = d.size, w.sum()
        with np.errstate(invalid="ignore"):  # infinite before and after: nothing is known
            mean = float(w @ d / total)
            spread = float(np.sqrt(n / max(n - 1, 1) * ((w * (d - mean)) ** 2).sum()) / total)
        return cls(mean, spread, n)

    @property
    def interval(self) -> tuple[float, float]:
        """Interval of Student's t; nan if the standard error is not known."""
        from scipy.special import stdtrit  # noqa: PLC0415

        reach = float(stdtrit(max(self.n - 1, 1), (1 + self.level) / 2)) * self.standard_error
        return self.value - reach, self.value + reach

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        return fields(self, "value", "standard_error", "interval", "level")

    def __repr__(self) -> str:
        return f"<change {self.value:.4g} ± {self.standard_error:.2g}>"

    def __str__(self) -> str:
        if not np.isfinite(self.value):
            return "–" if np.isnan(self.value) else f"{self.value:+}".replace("inf", "∞")
        low, high = self.interval
        return f"{signed(low, 4)} to {signed(high, 4)}"


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RecalibrationRow:
    """A model as it is, or after one method: scores of its cross-fitted predictions.

    `miscalibration` is the squared Euclidean one on bins, without bias; it may be below 0. `test`
    is of the hypothesis that outcomes are drawn from the cross-fitted predictions.
    """

    name: str  # the method in words, or "as it is"
    method: Method | None  # None for the model as it is
    log_score: float
    brier_score: float
    log_change: Change  # after minus before, in pairs of rows
    brier_change: Change
    miscalibration: float
    test: CalibrationTest
    fold_maps: tuple[Map, ...]  # the map of each fold, which has not seen the fold
    map: Map  # fitted to all rows

    @property
    def pvalue(self) -> float:
        """P-value of the hypothesis that outcomes are drawn from these predictions."""
        return self.test.pvalue

    @property
    def refinement(self) -> float:
        """Brier score less miscalibration: what a perfect recalibration would leave of it.

        If it is larger than before, sharpness was lost: rows are no longer told apart.
        """
        return self.brier_score - self.miscalibration

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        found = {"method": self.name}
        found |= fields(self, "log_score", "log_change", "brier_score", "brier_change")
        return found | fields(self, "miscalibration", "refinement", "pvalue")

    def record(self) -> dict[str, Any]:
        """Return plain numbers, each under a name of its own."""
        flat = self.to_dict()
        for name in ("log_change", "brier_change"):
            change = flat.pop(name)
            flat[name] = change["value"]
            flat[f"{name}_low"], flat[f"{name}_high"] = change["interval"]
        return flat

    def cells(self) -> list[str]:
        """Return the texts of a line of the table."""
        before = self.name == AS_IT_IS
        return [
            self.name,
            decimal(self.log_score),
            "" if before else str(self.log_change),
            f"{self.brier_score:.4f}",
            "" if before else str(self.brier_change),
            f"{self.miscalibration:.5f}",
            f"{self.refinement:.4f}",
            f"{self.pvalue:.3g}",
        ]

    def __repr__(self) -> str:
        return f"<{', '.join(cell for cell in self.cells() if cell)}>"


def apply_to_folds(data: Predictions, maps: tuple[Map, ...], folds: Folds) -> Predictions:
    """Recalibrate the rows of each fold by the map that has not seen them."""
    probs = np.empty(data.probs.shape)
    for fold, fitted in enumerate(maps):
        rows = np.flatnonzero(folds == fold)
        probs[rows] = fitted(data.take(rows)).probs
    return data.with_probs(probs)


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Recalibration(tables.Tabular):
    """A model before and after several methods, on rows that the maps have not seen."""

    data: Predictions  # the model as it is
    rows: tuple[RecalibrationRow, ...]  # the model as it is, then after each method
    recommended: str  # name of the row that the rule chooses
    folds: Folds  # (n,) the fold of each row
    settings: Settings  # what it was made with

    def row(self, name: str | None = None) -> RecalibrationRow:
        """Return the row of a method, or the recommended one."""
        wanted = self.recommended if name is None else name
        for row in self.rows:
            if row.name == wanted:
                return row
        known = ", ".join(repr(row.name) for row in self.rows)
        raise ValueError(f"`name` must be one of {known}; found {brief(name)}.")

    def map(self, name: str | None = None) -> Map:
        """Return the map of a method, or of the recommended one, fitted to all rows."""
        return self.row(name).map

    def predictions(self, name: str | None = None) -> Predictions:
        """Return the cross-fitted predictions of a method, or of the recommended one."""
        row = self.row(name)
        if row.name == AS_IT_IS:
            return self.data
        return apply_to_folds(self.data, row.fold_maps, self.folds)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        found = fields(self.data, "n", "m")
        found |= fields(self, "rows", "recommended", "recommendation")
        return found | {"rule": RULE, "map": self.map().to_dict(), "settings": dict(self.settings)}

    def lines(self) -> tables.Lines:
        """Return header and lines of the table."""
        return HEADER, [row.cells() for row in self.rows]

    def records(self) -> list[dict[str, Any]]:
        """Return one record a method."""
        return [row.record() for row in self.rows]

    @property
    def recommendation(self) -> str:
        """Say what the rule recommends, and why."""
        first, chosen = self.rows[0], self.row()
        leave = "Leave it as it is:"
        if chosen is first and not any(np.isfinite(row.log_score) for row in self.rows):
            return f"{leave} every log loss is infinite, so none can be preferred."
        if chosen is first:
            return f"{leave} no method improves the log loss by more than a standard error."
        after = f"Use {chosen.name}: on rows it has not seen,"
        if np.isinf(first.log_score):
            return (
                f"{after} its log loss is {chosen.log_score:.4f}. The model's own is infinite,"
                " since outcomes occurred to which it gives probability 0."
            )
        gain = f"from {first.log_score:.4f} to {chosen.log_score:.4f}"
        return f"{after} the log loss falls {gain}."

    def __repr__(self) -> str:
        return f"<{self}>"

    def __str__(self) -> str:
        return (
            f"recalibration of {self.data.n:,} rows and {self.data.m} classes by"
            f" {len(self.rows) - 1} methods. {self.recommendation}"
        )
