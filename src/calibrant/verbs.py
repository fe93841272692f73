"""What verbs take: Predictions, or probabilities and labels."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

from calibrant.predictions import Predictions
from calibrant.rows import Memory, Rows, Scan

P = ParamSpec("P")
T = TypeVar("T")


def takes_arrays(verb: Callable[P, T]) -> Callable[P, T]:
    """Let a function of Predictions also be called with probabilities and labels.

    ``verb(probs, labels, ...)`` and ``verb(probs, labels=labels, ...)`` are
    ``verb(Predictions(probs, labels), ...)``. More than that, such as names of classes or weights,
    needs `Predictions`.

    Examples
    --------
    >>> takes_arrays(lambda data: data.n)([0.2, 0.9], [0, 1])
    2
    """

    @wraps(verb)
    def call(data: Any, *rest: Any, **settings: Any) -> Any:
        if not isinstance(data, Predictions | Scan | Mapping):
            if "labels" in settings:
                data = Predictions(data, settings.pop("labels"))
            elif rest and hasattr(rest[0], "__len__") and not isinstance(rest[0], str):
                data, rest = Predictions(data, rest[0]), rest[1:]
        return verb(data, *rest, **settings)

    return cast(Callable[P, T], call)


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
