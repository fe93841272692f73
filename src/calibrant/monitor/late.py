"""Rows whose outcome comes later: they wait in the order in which they were predicted."""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from math import isnan
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant.checks.parameters import brief
from calibrant.predictions import Predictions

Mask = NDArray[np.bool_]


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
        odd = [name for name in names if not isinstance(name, str | int)]
        if odd:
            raise ValueError(f"`ids` must be texts or whole numbers; found {brief(odd[0])}.")
        twice = _twice([*names, *self.probs])
        if twice:
            found = brief(twice[0])
            raise ValueError(f"`ids` must differ from those that wait; found {found} twice.")
        width = np.shape(next(iter(self.probs.values()), probs[0]))
        if width != probs.shape[1:]:
            raise ValueError("`probs` must have as many columns as those of rows that wait.")
        self.probs.update(zip(names, probs.tolist(), strict=True))

    def asked(self, ids: Sequence[Any], labels: Sequence[Any]) -> list[Any]:
        """Return the predictions of rows whose outcomes are told."""
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
        twice = _twice(names)
        if twice:
            raise ValueError(f"`ids` must be observed once; found {brief(twice[0])} twice.")
        return [self.probs[name] for name in names]

    def observe(self, ids: Sequence[Any], known: Mask, data: Predictions | None) -> None:
        """Add outcomes, those that are known as the names of classes; None for the others."""
        found = iter([] if data is None else data.labels.tolist())
        for name, is_known in zip(map(plain, ids), known, strict=True):
            self.labels[name] = data.classes[next(found)] if is_known and data is not None else None

    def ready(self) -> list[Any]:
        """Return the rows before which every row has its outcome, in order."""
        return list(takewhile(self.labels.__contains__, self.probs))

    def rows(self, names: list[Any]) -> tuple[list[Any], list[Any]]:
        """Return predictions and outcomes."""
        return [self.probs[name] for name in names], [self.labels[name] for name in names]

    def leave(self, names: list[Any]) -> None:
        """Forget rows that have been bet on."""
        for name in names:
            del self.probs[name], self.labels[name]

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


def _twice(names: list[Any]) -> list[Any]:
    """Return the names that are there more than once."""
    return [name for name, times in Counter(names).items() if times > 1]


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it: a number of NumPy's as one of Python's."""
    return value.item() if isinstance(value, np.generic) else value


def known_rows(
    probs: Any, labels: Any, classes: tuple[str, ...] | None
) -> tuple[Mask, Predictions | None]:
    """Return which rows have an outcome, and those rows; None if there are none."""
    known, outcomes = _known_labels(labels)
    names = _names(probs, classes)
    if known is None or len(known) != len(probs):
        data = Predictions(probs, outcomes, names)
        return np.ones(data.n, bool), data
    if not known.any():
        return known, None
    return known, Predictions(np.asarray(probs)[known], outcomes[known], names)


def unlabelled(probs: Any, classes: tuple[str, ...] | None) -> Predictions:
    """Return rows with any outcome, to refuse what is no prediction, and to learn the classes."""
    first = np.zeros((*(np.shape(probs) or (1,)), 2)[:2])
    first[:, 0] = 1.0
    return Predictions(probs, first, _names(probs, classes))


def is_empty(rows: Any) -> bool:
    """Whether there are no rows; what has no length is none of them."""
    try:
        return len(rows) == 0
    except TypeError:
        return False


def _names(probs: Any, classes: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Return the classes that are known, for labels that are names."""
    width = (*np.shape(probs)[1:], 2)[0]
    return classes if classes and len(classes) == width else None


def _known_labels(labels: Any) -> tuple[Any, Any]:
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
    if value is None or type(value).__name__ == "NAType":  # of pandas
        return True
    return isinstance(value, float) and isnan(value)
