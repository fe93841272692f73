"""Tensors on a GPU at the border: they stay there unless the host has to look."""

from typing import Any

from calibrant import device
from calibrant.checks import arrays
from calibrant.checks.labels import outcomes


def checked(probs: Any) -> tuple[Any, Any]:
    """Return what `arrays.checked` does of arrays, and of a tensor on a GPU one that is there.

    One without a fault is not copied to the host. Others are, so that they are refused in the same
    words, or divided by their sums to the same bits.
    """
    if not device.stays(probs):
        return arrays.checked(probs)
    found = device.rows.probabilities(probs)
    if found is None:
        found = device.rows.pushed(arrays.checked(probs)[0], probs.device)
    return found, None


def codes(labels: Any, shape: tuple[int, int], classes: Any, away: bool) -> Any:
    """Return the places of classes (n,); if the rows are away on a GPU, labels there may stay."""
    if away and classes is None and device.stays(labels):
        found = device.rows.integers(labels, *shape)
        if found is not None:
            return found
    return outcomes(labels, *shape, classes)
