"""What every method of recalibration and every map is, how two maps compose, and a map's file.

The file is a JSON object with a schema, written whole or not at all.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, final, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.arguments import check_data
from calibrant.checks.arrays import probabilities
from calibrant.checks.files import as_path, whole_file
from calibrant.checks.labels import class_names
from calibrant.checks.parameters import brief, finite, listed
from calibrant.engine import threads
from calibrant.predictions import Predictions

Array = NDArray[Any]
Floats = NDArray[np.float64]
Shape = tuple[int | None, ...]

SCHEMA = "calibrant-map/1"

# Times half the squared distance to the map that changes nothing, added to every mean log loss: it
# gives separable data a smallest loss at finite parameters, and changes others in no digit shown.
RIDGE = 1e-20
MOST_VERTICES = 1000  # sure predictions that a map is tried on when it is loaded


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

    def __post_init__(self) -> None:
        object.__setattr__(self, "classes", checked_classes(self.classes))

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
        return data.with_probs(self._apply(data.probs, data.columns))

    def _check_width(self, probs: Array) -> None:
        if probs.shape[1] != self.m:
            raise ValueError(
                f"`probs` must have a column for each of the {self.m} classes that the map was"
                f" fitted to; found {probs.shape[1]}."
            )

    def _apply(self, probs: Array, columns: Mapping[str, Any] | None = None) -> Floats:  # noqa: ARG002
        self._check_width(probs)
        out = np.empty(probs.shape)

        def work(start: int, stop: int) -> None:
            out[start:stop] = self.rows(probs[start:stop])

        threads.run(work, threads.row_blocks(probs.shape))
        if not np.isfinite(out.sum()):
            row = int(np.flatnonzero(~np.isfinite(out).all(axis=1))[0])
            raise ValueError(
                "the map must give probabilities; it makes"
                f" {brief(out[row].tolist())} of row {row}, {brief(probs[row].tolist())}."
            )
        return out

    def check_answers(self) -> None:
        """Refuse a map that does not give probabilities where predictions are sure, or even."""
        sure = np.eye(min(self.m, MOST_VERTICES), self.m)
        with np.errstate(all="ignore"):
            self._apply(np.vstack([sure, np.full((1, self.m), 1 / self.m)]))

    @abstractmethod
    def rows(self, probs: Array) -> Floats:
        """Return what the map makes of probabilities (k, m) that are known to be right."""

    @abstractmethod
    def fields(self) -> dict[str, Any]:
        """Return what was fitted, as plain numbers under their names."""

    @classmethod
    def from_fields(cls, classes: tuple[str, ...], fields: "Fields") -> Self:
        """Return the map that has these fields."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return what `save` writes: kind, classes and the fields of the map."""
        start = {"schema": SCHEMA, "kind": self.kind, "classes": list(self.classes)}
        return start | self.fields()

    def save(self, path: str | PathLike[str]) -> None:
        """Write the map to a JSON file, whole or not at all; one that is there is replaced."""
        # Numbers are the shortest decimals that give the same float64 when they are read.
        text = json.dumps(self.to_dict(), allow_nan=False, ensure_ascii=False, indent=1)
        with whole_file(Path(path)) as temporary:
            temporary.write_text(f"{text}\n", encoding="utf-8")

    def __rshift__(self, then: "Map") -> "Map":
        """Apply this map, then `then`."""
        if not isinstance(then, Map):
            return NotImplemented
        return Chain(self.classes, (*stages(self), *stages(then)))

    def __repr__(self) -> str:
        return f"<{self}>"


