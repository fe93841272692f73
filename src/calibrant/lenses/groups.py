"""Groups of classes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from calibrant import engine
from calibrant.checks.parameters import brief, listed
from calibrant.lenses.lens import Lens, Outcomes, small
from calibrant.predictions import Predictions

Members = Sequence[int | str]

SHORT = 4  # members that the name of a group has at most


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
    >>> from calibrant import Predictions
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
