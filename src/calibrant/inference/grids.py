"""Every combination of lens, partition and distance, and which ones are looked at by default."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from calibrant.distances import Distance, name_of
from calibrant.lenses import Canonical, Lens, TopLabel
from calibrant.lenses.lens import check_lens
from calibrant.partitions import EqualWidth, Partition, VarianceTree
from calibrant.predictions import Predictions
from calibrant.statistics import ExpectedMiscalibration


def default_lenses(data: Predictions) -> tuple[Lens, ...]:
    """Return the canonical lens and, for more than two classes, the top label."""
    return (Canonical(),) if data.m == 2 else (Canonical(), TopLabel())


def default_partitions(data: Predictions) -> tuple[Partition, ...]:
    """Return ten equal widths, and a tree that splits nodes of 1000, or a tenth of all rows.

    With weights, the tree splits at what so many rows weigh on average. Those of weight 0 do
    not count.
    """
    n = int(np.count_nonzero(data.weights))
    size = max(2, min(1000, n // 10))
    weight = float(f"{size * data.weights.sum() / n:.3g}") if data.weighted else size
    return (EqualWidth(10), VarianceTree(weight))


@final
@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """Every combination of lens, partition and distance.

    Parameters
    ----------
    lenses : tuple of Lens
        What aspects are looked at.
    partitions : tuple of Partition
        The cells.
    distances : tuple of callable
        Functions of two distributions.
    """

    lenses: tuple[Lens, ...]
    partitions: tuple[Partition, ...]
    distances: tuple[Distance, ...]

    @classmethod
    def of(cls, data: Predictions, lenses: Any, partitions: Any, distances: Any) -> "Grid":
        """Check what was chosen, and choose where nothing was."""
        chosen = default_lenses(data) if lenses is None else as_tuple("lenses", lenses)
        cut = default_partitions(data) if partitions is None else as_tuple("partitions", partitions)
        for lens in chosen:
            check_lens(lens)
        return cls(chosen, cut, as_tuple("distances", distances))

    @property
    def statistics(self) -> list[ExpectedMiscalibration]:
        """The statistics that are looked at through each lens."""
        pairs = [(p, d) for p in self.partitions for d in self.distances]
        return [ExpectedMiscalibration(partition, distance) for partition, distance in pairs]

    def settings(self) -> dict[str, Any]:
        """Return the choices for the settings of a result."""
        names = [name_of(distance) for distance in self.distances]
        return {"lenses": self.lenses, "partitions": self.partitions, "distances": names}


def as_tuple(name: str, values: Any) -> tuple[Any, ...]:
    """Return a list as a tuple; refuse an empty one, and what is no list."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"`{name}` must be a list; found {values!r}.")
    found = tuple(values)
    if not found:
        raise ValueError(f"`{name}` must not be empty.")
    return found
