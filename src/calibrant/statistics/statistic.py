"""What every statistic is: it prepares what it can, and asks a block of replicates for the rest."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant.calibration import Block, View, observed
from calibrant.predictions import Predictions

Floats = NDArray[np.float64]


Evaluate = Callable[[Block], Floats]


class Statistic(ABC):
    """A number that is large if calibration is bad.

    Law: ``prepare`` looks at predictions and weights, never at labels, and what it returns
    gives for the data themselves what calling the statistic gives.
    """

    __slots__ = ()

    # Whether what `prepare` returns can also handle rows that stand several times. If not, the
    # statistic is called on each data set in which rows were drawn again.
    takes_changed_rows = False
    threaded = True  # whether blocks may be evaluated on several threads at once
    from_totals: bool = False  # whether a block is asked for nothing but totals of cells

    @abstractmethod
    def prepare(self, view: View) -> Evaluate:
        """Do what depends on the predictions alone; return the function of a block: (size,)."""

    def interval(self, data: Predictions, level: float) -> tuple[float, float] | None:  # noqa: ARG002
        """Return an interval for what the statistic of `data` estimates; None if none is known."""
        return None

    def __call__(self, data: Predictions) -> float:
        """Return the statistic of `data`."""
        return float(self.prepare(View.of(data))(observed(data))[0])


AnyStatistic = Statistic | str | Callable[[Predictions], float]


@final
@dataclass(frozen=True, slots=True)
class OfFunction(Statistic):
    """Any function of `Predictions` as a statistic.

    Parameters
    ----------
    function : callable
        Takes `Predictions` and returns a number.

    Examples
    --------
    >>> OfFunction(lambda data: abs(data.probs[:, 1].mean() - data.labels.mean()))(
    ...     Predictions([0.25, 0.75], [1, 1])
    ... )
    0.5
    """

    function: Callable[[Predictions], float]

    takes_changed_rows = True  # they are laid out
    threaded = False  # nobody has said that it may run on several

    def prepare(self, view: View) -> Evaluate:  # noqa: ARG002
        """Prepare nothing: the function takes whole data sets."""
        return lambda block: np.array(
            [as_float(self.function(data), "a data set") for data in block.data_sets()]
        )

    def __str__(self) -> str:
        return str(getattr(self.function, "__name__", "a function"))


def as_float(value: Any, where: str) -> float:
    """Return what a statistic gave as a float, or refuse it."""
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        found = None
    if found is None or isinstance(value, str | bytes):
        raise TypeError(
            f"`statistic` must return a number; for {where} it returned {_on_a_line(value)}."
        )
    if np.isnan(found):
        raise ValueError(f"`statistic` must return a number; for {where} it returned nan.")
    return found


def _on_a_line(value: Any) -> str:
    """Write a value of any kind for a sentence."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:60] + "…"
