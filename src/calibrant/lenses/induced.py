"""A lens from any function psi(y, mu)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant.checks.parameters import brief, function, listed, whole
from calibrant.lenses.lens import Lens, Outcomes, small
from calibrant.predictions import Predictions

MOST = 1_000_000  # outcomes; each has a column


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

    >>> from calibrant import Predictions
    >>> lens = Induced(lambda y, mu: "likely" if mu[y] >= 0.1 else "unlikely",
    ...                ["likely", "unlikely"])
    >>> data = lens(Predictions([[0.0625, 0.25, 0.6875]], [0]))
    >>> data.probs.tolist(), data.labels.tolist()
    ([[0.9375, 0.0625]], [1])
    """

    psi: Callable[[int, NDArray[Any]], Any]
    outcome_values: tuple[Any, ...]
    vectorized: bool

    def __init__(
        self,
        psi: Callable[[int, NDArray[Any]], Any],
        outcomes: Sequence[Any] | int,
        *,
        vectorized: bool = False,
    ) -> None:
        function("psi", psi)
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
        """Apply psi to every class of every row."""
        table = self._table(data)
        rows = np.arange(data.n)
        sums = np.zeros((data.n, len(self.outcome_values)))
        for y in range(data.m):
            sums[rows, table[:, y]] += data.probs[:, y]
        names = tuple(str(value) for value in self.outcome_values)
        probs = sums.astype(data.probs.dtype, copy=False)
        return data.induced(probs, table[rows, data.labels].astype(np.int32), names)

    def outcomes(self, data: Predictions) -> Outcomes:
        """Return what psi gives for every class of every row."""
        return Outcomes(table=self._table(data))

    def _table(self, data: Predictions) -> NDArray[Any]:
        place = {value: z for z, value in enumerate(self.outcome_values)}
        columns = [self._outcomes_of(y, data.probs, place) for y in range(data.m)]
        return small(np.stack(columns, axis=1))

    def _outcomes_of(self, y: int, probs: NDArray[Any], place: dict[Any, int]) -> NDArray[Any]:
        values = self._values(y, probs)
        if len(values) != len(probs):
            raise ValueError(
                f"`psi` must return an outcome for each of the {len(probs):,} rows; it returned"
                f" {len(values):,}."
            )
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

    def _values(self, y: int, probs: NDArray[Any]) -> list[Any]:
        """Return what psi gives for class y of every row."""
        if not self.vectorized:
            return [self.psi(y, mu) for mu in probs]
        values = self.psi(y, probs)
        if not np.ndim(values):
            raise ValueError(
                f"`psi` must return an outcome for each of the {len(probs):,} rows; it returned"
                f" {brief(values)}."
            )
        return values.tolist() if isinstance(values, np.ndarray) else list(values)

    def __str__(self) -> str:
        return f"induced by {getattr(self.psi, '__name__', 'psi')}"
