"""A calibrator by region: search where predictions are too high or too low, and shift them."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, final

import numpy as np

from calibrant.cuts.columns import texts_of
from calibrant.engine.arrays import Floats
from calibrant.inference.replicates.problem import Plan
from calibrant.inference.verdicts.groups import named_columns
from calibrant.predictions import Beside, Predictions
from calibrant.recalibration.map import check_prior
from calibrant.recalibration.regional import (
    CLASS,
    PROBABILITY,
    Condition,
    RegionMap,
    Shift,
    shift_odds,
)
from calibrant.regions.candidates import Candidates
from calibrant.regions.evidence import search_replicates
from calibrant.regions.findings import findings
from calibrant.regions.searching import How, look
from calibrant.resampling import Exact

HALVINGS = 60  # of the interval that a shift is in
FURTHEST = 20.0  # shift of log-odds


@final
@dataclass(frozen=True, slots=True)
class ByRegion:
    """Search regions by the columns beside the predictions, and shift log-odds in those found.

    The bias of each finding is taken out of its rows, the strongest first. Where a search finds
    nothing, predictions stay as they are.
    """

    n_resamples: int = 999
    seed: int = 0
    prior: float | None = None

    def __post_init__(self) -> None:
        check_prior(self)

    def fit(self, data: Predictions) -> RegionMap:
        """Return the map that suits these predictions and outcomes."""
        plan = Plan.of(data, Exact(), self.n_resamples, self.seed, None)
        looked = look(data, None, plan, How())
        found = search_replicates(looked.evidence, looked.rows, plan)
        candidates = found.evidence.candidates
        event = None if data.m > 2 else looked.problem.view.event
        shifted = RegionMap(data.classes, ())
        probs = np.array(data.probs, np.float64)
        for one in findings(found, looked.rows):
            region, conditions = candidates.text(one.place), _conditions(candidates, one.place)
            new = Shift(region, event, 0.0, conditions)
            rows = np.flatnonzero(shifted.region(new, data.probs, data.columns))
            classes = data.probs[rows].argmax(axis=1) if event is None else event
            by = _shift(probs[rows], classes, data.labels[rows] == classes, self.prior or 0.0)
            probs[rows] = shift_odds(probs[rows], classes, by)
            shifted = RegionMap(data.classes, (*shifted.shifts, new._replace(by=by)))
        return shifted

    def __str__(self) -> str:
        return "by region"


def _conditions(candidates: Candidates, g: int) -> tuple[Condition, ...]:
    """Return the conditions of a region, as a map has them."""
    found = []
    for column, (low, high) in candidates.conditions(g):
        cut = candidates.cuts[column]
        assert cut.coder is not None
        made = CLASS if cut.coder.column.endswith("predicted class") else PROBABILITY
        found.append(Condition(made if cut.predicted else "column", cut.coder, low, high))
    return tuple(found)


def _shift(probs: Floats, classes: Any, occurred: Any, prior: float) -> float:
    """Return the shift after which as much is predicted as occurred, and by the prior would."""
    p = probs[np.arange(len(probs)), classes]
    wanted = (occurred.sum() + prior * p.sum()) / (1.0 + prior)
    low, high = -FURTHEST, FURTHEST
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        grown = p * np.exp(middle)
        if (grown / (grown + 1.0 - p)).sum() < wanted:
            low = middle
        else:
            high = middle
    return (low + high) / 2.0


def beside(data: Predictions, by: Any) -> Predictions:
    """Return the same rows with only these columns beside them, as texts."""
    columns: Mapping[str, Any] = named_columns(data, by, "by")
    texts = {str(name): texts_of(values) for name, values in columns.items()}
    for name, values in texts.items():
        if values.shape != (data.n,):
            raise ValueError(
                f"`by` must have a value for each of the {data.n:,} rows; column {name!r} has"
                f" {values.size:,}."
            )
    weights = data.weights if data.weighted else None
    known = Beside(data.clusters, MappingProxyType(texts))
    parts = data.probs, data.labels, data.classes, weights, data.event, data.reading, known
    return Predictions.trusted(*parts)
