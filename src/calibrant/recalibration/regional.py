"""A calibrator by region: log-odds are shifted in rows that satisfy conditions."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self, final

import numpy as np

from calibrant.checks.parameters import brief, listed
from calibrant.cuts.coders import NOWHERE, SPELLED, Coder, Levels, Numbers
from calibrant.cuts.columns import texts_of
from calibrant.recalibration.map import Array, Fields, Floats, Map, integers, numbers

COLUMN = "column"  # of a file
PROBABILITY, CLASS = "probability", "class"  # what columns hold that predictions make
LARGEST = 700.0  # shift whose odds float64 can hold


class Condition(NamedTuple):
    """A span of the codes of a column: a file's, or one that predictions make."""

    of: str  # a column, the probability of the event, or the predicted class
    coder: Coder
    low: int
    high: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        coder = self.coder
        found: dict[str, Any] = {"of": self.of, "column": coder.column, "kind": coder.kind}
        if isinstance(coder, Numbers):
            found |= {"edges": list(coder.edges)}
        else:
            found |= {"levels": list(coder.levels), "period": coder.period}
            found |= {"rest": coder.rest, "lacking": coder.lacking}
        return {**found, "low": self.low, "high": self.high}

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """Return the condition that has these fields."""
        of, kind = fields["of"], fields["kind"]
        if of not in (COLUMN, PROBABILITY, CLASS):
            raise ValueError(f"`of` must be {COLUMN}, {PROBABILITY} or {CLASS}; found {brief(of)}.")
        if kind not in (Numbers.kind, Levels.kind):
            raise ValueError(f"`kind` must be numbers or levels; found {brief(kind)}.")
        coder = _numbers(fields) if kind == Numbers.kind else _levels(fields)
        return cls(of, coder, _code(fields, "low"), _code(fields, "high"))


def _numbers(fields: Fields) -> Numbers:
    """Return what cuts numbers; a code is a byte, and there are two more of them than edges."""
    edges = numbers("edges", fields["edges"], (None,)).tolist()
    if len(edges) > NOWHERE - 2 or edges != sorted(set(edges)):
        raise ValueError(f"`edges` must rise, and be at most {NOWHERE - 2}; found {brief(edges)}.")
    return Numbers(str(fields["column"]), tuple(edges))


def _levels(fields: Fields) -> Levels:
    """Return what tells levels, or the periods of dates, from one another."""
    levels, period = fields["levels"], fields.get("period", "")
    if not isinstance(levels, list) or not all(isinstance(each, str) for each in levels):
        raise ValueError(f"`levels` must be a list of texts; found {brief(levels)}.")
    if len(levels) > NOWHERE:
        raise ValueError(f"`levels` must be at most {NOWHERE}; found {len(levels):,}.")
    if period not in ("", *SPELLED):
        raise ValueError(f"`period` must be one of {listed(SPELLED)}; found {brief(period)}.")
    rest, lacking = _code(fields, "rest"), _code(fields, "lacking")
    return Levels(str(fields["column"]), tuple(levels), rest, lacking, period)


def _code(fields: Fields, name: str) -> int:
    """Return a field that is the code of a value, or the one after the last."""
    code = int(integers(name, fields[name], ()))
    if not 0 <= code <= NOWHERE:
        raise ValueError(f"`{name}` must be from 0 to {NOWHERE}; found {code}.")
    return code