class Method(Protocol):
    r"""A way to estimate the calibration function r by a map.

    The methods of this package have a `prior`: the weight that a prediction p has beside its
    outcome y. A row then counts as

    .. math:: t = \frac{e_y + \text{prior} \cdot p}{1 + \text{prior}},

    which is to add rows whose outcomes are as the model says. With n rows, λ/n adds the worth
    of λ of them. It keeps maps near the one that changes nothing: if the model is right after all,
    a map of least log loss costs at most n/λ times what it seems to gain on these rows. 0 is the
    plain fit; so is None, the default, but `recalibrate` then chooses.

    Law: a row of weight 2 counts as the row twice, a row of weight 0 is absent, and the order of
    rows does not matter, up to rounding.
    """

    def fit(self, data: Predictions) -> Map:
        """Find the map that suits these predictions and outcomes."""
        ...


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Chain(Map):
    """Calibrators applied one after the other: ``first >> second``.

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
        Map.__post_init__(self)
        for stage in self.maps:
            if stage.classes != self.classes:
                raise ValueError(
                    f"Maps in a chain must be of the same classes; found {listed(self.classes)} and"
                    f" {listed(stage.classes)}."
                )

    def rows(self, probs: Array) -> Floats:
        found = probs
        for stage in self.maps:
            found = stage.rows(found)
        return np.asarray(found, np.float64)

    def fields(self) -> dict[str, Any]:
        return {"maps": [stage.to_dict() for stage in self.maps]}

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


def check_prior(method: Any) -> None:
    """Refuse a method whose prior is neither None nor a number from 0."""
    if method.prior is not None and finite("prior", method.prior) < 0:
        raise ValueError(f"`prior` must be at least 0; found {method.prior}.")


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


@final
class Fields(dict[str, Any]):
    """The fields of a file; one that is not there is refused in a sentence."""

    def __missing__(self, key: str) -> Any:
        raise ValueError(f"`{key}` must be there; it is missing.")

    def number(self, key: str) -> float:
        """Return a field that is a number."""
        return float(numbers(key, self[key], ()))

    def inside(self, key: str) -> "Fields":
        """Return a field that has fields of its own."""
        return _as_fields(key, self[key])

    def many(self, key: str) -> list["Fields"]:
        """Return a field that is a list of objects with fields of their own."""
        value = self[key]
        if not isinstance(value, list) or not value:
            raise ValueError(f"`{key}` must be a list of objects; found {brief(value)}.")
        return [_as_fields(key, item) for item in value]


def _as_fields(key: str, value: Any) -> Fields:
    """Return a JSON object as fields, or refuse what is none."""
    if not isinstance(value, dict):
        raise ValueError(f"`{key}` must be a JSON object; found {brief(value)}.")
    return Fields(value)


def numbers(name: str, value: Any, *shapes: Shape) -> Floats:
    """Return finite numbers of one of these shapes as an array that cannot be written to.

    None in a shape is any length of that axis.
    """
    array = _as_floats(name, value)
    if not any(_fits(array, shape) for shape in shapes):
        texts = [", ".join("any" if n is None else str(n) for n in shape) for shape in shapes]
        wanted = " or ".join(f"({text})" for text in texts)
        raise ValueError(f"`{name}` must be of shape {wanted}; found {array.shape}.")
    if not np.isfinite(array).all():
        raise ValueError(f"`{name}` must be finite; found {array[~np.isfinite(array)][0]}.")
    array.flags.writeable = False
    return array


def _as_floats(name: str, value: Any) -> Floats:
    """Return a copy as float64; texts and truths are no numbers."""
    try:
        array = np.asarray(value)
    except ValueError:  # rows of different lengths
        array = np.array(None)
    if array.dtype.kind not in "iuf":
        raise ValueError(f"`{name}` must be numbers; found {brief(value)}.")
    return np.array(array, np.float64, order="C")


def _fits(array: Floats, shape: Shape) -> bool:
    pairs = zip(array.shape, shape, strict=False)
    return array.ndim == len(shape) and all(want in (None, have) for have, want in pairs)


def integers(name: str, value: Any, shape: Shape) -> NDArray[np.int32]:
    """Return whole numbers of a known shape."""
    found = numbers(name, value, shape)
    if not ((found == np.rint(found)) & (np.abs(found) < 2**31)).all():
        raise ValueError(f"`{name}` must be whole numbers; found {brief(value)}.")
    return found.astype(np.int32)


def distributions(name: str, value: Any, shape: Shape) -> Floats:
    """Return numbers whose rows are not negative and sum to 1 within rounding."""
    rows = numbers(name, value, shape)
    off = ~((rows >= 0).all(axis=-1) & (np.abs(rows.sum(axis=-1) - 1) <= 1e-9))
    if off.any():
        found = brief(rows[np.argmax(off)].tolist())
        raise ValueError(f"`{name}` must not be negative and sum to 1; found {found}.")
    return rows


def read(path: str | PathLike[str]) -> Fields:
    """Return the object in a file, or say in a sentence why there is none."""
    place = as_path(path)
    if not place.is_file():
        what = "is a folder" if place.is_dir() else "does not exist"
        raise FileNotFoundError(f"`path` must be a file; {str(place)!r} {what}.")
    try:
        found = json.loads(
            place.read_bytes(), parse_constant=_refuse, object_pairs_hook=_without_repeats
        )
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{place}: must be a JSON file; it cannot be read ({error}).") from None
    if not isinstance(found, dict):
        raise ValueError(f"{place}: must hold a JSON object; found {brief(found)}.")
    return Fields(found)


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object whose keys differ: of two values of a key, nobody knows which is meant."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {brief(key)} is there twice")
        found[key] = value
    return found


def _refuse(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")
