"""What every lens is, how two of them compose, and any function psi(y, mu) as one."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from calibrant.checks.parameters import brief, function, listed, whole
from calibrant.predictions import Predictions

Array = NDArray[Any]

MOST = 1_000_000  # outcomes; each has a column


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

        What labels are drawn with. This looks at each class in turn, unless a lens knows better.
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
        return self.first.rowwise and self.second.rowwise

    @property
    def subject(self) -> str | None:  # type: ignore[override]
        return self.second.subject

    def __call__(self, data: Predictions) -> Predictions:
        return self.second(self.first(data))

    def outcomes(self, data: Predictions) -> Outcomes:
        middle, last = self.first.outcomes(data), self.second.outcomes(self.first(data))
        classes = np.broadcast_to(np.arange(data.m)[:, None], (data.m, data.n))
        columns = [last.of(middle.of(labels)) for labels in classes]
        return Outcomes(table=small(np.stack(columns, axis=1)))

    def __str__(self) -> str:
        return f"{self.first} >> {self.second}"


@final
@dataclass(frozen=True, slots=True, init=False)
class Induced(Lens):
    r"""Any psi(y, mu); the induced predictions follow from it, §3.1.

    pi_psi(mu)({z}) is the sum of mu({y}) over the classes y with psi(y, mu) = z.

    Parameters
    ----------
    psi : callable
        Function of the class index y and the prediction mu (m,) that returns an outcome.
    outcomes : sequence or int
        The values psi may return, in order; or k for 0, …, k - 1.
    vectorized : bool, default False
        Whether psi takes y and all predictions (n, m) at once and returns an array (n,) of
        outcomes. Otherwise it is called n·m times.

    Examples
    --------
    Is the outcome among the classes that were given at least 10 %?

    >>> lens = Induced(lambda y, mu: "likely" if mu[y] >= 0.1 else "unlikely",
    ...                ["likely", "unlikely"])
    >>> data = lens(Predictions([[0.0625, 0.25, 0.6875]], [0]))
    >>> data.probs.tolist(), data.labels.tolist()
    ([[0.9375, 0.0625]], [1])
    """

    psi: Callable[[int, Array], Any]
    outcome_values: tuple[Any, ...]
    vectorized: bool

    def __init__(
        self,
        psi: Callable[[int, Array], Any],
        outcomes: Sequence[Any] | int,
        *,
        vectorized: bool = False,
    ) -> None:
        function("psi", psi, "y", "mu")
        if isinstance(outcomes, int | np.integer):
            outcomes = range(whole("outcomes", outcomes, least=2, most=MOST))
        try:
            values = tuple(outcomes)
        except TypeError:
            raise TypeError(
                f"`outcomes` must be the values that `psi` may return, or how many there are; found"
                f" {brief(outcomes)}."
            ) from None
        if len(values) < 2 or len({str(value) for value in values}) != len(values):
            raise ValueError(
                f"`outcomes` must be at least two different values; found {listed(values)}."
            )
        object.__setattr__(self, "psi", psi)
        object.__setattr__(self, "outcome_values", values)
        object.__setattr__(self, "vectorized", vectorized)

    def __call__(self, data: Predictions) -> Predictions:
        table = self._table(data)
        rows = np.arange(data.n)
        sums = np.zeros((data.n, len(self.outcome_values)))
        for y in range(data.m):
            sums[rows, table[:, y]] += data.probs[:, y]
        names = tuple(str(value) for value in self.outcome_values)
        probs = sums.astype(data.probs.dtype, copy=False)
        return data.induced(probs, table[rows, data.labels].astype(np.int32), names)

    def outcomes(self, data: Predictions) -> Outcomes:
        return Outcomes(table=self._table(data))

    def _table(self, data: Predictions) -> Array:
        place = {value: z for z, value in enumerate(self.outcome_values)}
        columns = [self._outcomes_of(y, data.probs, place) for y in range(data.m)]
        return small(np.stack(columns, axis=1))

    def _values(self, y: int, probs: Array) -> list[Any]:
        """Return what psi gives for class y of every row."""
        values = self.psi(y, probs) if self.vectorized else [self.psi(y, mu) for mu in probs]
        single = self.vectorized and not np.ndim(values)
        if single or len(values) != len(probs):
            found = brief(values) if single else f"{len(values):,}"
            raise ValueError(
                f"`psi` must return an outcome for each of the {len(probs):,} rows; it returned"
                f" {found}."
            )
        return values.tolist() if isinstance(values, np.ndarray) else list(values)

    def _outcomes_of(self, y: int, probs: Array, place: dict[Any, int]) -> Array:
        """Return the places of what psi gives for class y of every row: (n,)."""
        values = self._values(y, probs)
        try:
            unknown = {value for value in values if value not in place}
        except TypeError:  # a list or an array
            unknown = {brief(values[0])}
        if unknown:
            raise ValueError(
                f"`psi` must return one of the outcomes {listed(place)}; for class {y} it returned"
                f" {listed(unknown)}."
            )
        return np.fromiter((place[value] for value in values), np.int32, len(values))

    def __str__(self) -> str:
        return f"induced by {getattr(self.psi, '__name__', 'psi')}"


def small(table: Array) -> Array:
    """Return outcomes in the smallest type that holds them."""
    return table.astype(np.min_scalar_type(int(table.max())), copy=False)


def check_lens(lens: Any) -> None:
    """Refuse anything but a lens."""
    if isinstance(lens, type) and issubclass(lens, Lens):
        raise TypeError(f"`lens` must be an object: {lens.__name__}(…), not the class itself.")
    if not isinstance(lens, Lens):
        raise TypeError(f"`lens` must be a lens, such as lenses.TopLabel(); found {brief(lens)}.")