class Shift(NamedTuple):
    """By what log-odds are shifted in a region."""

    region: str  # which rows these are
    event: int | None  # the class whose log-odds they are; None for the predicted class
    by: float
    conditions: tuple[Condition, ...]


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RegionMap(Map):
    """In each region, one after the other, log-odds are shifted; other rows stay as they are.

    Columns beside the predictions say which rows are in a region, so the map is called on
    `Predictions` that have kept them, or `shifted` on probabilities and columns.

    Parameters
    ----------
    classes : tuple of str
        Names of the m classes.
    shifts : tuple of Shift
        The regions; the conditions are on predictions as they were.
    """

    kind = "regions"

    classes: tuple[str, ...]
    shifts: tuple[Shift, ...]

    @property
    def needs(self) -> tuple[str, ...]:
        """Names of the columns that must be beside the predictions."""
        every = (each for shift in self.shifts for each in shift.conditions)
        return tuple(dict.fromkeys(one.coder.column for one in every if one.of == COLUMN))

    def shifted(self, probs: Array, columns: Mapping[str, Any]) -> Floats:
        """Return what the map makes of rows (k, m) with columns of k texts."""
        missing = [name for name in self.needs if name not in columns]
        if missing:
            raise ValueError(
                f"`data` must have the columns {listed(self.needs)} beside the predictions, which"
                f" say where this calibrator shifts them; found no {listed(missing)}. Keep them"
                " with load(…, keep=…)."
            )
        found = np.array(probs, np.float64)
        for shift in self.shifts:
            rows = np.flatnonzero(self.region(shift, probs, columns))
            classes = probs[rows].argmax(axis=1) if shift.event is None else shift.event
            found[rows] = shift_odds(found[rows], classes, shift.by)
        return found

    def region(self, shift: Shift, probs: Array, columns: Mapping[str, Any]) -> Array:
        """Return which rows are in a region (k,)."""
        inside = np.ones(len(probs), np.bool_)
        for one in shift.conditions:
            codes = one.coder.codes(self._values(one, shift.event, probs, columns))
            inside &= (one.low <= codes) & (codes < one.high)
        return inside

    def _values(
        self, one: Condition, event: int | None, probs: Array, columns: Mapping[str, Any]
    ) -> Any:
        """Return the values of the column that a condition is on (k,)."""
        if one.of == CLASS:
            return np.array(self.classes)[probs.argmax(axis=1)].tolist()
        if one.of == PROBABILITY:
            return (probs.max(axis=1) if event is None else probs[:, event]).astype(np.float64)
        return texts_of(columns[one.coder.column])

    def _apply(self, probs: Array, columns: Mapping[str, Any] | None = None) -> Floats:
        self._check_width(probs)
        return self.shifted(probs, columns or {})

    def check_answers(self) -> None:
        """Refuse nothing more: shifts of sure predictions leave them as they are."""

    def rows(self, probs: Array) -> Floats:
        return self.shifted(probs, {})

    def fields(self) -> dict[str, Any]:
        shifts = []
        for one in self.shifts:
            shift = {"region": one.region, "by": one.by}
            shift |= {"class": None if one.event is None else self.classes[one.event]}
            shifts.append({**shift, "conditions": [each.to_dict() for each in one.conditions]})
        return {"shifts": shifts}

    @classmethod
    def from_fields(cls, classes: tuple[str, ...], fields: Fields) -> Self:
        found = []
        for one in fields.many("shifts") if fields["shifts"] else ():
            name = one["class"]
            if name is not None and name not in classes:
                raise ValueError(f"`class` must be one of {listed(classes)}; found {brief(name)}.")
            event = None if name is None else classes.index(name)
            by = one.number("by")
            if abs(by) > LARGEST:
                raise ValueError(f"`by` must be between ±{LARGEST:g}; found {by:g}.")
            conditions = tuple(map(Condition.from_fields, _conditions(one)))
            found.append(Shift(str(one["region"]), event, by, conditions))
        return cls(classes, tuple(found))

    def __str__(self) -> str:
        shifts = [f"{one.region}: {one.by:+.3f}" for one in self.shifts]
        return f"shifts of log-odds ({'; '.join(shifts)})" if shifts else "no shift in any region"


def _conditions(one: Fields) -> list[Fields]:
    """Return the conditions of a region, of which all rows have none."""
    return one.many("conditions") if one["conditions"] else []


def shift_odds(probs: Floats, classes: Any, by: float) -> Floats:
    """Return rows in which the log-odds of a class are shifted; others keep their proportions."""
    at = np.arange(len(probs)), classes
    p = probs[at]
    grown = p * np.exp(by)
    after = grown / (grown + 1.0 - p)
    rest = np.divide(1.0 - after, 1.0 - p, out=np.ones(p.size), where=p < 1.0)
    found = probs * rest[:, None]
    found[at] = after
    return np.asarray(found, np.float64)
