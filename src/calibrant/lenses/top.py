"""The k largest predictions."""

from dataclasses import dataclass
from typing import final

import numpy as np

from calibrant import engine
from calibrant.checks.parameters import whole
from calibrant.engine import threads
from calibrant.lenses.lens import Lens
from calibrant.predictions import Predictions


@final
@dataclass(frozen=True, slots=True)
class TopK(Lens):
    """The k largest predictions, Example 2 (iii): outcomes 1st, 2nd, …, k-th, rest.

    psi(y, mu) = i if y is the class of the i-th largest entry of mu, i ≤ k, else "rest".
    Equal entries rank by class index.

    Parameters
    ----------
    k : from 1 to m - 1

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
                " Use Canonical() for all of them."
            )
        probs = np.empty((data.n, k + 1), data.probs.dtype)
        labels = np.empty(data.n, np.int32)
        bits = np.dtype(f"i{probs.itemsize}")

        def work(start: int, stop: int) -> None:
            if k == 1:
                engine.lens.top_one(
                    data.probs.view(bits), data.labels, start, stop, probs.view(bits), labels
                )
                rest = np.subtract(1.0, probs[start:stop, 0], out=probs[start:stop, 1])
                np.maximum(rest, 0.0, out=rest)
            else:
                engine.lens.top(data.probs, data.labels, start, stop, k, probs, labels)

        threads.run(work, threads.row_blocks(data.probs.shape))
        return data.induced(probs, labels, _ranks(k))

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

    def __call__(self, data: Predictions) -> Predictions:
        """Return the binary problem of the predicted class."""
        return TopK(1)(data)

    def __str__(self) -> str:
        return "top label"


def _ranks(k: int) -> tuple[str, ...]:
    if k == 1:
        return ("predicted class", "other")
    return (*(_ordinal(i) for i in range(1, k + 1)), "rest")


def _ordinal(i: int) -> str:
    ending = "th" if 10 <= i % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(i % 10, "th")
    return f"{i}{ending}"
