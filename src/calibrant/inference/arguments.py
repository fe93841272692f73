"""Checks of what most functions take: data and a lens."""

from typing import Any

from calibrant.lenses import Lens
from calibrant.predictions import Predictions


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
