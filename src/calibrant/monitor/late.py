"""Rows whose outcome comes later: they wait in the order in which they were predicted."""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Any, final

import numpy as np

from calibrant.checks.parameters import brief


@final
@dataclass(slots=True, eq=False)
class Waiting:
    """Predictions by id, in order, with their outcomes as far as they are known."""

    probs: dict[Hashable, Any] = field(default_factory=dict)  # in the order of prediction
    labels: dict[Hashable, Any] = field(default_factory=dict)

    def predict(self, ids: Sequence[Any], probs: np.ndarray[Any, Any]) -> None:
        """Add rows without outcome."""
        names = [plain(name) for name in ids]
        if len(names) != len(probs):
            raise ValueError(
                f"`ids` must name each of the {len(probs):,} rows; found {len(names):,}."
            )
        times = Counter([*names, *self.probs])
        twice = [name for name in names if times[name] > 1]
        if twice:
            found = brief(twice[0])
            raise ValueError(f"`ids` must differ from those that wait; found {found} twice.")
        self.probs.update(zip(names, probs.tolist(), strict=True))

    def observe(self, ids: Sequence[Any], labels: Sequence[Any]) -> None:
        """Add outcomes; None for one that will never be known."""
        names = [plain(name) for name in ids]
        if len(names) != len(labels):
            raise ValueError(
                f"`labels` must be one for each of the {len(names):,} ids; found {len(labels):,}."
            )
        for name in names:
            if name not in self.probs:
                raise ValueError(f"`ids` must have been predicted; {brief(name)} was not.")
            if name in self.labels:
                raise ValueError(f"`ids` must be observed once; {brief(name)} was observed before.")
        self.labels.update(zip(names, map(plain, labels), strict=True))

    def ready(self) -> tuple[list[Any], list[Any]]:
        """Take out the rows before which every row has its outcome, in order."""
        probs, labels = [], []
        while self.probs:
            name = next(iter(self.probs))
            if name not in self.labels:
                break
            probs.append(self.probs.pop(name))
            labels.append(self.labels.pop(name))
        return probs, labels

    def to_list(self) -> list[list[Any]]:
        """Return id, prediction, whether it has an outcome, and that."""
        return [
            [name, probs, name in self.labels, self.labels.get(name)]
            for name, probs in self.probs.items()
        ]

    @classmethod
    def from_list(cls, given: list[list[Any]]) -> "Waiting":
        """Return what `to_list` wrote down."""
        probs = {name: row for name, row, _, _ in given}
        return cls(probs, {name: label for name, _, known, label in given if known})


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it: a number of NumPy's as one of Python's."""
    return value.item() if isinstance(value, np.generic) else value


def known_labels(labels: Any) -> tuple[Any, Any]:
    """Return which labels are known, None if all are, and labels as an array."""
    found = np.asarray(labels)
    if found.dtype.kind not in ("f", "O") or found.ndim != 1:
        return None, labels
    known = np.array([not _is_missing(each) for each in found.tolist()], bool)
    if known.all():
        return None, labels
    kept = np.array(found[known].tolist())
    if kept.dtype.kind == "f" and (kept == np.floor(kept)).all():
        kept = kept.astype(np.int64)
    filled = np.zeros(found.shape, kept.dtype if kept.size else np.int64)
    filled[known] = kept
    return known, filled


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and isnan(value))
