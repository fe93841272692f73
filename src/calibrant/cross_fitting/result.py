"""What recalibration does to scores, calibration and refinement: before and after, side by side."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant import tables
from calibrant.checks.parameters import brief
from calibrant.cross_fitting.change import ALPHA, Change
from calibrant.inference import CalibrationTest
from calibrant.inference.replicates.problem import Settings, fields
from calibrant.predictions import Predictions
from calibrant.recalibration import Map, Method
from calibrant.words import decimal, many

Folds = NDArray[np.int32]

AS_IT_IS = "as it is"
ENOUGH = 99  # resamples with which several statistics together can reject
HEADER = (
    *("method", "log loss", "change in log loss", "Brier", "change in Brier", "size²"),
    *("refinement", "p"),
)
RULE = (
    "as it is, unless the exact test rejects calibration at 5 %; then the first method, if it"
    " improves the cross-fitted log loss, and each further one in its place, if it improves it by"
    " more than one standard error"
)
NOTE = (
    "Changes are 95 % intervals, which allow for the choice of a method; size² is the squared"
    " miscalibration without bias. p is exact for the model as it is. Of recalibrated predictions"
    " its hypothesis is that the outcome of each row is drawn from its cross-fitted prediction. It"
    " would be exact if the calibrators were given, but each was fitted to the outcomes of other"
    " rows: a large p then says little, and a small one that the calibrator is not right yet."
)


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


def refuted(model: RecalibrationRow, searched: float | None = None) -> bool:
    """Whether a model is shown to be miscalibrated: by its test, or by an impossible outcome.

    searched : p-value of a search of regions, if there was one; the smaller of both is doubled
    """
    pvalue = model.pvalue if searched is None else 2 * min(model.pvalue, searched)
    return pvalue <= ALPHA or bool(np.isinf(model.log_score))


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
    """A model before and after several methods, on rows that calibrators have not seen."""

    data: Predictions  # the model as it is
    rows: tuple[RecalibrationRow, ...]  # the model as it is, then after each method
    recommended: str  # name of the row that the rule chooses
    folds: Folds  # (n,) the fold of each row
    settings: Settings  # what it was made with
    searched: float | None = None  # p-value of a search of regions, if there was one

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
        found |= fields(self, "rows", "recommended", "recommendation", "searched")
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
        if chosen is first:
            return f"Leave it as it is: {self._why_left()}."
        after = f"Use {chosen.name}: on rows it has not seen,"
        if np.isinf(first.log_score):
            return (
                f"{after} its log loss is {chosen.log_score:.4f}. The model's own is infinite,"
                " since outcomes occurred to which it gives probability 0."
            )
        low, high = chosen.log_change.interval
        return (
            f"{after} the log loss falls from {first.log_score:.4f} to {chosen.log_score:.4f}, by"
            f" {-chosen.log_change.value:.4f} (95 % interval {-high:.4f} to {-low:.4f})."
        )

    def _why_left(self) -> str:
        """Say why the model is left as it is."""
        if not any(np.isfinite(row.log_score) for row in self.rows):
            return "every log loss is infinite, so none can be preferred"
        pvalue = f"p = {self.rows[0].pvalue:.3g}"
        if self.searched is not None:
            pvalue += f", of a search of regions p = {self.searched:.3g}"
        if refuted(self.rows[0], self.searched):
            unseen = "the log loss of rows that it has not seen"
            return f"it is miscalibrated ({pvalue}), but no method improves {unseen}"
        few = ", but resamples are few" if self.settings["n_resamples"] < ENOUGH else ""
        return f"nothing shows that it is miscalibrated ({pvalue}{few})"

    def __repr__(self) -> str:
        return f"<{self}>"

    def __str__(self) -> str:
        return (
            f"recalibration of {many(self.data.n, 'row')} and {self.data.m:,} classes by"
            f" {many(len(self.rows) - 1, 'method')}. {self.recommendation}"
        )
