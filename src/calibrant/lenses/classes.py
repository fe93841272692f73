"""All classes, the most probable ones, one against the rest, each of them, or groups of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.checks.arrays import rounded
from calibrant.checks.parameters import brief, listed, whole
from calibrant.lenses.lens import Array, Lens, Outcomes, small
from calibrant.predictions import Predictions
from calibrant.tables import visible

Members = Sequence[int | str]

TOP = ("predicted class", "other")
SHORT = 4  # members that the name of a group has at most


@final
@dataclass(frozen=True, slots=True)
class Canonical(Lens):
    """The problem itself: psi(y, mu) = y, Example 2 (i).

    Examples
    --------
    >>> data = Predictions([[0.2, 0.3, 0.5]], [1])
    >>> Canonical()(data) is data
    True
    """

    def __call__(self, data: Predictions) -> Predictions:
        return data

    def outcomes(self, data: Predictions) -> Outcomes:  # noqa: ARG002
        return Outcomes()

    def __str__(self) -> str:
        return "canonical"


@final
@dataclass(frozen=True, slots=True)
class TopK(Lens):
    """The k largest predictions, Example 2 (iii): outcomes 1st, 2nd, …, k-th, rest.

    psi(y, mu) = i if y is the class of the i-th largest entry of mu, i ≤ k, else "rest".
    Equal entries rank by class index.

    Parameters
    ----------
    k : int
        How many, at least 1 and less than m.

    Examples
    --------
    >>> data = TopK(2)(Predictions([[0.25, 0.125, 0.625]], [0]))
    >>> data.classes, data.probs.tolist(), data.labels.tolist()
    (('1st', '2nd', 'rest'), [[0.625, 0.25, 0.125]], [1])
    """

    k: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", whole("k", self.k, least=1))

    def __call__(self, data: Predictions) -> Predictions:
        k = self.k
        if k >= data.m:
            raise ValueError(
                f"`k` must be less than the number of classes, {data.m}; found {k}."
                " Use `Canonical()` for all of them."
            )
        if k == 1 and data.of_confidences:  # of the predicted class already
            probs = np.ascontiguousarray(data.probs[:, ::-1])
            return data.induced(probs, 1 - data.labels, TOP)
        if k == 1 and data.on_device is not None and data.on_device.origin is None:
            return data.induced_on_device(data.on_device.top_label(), TOP)
        if k == 1:
            return data.induced_top(TOP)
        ranked = engine.rows.top_classes(data.probs, k)
        probs = np.empty((data.n, k + 1), data.probs.dtype)
        probs[:, :k] = np.take_along_axis(data.probs, ranked, axis=1)
        rest = np.subtract(1.0, probs[:, :k].sum(axis=1, dtype=np.float64))
        probs[:, k] = np.maximum(rest, 0.0)
        found = ranked == data.labels[:, None]
        labels = np.where(found.any(axis=1), found.argmax(axis=1), k).astype(np.int32)
        return data.induced(probs, labels, (*map(_ordinal, range(1, k + 1)), "rest"))

    @property
    def subject(self) -> str | None:  # type: ignore[override]
        return "the predicted class" if self.k == 1 else None

    def outcomes(self, data: Predictions) -> Outcomes:
        if self.k == 1 and data.of_confidences:
            return Outcomes(event=np.array([1]))
        if self.k == 1:
            return Outcomes(event=data.top.classes)
        table = np.full((data.n, data.m), self.k, np.min_scalar_type(self.k))
        ranks = np.arange(self.k, dtype=table.dtype)[None]
        np.put_along_axis(table, engine.rows.top_classes(data.probs, self.k), ranks, axis=1)
        return Outcomes(table=table)

    def __str__(self) -> str:
        return f"top {self.k}"


@final
@dataclass(frozen=True, slots=True)
class TopLabel(Lens):
    """The predicted class: is it right as often as its probability says? TopK(1).

    The "calibration" of Guo et al. (2017), Eq. (2). Outcomes: predicted class, other.

    Notes
    -----
    Of two classes the probability of the event is folded, as the definition says: p becomes
    max(p, 1 - p), so that deviations of p and of 1 - p may cancel. For the event as it is, look
    through no lens. Confidences in predictions (`Predictions.of_confidences`) are those of the
    predicted class already, and stay as they are.

    Examples
    --------
    >>> data = TopLabel()(Predictions([[0.25, 0.125, 0.625], [0.5, 0.5, 0.0]], [2, 1]))
    >>> data.probs[:, 0].tolist(), data.labels.tolist()
    ([0.625, 0.5], [0, 1])
    """

    subject = "the predicted class"

    def __call__(self, data: Predictions) -> Predictions:
        return TopK(1)(data)

    def outcomes(self, data: Predictions) -> Outcomes:
        return TopK(1).outcomes(data)

    def __str__(self) -> str:
        return "top label"


@final
@dataclass(frozen=True, slots=True)
class Marginal(Lens):
    """One class against the rest, Eq. (3): psi(y, mu) = 1 if y is the class, else 0.

    Parameters
    ----------
    label : str or int
        Name or index of the class.

    Examples
    --------
    >>> data = Predictions([[0.25, 0.75]], ["cat"], classes=["cat", "dog"])
    >>> dog = Marginal("dog")(data)
    >>> dog.classes, dog.probs.tolist(), dog.labels.tolist()
    (('dog', 'not dog'), [[0.75, 0.25]], [1])
    """

    label: int | str

    def __call__(self, data: Predictions) -> Predictions:
        j = data.index(self.label)
        names = (data.classes[j], f"not {data.classes[j]}")
        if data.on_device is not None and data.on_device.origin is None:
            return data.induced_on_device(data.on_device.one_class(j), names)
        probs, labels = engine.rows.against_rest(data.rows, np.array([j]))
        return data.induced(probs, labels, names)

    def outcomes(self, data: Predictions) -> Outcomes:
        return Outcomes(event=np.array([data.index(self.label)]))

    def __str__(self) -> str:
        return visible(f"class {self.label}")


@final
@dataclass(frozen=True, slots=True)
class Pooled(Lens):
    """All n·m pairs (predicted probability, did this class occur), Example 4.

    Notes
    -----
    The pairs of a row are not independent, since exactly one of its classes occurs. So this
    is the one lens that is applied after labels are redrawn or rows resampled.

    Examples
    --------
    >>> pairs = Pooled()(Predictions([[0.25, 0.75]], [1]))
    >>> pairs.probs[:, 0].tolist(), pairs.labels.tolist()
    ([0.25, 0.75], [1, 0])
    """

    rowwise = False  # a row becomes m of them
    subject = "each class"

    def __call__(self, data: Predictions) -> Predictions:
        n, m = data.probs.shape
        probs = np.empty((n * m, 2), data.probs.dtype)
        probs[:, 0] = data.probs.reshape(-1)
        np.subtract(1, probs[:, 0], out=probs[:, 1])
        np.maximum(probs[:, 1], 0, out=probs[:, 1])
        labels = self.relabel(data, data.labels)
        weights = rounded(np.repeat(data.weights, m)) if data.weighted else None
        beside = data.beside.take(np.repeat(np.arange(n), m))
        names = "occurs", "does not occur"
        return Predictions.trusted(probs, labels, names, weights, beside=beside)

    def relabel(self, data: Predictions, labels: Array) -> NDArray[np.int32]:
        """Return 0 for the class of each row that occurs and 1 for the others: (n·m,)."""
        out = np.ones(data.n * data.m, np.int32)
        out[np.arange(data.n) * data.m + labels] = 0
        return out

    def __str__(self) -> str:
        return "pooled"


def _ordinal(i: int) -> str:
    ending = "th" if 10 <= i % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(i % 10, "th")
    return f"{i}{ending}"


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
        group_of = self._group_of(data)
        probs = engine.rows.group_sums(data.probs, group_of, len(self.groups))
        names = self.names or tuple(
            _name([data.classes[data.index(label)] for label in members]) for members in self.groups
        )
        if len(set(names)) < len(names):
            raise ValueError(f"`groups` must have different names; found {listed(names)}.")
        return data.induced(probs, group_of[data.labels], names)

    def outcomes(self, data: Predictions) -> Outcomes:
        return Outcomes(table=small(self._group_of(data)[None]))

    def _group_of(self, data: Predictions) -> NDArray[np.int32]:
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
        return visible(f"groups {' | '.join(groups)}")


def _name(members: Sequence[str]) -> str:
    """Return the name of a group with these members."""
    return "+".join(members if len(members) <= SHORT else (members[0], "…", members[-1]))
