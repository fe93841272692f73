"""Outcomes that are groups of classes, or any function psi(y, mu)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.checks.parameters import brief, function, listed, whole
from calibrant.lenses.lens import Lens, Outcomes, small
from calibrant.predictions import Predictions

Members = Sequence[int | str]

SHORT = 4  # members that the name of a group has at most
MOST = 1_000_000  # outcomes; each has a column


@final
@dataclass(frozen=True, slots=True, init=False)
class Groups(Lens):
    """A fixed partition of the classes, Example 2 (ii): psi(y, mu) = i if y is in A_i.

    Parameters
    ----------
    groups : sequence of sequences, or mapping of str to sequence
        The members of each group, by name or index; every class in exactly one group. A
        mapping gives the groups names; without one, a group is named after its members, or
        after the first and the last of more than four.

    Examples
    --------
    >>> data = Predictions([[0.25, 0.25, 0.5]], ["dog"], classes=["cat", "dog", "car"])
    >>> pets = Groups([["cat", "dog"], ["car"]])(data)
    >>> pets.classes, pets.probs.tolist(), pets.labels.tolist()
    (('cat+dog', 'car'), [[0.5, 0.5]], [0])
    >>> Groups({"pet": ["cat", "dog"], "thing": ["car"]})(data).classes
    ('pet', 'thing')
    """

    groups: tuple[tuple[int | str, ...], ...]
    names: tuple[str, ...] | None

    def __init__(self, groups: Sequence[Members] | Mapping[str, Members]) -> None:
        names = tuple(str(name) for name in groups) if isinstance(groups, Mapping) else None
        listing = groups.values() if isinstance(groups, Mapping) else groups
        try:
            members = tuple(tuple(group) for group in listing)
        except TypeError:
            raise TypeError(
                f"`groups` must be a list of the classes of each group; found {brief(groups)}."
            ) from None
        if len(members) < 2 or not all(members):
            raise ValueError(
                "`groups` must be at least two groups with at least one class each; found"
                f" {brief(members)}."
            )
        object.__setattr__(self, "groups", members)
        object.__setattr__(self, "names", names)

    def __call__(self, data: Predictions) -> Predictions:
        """Add up the classes of each group."""
        group_of = self._group_of(data)
        probs = engine.rows.group_sums(data.probs, group_of, len(self.groups))
        names = self.names or tuple(
            _name([data.classes[data.index(label)] for label in members]) for members in self.groups
        )
        if len(set(names)) < len(names):
            raise ValueError(f"`groups` must have different names; found {listed(names)}.")
        return data.induced(probs, group_of[data.labels], names)

    def outcomes(self, data: Predictions) -> Outcomes:
        """Return the group of each class."""
        return Outcomes(table=small(self._group_of(data)[None]))

    def _group_of(self, data: Predictions) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
        group_of = np.full(data.m, -1, np.int32)
        for g, members in enumerate(self.groups):
            for label in members:
                j = data.index(label)
                if group_of[j] >= 0:
                    raise ValueError(
                        "`groups` must have every class once; found"
                        f" {data.classes[j]!r} a second time."
                    )
                group_of[j] = g
        left_out = [data.classes[j] for j in np.flatnonzero(group_of < 0)]
        if left_out:
            raise ValueError(f"`groups` must have every class once; {listed(left_out)} missing.")
        return group_of

    def __str__(self) -> str:
        groups = self.names or [_name([str(label) for label in g]) for g in self.groups]
        return f"groups {' | '.join(groups)}"


def _name(members: Sequence[str]) -> str:
    """Return the name of a group with these members."""
    return "+".join(members if len(members) <= SHORT else (members[0], "…", members[-1]))


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
