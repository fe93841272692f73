"""What every method of recalibration and every map is, and how two maps compose."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from os import PathLike
from typing import Any, ClassVar, Protocol, final, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.arguments import check_data
from calibrant.checks.arrays import probabilities
from calibrant.checks.labels import class_names
from calibrant.checks.parameters import brief, listed
from calibrant.engine import threads
from calibrant.predictions import Predictions
from calibrant.recalibration import document

Array = NDArray[Any]
Floats = NDArray[np.float64]

# Times half the squared distance to the map that changes nothing, added to every mean log loss: it
# gives separable data a smallest loss at finite parameters, and changes others in no digit shown.
RIDGE = 1e-20


class Map(ABC):
    """A calibrator: a function of predictions, g(x) -> r(g(x)), that was fitted to data.

    It is called on predictions (k, m) and returns float64 rows (k, m) that sum to 1, so it can
    be the hypothesis of a test: ``Exact(rho=map)``. Of `Predictions` it makes `Predictions` with
    the same outcomes, names and weights. ``a >> b`` applies a first and then b.

    Law: the answer to a row depends on that row alone.
    """

    __slots__ = ()

    kind: ClassVar[str]
    classes: tuple[str, ...]

    @property
    def m(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @overload
    def __call__(self, data: Predictions) -> Predictions: ...

    @overload
    def __call__(self, data: ArrayLike) -> Floats: ...

    def __call__(self, data: Predictions | ArrayLike | Any) -> Predictions | Floats:
        """Recalibrate predictions, or probabilities (k, m); (k,) are P(class 1) of two."""
        if not isinstance(data, Predictions):
            return self._apply(probabilities(data))
        if data.classes != self.classes:
            raise ValueError(
                "`data` must have the classes that the map was fitted to,"
                f" {listed(self.classes)}; found {listed(data.classes)}."
            )
        return data.with_probs(self._apply(data.probs))

    def _apply(self, probs: Array) -> Floats:
        if probs.shape[1] != self.m:
            raise ValueError(
                f"`probs` must have a column for each of the {self.m} classes that the map was"
                f" fitted to; found {probs.shape[1]}."
            )
        out = np.empty(probs.shape)

        def work(start: int, stop: int) -> None:
            out[start:stop] = self.rows(probs[start:stop])

        threads.run(work, threads.row_blocks(probs.shape))
        return out

    @abstractmethod
    def rows(self, probs: Array) -> Floats:
        """Return what the map makes of probabilities (k, m) that are known to be right."""

    @abstractmethod
    def fields(self) -> dict[str, Any]:
        """Return what was fitted, as plain numbers under their names."""

    @classmethod
    @abstractmethod
    def from_fields(cls, classes: tuple[str, ...], fields: "document.Fields") -> "Map":
        """Return the map that has these fields."""

    def to_dict(self) -> dict[str, Any]:
        """Return what `save` writes: kind, classes and the fields of the map."""
        start = {"schema": document.SCHEMA, "kind": self.kind, "classes": list(self.classes)}
        return start | self.fields()

    def save(self, path: str | PathLike[str]) -> None:
        """Write the map to a JSON file, whole or not at all; one that is there is replaced."""
        document.write(path, self.to_dict())

    def __rshift__(self, then: "Map") -> "Map":
        """Apply this map, then `then`."""
        if not isinstance(then, Map):
            return NotImplemented
        return Chain(self.classes, (*stages(self), *stages(then)))

    def __repr__(self) -> str:
        return f"<{self}>"


class Method(Protocol):
    """A way to estimate the calibration function r by a map.

    Law: a row of weight 2 counts as the row twice, a row of weight 0 is absent, and the order of
    rows does not matter, up to rounding.
    """

    def fit(self, data: Predictions) -> Map:
        """Find the map that suits these predictions and outcomes."""
        ...


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Chain(Map):
    """Maps that are applied one after the other: ``first >> second``.

    Parameters
    ----------
    classes : tuple of str
        Names of the m classes.
    maps : tuple of Map
        The first is applied to the predictions.

    Examples
    --------
    >>> from calibrant.recalibration import TemperatureMap
    >>> twice = TemperatureMap(("no", "yes"), 0.5) >> TemperatureMap(("no", "yes"), 1.0)
    >>> twice([[0.5, 0.5], [0.25, 0.75]]).round(6).tolist()
    [[0.5, 0.5], [0.1, 0.9]]
    """

    kind = "chain"

    classes: tuple[str, ...]
    maps: tuple[Map, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "classes", checked_classes(self.classes))
        for stage in self.maps:
            if stage.classes != self.classes:
                raise ValueError(
                    f"Maps in a chain must be of the same classes; found {listed(self.classes)} and"
                    f" {listed(stage.classes)}."
                )

    def rows(self, probs: Array) -> Floats:
        """Apply every map to what the one before it gave."""
        found = probs
        for stage in self.maps:
            found = stage.rows(found)
        return np.asarray(found, np.float64)

    def fields(self) -> dict[str, Any]:
        """Return every map as its own file would have it."""
        return {"maps": [stage.to_dict() for stage in self.maps]}

    @classmethod
    def from_fields(cls, classes: tuple[str, ...], fields: "document.Fields") -> "Chain":
        """Return the chain of maps that were read already."""
        return cls(classes, tuple(fields["maps"]))

    def __str__(self) -> str:
        return " >> ".join(str(stage) for stage in self.maps)


def stages(fitted: Map) -> tuple[Map, ...]:
    """Return the maps that a map consists of."""
    return fitted.maps if isinstance(fitted, Chain) else (fitted,)


def checked_classes(classes: Any) -> tuple[str, ...]:
    """Return the names of at least two classes, or refuse them."""
    if isinstance(classes, str) or not isinstance(classes, list | tuple) or len(classes) < 2:
        raise ValueError(f"`classes` must be the names of at least two; found {brief(classes)}.")
    return class_names(classes, len(classes))


def present_rows(data: Any) -> Predictions:
    """Return the rows that have weight, or refuse data in which a single class occurs."""
    check_data(data)
    rows: Predictions = data
    if data.weighted and not data.weights.all():
        rows = data.take(np.flatnonzero(data.weights))
    occurring = np.unique(rows.labels)
    if occurring.size < 2:
        raise ValueError(
            "`data` must have outcomes of at least two classes; all of them are"
            f" {rows.classes[occurring[0]]!r}."
        )
    return rows
