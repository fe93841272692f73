"""Predictions g(X) and outcomes Y, checked once and then immutable."""

from collections.abc import Callable, Sequence
from typing import Any, Self, final

import numpy as np
from numpy.typing import ArrayLike

from calibrant import device, engine
from calibrant.checks import arrays, tensors
from calibrant.checks.convert import check_columns, column_names, columns, refuse_other_rows
from calibrant.checks.labels import as_tuple, class_index, class_names, cluster_codes
from calibrant.predictions.held import Array, Beside, Held, Top


@final
class Predictions(Held):
    r"""Predicted probabilities g(x_i) and outcomes y_i of n rows and m classes.

    Parameters
    ----------
    probs : array_like of shape (n, m) or (n,)
        Row i holds the predicted distribution g(x_i). One dimension is P(class 1) of a binary
        problem. NumPy arrays, nested lists, pandas, polars and Arrow frames, torch and JAX
        tensors. float32 and float64 stay what they are, anything else becomes one of them.
    labels : array_like of shape (n,) or (n, m)
        Outcomes: integers 0, …, m-1, one-hot rows, or names out of `classes`.
    classes : sequence of m names, optional
        Default: the columns of a frame, or "0", "1", …. Names that are whole numbers, such
        as scikit-learn's ``classes_`` or the digits "3", "5", "8", are matched with integer
        labels; then a label is a name, not a position.
    weights : array_like of shape (n,), optional
        Not negative. A row of weight 2 counts as the row twice in every estimate. They are
        rounded to 53 bits of n times the largest, so that their sums are exact.
    clusters : array_like of shape (n,), optional
        Which rows belong together: numbers or names of patients, documents, days. Rows of one
        cluster may depend on each other; tests then use `resampling.WildClusters`.

    Notes
    -----
    A row must sum to 1 within 0.00146, which is what half precision or rounding to three
    decimals leaves; inside that, it is divided by its sum. Logits are never guessed: see
    `from_logits`.

    Arrays of the right type are not copied: a large one is read where it is. Do not change it
    afterwards, or hand over a copy. A tensor on a GPU stays there, see `docs/device.md`. Two-class
    problems are about class 1, the event: bins, tables and diagrams show P(class 1).

    Examples
    --------
    >>> data = Predictions([0.2, 0.9, 0.4], [0, 1, 1])
    >>> data
    Predictions(n=3, m=2, classes=('0', '1'))
    >>> data.probs[:, 1].tolist()
    [0.2, 0.9, 0.4]
    """

    __slots__ = ()

    def __init__(
        self,
        probs: ArrayLike | Any,
        labels: ArrayLike | Any,
        classes: Sequence[Any] | None = None,
        weights: ArrayLike | Any | None = None,
        clusters: ArrayLike | Any | None = None,
    ) -> None:
        refuse_other_rows(probs, labels=labels, weights=weights, clusters=clusters)
        classes = column_names(probs) if classes is None else classes
        self._check(*tensors.checked(probs), labels, classes, weights, clusters)

    def _check(
        self, probs: Array, top: Top, labels: Any, classes: Any, weights: Any, clusters: Any
    ) -> None:
        n, m = probs.shape
        if classes is not None and not isinstance(classes, str):
            classes = as_tuple(classes)
        names = class_names(classes, m)
        codes = tensors.codes(labels, (n, m), classes, device.stays(probs))
        checked = None if weights is None else arrays.weights(weights, n)
        beside = Beside(None if clusters is None else cluster_codes(clusters, n))
        self._set((probs, codes, names, checked, 1, None, beside), top)

    @classmethod
    def from_logits(
        cls,
        logits: ArrayLike | Any,
        labels: ArrayLike | Any,
        classes: Sequence[Any] | None = None,
        weights: ArrayLike | Any | None = None,
        clusters: ArrayLike | Any | None = None,
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
        refuse_other_rows(logits, labels=labels, weights=weights, clusters=clusters)
        self._check(arrays.softmax(logits), None, labels, classes, weights, clusters)
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
        cluster: str | None = None,
    ) -> Self:
        """Take the columns of a pandas, polars or Arrow frame.

        Parameters
        ----------
        frame : data frame
            Of pandas, polars or Arrow.
        label : str
            Name of the column of outcomes.
        probs : sequence of str
            Names of the columns of probabilities, in the order of the classes; a single one
            is P(class 1) of a binary problem.
        classes : sequence, optional
            Names of the classes; default: the names of the columns.
        weight, cluster : str, optional
            Names of the columns of weights, and of what makes rows depend on each other.

        Examples
        --------
        >>> import polars as pl
        >>> frame = pl.DataFrame({"cat": [0.7, 0.2], "dog": [0.3, 0.8], "y": ["cat", "dog"]})
        >>> Predictions.from_frame(frame, label="y", probs=["cat", "dog"])
        Predictions(n=2, m=2, classes=('cat', 'dog'))
        """
        chosen = [probs] if isinstance(probs, str) else list(probs)
        check_columns(frame, [*chosen, label, *filter(None, (weight, cluster))])
        if not chosen:
            raise ValueError("`probs` must name at least one column; found none.")
        matrix = columns("probs", frame, chosen)
        single = len(chosen) == 1
        self = cls.__new__(cls)
        self._check(
            *arrays.checked(matrix[:, 0] if single else matrix, owned=True),
            frame[label],
            chosen if classes is None and not single else classes,
            None if weight is None else frame[weight],
            None if cluster is None else frame[cluster],
        )
        return self

    def restrict(self, where: Callable[[Array], ArrayLike] | ArrayLike) -> Self:
        """Keep the rows whose predictions are in the set A of §3.2.

        Parameters
        ----------
        where : callable or array of bool of shape (n,)
            A function of probs (n, m) that gives a mask, or the mask itself.

        Examples
        --------
        >>> data = Predictions([0.2, 0.9, 0.4], [0, 1, 1])
        >>> data.restrict(lambda probs: probs[:, 1] > 0.3).n
        2
        """
        mask = arrays.mask(where(self.probs) if callable(where) else where, self.weights)
        return self.take(np.flatnonzero(mask))

    def take(self, rows: Array) -> Self:
        """Return the rows with these numbers, in this order."""
        weights = self._weights if self._weights is None else self._weights.take(rows)
        if weights is not None and rows.size > self.n and weights.any():
            weights = arrays.rounded(weights)  # so that sums over more rows are exact, too
        probs, labels = self.probs.take(rows, axis=0), self.labels.take(rows)
        beside = self.beside.take(rows)
        return self.trusted(probs, labels, self.classes, weights, self.event, self.reading, beside)

    def index(self, label: int | str) -> int:
        """Return the index of a class that is given by name or by index."""
        return class_index(label, self.classes)

    def induced(self, probs: Array | None, labels: Array | None, classes: tuple[str, ...]) -> Self:
        """Return what a lens made of these rows, with their weights; its event is outcome 0."""
        return self.trusted(probs, labels, classes, self._weights, beside=self.beside)

    def induced_top(self, classes: tuple[str, str]) -> Self:
        """Return the problem of the most probable class, made when somebody looks at it."""
        found = self.induced(None, None, classes)
        object.__setattr__(found, "ranked", engine.rows.Ranked(self.labels, self.top))
        return found

    def induced_there(self, rows: "device.rows.Rows", classes: tuple[str, ...]) -> Self:
        """Return what a lens made of rows on a device; its event is outcome 0."""
        found = self.induced(None, None, classes)
        object.__setattr__(found, "there", rows)
        return found

    def with_labels(self, labels: Array) -> Self:
        """Return the same predictions with other outcomes (n,): integers that are not checked."""
        return self._with(self.probs, np.asarray(labels, np.int32), self._weights)

    def with_probs(self, probs: Array) -> Self:
        """Return other predictions (n, m), which are not checked, of the same outcomes."""
        return self._with(probs, self.labels, self._weights)

    def weighted_by(self, times: Array) -> Self:
        """Return the rows with their weights multiplied by `times` (n,), which is not checked."""
        weights = np.multiply(times, self.weights, dtype=np.float64)
        return self._with(self.probs, self.labels, weights)

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        shown = self.classes if self.m <= 4 else (*self.classes[:3], "…")
        return f"Predictions(n={self.n}, m={self.m}, classes={shown})"
