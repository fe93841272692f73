"""What every lens is, and how two of them compose."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from calibrant.checks.parameters import brief
from calibrant.predictions import Predictions

Array = NDArray[Any]


class Outcomes(NamedTuple):
    """How the class that occurs decides the outcome that a lens sees.

    With `event`, a problem of two outcomes: 0 where this class occurs, else 1. With `table`, the
    outcome of every class. Both have one row for each row of the data, or a single one for all.
    With neither, the outcome is the class.
    """

    event: Array | None = None  # (n,) or (1,)
    table: Array | None = None  # (n, m) or (1, m)

    def of(self, labels: Array) -> NDArray[np.int32]:
        """Return the outcomes of classes (…, n)."""
        if self.event is not None:
            return np.asarray(labels != self.event, np.int32)
        if self.table is None:
            return np.asarray(labels, np.int32)
        if len(self.table) == 1:
            return np.asarray(self.table[0][labels], np.int32)
        return np.asarray(self.table[np.arange(len(self.table)), labels], np.int32)

    def take(self, rows: Array) -> "Outcomes":
        """Return the same for some rows, in the order of their numbers."""
        event = self.event if self.event is None or len(self.event) == 1 else self.event[rows]
        table = self.table if self.table is None or len(self.table) == 1 else self.table[rows]
        return Outcomes(event, table)

    def distributions(self, probs: Array, m: int) -> Array:
        """Return the distributions of m outcomes for distributions (n, classes) of the class."""
        if self.event is None and self.table is None:
            return probs
        out = np.zeros((probs.shape[0], m))
        for y in range(probs.shape[1]):
            z = np.broadcast_to(self.of(np.full(probs.shape[0], y)), probs.shape[0])
            out[np.arange(probs.shape[0]), z] += probs[:, y]
        return out


class Lens(ABC):
    r"""A function psi(y, mu) that turns one classification problem into another, §3.1.

    The induced outcome is z_i = psi(y_i, g(x_i)) and the induced prediction is
    pi_psi(g(x_i)), the distribution of psi(Y', mu) for Y' drawn from mu = g(x_i).

    *Lens law*: averaging the one-hot induced label over y ~ mu gives the induced prediction.
    A calibrated model therefore stays calibrated through every lens.
    """

    __slots__ = ()

    rowwise: bool = True  # whether a row stays one, so that the lens may look before draws
    subject: str | None = None  # what two outcomes are about, in words; None: name of the class

    @abstractmethod
    def __call__(self, data: Predictions) -> Predictions:
        """Return the induced problem."""

    def outcomes(self, data: Predictions) -> Outcomes:
        """Return the outcome of every class of every row, for lenses that keep a row for a row.

        What labels are drawn with. This looks at each class in turn; a lens that knows better
        says so.
        """
        columns = [self(data.with_labels(np.full(data.n, y))).labels for y in range(data.m)]
        return Outcomes(table=small(np.stack(columns, axis=1)))

    def relabel(self, data: Predictions, labels: Array) -> NDArray[np.int32]:
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

    Parameters
    ----------
    first : Lens
        Looks at the data.
    second : Lens
        Looks at what `first` shows.

    Examples
    --------
    >>> from calibrant.lenses import Groups, TopLabel
    >>> lens = Groups([[0, 1], [2]]) >> TopLabel()
    >>> lens(Predictions([[0.3, 0.3, 0.4]], [2])).probs.tolist()
    [[0.6, 0.4]]
    """

    first: Lens
    second: Lens

    @property
    def rowwise(self) -> bool:  # type: ignore[override]
        """Whether both lenses keep one row for a row."""
        return self.first.rowwise and self.second.rowwise

    @property
    def subject(self) -> str | None:  # type: ignore[override]
        """What the second lens is about."""
        return self.second.subject

    def __call__(self, data: Predictions) -> Predictions:
        """Look through `first`, then through `second`."""
        return self.second(self.first(data))

    def outcomes(self, data: Predictions) -> Outcomes:
        """Look up what `second` makes of what `first` makes of every class."""
        middle, last = self.first.outcomes(data), self.second.outcomes(self.first(data))
        classes = np.broadcast_to(np.arange(data.m)[:, None], (data.m, data.n))
        columns = [last.of(middle.of(labels)) for labels in classes]
        return Outcomes(table=small(np.stack(columns, axis=1)))

    def __str__(self) -> str:
        return f"{self.first} >> {self.second}"


def small(table: Array) -> Array:
    """Return outcomes in the smallest type that holds them."""
    return table.astype(np.min_scalar_type(int(table.max())), copy=False)


def check_lens(lens: Any) -> None:
    """Refuse anything but a lens."""
    if isinstance(lens, type) and issubclass(lens, Lens):
        raise TypeError(f"`lens` must be an object: {lens.__name__}(…), not the class itself.")
    if not isinstance(lens, Lens):
        raise TypeError(f"`lens` must be a lens, such as lenses.TopLabel(); found {brief(lens)}.")
