"""What every lens is, and how two of them compose."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant.predictions import Predictions


class Lens(ABC):
    r"""A function psi(y, mu) that turns one classification problem into another, §3.1.

    The induced outcome is z_i = psi(y_i, g(x_i)) and the induced prediction is
    pi_psi(g(x_i)), the law of psi(Y', mu) for Y' drawn from mu = g(x_i).

    *Lens law*: averaging the one-hot induced label over y ~ mu gives the induced prediction.
    A calibrated model therefore stays calibrated through every lens.
    """

    __slots__ = ()

    @property
    def rowwise(self) -> bool:
        """Whether each row stays one row, so that labels may be redrawn after the lens."""
        return True

    @abstractmethod
    def __call__(self, data: Predictions) -> Predictions:
        """Return the induced problem."""

    def relabel(self, data: Predictions, labels: NDArray[Any]) -> NDArray[np.int32]:
        """Return the induced outcomes of `data` if its outcomes were `labels` (n,)."""
        return self(data.with_labels(labels)).labels

    def __rshift__(self, then: "Lens") -> "Lens":
        """Look through this lens, then through `then`."""
        if not isinstance(then, Lens):
            return NotImplemented
        return Chain(self, then)


@final
@dataclass(frozen=True, slots=True)
class Chain(Lens):
    """The lens `second` on the problem that `first` induces: ``first >> second``.

    Examples
    --------
    >>> from calibrant import Predictions
    >>> from calibrant.lenses import Groups, TopLabel
    >>> lens = Groups([[0, 1], [2]]) >> TopLabel()
    >>> lens(Predictions([[0.3, 0.3, 0.4]], [2])).probs.tolist()
    [[0.6, 0.4]]
    """

    first: Lens
    second: Lens

    @property
    def rowwise(self) -> bool:
        """Whether both lenses keep one row for a row."""
        return self.first.rowwise and self.second.rowwise

    def __call__(self, data: Predictions) -> Predictions:
        """Look through `first`, then through `second`."""
        return self.second(self.first(data))

    def __str__(self) -> str:
        return f"{self.first} >> {self.second}"
