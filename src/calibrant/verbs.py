"""What verbs take: Predictions, or probabilities and labels."""

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import signature
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast, overload

from numpy.typing import ArrayLike

from calibrant.predictions import Predictions
from calibrant.rows import Memory, Rows, Scan

P = ParamSpec("P")
Data_contra = TypeVar("Data_contra", contravariant=True)
Probs_contra = TypeVar("Probs_contra", contravariant=True)
Result_co = TypeVar("Result_co", covariant=True)


class Verb(Protocol[Data_contra, Probs_contra, P, Result_co]):
    """A function of data, or of probabilities and labels."""

    @overload
    def __call__(self, data: Data_contra, *args: P.args, **kwargs: P.kwargs) -> Result_co: ...

    @overload
    def __call__(
        self, probs: Probs_contra, labels: ArrayLike, *args: P.args, **kwargs: P.kwargs
    ) -> Result_co: ...


def takes_arrays(
    verb: Callable[Concatenate[Data_contra, P], Result_co],
) -> Verb[Data_contra, ArrayLike, P, Result_co]:
    """Let a function of Predictions also be called with probabilities and labels.

    ``verb(probs, labels, ...)`` and ``verb(probs, labels=labels, ...)`` are
    ``verb(Predictions(probs, labels), ...)``. More than that, such as names of classes or weights,
    needs `Predictions`.

    Examples
    --------
    >>> takes_arrays(lambda data: data.n)([0.2, 0.9], [0, 1])
    2
    """
    return cast(Verb[Data_contra, ArrayLike, P, Result_co], _wrapped(verb))


def takes_models(
    verb: Callable[Concatenate[Data_contra, P], Result_co],
) -> Verb[Data_contra, ArrayLike | Mapping[str, ArrayLike], P, Result_co]:
    """Do so for a function of one or more models: their probabilities by name, and labels of all.

    Examples
    --------
    >>> takes_models(lambda data: data["a"].n)({"a": [0.2, 0.9], "b": [0.5, 0.6]}, [0, 1])
    2
    """
    found = _wrapped(verb)
    return cast(Verb[Data_contra, ArrayLike | Mapping[str, ArrayLike], P, Result_co], found)


def _wrapped(verb: Callable[..., Any]) -> Callable[..., Any]:
    first = next(iter(signature(verb).parameters))

    @wraps(verb)
    def call(*given: Any, **settings: Any) -> Any:
        if first in settings:
            given = (settings.pop(first), *given)
        if not given or isinstance(given[0], Predictions | Scan):
            return verb(*given, **settings)
        data, *rest = given
        if "labels" in settings:
            data = _with_labels(data, settings.pop("labels"))
        elif rest and hasattr(rest[0], "__len__") and not isinstance(rest[0], str):
            data = _with_labels(data, rest.pop(0))
        return verb(data, *rest, **settings)

    return call


def _with_labels(data: Any, labels: Any) -> Any:
    """Return predictions; of a mapping, those of each model by its name."""
    if isinstance(data, Mapping):
        return {name: Predictions(probs, labels) for name, probs in data.items()}
    return Predictions(data, labels)


def as_rows(data: Any) -> Rows:
    """Return the rows of data, wherever they are: the only place that asks what kind they are."""
    if isinstance(data, Scan | Memory):
        return data
    check_data(data)
    return Memory(data)


def check_data(data: Any, *, scans: bool = False) -> None:
    """Refuse anything but Predictions and, for functions that take `scans`, a Scan."""
    if isinstance(data, Scan):
        if not scans:
            raise TypeError(
                "`data` must be Predictions here: this needs all rows at once, and scanned ones"
                " come in batches. Use scan.load() if they fit into memory."
            )
    elif not isinstance(data, Predictions):
        raise TypeError(
            f"`data` must be Predictions; found {type(data).__name__}. Make them with"
            " Predictions(probs, labels)."
        )
