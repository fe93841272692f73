"""Predictions g(X) and outcomes Y, checked once and then immutable."""

from collections.abc import Callable, Sequence
from typing import Any, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.checks import arrays
from calibrant.checks.convert import column_names, columns
from calibrant.checks.parameters import listed, whole

Array = NDArray[Any]


@final
class Predictions:
    r"""Predicted probabilities g(x_i) and outcomes y_i of n rows and m classes.

    Parameters
    ----------
    probs : array (n, m) or (n,)
        Row i holds the predicted distribution g(x_i). One dimension is P(class 1) of a binary
        problem. NumPy arrays, nested lists, pandas, polars and Arrow frames, torch and JAX
        tensors. float32 and float64 stay what they are, anything else becomes one of them.
    labels : array (n,) or (n, m)
        Outcomes: integers 0, …, m-1, one-hot rows, or names out of `classes`.
    classes : m names, optional
        Default: the columns of a frame, or "0", "1", …. Names that are whole numbers, such
        as scikit-learn's ``classes_`` or the digits "3", "5", "8", are matched with integer
        labels; then a label is a name, not a position.
    weights : array (n,), optional
        Not negative. A row of weight 2 counts as the row twice in every estimate.

    Notes
    -----
    A row must sum to 1 within 0.001, which is what half precision or rounding to a few
    decimals leaves; inside that, it is divided by its sum. Logits are never guessed: see
    `from_logits`. The arrays are copied once, unless they are read-only, so that nobody can
    change them later. Two-class problems are about class 1, the event: bins, tables and
    diagrams show P(class 1).

    Examples
    --------
    >>> data = Predictions([0.2, 0.9, 0.4], [0, 1, 1])
    >>> data
    Predictions(n=3, m=2, classes=('0', '1'))
    >>> data.probs[:, 1].tolist()
    [0.2, 0.9, 0.4]
    """

    __slots__ = ("_weights", "classes", "event", "labels", "probs")

    probs: Array
    labels: NDArray[np.int32]
    classes: tuple[str, ...]
    event: int
    _weights: NDArray[np.float64] | None

    def __init__(
        self,
        probs: ArrayLike | Any,
        labels: ArrayLike | Any,
        classes: Sequence[Any] | None = None,
        weights: ArrayLike | Any | None = None,
    ) -> None:
        classes = column_names(probs) if classes is None else classes
        self._check(arrays.probabilities(probs), labels, classes, weights)

    def _check(
        self, probs: Array, labels: Any, classes: Sequence[Any] | None, weights: Any
    ) -> None:
        n, m = probs.shape
        if classes is not None and not isinstance(classes, str):
            classes = arrays.as_tuple(classes)
        names = arrays.names(classes, m)
        self._set(
            probs,
            arrays.outcomes(labels, n, m, classes),
            names,
            None if weights is None else arrays.weights(weights, n),
            event=1,
        )

    def _set(
        self,
        probs: Array,
        labels: Array,
        classes: tuple[str, ...],
        weights: Array | None,
        event: int,
    ) -> None:
        for name, value in (
            ("probs", _frozen(probs)),
            ("labels", _frozen(labels)),
            ("classes", classes),
            ("_weights", None if weights is None else _frozen(weights)),
            ("event", event),
        ):
            object.__setattr__(self, name, value)

    @classmethod
    def trusted(
        cls,
        probs: Array,
        labels: Array,
        classes: tuple[str, ...],
        weights: Array | None = None,
        event: int = 0,
    ) -> Self:
        """Wrap arrays that are known to be right, without a check or a copy.

        For lenses and resamplers: probs float32 or float64 in C order with rows that sum to
        1, labels int32, weights float64 or None. `event` is the outcome that a two-outcome
        problem is about; a lens puts that first.
        """
        self = cls.__new__(cls)
        self._set(probs, labels, classes, weights, event)
        return self

    @classmethod
    def from_logits(
        cls,
        logits: ArrayLike | Any,
        labels: ArrayLike | Any,
        classes: Sequence[Any] | None = None,
        weights: ArrayLike | Any | None = None,
    ) -> Self:
        """Apply the softmax to logits (n, m), or the logistic function to (n,), and wrap them.

        Minus infinity is a probability of 0.

        Examples
        --------
        >>> Predictions.from_logits([[0.0, 0.0], [1000.0, 0.0]], [0, 0]).probs.tolist()
        [[0.5, 0.5], [1.0, 0.0]]
        """
        self = cls.__new__(cls)
        classes = column_names(logits) if classes is None else classes
        self._check(arrays.softmax(logits), labels, classes, weights)
        return self

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        label: str,
        probs: Sequence[str],
        classes: Sequence[Any] | None = None,
        weight: str | None = None,
    ) -> Self:
        """Take the columns of a pandas, polars or Arrow frame.

        Parameters
        ----------
        frame : data frame
        label : name of the column of outcomes
        probs : names of the columns of probabilities, in the order of the classes; a single
            one is P(class 1) of a binary problem
        classes : names of the classes; default: the names of the columns
        weight : name of the column of weights, if any

        Examples
        --------
        >>> import polars as pl
        >>> frame = pl.DataFrame({"cat": [0.7, 0.2], "dog": [0.3, 0.8], "y": ["cat", "dog"]})
        >>> Predictions.from_frame(frame, label="y", probs=["cat", "dog"])
        Predictions(n=2, m=2, classes=('cat', 'dog'))
        """
        found = column_names(frame)
        if found is None:
            raise TypeError(f"`frame` must be a data frame; found {type(frame).__name__}.")
        chosen = [probs] if isinstance(probs, str) else list(probs)
        wanted = [*chosen, label, *([] if weight is None else [weight])]
        missing = [column for column in wanted if column not in found]
        if missing:
            raise ValueError(
                f"`frame` must have the columns asked for; {listed(missing)} not among"
                f" {listed(found, 12)}."
            )
        if not chosen:
            raise ValueError("`probs` must name at least one column; found none.")
        if classes is None and len(chosen) > 1:
            classes = chosen
        matrix = columns("probs", frame, chosen)
        self = cls.__new__(cls)
        self._check(
            arrays.probabilities(matrix[:, 0] if len(chosen) == 1 else matrix, owned=True),
            frame[label],
            classes,
            None if weight is None else frame[weight],
        )
        return self

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.probs.shape[0])

    @property
    def m(self) -> int:
        """Number of classes."""
        return int(self.probs.shape[1])

    @property
    def weighted(self) -> bool:
        """Whether weights were given."""
        return self._weights is not None

    @property
    def weights(self) -> NDArray[np.float64]:
        """Weights (n,), ones where none were given."""
        return np.broadcast_to(np.float64(1.0), self.n) if self._weights is None else self._weights

    @property
    def kernel_weights(self) -> tuple[NDArray[np.float64], int]:
        """Weights as kernels take them: (n,) and step 1, or a single one and step 0."""
        return (_ONE, 0) if self._weights is None else (self._weights, 1)

    def restrict(self, where: Callable[[Array], ArrayLike] | ArrayLike) -> Self:
        """Keep the rows whose predictions are in the set A of §3.2.

        Parameters
        ----------
        where : a function of probs (n, m) that gives a mask, or the mask (n,) itself

        Examples
        --------
        >>> data = Predictions([0.2, 0.9, 0.4], [0, 1, 1])
        >>> data.restrict(lambda probs: probs[:, 1] > 0.3).n
        2
        """
        mask = np.asarray(where(self.probs) if callable(where) else where)
        if mask.shape != (self.n,) or mask.dtype != bool:
            raise ValueError(
                f"`where` must give one True or False for each of the {self.n:,} rows; found"
                f" {mask.dtype} of shape {mask.shape}."
            )
        if not (mask & (self.weights > 0)).any():
            raise ValueError("`where` must keep at least one row; it keeps none.")
        return self.take(np.flatnonzero(mask))

    def take(self, rows: Array) -> Self:
        """Return the rows with these numbers, in this order."""
        weights = None if self._weights is None else self._weights.take(rows)
        probs, labels = self.probs.take(rows, axis=0), self.labels.take(rows)
        return self.trusted(probs, labels, self.classes, weights, self.event)

    def index(self, label: int | str) -> int:
        """Return the index of a class that is given by name or by index.

        Examples
        --------
        >>> Predictions([0.5], [1], classes=["cat", "dog"]).index("dog")
        1
        """
        if isinstance(label, str):
            if label in self.classes:
                return self.classes.index(label)
            raise ValueError(
                f"`label` must be a class; {label!r} is not among {listed(self.classes)}."
            )
        j = whole("label", label, least=0)
        if j >= self.m:
            raise ValueError(f"`label` must be a class from 0 to {self.m - 1}; found {j}.")
        return j

    def induced(self, probs: Array, labels: Array, classes: tuple[str, ...]) -> Self:
        """Return what a lens made of these rows, with their weights; its event is outcome 0."""
        return self.trusted(probs, labels, classes, self._weights)

    def with_labels(self, labels: Array) -> Self:
        """Return the same predictions with other outcomes (n,): integers that are not checked."""
        labels = np.asarray(labels, np.int32)
        return self.trusted(self.probs, labels, self.classes, self._weights, self.event)

    def weighted_by(self, times: Array) -> Self:
        """Return the rows with their weights multiplied by `times` (n,), which is not checked."""
        weights = np.multiply(times, self.weights, dtype=np.float64)
        return self.trusted(self.probs, self.labels, self.classes, weights, self.event)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"Predictions are immutable; `{name}` cannot be set.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"Predictions are immutable; `{name}` cannot be deleted.")

    def __reduce__(self) -> tuple[Any, ...]:
        return (
            Predictions.trusted,
            (self.probs, self.labels, self.classes, self._weights, self.event),
        )

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        shown = self.classes if self.m <= 4 else (*self.classes[:3], "…")
        return f"Predictions(n={self.n}, m={self.m}, classes={shown})"


_ONE = np.ones(1)
_ONE.flags.writeable = False


def _frozen(array: Array) -> Array:
    if array.flags.writeable:
        array = array.view()
        array.flags.writeable = False
    return array
