"""The k largest predictions."""

from dataclasses import dataclass
from typing import final

import numpy as np

from calibrant import engine
from calibrant.checks.parameters import whole
from calibrant.lenses.lens import Lens, Outcomes
from calibrant.predictions import Predictions

TOP = ("predicted class", "other")


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
    >>> from calibrant import Predictions
    >>> data = TopK(2)(Predictions([[0.25, 0.125, 0.625]], [0]))
    >>> data.classes, data.probs.tolist(), data.labels.tolist()
    (('1st', '2nd', 'rest'), [[0.625, 0.25, 0.125]], [1])
    """

    k: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", whole("k", self.k, least=1))

    def __call__(self, data: Predictions) -> Predictions:
        """Rank the classes of every row."""
        k = self.k
        if k >= data.m:
            raise ValueError(
                f"`k` must be less than the number of classes, {data.m}; found {k}."
                " Use `Canonical()` for all of them."
            )
        if k == 1 and data.there is not None and data.there.origin is None:
            return data.induced_there(data.there.top_label(), TOP)
        if k == 1:
            return data.induced_top(TOP)
        ranked = engine.rows.top_classes(data.probs, k)
        probs = np.empty((data.n, k + 1), data.probs.dtype)
        probs[:, :k] = np.take_along_axis(data.probs, ranked, axis=1)
        rest = np.subtract(1.0, probs[:, :k].sum(axis=1, dtype=np.float64))
        probs[:, k] = np.maximum(rest, 0.0)
        found = ranked == data.labels[:, None]
        labels = np.where(found.any(axis=1), found.argmax(axis=1), k).astype(np.int32)
        return data.induced(probs, labels, _ranks(k))

    @property
    def subject(self) -> str | None:
        """What k = 1 is about."""
        return "the predicted class" if self.k == 1 else None

    def outcomes(self, data: Predictions) -> Outcomes:
        """Return the rank of every class; of one class alone, that class as the event."""
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

    Examples
    --------
    >>> from calibrant import Predictions
    >>> data = TopLabel()(Predictions([[0.25, 0.125, 0.625], [0.5, 0.5, 0.0]], [2, 1]))
    >>> data.probs[:, 0].tolist(), data.labels.tolist()
    ([0.625, 0.5], [0, 1])
    """

    @property
    def subject(self) -> str:
        """What the problem is about."""
        return "the predicted class"

    def __call__(self, data: Predictions) -> Predictions:
        """Return the binary problem of the predicted class."""
        return TopK(1)(data)

    def outcomes(self, data: Predictions) -> Outcomes:
        """Return the predicted class as the event."""
        return TopK(1).outcomes(data)

    def __str__(self) -> str:
        return "top label"


def _ranks(k: int) -> tuple[str, ...]:
    return (*(_ordinal(i) for i in range(1, k + 1)), "rest")


def _ordinal(i: int) -> str:
    ending = "th" if 10 <= i % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(i % 10, "th")
    return f"{i}{ending}"
