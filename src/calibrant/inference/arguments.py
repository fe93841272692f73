"""Checks of what most functions take."""

from collections.abc import Iterable
from typing import Any

from calibrant.checks.parameters import function, whole
from calibrant.lenses import Lens
from calibrant.predictions import Predictions

MOST = 10**9  # resamples


def check_data(data: Any) -> None:
    """Refuse anything but Predictions."""
    if not isinstance(data, Predictions):
        raise TypeError(
            f"`data` must be Predictions; found {type(data).__name__}. Make them with"
            " Predictions(probs, labels)."
        )


def check_lens(lens: Any) -> None:
    """Refuse anything but a lens."""
    if isinstance(lens, type) and issubclass(lens, Lens):
        raise TypeError(f"`lens` must be an object: {lens.__name__}(…), not the class itself.")
    if not isinstance(lens, Lens):
        raise TypeError(f"`lens` must be a lens, such as lenses.TopLabel(); found {lens!r}.")


def check_resampler(resampler: Any) -> None:
    """Refuse what cannot draw data sets."""
    if isinstance(resampler, type) or not callable(getattr(resampler, "draw", None)):
        raise TypeError(f"`resampler` must be one such as Exact(); found {resampler!r}.")


def check_resamples(value: Any, *, least: int = 1, name: str = "n_resamples") -> int:
    """Return a number of data sets to draw."""
    count = whole(name, value, least=least)
    if count > MOST:
        raise ValueError(f"`{name}` must be at most {MOST:,}; found {count:,}.")
    return count


def check_progress(progress: Any) -> None:
    """Refuse what cannot be called; nothing need be."""
    if progress is not None:
        function("progress", progress)


def several(name: str, values: Any) -> tuple[Any, ...]:
    """Return a list as a tuple; refuse an empty one, and what is no list."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"`{name}` must be a list; found {values!r}.")
    found = tuple(values)
    if not found:
        raise ValueError(f"`{name}` must not be empty.")
    return found
