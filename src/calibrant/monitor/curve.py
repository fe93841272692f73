"""The evidence over time, of which at most 256 points are kept."""

from dataclasses import dataclass, field
from math import inf
from typing import Any, final

import numpy as np

from calibrant.engine.arrays import Floats, Ints
from calibrant.monitor.saved import finite

MOST = 256  # points


@final
@dataclass(slots=True, eq=False)
class ThinnedCurve:
    """Values after rows `every`, 2 `every`, …; `every` doubles when there are too many."""

    every: int = 1
    values: Floats = field(default_factory=lambda: np.zeros(0))

    def add(self, first: int, values: Floats) -> None:
        """Add the values after consecutive rows, of which `first` is the number of the first."""
        numbers = first + 1 + np.arange(values.size)
        self.values = np.concatenate([self.values, values[numbers % self.every == 0]])
        while self.values.size > MOST:
            self.every *= 2
            self.values = self.values[1::2]

    @property
    def rows(self) -> Ints:
        """How many rows there were at each value."""
        return self.every * np.arange(1, self.values.size + 1, dtype=np.int64)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, rounded: they are drawn, and nothing is computed from them."""
        return {"every": self.every, "values": [finite(float(f"{x:.5g}")) for x in self.values]}

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> "ThinnedCurve":
        """Return what `to_dict` wrote down."""
        values = [inf if each is None else each for each in given["values"]]
        return cls(int(given["every"]), np.array(values, np.float64))
